//! Implements the port [`Ledger`] for an enlisted ledger: single legs, operators' queries, deposits and
//! withdrawals.

use crate::sqlite::columns::{self, int, most, uint};
use crate::sqlite::read::sums;
use crate::sqlite::read::threads::ReaderThreads;
use crate::sqlite::write::work::{FenceRequest, PendingAnswer, Work};
use kernel::answer::{Answer, Cause};
use kernel::ids::{AssetId, Id, LedgerId, UserId};
use kernel::operation::{Identity, Incarnation, Key, Known, Op, Operation};
use kernel::ports::Fut;
use kernel::ports::ledger::{
    Authority, Enlist, External, Holding, Ledger, Moved, Reply, StatusChange, Stored, Totals,
    Whose, World,
};
use kernel::rules::Request;
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::sync::Arc;
use tokio::sync::{mpsc::Sender, oneshot};

/// Funding, or the accounts ledger. It lives in the journal's database, so it is always the one that
/// the journal knows; only its identity is compared.
#[derive(Debug, Clone)]
pub struct EnlistedLedger {
    pub(crate) ledger: LedgerId,
    pub(crate) writer: Sender<Work>,
    pub(crate) readers: ReaderThreads,
    pub(crate) identity: Identity,
}

impl EnlistedLedger {
    fn known(&self, highest: u64) -> Known {
        Known { identity: self.identity, incarnation: Incarnation(0), highest }
    }

    fn read<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Fut<'_, Reply<T>> {
        let asked = self.readers.ask(move |db| {
            let instant = db.unchecked_transaction()?;
            let found = question(&instant)?;
            Ok((highest(&instant)?, found))
        });
        Box::pin(async move {
            match asked.await {
                Ok((highest, found)) => Reply::Answered(self.known(highest), found),
                Err(cause) => Reply::NoAnswer(cause),
            }
        })
    }

    /// Asks the writer, unless the request is for another ledger.
    fn write<T: Send + 'static>(
        &self,
        known: Known,
        work: impl FnOnce(oneshot::Sender<T>) -> Work + Send + 'static,
    ) -> Fut<'_, Reply<T>> {
        Box::pin(async move {
            let now = match self.hello().await {
                Reply::Answered(now, ()) => now,
                Reply::OtherLedger(now) => return Reply::OtherLedger(now),
                Reply::NoAnswer(cause) => return Reply::NoAnswer(cause),
            };
            if (known.identity, known.incarnation) != (now.identity, now.incarnation)
                || known.highest > now.highest
            {
                return Reply::OtherLedger(now);
            }
            let (sender, answer) = oneshot::channel();
            if self.writer.send(work(sender)).await.is_err() {
                return Reply::NoAnswer(Cause::of("STORE_CLOSED"));
            }
            match answer.await {
                Ok(answer) => match self.hello().await {
                    Reply::Answered(now, ()) => Reply::Answered(now, answer),
                    Reply::OtherLedger(_) | Reply::NoAnswer(_) => Reply::Answered(now, answer),
                },
                Err(_) => Reply::NoAnswer(Cause::of("STORE_CLOSED")),
            }
        })
    }
}

/// Numbered accounts are listed and changed through the journal, by their numbers.
const NUMBERED: Cause = Cause::of("NUMBERED_ACCOUNTS");

/// The highest number of an operation, as the writer left it with its last write.
fn highest(db: &Connection) -> rusqlite::Result<u64> {
    let sql = "SELECT value FROM service_state WHERE name = 'writer'";
    let read = |row: &Row<'_>| {
        let number = row.get_ref(0)?.as_str()?.parse();
        number.map_err(|_| columns::damaged(0, "not a number"))
    };
    Ok(db.prepare_cached(sql)?.query_row([], read).optional()?.unwrap_or(0))
}

impl Ledger for EnlistedLedger {
    fn id(&self) -> LedgerId {
        self.ledger
    }

    fn hello(&self) -> Fut<'_, Reply<()>> {
        self.read(|_| Ok(()))
    }

    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        let ledger = self.ledger;
        self.write(known, move |sender| Work::Legs { ledger, ops, answers: Vec::new(), sender })
    }

    fn query(&self, _: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        let ledger = self.ledger;
        self.read(move |db| {
            let sql = format!(
                "SELECT {} FROM operations WHERE req_id = ? AND ledger = ? AND leg = ?",
                super::operations::COLUMNS
            );
            let params = params![key.id.to_string(), ledger.0, key.leg.name()];
            let found = db
                .prepare_cached(&sql)?
                .query_row(params, super::operations::operation)
                .optional()?;
            Ok(found.map_or(Stored::Nothing, Stored::Found))
        })
    }

    fn fence(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        let fence = FenceRequest { ledger: self.ledger, key };
        let asked = self.write(known, move |sender| Work::Fence(PendingAnswer::new(fence, sender)));
        Box::pin(async move { flat(asked.await) })
    }

    fn totals(&self) -> Fut<'_, Reply<Vec<(AssetId, Totals)>>> {
        let ledger = self.ledger;
        self.read(move |db| sums::books(db, ledger))
    }

    fn operations(&self, after: u64, limit: usize) -> Fut<'_, Reply<Vec<Operation>>> {
        let ledger = self.ledger;
        self.read(move |db| sums::operations(db, ledger, after, limit))
    }

    /// The journal keeps every operation for ever: nothing to forget.
    fn horizon(&self, _: Known, _: Id, _: Arc<[Id]>) -> Fut<'_, Reply<()>> {
        self.hello()
    }

    fn accounts(&self, whose: Whose) -> Fut<'_, Reply<Vec<Holding>>> {
        if self.ledger != LedgerId::FUNDING {
            return Box::pin(async { Reply::NoAnswer(NUMBERED) });
        }
        self.read(move |db| {
            let (low, high, limit) = match whose {
                Whose::User(user) => (int(user.0), int(user.0), i64::MAX),
                Whose::After(user, limit) => (int(user).saturating_add(1), i64::MAX, most(limit)),
            };
            let sql = "SELECT user_id, asset_id, available, frozen, status FROM balances_tb \
                       WHERE account_type = 'FUNDING' AND user_id BETWEEN ? AND ? \
                       ORDER BY user_id, asset_id LIMIT ?";
            let mut ask = db.prepare_cached(sql)?;
            ask.query_map(params![low, high, limit], holding)?.collect()
        })
    }

    fn status(&self, known: Known, change: StatusChange) -> Fut<'_, Reply<bool>> {
        if self.ledger != LedgerId::FUNDING {
            return Box::pin(async { Reply::NoAnswer(NUMBERED) });
        }
        let asked =
            self.write(known, move |sender| Work::Status(PendingAnswer::new(change, sender)));
        Box::pin(async move { flat(asked.await) })
    }

    fn enlist(&self) -> Option<&dyn Enlist> {
        Some(self)
    }
}

impl Enlist for EnlistedLedger {
    fn holds(&self) -> bool {
        self.ledger == LedgerId::FUNDING
    }
}

impl World for EnlistedLedger {
    fn book(&self, movement: External, authority: Authority) -> Fut<'_, Result<Moved, Cause>> {
        Box::pin(async move {
            let (sender, answer) = oneshot::channel();
            let work = Work::External(PendingAnswer::new(Request { movement, authority }, sender));
            self.writer.send(work).await.map_err(|_| Cause::of("STORE_CLOSED"))?;
            answer.await.unwrap_or(Err(Cause::of("STORE_CLOSED")))
        })
    }

    fn booked(&self, movement: External) -> Fut<'_, Result<Option<Moved>, Cause>> {
        Box::pin(self.readers.ask(move |db| super::single::booked(db, &movement)))
    }
}

fn flat<T>(reply: Reply<Result<T, Cause>>) -> Reply<T> {
    match reply {
        Reply::Answered(known, Ok(found)) => Reply::Answered(known, found),
        Reply::Answered(_, Err(cause)) | Reply::NoAnswer(cause) => Reply::NoAnswer(cause),
        Reply::OtherLedger(known) => Reply::OtherLedger(known),
    }
}

fn holding(row: &Row<'_>) -> rusqlite::Result<Holding> {
    Ok(Holding {
        user: UserId(uint(row.get(0)?)),
        asset: AssetId(row.get(1)?),
        available: columns::read_amount(2, row.get_ref(2)?.as_str()?)?,
        frozen: columns::read_amount(3, row.get_ref(3)?.as_str()?)?,
        status: columns::read_status(4, row.get_ref(4)?.as_str()?)?,
    })
}
