//! Runs the lanes of this process: each takes items as a group, writes the group, and splits a group
//! that cannot be written as a whole.

use super::account_queues::{AccountQueues, QueueKey};
use super::balance_cache::BalanceCache;
use super::batch::{BatchMode, ItemResult};
use super::connection::{ConnectionContext, WriteConnection};
use super::open_batches::OpenBatches;
use super::read_rows::LockMode;
use super::row_set::RowSet;
use super::transfer_cache::TransferCache;
use super::work::{EnlistedOp, ItemReply, QueuedWrite, WorkItem, replies};
use crate::postgres::error::{NOT_WRITABLE, StoreError};
use crate::postgres::session::connect::spawn;
use crate::postgres::{DatabaseOpenError, single};
use kernel::answer::Answer;
use kernel::flow::table::Flows;
use kernel::ids::LedgerId;
use kernel::operation::{Key, Op};
use kernel::ports::clock::Clock;
use kernel::ports::meter::{Meter, Seen};
use kernel::unit::{Put, Unit, Wrote};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, WeakUnboundedSender};

/// The longest that a batch waits for what it cannot leave out (a client's key that another
/// transaction is just writing): its neighbours wait with it.
pub(super) const BRIEF_WAIT: Duration = Duration::from_millis(100);
/// The longest that a connection waits for the rows of one account while others may have come.
const LONGEST_TURN: Duration = Duration::from_millis(500);
/// The number of parts into which a broken group is split.
const PARTS: usize = 8;
/// The number of tries of a group that other transactions disturb, before it is split.
const TRIES: u32 = 3;
/// The interval at which a connection that has nothing to do is asked for a sign of life.
const IDLE: Duration = Duration::from_secs(5);
/// The wait before a connection that ended or went silent is made again.
const SOON: Duration = Duration::from_secs(1);

/// The state that the lanes of a process have in common.
pub(crate) struct WriterContext {
    pub(crate) shared: Arc<ConnectionContext>,
    pub(crate) flows: Arc<Flows>,
    pub(crate) batches: Arc<OpenBatches>,
    pub(crate) waiting: Arc<AccountQueues>,
    pub(crate) transfer_cache: TransferCache,
    pub(crate) balance_cache: BalanceCache,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) meter: Arc<dyn Meter>,
}

/// A lane and how it comes back after a cut.
pub(crate) struct WriterTask {
    writers: Arc<WriterContext>,
    /// Its number among those of the process.
    number: usize,
    connection: Option<WriteConnection>,
    /// The longest wait for a row.
    lock: Duration,
}

impl WriterTask {
    /// Opens its lane.
    ///
    /// # Errors
    /// [`DatabaseOpenError`].
    pub(crate) async fn open(
        writers: &Arc<WriterContext>,
        number: usize,
        lock: Duration,
    ) -> Result<Self, DatabaseOpenError> {
        let connection = WriteConnection::open(writers.shared.clone(), lock).await?;
        Ok(Self { writers: writers.clone(), number, connection: Some(connection), lock })
    }

    /// Waits for something to do, and sees meanwhile that the connection answers: one that went
    /// silent is found before anything depends on it.
    async fn next_work<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            let wait = if self.connection.is_some() { IDLE } else { SOON };
            match tokio::time::timeout(wait, work.as_mut()).await {
                Ok(work) => return work,
                Err(_) => self.probe().await,
            }
        }
    }

    /// Checks that the server answers; where it does not, the next write has a new connection.
    async fn probe(&mut self) {
        let limit = self.writers.shared.database.connect;
        let answered = match self.connection().await {
            Ok(connection) => connection.client.ping(limit).await.map_err(StoreError::from),
            Err(error) => Err(error),
        };
        if let Err(error) = self.note_answer(answered) {
            tracing::warn!(cause = %error.cause(), "a connection that writes does not answer");
            self.disconnect();
        }
    }

    /// Notes whether the database answered.
    pub(crate) fn note_answer<T>(&self, answer: Result<T, StoreError>) -> Result<T, StoreError> {
        let health = &self.writers.shared.health;
        match &answer {
            Err(StoreError::Cut(_)) => {}
            // it counts as no answer where there is not even a connection
            Err(StoreError::Unwritable { reason, .. }) => {
                if self.connection.is_some() {
                    health.answer_received(self.number);
                }
                health.write_refused(reason);
            }
            Ok(_) | Err(_) => health.answer_received(self.number),
        }
        answer
    }

    /// Where a right or a table was missing: looks whether it is one that every transfer needs, so that the database takes
    /// no write of this process.
    pub(crate) async fn check_rights<T>(
        &mut self,
        answer: Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let (Err(StoreError::NoRight(reason)), Some(connection)) = (&answer, &self.connection)
        else {
            return answer;
        };
        match connection.may_write().await {
            Ok(true) => answer,
            Ok(false) => Err(StoreError::Unwritable { reason: reason.clone(), session: false }),
            Err(error) => Err(error),
        }
    }

    /// Writes all items that may be written as one group, again and again.
    pub(crate) async fn run(mut self) {
        let waiting = self.writers.waiting.clone();
        while let Some(batch) = self.next_work(waiting.next_batch()).await {
            self.write_items(batch.items, LockMode::Skip).await;
            waiting.written(batch.accounts);
        }
    }

    /// Waits for what others hold: one account's items at a time, and never long at once, so that one that is free by
    /// now waits for no other.
    pub(crate) async fn wait(mut self) {
        let waiting = self.writers.waiting.clone();
        while let Some(turn) = self.next_work(waiting.turn()).await {
            let limit = self.lock.checked_div(turn.waiting).unwrap_or(self.lock);
            let limit = if limit < BRIEF_WAIT { BRIEF_WAIT } else { limit };
            let wait = if limit < LONGEST_TURN { limit } else { LONGEST_TURN };
            let free = self.wait_until_free(turn.account, &turn.items, wait).await;
            let waited = turn.waited.saturating_add(wait);
            if matches!(free, Err(StoreError::Locked)) && waited < limit {
                waiting.requeue(turn, waited);
                continue;
            }
            match &free {
                Ok(()) => self.write_items(turn.items, LockMode::Wait).await,
                Err(error) => turn.items.into_iter().for_each(|item| item.unknown(error)),
            }
            waiting.over(turn.account, free.is_ok());
        }
    }

    /// Runs what is a transaction of its own, one after the other. What met a row that another
    /// transaction holds comes again later, behind the others.
    pub(crate) async fn run_singles(
        mut self,
        mut queue: UnboundedReceiver<QueuedWrite>,
        again: WeakUnboundedSender<QueuedWrite>,
    ) {
        while let Some((single, tries)) = self.next_work(queue.recv()).await {
            let Some(single) = self.run_single(single, tries).await else { continue };
            let again = again.clone();
            let _runs = spawn(async move {
                tokio::time::sleep(single::pause(tries)).await;
                // where the writer is gone its caller gets STORE_CLOSED
                if let Some(again) = again.upgrade() {
                    drop(again.send((single, tries + 1)));
                }
            });
        }
    }

    /// The lane, connected again where it was cut off.
    pub(crate) async fn connection(&mut self) -> Result<&mut WriteConnection, StoreError> {
        let health = &self.writers.shared.health;
        health.request_sent(self.number);
        let closed = self.connection.as_ref().is_none_or(|connection| connection.client.is_over());
        if closed {
            self.connection = None;
            let opened = WriteConnection::open(self.writers.shared.clone(), self.lock).await;
            self.connection = Some(opened.map_err(|error| {
                let reason = error.to_string().into();
                // nothing was sent: where the database takes no writes, that is known to be why
                match health.takes_writes() {
                    Err(cause) if cause.class == NOT_WRITABLE => {
                        StoreError::Unwritable { reason, session: true }
                    }
                    Ok(()) | Err(_) => StoreError::Cut(reason),
                }
            })?);
            // what it hears from here on counts anew
            health.answer_received(self.number);
            health.request_sent(self.number);
        }
        self.connection.as_mut().ok_or_else(|| StoreError::Cut("no connection".into()))
    }

    /// When any lane wrote last.
    ///
    /// # Errors
    /// [`DatabaseOpenError`].
    pub(crate) async fn latest(&mut self) -> Result<kernel::ids::Millis, DatabaseOpenError> {
        match &self.connection {
            Some(connection) => connection.latest().await,
            None => Ok(0),
        }
    }

    /// It is unknown what the session holds: the next write begins a new one.
    pub(crate) fn disconnect(&mut self) {
        self.connection = None;
    }

    pub(crate) fn writers(&self) -> &Arc<WriterContext> {
        &self.writers
    }

    /// Writes every item, in one transaction where that goes, and answers it.
    async fn write_items(&mut self, items: Vec<WorkItem>, wait: LockMode) {
        let mode = BatchMode { wait, assume: wait == LockMode::Skip, ..BatchMode::FIRST };
        let mut waiting = VecDeque::from([(items, mode, 0)]);
        while let Some((items, mode, tries)) = waiting.pop_front() {
            match self.try_items(&items, &mode).await {
                Ok(results) => {
                    let again = self.answer(items, results, wait);
                    if !again.is_empty() {
                        waiting.push_front((again, mode, 0));
                    }
                }
                // a part of the group would meet the same
                Err(error) if error.ends_session() => {
                    self.disconnect();
                    items.into_iter().for_each(|item| item.unknown(&error));
                }
                // an assumption may also have met a row that reading would have left out
                Err(StoreError::AssumptionFailed | StoreError::Locked) if mode.assume => {
                    waiting.push_front((items, BatchMode { assume: false, ..mode }, 0));
                }
                Err(StoreError::AssumptionFailed) if tries < TRIES => {
                    waiting.push_front((items, mode, tries.saturating_add(1)));
                }
                Err(error) => self.split(items, mode, &error, &mut waiting).await,
            }
        }
    }

    async fn try_items(
        &mut self,
        items: &[WorkItem],
        mode: &BatchMode,
    ) -> Result<Vec<ItemResult>, StoreError> {
        let writers = self.writers.clone();
        let begun = writers.clock.ticks();
        let results = match self.connection().await {
            Ok(connection) => connection.run_batch(&writers, items, mode).await,
            Err(error) => Err(error),
        };
        let results = self.check_rights(results).await;
        let results = self.note_answer(results);
        if results.is_ok() {
            writers.shared.health.write_accepted();
        }
        let nanos = writers.clock.ticks().saturating_sub(begun);
        writers.meter.see(Seen::Commit { nanos, units: items.len() });
        results
    }

    /// Gives the answers; what is still to be decided comes back, what another transaction holds
    /// waits.
    fn answer(
        &self,
        items: Vec<WorkItem>,
        results: Vec<ItemResult>,
        wait: LockMode,
    ) -> Vec<WorkItem> {
        let (mut again, mut locked) = (Vec::new(), Vec::new());
        for (item, results) in items.into_iter().zip(results) {
            match (item, results) {
                (WorkItem::Unit(_, reply), ItemResult::Wrote(wrote)) => reply.give(wrote),
                (WorkItem::Leg(_, reply), ItemResult::Answer(answer)) => reply.give(answer),
                (item, ItemResult::Locked) if wait == LockMode::Skip => locked.push(item),
                (item, ItemResult::Locked) => item.unknown(&StoreError::Locked),
                (item, ItemResult::Again) => again.push(item),
                (item, ItemResult::Wrote(_) | ItemResult::Answer(_)) => {
                    item.unknown(&StoreError::Damaged("an answer of another kind"));
                }
            }
        }
        self.writers.waiting.locked(locked);
        again
    }

    /// Waits until no other transaction holds what the account is about: a row, or the keys of
    /// these items. It holds nothing meanwhile, so that neither the rest of an account nor a HALT
    /// waits behind it.
    async fn wait_until_free(
        &mut self,
        account: QueueKey,
        items: &[WorkItem],
        limit: Duration,
    ) -> Result<(), StoreError> {
        let writers = self.writers.clone();
        let keys = || items.iter().filter_map(WorkItem::key).collect();
        let waited = match (self.connection().await, account) {
            (Ok(connection), QueueKey::ClientKey(_)) => {
                connection.wait_for_keys(&writers.flows, &keys(), limit).await
            }
            (Ok(connection), QueueKey::Balance(user, asset)) => {
                connection.wait_for_balance(user, asset, limit).await
            }
            (Ok(connection), QueueKey::Account(_)) => {
                connection.wait_for_accounts(&RowSet::of(items.iter(), false).accounts, limit).await
            }
            (Ok(connection), QueueKey::Named(_)) => {
                connection.wait_for_named(&RowSet::of(items.iter(), false).named, limit).await
            }
            (Ok(connection), QueueKey::Attempt(_)) => {
                connection.wait_for_attempts(&RowSet::of(items.iter(), false).attempts, limit).await
            }
            (Ok(connection), QueueKey::Transfer(id)) => {
                connection.wait_for_transfer(id, limit).await
            }
            (Err(error), _) => Err(error),
        };
        if waited.as_ref().is_err_and(StoreError::ends_session) {
            self.disconnect();
        }
        self.note_answer(waited)
    }

    /// Runs a broken group in parts, until the culprit is alone.
    async fn split(
        &mut self,
        mut items: Vec<WorkItem>,
        mode: BatchMode,
        error: &StoreError,
        waiting: &mut VecDeque<(Vec<WorkItem>, BatchMode, u32)>,
    ) {
        if matches!(error, StoreError::Locked) && mode.wait == LockMode::Wait {
            // they all waited for one account's rows: their callers come again
            return items.into_iter().for_each(|item| item.unknown(error));
        }
        if items.len() > 1 && !matches!(error, StoreError::Full) {
            let size = items.len().div_ceil(PARTS);
            let mut parts = Vec::new();
            while !items.is_empty() {
                let rest = items.split_off(if size < items.len() { size } else { items.len() });
                parts.push(std::mem::replace(&mut items, rest));
            }
            for part in parts.into_iter().rev() {
                waiting.push_front((part, mode.clone(), 0));
            }
            return;
        }
        for item in items {
            match error {
                StoreError::Locked => self.writers.waiting.stuck(item),
                StoreError::Refused(why) => self.refused(item, mode.clone(), why).await,
                StoreError::AssumptionFailed
                | StoreError::Damaged(_)
                | StoreError::Full
                | StoreError::Unwritable { .. }
                | StoreError::NoRight(_)
                | StoreError::BadValue(_)
                | StoreError::Failed(_)
                | StoreError::Cut(_) => item.unknown(error),
            }
        }
    }

    /// The database refused an item that was alone. It counts where it is one leg that may be
    /// refused, and it was refused with nothing else in its transaction (`ledgers.md` §1).
    async fn refused(&mut self, item: WorkItem, mode: BatchMode, why: &Arc<str>) {
        let unknown = StoreError::Refused(why.clone());
        let Some(asked) = refusable(&item) else { return item.unknown(&unknown) };
        if let WorkItem::Unit(..) = &item {
            let (slots, _answers) = replies(1);
            let leg = |slot| WorkItem::Leg(asked.clone(), ItemReply::Grouped(slot));
            let trial: Vec<WorkItem> = slots.into_iter().map(leg).collect();
            let mode = BatchMode { keep: false, assume: false, ..mode.clone() };
            let Err(StoreError::Refused(_)) = self.try_items(&trial, &mode).await else {
                return item.unknown(&unknown);
            };
        }
        let EnlistedOp { ledger, op: Op { key, .. } } = asked;
        tracing::warn!(transfer = %key.id, leg = key.leg.name(), %why, "the database refused a leg");
        let mode = BatchMode { assume: false, refused: Some((key, REFUSED.into())), ..mode };
        let items = vec![item];
        match self.try_items(&items, &mode).await {
            Ok(results) => match self.reread(ledger, key).await {
                Ok(Some(answer)) => {
                    drop(self.answer(items, with_outcome(results, &answer), mode.wait))
                }
                Ok(None) => items.into_iter().for_each(|item| item.unknown(&unknown)),
                // it was written, and what it says could not be read
                Err(_) => items.into_iter().for_each(|item| item.unknown(&unknown)),
            },
            Err(error) => {
                if error.ends_session() {
                    self.disconnect();
                }
                items.into_iter().for_each(|item| item.unknown(&error));
            }
        }
    }

    /// Reads the operation under a key again, with a statement of its own.
    async fn reread(&mut self, ledger: LedgerId, key: Key) -> Result<Option<Answer>, StoreError> {
        let connection = self.connection().await?;
        let sql = "SELECT req_id, leg, result, code, seq, asset_id, amount::text, account, ledger, \
                   other_account FROM operations WHERE req_id = $1 AND ledger = $3 AND leg = $2";
        let statement = connection.prepared(sql).await?;
        let id = crate::postgres::columns::uuid(key.id);
        let row = connection
            .client
            .query_opt(&statement, &[&id, &key.leg.name(), &i16::from(ledger.0)])
            .await?;
        let found = row.map(|row| crate::postgres::rows::operation(&row)).transpose()?;
        Ok(found.map(|(_, operation)| kernel::rules::answer(&operation)))
    }
}

/// The code of a refusal that a constraint or a trigger of the database raised (SQLSTATE 23514).
const REFUSED: &str = "CHECK_VIOLATION";

/// The one leg of an item that may be refused: alone, or in a unit that may stand for it.
fn refusable(item: &WorkItem) -> Option<EnlistedOp> {
    let asked = match item {
        WorkItem::Leg(asked, _) => asked.clone(),
        WorkItem::Unit(unit, _) => single_leg(unit)?,
    };
    asked.op.key.leg.refusable().then_some(asked)
}

/// The leg of a unit that records nothing else: the row that opens its transfer, or the answer to a
/// call whose claim is durable. A unit with another ledger's answer in it, or a settle, refuses
/// nothing.
fn single_leg(unit: &Unit) -> Option<EnlistedOp> {
    let then = &unit.then;
    let fork =
        then.fork.as_deref().filter(|fork| fork.rejected.is_some() && then.ops.is_empty())?;
    let own = |put: &Put| matches!(put, Put::Open(record) if record.id == fork.op.key.id);
    let receipts = then.puts.iter().any(|put| matches!(put, Put::Receipt { .. }));
    let opens = then.puts.iter().any(own) && !receipts;
    let claimed = then.puts.is_empty() && then.events.is_empty();
    (opens || claimed).then(|| EnlistedOp { ledger: fork.ledger, op: fork.op.clone() })
}

/// The answers with what was read again of the fork, or the leg.
fn with_outcome(results: Vec<ItemResult>, read: &Answer) -> Vec<ItemResult> {
    let again = |results| match results {
        ItemResult::Answer(_) => ItemResult::Answer(read.clone()),
        ItemResult::Wrote(Wrote::Written(written)) => {
            let fork = written.fork.is_some().then(|| read.clone());
            ItemResult::Wrote(Wrote::Written(kernel::unit::Written { fork, ..written }))
        }
        ItemResult::Wrote(wrote) => ItemResult::Wrote(wrote),
        ItemResult::Again => ItemResult::Again,
        ItemResult::Locked => ItemResult::Locked,
    };
    results.into_iter().map(again).collect()
}
