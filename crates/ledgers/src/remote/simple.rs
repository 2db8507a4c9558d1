//! The simple form: a service that knows only `sources/internal-transfer-v2.md`. It takes one
//! operation at a time and can be asked for it; it cannot be fenced, and proves nothing.
//!
//! Its error is not yet a refusal: nobody promises that it is stored. It is one when the service,
//! asked afterwards, says the same again, while no other request of that key is on its way: every
//! request has a connection of its own that is closed with it, nothing is sent twice, and one key
//! is never asked for twice at once. So it is the same whether the claim was made in this run or in
//! an earlier one.

use super::classify::{self, Simple};
use super::http::{Http, Keep, Settings, Unfit};
use super::symbols::Symbols;
use super::together::together;
use super::wire::{self, Asked};
use kernel::answer::{Answer, Cause, Evidence, Receipt};
use kernel::ids::{AssetId, Id, LedgerId, UserId};
use kernel::life::Leg;
use kernel::money::{Amount, Asset};
use kernel::ports::Fut;
use kernel::ports::ledger::{
    Form, Heard, Holding, Identity, Incarnation, Known, Ledger, StatusChange, Stored, Totals, Whose,
};
use kernel::record::Account;
use kernel::unit::{Key, Op, Operation, Outcome};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// What a refusal in words is called; the words go with it.
const REFUSED: &str = "REFUSED";
/// A receipt of a ledger that numbers nothing.
const UNNUMBERED: Receipt = Receipt::seq(0);

/// A service at the other end of the simple form.
#[derive(Debug)]
pub struct Service {
    id: LedgerId,
    http: Http,
    abreast: usize,
    symbols: Symbols,
    /// The keys that are being asked for.
    asked: Mutex<BTreeSet<Key>>,
    /// Why the last request came to nothing, where it did.
    lost: Mutex<Option<Cause>>,
}

/// A key that nobody else asks for while this is held.
struct Alone<'a>(&'a Service, Key);

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.0.asked.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.1);
    }
}

/// What `query` is asked.
#[derive(Debug, serde::Serialize)]
struct Query<'a> {
    req_id: &'a str,
    leg: &'static str,
}

impl Service {
    /// A service that is reached so, and known as `id`. Nothing is sent yet.
    ///
    /// # Errors
    /// Why it cannot be reached by these settings.
    pub fn new(id: LedgerId, settings: &Settings, symbols: Symbols) -> Result<Self, Unfit> {
        let http = Http::new(settings, Keep::Closed)?;
        let (asked, lost) = (Mutex::default(), Mutex::default());
        Ok(Self { id, http, abreast: settings.max_in_flight, symbols, asked, lost })
    }

    /// Who it is taken for: it cannot say.
    const fn known(&self) -> Known {
        Known { identity: Identity(0), incarnation: Incarnation(0), highest: 0 }
    }

    fn alone(&self, key: Key) -> Option<Alone<'_>> {
        let free = self.asked.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
        // made only where the key was free: what it drops gives the key back
        free.then(|| Alone(self, key))
    }

    async fn send(&self, path: &str, body: &impl serde::Serialize, key: Key) -> Simple {
        let sent = self.http.post(path, body, wire::ONE).await;
        let lost = sent.as_ref().err().cloned();
        *self.lost.lock().unwrap_or_else(PoisonError::into_inner) = lost;
        match sent {
            Ok(whole) => classify::simple(&key.id.to_string(), key.leg, whole.reply()),
            Err(cause) => Simple::Unknown(cause),
        }
    }

    async fn ask(&self, key: Key) -> Simple {
        let (id, leg) = (key.id.to_string(), key.leg.name());
        self.send("query", &Query { req_id: &id, leg }, key).await
    }

    /// One operation, and the question after it where it was refused.
    async fn one(&self, op: &Op) -> Answer {
        let Some(asked) = Asked::of(op, &self.symbols) else {
            return Answer::Unknown(Cause::of("BAD_OPERATION"));
        };
        let Some(path) = path(op.key.leg) else {
            return Answer::Unknown(Cause::of("BAD_OPERATION"));
        };
        let Some(_alone) = self.alone(op.key) else {
            return Answer::Unknown(Cause::of("ON_ITS_WAY"));
        };
        let words = match self.send(path, &asked, op.key).await {
            Simple::Done => return Answer::Done(UNNUMBERED),
            Simple::Unknown(cause) => return Answer::Unknown(cause),
            Simple::Refused(words) => words,
        };
        if !op.key.leg.refusable() {
            return Answer::Unknown(Cause::because("REFUND_REFUSED", words));
        }
        match self.ask(op.key).await {
            Simple::Done => Answer::Done(UNNUMBERED),
            Simple::Refused(stored) if stored == words => {
                Answer::Rejected(evidence(words), UNNUMBERED)
            }
            // it does not know of what it just refused, or says otherwise: not stored
            Simple::Refused(other) => {
                Answer::Unknown(Cause::because("NOT_STORED", format!("{words}; asked: {other}")))
            }
            Simple::Unknown(cause) => Answer::Unknown(cause),
        }
    }

    fn unable<T>(&self) -> Fut<'_, Heard<T>>
    where
        T: Send + 'static,
    {
        Box::pin(std::future::ready(Heard::Nothing(Cause::of("NOT_OFFERED"))))
    }
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

impl Ledger for Service {
    fn id(&self) -> LedgerId {
        self.id
    }

    fn form(&self) -> Form {
        Form::Simple
    }

    fn own_world(&self) -> bool {
        true
    }

    /// There is no such route: it is there as long as the last request was answered.
    fn know(&self, assets: &[Asset]) {
        self.symbols.set(assets.iter().map(|asset| (asset.id, asset.symbol.clone())));
    }

    fn hello(&self) -> Fut<'_, Heard<()>> {
        let lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let heard = lost.map_or_else(|| Heard::Said(self.known(), ()), Heard::Nothing);
        Box::pin(std::future::ready(heard))
    }

    fn execute(&self, _: Known, ops: Arc<[Op]>) -> Fut<'_, Heard<Vec<Answer>>> {
        Box::pin(async move {
            let mut answers = Vec::with_capacity(ops.len());
            for abreast in ops.chunks(self.abreast) {
                let asked = abreast.iter().map(|op| {
                    let one: Fut<'_, Answer> = Box::pin(self.one(op));
                    one
                });
                answers.extend(together(asked.collect()).await);
            }
            Heard::Said(self.known(), answers)
        })
    }

    /// Only that something is done can be found out so: an error says nothing by itself.
    fn query(&self, _: Known, key: Key) -> Fut<'_, Heard<Stored>> {
        Box::pin(async move {
            if !wire::speaks(key.leg) {
                return Heard::Said(self.known(), Stored::Nothing);
            }
            match self.ask(key).await {
                Simple::Done => {
                    let account = Account::User(UserId(0));
                    let (asset, amount) = (AssetId(0), Amount::ZERO);
                    let op = Op { key, account, other: None, asset, amount };
                    let done = Operation { seq: UNNUMBERED.seq, op, outcome: Outcome::Done };
                    Heard::Said(self.known(), Stored::Found(done))
                }
                Simple::Refused(words) => Heard::Nothing(Cause::because("NOT_PROVEN", words)),
                Simple::Unknown(cause) => Heard::Nothing(cause),
            }
        })
    }

    fn fence(&self, _: Known, _: Key) -> Fut<'_, Heard<Stored>> {
        self.unable()
    }

    fn totals(&self) -> Fut<'_, Heard<Vec<(AssetId, Totals)>>> {
        self.unable()
    }

    fn operations(&self, _: u64, _: usize) -> Fut<'_, Heard<Vec<Operation>>> {
        self.unable()
    }

    /// It is not told: it keeps what it keeps.
    fn horizon(&self, _: Known, _: Id, _: Arc<[Id]>) -> Fut<'_, Heard<()>> {
        Box::pin(std::future::ready(Heard::Said(self.known(), ())))
    }

    fn accounts(&self, _: Whose) -> Fut<'_, Heard<Vec<Holding>>> {
        self.unable()
    }

    fn status(&self, _: Known, _: StatusChange) -> Fut<'_, Heard<bool>> {
        self.unable()
    }
}
