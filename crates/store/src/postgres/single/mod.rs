//! Runs what needs a transaction of its own, one statement after the other: units with a rare change in
//! them, and changes that belong to no transfer.

mod audit_chain;
mod deliveries;
mod funding;
mod operators;
mod puts;
mod rare_rows;
mod seal;

pub(crate) use funding::{BOOKED, OF_REFERENCE, booked_movement};

use super::columns::int;
use super::error::StoreError;
use super::write::connection::WriteConnection;
use super::write::read_rows::{LockMode, TransactionLocks};
use super::write::row_set::RowSet;
use super::write::statement::Statements;
use super::write::work::{AnswerSender, SingleWrite};
use super::write::workspace::BatchWorkspace;
use super::write::writer::WriterTask;
use deliveries::StartWebhooks;
use kernel::answer::Cause;
use kernel::flow::table::Flows;
use kernel::rules::{self, Stopped};
use kernel::unit::{Put, Unit, Wrote};
use std::time::Duration;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// A transaction that is being filled by statements.
pub(crate) struct SingleTransaction<'l> {
    connection: &'l mut WriteConnection,
    flows: &'l Flows,
    workspace: BatchWorkspace,
}

/// Fills a transaction with statements. It may run again.
trait TransactionBody<A: Send>: Sync {
    fn run(
        &self,
        transaction: &mut SingleTransaction<'_>,
    ) -> impl Future<Output = Result<Finish<A>, StoreError>> + Send;
}

/// The end of a transaction, with its answer: committed, or rolled back.
enum Finish<T> {
    Commit(T),
    Rollback(T),
}

/// The first wait before a transaction is tried again; it doubles.
const PAUSE: Duration = Duration::from_millis(20);
/// The most tries, which take some five seconds: by then a session that stands still is ended.
const TRIES: u32 = 12;

impl WriterTask {
    /// Runs it and answers; gives it back where another transaction holds what it needs, to be
    /// tried again.
    pub(crate) async fn run_single(
        &mut self,
        write: SingleWrite,
        tries: u32,
    ) -> Option<SingleWrite> {
        let (none, plain) = (RowSet::default(), TransactionLocks::default());
        match write {
            SingleWrite::Unit(unit, reply) => {
                let mut row_set = RowSet::default();
                row_set.unit(&unit, false);
                row_set.transfers.append(&mut row_set.fresh);
                let done = self.retry(&row_set, locks(&unit), &*unit);
                reply.give(done.await.unwrap_or_else(|error| error.outcome()));
            }
            SingleWrite::Fence(fence, sender) => {
                let row_set = RowSet { legs: [fence.key.id].into(), ..RowSet::default() };
                let done = self.retry(&row_set, plain, &fence);
                send_answer(sender, done.await);
            }
            SingleWrite::Status(change, sender) => {
                match self.transaction(&none, LockMode::Skip, plain, &change).await {
                    Err(error) if may_retry(&error, tries) => {
                        return Some(SingleWrite::Status(change, sender));
                    }
                    done => send_answer(sender, done),
                }
            }
            SingleWrite::External(request, sender) => {
                let mut row_set = RowSet::default();
                row_set.movement(&request.movement);
                let locks = TransactionLocks { exclusive: false, audit_chain: true };
                match self.transaction(&row_set, LockMode::Skip, locks, &*request).await {
                    Err(error) if may_retry(&error, tries) => {
                        return Some(SingleWrite::External(request, sender));
                    }
                    done => send_answer(sender, done.map(Ok)),
                }
            }
            SingleWrite::Seal(seal, sender) => {
                let done = self.retry(&none, plain, &seal);
                send_answer(sender, done.await);
            }
            SingleWrite::ClaimDelivery(claim, sender) => {
                let done = self.retry(&none, plain, &claim);
                send_answer(sender, done.await.map(Ok));
            }
            SingleWrite::Delivered(attempt, sender) => {
                let done = self.retry(&none, plain, &attempt);
                send_answer(sender, done.await.map(Ok));
            }
            SingleWrite::StartWebhooks(sender) => {
                let done = self.retry(&none, plain, &StartWebhooks);
                send_answer(sender, done.await.map(Ok));
            }
        }
        None
    }

    /// Runs it again where other transactions were in the way and nothing was written.
    async fn retry<A: Send, F: TransactionBody<A>>(
        &mut self,
        row_set: &RowSet,
        locks: TransactionLocks,
        body: &F,
    ) -> Result<A, StoreError> {
        let mut tries = 1;
        loop {
            match self.transaction(row_set, LockMode::Wait, locks, body).await {
                Err(error) if may_retry(&error, tries) => {}
                done => return done,
            }
            tokio::time::sleep(pause(tries)).await;
            tries += 1;
        }
    }

    /// Runs one transaction; an answer means that it is durable.
    async fn transaction<A: Send, F: TransactionBody<A>>(
        &mut self,
        row_set: &RowSet,
        wait: LockMode,
        locks: TransactionLocks,
        body: &F,
    ) -> Result<A, StoreError> {
        let said = self.try_once(row_set, wait, locks, body).await;
        let said = self.check_rights(said).await;
        let said = self.note_answer(said);
        match &said {
            Ok(_) => self.writers().shared.health.write_accepted(),
            Err(error) if error.ends_session() => self.disconnect(),
            Err(_) => {}
        }
        said
    }

    async fn try_once<A: Send, F: TransactionBody<A>>(
        &mut self,
        row_set: &RowSet,
        wait: LockMode,
        locks: TransactionLocks,
        body: &F,
    ) -> Result<A, StoreError> {
        let writers = self.writers().clone();
        let connection = self.connection().await?;
        let filled = match connection.read_rows(&writers.flows, row_set, wait, locks).await {
            Ok(workspace) => {
                let worker = writers.batches.worker();
                let mut transaction =
                    SingleTransaction { connection, flows: &writers.flows, workspace };
                match body.run(&mut transaction).await {
                    Ok(Finish::Commit(said)) => {
                        let flows = &writers.flows;
                        let (all, ended) = Statements::of(
                            transaction.connection,
                            flows,
                            &mut transaction.workspace,
                            worker,
                        );
                        let ran = transaction.connection.run(all, true).await;
                        ran.map(|()| {
                            transaction.connection.record_write(&transaction.workspace);
                            writers.balance_cache.keep(&transaction.workspace);
                            writers.batches.count(ended);
                            (said, true)
                        })
                    }
                    Ok(Finish::Rollback(said)) => Ok((said, false)),
                    Err(error) => Err(error),
                }
            }
            Err(error) => Err(error),
        };
        match filled {
            Ok((said, true)) => Ok(said),
            Ok((said, false)) => {
                let connection = self.connection().await?;
                let read = connection.read();
                let confirmed = match connection.rollback().await {
                    Ok(()) => connection.confirm_read(read).await,
                    Err(error) => Err(error),
                };
                if let Err(StoreError::Cut(_)) = &confirmed {
                    self.disconnect();
                }
                confirmed.map(|()| said)
            }
            Err(error @ StoreError::Cut(_)) => {
                self.disconnect();
                Err(error)
            }
            Err(error) => {
                self.connection().await?.rollback().await?;
                Err(error)
            }
        }
    }
}

/// True where other transactions were in the way and nothing was written, so that it may run again.
const fn may_retry(error: &StoreError, tries: u32) -> bool {
    matches!(error, StoreError::AssumptionFailed | StoreError::Locked) && tries < TRIES
}

/// How long to wait after `tries` tries.
pub(crate) fn pause(tries: u32) -> Duration {
    PAUSE * (1 << tries.clamp(1, 6).saturating_sub(1))
}

/// Gives one answer; the inner error is the store's own.
fn send_answer<T>(sender: AnswerSender<T>, done: Result<Result<T, Cause>, StoreError>) {
    let answer = done.unwrap_or_else(|error| Err(error.cause()));
    // the caller went away
    let _gone = sender.send(answer);
}

impl SingleTransaction<'_> {
    /// Asks for at most one row.
    async fn row(
        &self,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Option<Row>, StoreError> {
        let statement = self.connection.prepared(sql).await?;
        Ok(self.connection.client.query_opt(&statement, params).await?)
    }

    /// True where there is such a row.
    async fn exists(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<bool, StoreError> {
        Ok(self.row(sql, params).await?.is_some())
    }

    /// Runs a statement; the number of rows that it changed.
    async fn execute(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<u64, StoreError> {
        let statement = self.connection.prepared(sql).await?;
        Ok(self.connection.client.execute(&statement, params).await?)
    }

    fn at(&self) -> i64 {
        int(self.workspace.at)
    }
}

/// A unit, read, decided and written as any other, and what is rare in it beside.
impl TransactionBody<Wrote> for Unit {
    async fn run(
        &self,
        transaction: &mut SingleTransaction<'_>,
    ) -> Result<Finish<Wrote>, StoreError> {
        transaction.read_rare_rows(self).await?;
        let plan = match rules::unit(&mut transaction.workspace, transaction.flows, self) {
            Ok(plan) => plan,
            Err(Stopped::Answer(wrote)) => return Ok(Finish::Rollback(wrote)),
            Err(Stopped::Error(stop)) => return Err(stop.into()),
        };
        for put in plan.puts() {
            transaction.put(put).await?;
        }
        if plan.supersedes() {
            transaction.supersede().await?;
        }
        let written = transaction.workspace.apply_plan(transaction.flows, plan)?;
        Ok(Finish::Commit(Wrote::Written(written)))
    }
}

/// The locks that a unit must hold from its beginning.
fn locks(unit: &Unit) -> TransactionLocks {
    let puts = || unit.thens().flat_map(|then| &then.puts);
    TransactionLocks {
        exclusive: puts().any(|put| {
            matches!(
                put,
                Put::Halt { .. }
                    | Put::Resume { .. }
                    | Put::Horizon(_)
                    | Put::Adopt { .. }
                    | Put::AdoptAfterLoss { .. }
                    | Put::Own { .. }
                    | Put::Pause { .. }
                    | Put::Unpause(_)
                    | Put::Asset(_)
            )
        }),
        audit_chain: puts().any(|put| matches!(put, Put::Action(_))),
    }
}
