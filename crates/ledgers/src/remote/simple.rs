//! Implements a remote ledger in the simple form, for the engine: a service that knows only
//! `sources/internal-transfer-v2.md`. It takes one operation at a time and answers queries for it; it
//! cannot be fenced, and has no name.
//!
//! So any hop before the service can answer in its place, with the same words on every route, and so can a
//! handler of the service itself that catches every fault. An answer counts by what it names (decision 0015): one
//! that repeats `req_id` and `leg` is about this operation. A refusal counts when its word is one that is defined,
//! when the query, in an answer that names the operation too, returns the same word with the mark of what is stored,
//! and when no earlier request of the key is unanswered: the network may deliver such a request long after its
//! connection was closed, and the service then executes it. A success counts from a service whose query has denied,
//! to this process, an operation that does not exist.

use super::asset_codes::AssetCodes;
use super::classify::{self, Simple, SimpleReply};
use super::concurrent::concurrent;
use super::http::{Http, Keep, SendPurpose, Settings, Undelivered, Unfit};
use super::wire::{self, OperationRequest};
use kernel::answer::{Answer, Cause, Evidence, Receipt};
use kernel::code::Code;
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, Id, LedgerId, UserId};
use kernel::money::{Amount, Asset};
use kernel::operation::{Identity, Incarnation, Key, Known, Op, Operation, StoredOutcome};
use kernel::ports::Fut;
use kernel::ports::ledger::{
    EarlierSends, Holding, Ledger, LedgerForm, Reply, StatusChange, Stored, Totals, Whose,
};
use kernel::ports::sending::SendPermission;
use kernel::record::Account;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The words that refuse for ever at every service: the codes of the source, section 1.5.
const DEFINED: [Code; 8] = [
    Code::InvalidAsset,
    Code::AssetSuspended,
    Code::TransferNotAllowed,
    Code::SourceAccountNotFound,
    Code::TargetAccountNotFound,
    Code::AccountFrozen,
    Code::AccountDisabled,
    Code::InsufficientBalance,
];
/// The code of a refusal in words; the words go with it.
const REFUSED: &str = "REFUSED";
/// A receipt of a ledger that numbers nothing.
const UNNUMBERED: Receipt = Receipt::seq(0);
/// An answer that does not name what was asked, and what its owner can do about it.
const UNNAMED: &str = "UNNAMED_ANSWER";
/// An error in words that are not defined as a refusal.
const UNDEFINED: &str = "UNDEFINED_REFUSAL";
/// A refusal that the query does not return as stored.
const NOT_STORED: &str = "NOT_STORED";
/// A service whose query says success of operations that do not exist.
const ANSWERS_ALIKE: &str = "ANSWERS_ALIKE";
/// A refusal after a request that was never answered.
const UNANSWERED: &str = "UNANSWERED_BEFORE";
/// The number of keys that are remembered as answered; a forgotten key counts as unanswered.
const REMEMBERED: usize = 100_000;
/// Bits of a transfer's id that are drawn at random: turned over they name a transfer that does not
/// exist.
const DRAWN: u128 = 0xffff_ffff_ffff_ffff;

/// A service at the other end of the simple form.
#[derive(Debug)]
pub struct SimpleRemote {
    id: LedgerId,
    http: Http,
    max_in_flight: usize,
    asset_codes: AssetCodes,
    /// What its operator defines as refusals, beside `DEFINED`.
    refusals: BTreeSet<String>,
    /// The keys that are being asked for.
    asked: Mutex<BTreeSet<Key>>,
    /// Keys of which every request of this process was answered by the service, or never left.
    answered: Mutex<BTreeSet<Key>>,
    /// An answer that named its operation was seen: one that names none is not of this service.
    names: AtomicBool,
    /// Its query has confirmed an operation, and denied one that does not exist.
    distinguishes: AtomicBool,
    /// Why the last request came to nothing, where it did.
    lost: Mutex<Option<Cause>>,
}

/// A key that no other call asks for while this is held.
struct Alone<'a>(&'a SimpleRemote, Key);

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        lock(&self.0.asked).remove(&self.1);
    }
}

/// The body of a `query` request.
#[derive(Debug, serde::Serialize)]
struct Query<'a> {
    req_id: &'a str,
    leg: &'static str,
}

/// The result of one request.
enum Sent {
    /// An answer that is about the operation, or names none.
    Answered(SimpleReply),
    /// Nothing that counts came back; the request may arrive yet.
    Unanswered(Cause),
    /// It never left this process.
    Undelivered(Cause),
}

impl SimpleRemote {
    /// A service that is reached so, and known as `id`; `refusals` are the words, beside the source's codes, by
    /// which it refuses for ever. Nothing is sent yet.
    ///
    /// # Errors
    /// Why it cannot be reached by these settings.
    pub fn new(
        id: LedgerId,
        settings: &Settings,
        asset_codes: AssetCodes,
        refusals: BTreeSet<String>,
    ) -> Result<Self, Unfit> {
        Ok(Self {
            id,
            http: Http::new(id, settings, Keep::Closed)?,
            max_in_flight: settings.max_in_flight,
            asset_codes,
            refusals,
            asked: Mutex::default(),
            answered: Mutex::default(),
            names: AtomicBool::new(false),
            distinguishes: AtomicBool::new(false),
            lost: Mutex::default(),
        })
    }

    /// The identity that the service is taken to have: it cannot name one.
    const fn known(&self) -> Known {
        Known { identity: Identity(0), incarnation: Incarnation(0), highest: 0 }
    }

    fn alone(&self, key: Key) -> Option<Alone<'_>> {
        let free = lock(&self.asked).insert(key);
        // made only where the key was free: what it drops gives the key back
        free.then(|| Alone(self, key))
    }

    async fn send(
        &self,
        path: &str,
        body: &impl serde::Serialize,
        purpose: SendPurpose,
        key: Key,
    ) -> Sent {
        let sent = self.http.deliver(path, body, purpose, wire::ONE).await;
        *lock(&self.lost) = match &sent {
            Ok(_) => None,
            Err(Undelivered::Never(cause) | Undelivered::Perhaps(cause)) => Some(cause.clone()),
        };
        let whole = match sent {
            Ok(whole) => whole,
            Err(Undelivered::Never(cause)) => return Sent::Undelivered(cause),
            Err(Undelivered::Perhaps(cause)) => return Sent::Unanswered(cause),
        };
        match classify::simple(&key.id.to_string(), key.leg, whole.reply()) {
            Ok(said) => {
                if said.named {
                    self.names.store(true, Ordering::Relaxed);
                }
                Sent::Answered(said)
            }
            Err(cause) => Sent::Unanswered(cause),
        }
    }

    async fn ask(&self, key: Key) -> Sent {
        let (id, leg) = (key.id.to_string(), key.leg.name());
        self.send("query", &Query { req_id: &id, leg }, SendPurpose::MovesNone, key).await
    }

    /// One operation, and the questions after it where its answer alone proves nothing.
    async fn one(&self, op: &Op, earlier: EarlierSends) -> Answer {
        let key = op.key;
        let (Some(asked), Some(path)) =
            (OperationRequest::of(op, &self.asset_codes), path(key.leg))
        else {
            return Answer::Unknown(Cause::of("BAD_OPERATION"));
        };
        let Some(_alone) = self.alone(key) else {
            return Answer::Unknown(Cause::of("ON_ITS_WAY"));
        };
        // taken back only by an answer: whatever ends this future leaves a request unanswered
        let before = lock(&self.answered).remove(&key);
        let all_answered = match earlier {
            EarlierSends::None => true,
            EarlierSends::OnlyHere => before,
            EarlierSends::Unknown => false,
        };
        let said = match self.send(path, &asked, SendPurpose::MovesMoney(vec![key.id]), key).await {
            Sent::Answered(said) => said,
            Sent::Unanswered(cause) => return Answer::Unknown(cause),
            Sent::Undelivered(cause) => {
                self.remember(key, all_answered);
                return Answer::Unknown(cause);
            }
        };
        match (said.simple, said.named) {
            (Simple::Done, true) => self.named_success(key).await,
            (Simple::Done, false) => self.unnamed_success(key, all_answered).await,
            (Simple::Refused(words), false) => Answer::Unknown(self.unnamed(&words)),
            (Simple::Refused(words), true) if !key.leg.fenceable() => {
                Answer::Unknown(Cause::because("REFUND_REFUSED", words))
            }
            // it may do the operation yet: an error of a layer above the books
            (Simple::Refused(words), true) if !self.defines(&words) => {
                Answer::Unknown(self.undefined(&words))
            }
            (Simple::Refused(words), true) => self.refused(key, words, all_answered).await,
        }
    }

    /// Whether these words refuse for ever.
    fn defines(&self, words: &str) -> bool {
        DEFINED.iter().any(|code| code.name() == words) || self.refusals.contains(words)
    }

    /// An error that refuses nothing, in words for the operator of the service.
    fn undefined(&self, words: &str) -> Cause {
        let name = self.id.name().to_lowercase();
        let detail = format!(
            "{words}: not a word that refuses for ever. If the service says it only of operations that it \
             refused and stored, list it in ledgers.{name}.refusals (docs/guide/own-ledger.md, simple form)"
        );
        Cause::because(UNDEFINED, detail)
    }

    /// A success in the service's own name. It counts at once from a service that has shown to this process that
    /// it tells operations apart: an echo, or a gateway that says success to everything, does not.
    async fn named_success(&self, key: Key) -> Answer {
        if self.distinguishes.load(Ordering::Relaxed) {
            return Answer::Done(UNNUMBERED);
        }
        match self.ask(key).await {
            Sent::Answered(SimpleReply { simple: Simple::Done, named: true, .. }) => {
                done_where(self.has_told_apart(key).await)
            }
            Sent::Answered(SimpleReply { simple: Simple::Done, .. }) => {
                Answer::Unknown(self.unnamed("success"))
            }
            Sent::Answered(SimpleReply { simple: Simple::Refused(words), .. }) => {
                let detail = format!("success of the call, and of its query: {words}");
                Answer::Unknown(Cause::because(NOT_STORED, detail))
            }
            Sent::Unanswered(cause) | Sent::Undelivered(cause) => Answer::Unknown(cause),
        }
    }

    /// The service refused in its own name: whether that is for ever.
    async fn refused(&self, key: Key, words: String, all_answered: bool) -> Answer {
        let cause = match self.ask(key).await {
            Sent::Answered(SimpleReply { simple: Simple::Done, named: true, .. }) => {
                return done_where(self.has_told_apart(key).await);
            }
            Sent::Answered(SimpleReply {
                simple: Simple::Refused(said),
                named: true,
                stored: true,
            }) if said == words => {
                if all_answered {
                    return Answer::Rejected(evidence(words), UNNUMBERED);
                }
                let detail = format!(
                    "{words}; but an earlier request of this operation was not answered, and may \
                     still be done: look at the ledger, then give a verdict"
                );
                return Answer::Unknown(Cause::because(UNANSWERED, detail));
            }
            Sent::Answered(SimpleReply { simple: Simple::Refused(said), named: true, .. })
                if said == words =>
            {
                let detail = format!(
                    "{words}; but its query does not mark it as stored, by `\"stored\": true` or a `seq`"
                );
                Cause::because(NOT_STORED, detail)
            }
            // it does not know of what it just refused, or says otherwise
            Sent::Answered(SimpleReply { simple: Simple::Refused(other), named: true, .. }) => {
                Cause::because(NOT_STORED, format!("{words}; asked: {other}"))
            }
            Sent::Answered(SimpleReply { named: false, .. }) => self.unnamed(&words),
            Sent::Unanswered(cause) | Sent::Undelivered(cause) => cause,
        };
        self.remember(key, all_answered);
        Answer::Unknown(cause)
    }

    /// A success that names nothing is what the source's table allows. It counts for the first
    /// request of a key, where the query says the same, and does not say it of an operation that
    /// cannot exist.
    async fn unnamed_success(&self, key: Key, all_answered: bool) -> Answer {
        if !all_answered || self.names.load(Ordering::Relaxed) {
            return Answer::Unknown(self.unnamed("success"));
        }
        match self.ask(key).await {
            Sent::Answered(SimpleReply { simple: Simple::Done, .. }) => {
                done_where(self.tells_apart(key).await)
            }
            Sent::Answered(SimpleReply { simple: Simple::Refused(words), .. }) => {
                Answer::Unknown(self.unnamed(&words))
            }
            Sent::Unanswered(cause) | Sent::Undelivered(cause) => Answer::Unknown(cause),
        }
    }

    /// What `tells_apart` says, asked until it was so once in this process: for answers that name the operation.
    async fn has_told_apart(&self, key: Key) -> Result<(), Cause> {
        if self.distinguishes.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.tells_apart(key).await
    }

    /// Whether the query denies an operation that was never asked for: what answers every question alike does not.
    async fn tells_apart(&self, key: Key) -> Result<(), Cause> {
        let id = Id(key.id.0 ^ DRAWN).to_string();
        let none = Query { req_id: &id, leg: key.leg.name() };
        match self.http.deliver("query", &none, SendPurpose::MovesNone, wire::ONE).await {
            Ok(whole) if classify::denies(whole.reply()) => {
                self.distinguishes.store(true, Ordering::Relaxed);
                Ok(())
            }
            Ok(_) => Err(Cause::because(
                ANSWERS_ALIKE,
                format!(
                    "success; but the query of {} does not deny an operation that does not exist, so a gateway \
                     may have answered in its place",
                    self.id.name()
                ),
            )),
            Err(Undelivered::Never(cause) | Undelivered::Perhaps(cause)) => Err(cause),
        }
    }

    /// Every request of the key was answered, as long as nothing else is sent.
    fn remember(&self, key: Key, all_answered: bool) {
        if !all_answered {
            return;
        }
        let mut answered = lock(&self.answered);
        if answered.len() >= REMEMBERED {
            answered.pop_first();
        }
        answered.insert(key);
    }

    /// What an answer that names nothing comes to, in words for the operator of the service.
    fn unnamed(&self, words: &str) -> Cause {
        let name = self.id.name();
        Cause::because(
            UNNAMED,
            format!(
                "{words}: the answer does not repeat req_id and leg, so a gateway may have given it. \
                 Have {name} repeat both in every answer (docs/guide/own-ledger.md, simple form)"
            ),
        )
    }

    /// The outcome that the query returns for a key.
    async fn stored(&self, key: Key) -> Result<StoredOutcome, Cause> {
        match self.ask(key).await {
            Sent::Answered(SimpleReply { simple: Simple::Done, named: true, .. }) => {
                self.has_told_apart(key).await.map(|()| StoredOutcome::Done)
            }
            Sent::Answered(SimpleReply { simple: Simple::Refused(words), named: true, .. }) => {
                Ok(StoredOutcome::Rejected(evidence(words)))
            }
            Sent::Answered(SimpleReply { simple: Simple::Done, named: false, .. }) => {
                if self.names.load(Ordering::Relaxed) {
                    return Err(self.unnamed("success"));
                }
                self.tells_apart(key).await.map(|()| StoredOutcome::Done)
            }
            Sent::Answered(SimpleReply {
                simple: Simple::Refused(words), named: false, ..
            }) => Err(self.unnamed(&words)),
            Sent::Unanswered(cause) | Sent::Undelivered(cause) => Err(cause),
        }
    }

    async fn all(&self, ops: &[Op], earlier: &[EarlierSends]) -> Reply<Vec<Answer>> {
        let mut answers = Vec::with_capacity(ops.len());
        let unknown = std::iter::repeat(EarlierSends::Unknown);
        let mut earlier = earlier.iter().copied().chain(unknown);
        for chunk in ops.chunks(self.max_in_flight) {
            let asked = chunk.iter().zip(earlier.by_ref()).map(|(op, earlier)| {
                let one: Fut<'_, Answer> = Box::pin(self.one(op, earlier));
                one
            });
            answers.extend(concurrent(asked.collect()).await);
        }
        Reply::Answered(self.known(), answers)
    }

    fn unable<T>(&self) -> Fut<'_, Reply<T>>
    where
        T: Send + 'static,
    {
        Box::pin(std::future::ready(Reply::NoAnswer(Cause::of("NOT_OFFERED"))))
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The answer of a success, where its service was shown to tell operations apart.
fn done_where(told_apart: Result<(), Cause>) -> Answer {
    told_apart.map_or_else(Answer::Unknown, |()| Answer::Done(UNNUMBERED))
}

/// The route of a leg.
const fn path(leg: Leg) -> Option<&'static str> {
    match leg {
        Leg::Withdraw => Some("withdraw"),
        Leg::Deposit => Some("deposit"),
        Leg::Refund => Some("rollback"),
        Leg::Settle | Leg::Move | Leg::Quarantine | Leg::Cost => None,
    }
}

/// A refusal in words: a code where they are one, else a listed code with the words behind it.
fn evidence(words: String) -> Evidence {
    if words.len() <= 64 && words.bytes().all(|byte| byte.is_ascii_graphic()) {
        Evidence::code(words)
    } else {
        Evidence { code: REFUSED.into(), doc: Some(words.into()) }
    }
}

impl Ledger for SimpleRemote {
    fn id(&self) -> LedgerId {
        self.id
    }

    fn form(&self) -> LedgerForm {
        LedgerForm::Simple
    }

    fn ask_before_sending(&self, permission: &Arc<dyn SendPermission>) {
        self.http.check.ask(permission);
    }

    fn own_world(&self) -> bool {
        true
    }

    fn know(&self, assets: &[Asset]) {
        self.asset_codes.set(assets.iter().map(|asset| (asset.id, asset.symbol.clone())));
    }

    /// There is no such route: it is there as long as the last request was answered.
    fn hello(&self) -> Fut<'_, Reply<()>> {
        let lost = lock(&self.lost).clone();
        let reply = lost.map_or_else(|| Reply::Answered(self.known(), ()), Reply::NoAnswer);
        Box::pin(std::future::ready(reply))
    }

    fn execute(&self, _: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        Box::pin(async move { self.all(&ops, &[]).await })
    }

    fn execute_after(
        &self,
        _: Known,
        ops: Arc<[Op]>,
        earlier: Arc<[EarlierSends]>,
    ) -> Fut<'_, Reply<Vec<Answer>>> {
        Box::pin(async move { self.all(&ops, &earlier).await })
    }

    /// What its query says in an answer that names the operation. Whether a refusal is for ever, a
    /// person decides: only the call itself knows of the requests before it.
    fn query(&self, _: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        Box::pin(async move {
            if !wire::speaks(key.leg) {
                return Reply::Answered(self.known(), Stored::Nothing);
            }
            match self.stored(key).await {
                Ok(outcome) => {
                    let account = Account::User(UserId(0));
                    let (asset, amount) = (AssetId(0), Amount::ZERO);
                    let op = Op { key, account, other: None, asset, amount };
                    let found = Operation { seq: UNNUMBERED.seq, op, outcome };
                    Reply::Answered(self.known(), Stored::Found(found))
                }
                Err(cause) => Reply::NoAnswer(cause),
            }
        })
    }

    fn fence(&self, _: Known, _: Key) -> Fut<'_, Reply<Stored>> {
        self.unable()
    }

    fn totals(&self) -> Fut<'_, Reply<Vec<(AssetId, Totals)>>> {
        self.unable()
    }

    fn operations(&self, _: u64, _: usize) -> Fut<'_, Reply<Vec<Operation>>> {
        self.unable()
    }

    /// The simple form has no such route: the service decides by itself what it keeps.
    fn horizon(&self, _: Known, _: Id, _: Arc<[Id]>) -> Fut<'_, Reply<()>> {
        Box::pin(std::future::ready(Reply::Answered(self.known(), ())))
    }

    fn accounts(&self, _: Whose) -> Fut<'_, Reply<Vec<Holding>>> {
        self.unable()
    }

    fn status(&self, _: Known, _: StatusChange) -> Fut<'_, Reply<bool>> {
        self.unable()
    }
}
