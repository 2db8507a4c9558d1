//! Implements a remote ledger in the full form, for the engine: a ledger that names itself, keeps its
//! results, lists them, and can be fenced.

use super::asset_codes::AssetCodes;
use super::held_assets::HeldAssets;
use super::http::{Http, Keep, SendPurpose, Settings, Unfit};
use super::wire::{self, Head, OperationRequest};
use super::{classify, queries};
use kernel::answer::{Answer, Cause};
use kernel::ids::{AssetId, Id, LedgerId};
use kernel::money::Asset;
use kernel::operation::{Identity, Incarnation, Key, Known, Op, Operation};
use kernel::ports::Fut;
use kernel::ports::ledger::{Holding, Ledger, Reply, StatusChange, Stored, Totals, Whose};
use kernel::ports::sending::SendPermission;
use std::sync::{Arc, Mutex, PoisonError};

/// A ledger at the other end of the full form.
#[derive(Debug)]
pub struct Remote {
    id: LedgerId,
    http: Http,
    batch: usize,
    asset_codes: AssetCodes,
    held: HeldAssets,
    /// The identity of the last answer: a bare list of balances names none.
    last: Mutex<Known>,
}

/// An operation that the wire has words for.
struct Spoken {
    /// Its place among what was asked.
    place: usize,
    op: Op,
    asked: OperationRequest,
}

impl Remote {
    /// A ledger that is reached so, and known as `id`. Nothing is sent yet.
    ///
    /// # Errors
    /// Why it cannot be reached by these settings.
    pub fn new(id: LedgerId, settings: &Settings, asset_codes: AssetCodes) -> Result<Self, Unfit> {
        let http = Http::new(id, settings, Keep::Open)?;
        let none = Known { identity: Identity(0), incarnation: Incarnation(0), highest: 0 };
        let (batch, held) = (settings.batch, HeldAssets::default());
        Ok(Self { id, http, batch, asset_codes, held, last: Mutex::new(none) })
    }

    /// The symbols of the assets that the ledger named in its last greeting; `None`: it names none.
    pub fn named_assets(&self) -> Option<Vec<String>> {
        self.held.symbols()
    }

    fn noted<T>(&self, reply: Reply<T>) -> Reply<T> {
        if let Reply::Answered(known, _) | Reply::OtherLedger(known) = &reply {
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = *known;
        }
        reply
    }

    async fn greet(&self) -> Reply<()> {
        let reply = match self.http.get("hello", wire::ONE).await {
            Ok(whole) => self.noted(queries::hello(whole.reply())),
            Err(cause) => Reply::NoAnswer(cause),
        };
        reply.map(|held| self.held.hear(self.id, held))
    }

    /// Checks only that the ledger is the one that the caller means.
    async fn is(&self, known: Known) -> Reply<()> {
        match self.greet().await {
            Reply::Answered(is, ()) if !classify::same(known, is) => Reply::OtherLedger(is),
            reply @ (Reply::Answered(..) | Reply::OtherLedger(_) | Reply::NoAnswer(_)) => reply,
        }
    }

    async fn run(&self, known: Known, ops: &[Op]) -> Reply<Vec<Answer>> {
        // what the wire has no words for cannot be done by any ledger behind it
        let mut answers = vec![Answer::Unknown(Cause::of("BAD_OPERATION")); ops.len()];
        let mut spoken = Vec::with_capacity(ops.len());
        for ((place, op), answer) in (0..).zip(ops).zip(&mut answers) {
            if self.held.miscounts(op.asset) {
                *answer = Answer::Unknown(Cause::of("OTHER_DECIMALS"));
            } else if let Some(asked) = OperationRequest::of(op, &self.asset_codes) {
                spoken.push(Spoken { place, op: op.clone(), asked });
            }
        }
        if spoken.is_empty() {
            return match self.is(known).await {
                Reply::Answered(is, ()) => Reply::Answered(is, answers),
                Reply::OtherLedger(is) => Reply::OtherLedger(is),
                Reply::NoAnswer(cause) => Reply::NoAnswer(cause),
            };
        }
        let (mut now, mut hindered) = (known, None);
        for (n, chunk) in spoken.chunks(self.batch).enumerate() {
            let found = match &hindered {
                None => self.chunk(now, chunk).await,
                Some(_) => Reply::NoAnswer(Cause::of("NOT_SENT")),
            };
            let mut found = match found {
                Reply::Answered(said, found) => {
                    now = said;
                    found.into_iter()
                }
                Reply::OtherLedger(is) => return Reply::OtherLedger(is),
                // nothing at all is known
                Reply::NoAnswer(cause) if n == 0 => return Reply::NoAnswer(cause),
                Reply::NoAnswer(cause) => {
                    let unknown = vec![Answer::Unknown(cause.clone()); chunk.len()];
                    hindered = Some(cause);
                    unknown.into_iter()
                }
            };
            for Spoken { place, .. } in chunk {
                if let (Some(slot), Some(answer)) = (answers.get_mut(*place), found.next()) {
                    *slot = answer;
                }
            }
        }
        Reply::Answered(now, answers)
    }

    async fn chunk(&self, known: Known, chunk: &[Spoken]) -> Reply<Vec<Answer>> {
        let Head { ledger, incarnation, min_seq } = Head::of(known);
        let operations = chunk.iter().map(|spoken| spoken.asked.clone()).collect();
        let body = wire::Operations { ledger, incarnation, min_seq, operations };
        let ops: Vec<Op> = chunk.iter().map(|spoken| spoken.op.clone()).collect();
        let purpose = SendPurpose::MovesMoney(ops.iter().map(|op| op.key.id).collect());
        match self.http.post("operations", &body, purpose, wire::MANY).await {
            Ok(whole) => {
                self.noted(classify::results(known, &ops, &self.asset_codes, whole.reply()))
            }
            Err(cause) => Reply::NoAnswer(cause),
        }
    }

    async fn query_operation(&self, known: Known, key: Key) -> Reply<Stored> {
        if !wire::speaks(key.leg) {
            return match self.is(known).await {
                Reply::Answered(is, ()) => Reply::Answered(is, Stored::Nothing),
                Reply::OtherLedger(is) => Reply::OtherLedger(is),
                Reply::NoAnswer(cause) => Reply::NoAnswer(cause),
            };
        }
        let Head { ledger, incarnation, min_seq } = Head::of(known);
        let (id, leg) = (key.id, key.leg.name());
        let path = format!(
            "operations/{id}/{leg}?ledger={ledger}&incarnation={incarnation}&min_seq={min_seq}"
        );
        match self.http.get(&path, wire::ONE).await {
            Ok(whole) => self.noted(classify::stored(known, key, &self.asset_codes, whole.reply())),
            Err(cause) => Reply::NoAnswer(cause),
        }
    }

    async fn bar(&self, known: Known, key: Key) -> Reply<Stored> {
        // what cannot be refused cannot be fenced: asking for that only asks
        if !key.leg.fenceable() {
            return self.query_operation(known, key).await;
        }
        let Head { ledger, incarnation, min_seq } = Head::of(known);
        let (req_id, leg) = (key.id.to_string(), key.leg.name().to_owned());
        let body = wire::Fence { ledger, incarnation, min_seq, req_id, leg };
        let reply = match self.http.post("fences", &body, SendPurpose::MovesNone, wire::ONE).await {
            Ok(whole) => self.noted(classify::fenced(known, key, &self.asset_codes, whole.reply())),
            Err(cause) => Reply::NoAnswer(cause),
        };
        match reply {
            Reply::Answered(is, classify::Fenced::Stored(stored)) => Reply::Answered(is, stored),
            Reply::Answered(is, classify::Fenced::Unnumbered) => {
                self.query_operation(is, key).await
            }
            Reply::OtherLedger(is) => Reply::OtherLedger(is),
            Reply::NoAnswer(cause) => Reply::NoAnswer(cause),
        }
    }
}

impl Ledger for Remote {
    fn id(&self) -> LedgerId {
        self.id
    }

    fn own_world(&self) -> bool {
        true
    }

    fn know(&self, assets: &[Asset]) {
        self.asset_codes.set(assets.iter().map(|asset| (asset.id, asset.symbol.clone())));
        self.held.know(assets);
    }

    fn holds(&self, asset: &Asset) -> bool {
        self.held.holds(asset)
    }

    fn ask_before_sending(&self, permission: &Arc<dyn SendPermission>) {
        self.http.check.ask(permission);
    }

    fn hello(&self) -> Fut<'_, Reply<()>> {
        Box::pin(self.greet())
    }

    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        Box::pin(async move { self.run(known, &ops).await })
    }

    fn query(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        Box::pin(self.query_operation(known, key))
    }

    fn fence(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        Box::pin(self.bar(known, key))
    }

    fn note_halt(&self, known: Known, number: u64) -> Fut<'_, Reply<Option<u64>>> {
        Box::pin(async move {
            let Head { ledger, incarnation, min_seq } = Head::of(known);
            let body = wire::HaltNotice { ledger, incarnation, min_seq, halt: number };
            match self.http.post("halt", &body, SendPurpose::MovesNone, wire::ONE).await {
                Ok(whole) => match queries::halt(known, number, whole.reply()) {
                    Some(reply) => self.noted(reply),
                    None => Reply::Answered(known, None),
                },
                Err(cause) => Reply::NoAnswer(cause),
            }
        })
    }

    fn totals(&self) -> Fut<'_, Reply<Vec<(AssetId, Totals)>>> {
        Box::pin(async {
            match self.http.get("totals", wire::MANY).await {
                Ok(whole) => self.noted(queries::totals(&self.asset_codes, whole.reply())),
                Err(cause) => Reply::NoAnswer(cause),
            }
        })
    }

    fn operations(&self, after: u64, limit: usize) -> Fut<'_, Reply<Vec<Operation>>> {
        let limit = limit.clamp(1, wire::MOST_LISTED);
        Box::pin(async move {
            let path = format!("operations?after={after}&limit={limit}");
            match self.http.get(&path, wire::MANY).await {
                Ok(whole) => {
                    let reply = whole.reply();
                    self.noted(classify::operations(after, limit, &self.asset_codes, reply))
                }
                Err(cause) => Reply::NoAnswer(cause),
            }
        })
    }

    fn horizon(&self, known: Known, id: Id, open: Arc<[Id]>) -> Fut<'_, Reply<()>> {
        Box::pin(async move {
            let Head { ledger, incarnation, min_seq } = Head::of(known);
            let open = open.iter().map(Id::to_string).collect();
            let body = wire::Horizon { ledger, incarnation, min_seq, id: id.to_string(), open };
            match self.http.post("horizon", &body, SendPurpose::MovesNone, wire::ONE).await {
                Ok(whole) => self.noted(queries::horizon(known, whole.reply())),
                Err(cause) => Reply::NoAnswer(cause),
            }
        })
    }

    fn accounts(&self, whose: Whose) -> Fut<'_, Reply<Vec<Holding>>> {
        Box::pin(async move {
            let path = match whose {
                Whose::User(user) => format!("accounts/{user}"),
                Whose::After(after, limit) => format!("accounts?after={after}&limit={limit}"),
            };
            let read = |whole: super::http::Whole| {
                queries::holdings(whose, &self.asset_codes, whole.reply())
            };
            match self.http.get(&path, wire::MANY).await.and_then(read) {
                Ok(holdings) => {
                    let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
                    Reply::Answered(last, holdings)
                }
                Err(cause) => Reply::NoAnswer(cause),
            }
        })
    }

    fn status(&self, known: Known, change: StatusChange) -> Fut<'_, Reply<bool>> {
        Box::pin(async move {
            let Head { ledger, incarnation, min_seq } = Head::of(known);
            let body = wire::Status {
                ledger,
                incarnation,
                min_seq,
                status: change.status.name().to_owned(),
                // the wire has one field for why and who
                reason: format!("{} (by {})", change.reason, change.caller),
                key: change.key.to_string(),
            };
            let path = format!("accounts/{}/status", change.user);
            match self.http.post(&path, &body, SendPurpose::MovesNone, wire::ONE).await {
                Ok(whole) => self.noted(queries::status(known, &change, whole.reply())),
                Err(cause) => Reply::NoAnswer(cause),
            }
        })
    }
}
