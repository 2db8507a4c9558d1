//! Accepts the units and legs of this process for the lanes, and returns their answers.

use super::account_queues::AccountQueues;
use super::balance_cache::BalanceCache;
use super::connection::ConnectionContext;
use super::open_batches::OpenBatches;
use super::transfer_cache::TransferCache;
use super::work::{
    AnswerSender, EnlistedOp, ItemReply, QueuedWrite, ReplySlot, SingleWrite, WorkItem, batchable,
    closed, closed_leg, replies,
};
use super::writer::{BRIEF_WAIT, WriterContext, WriterTask};
use crate::postgres::read::read_pool::SessionContext;
use crate::postgres::session::connect::spawn;
use crate::postgres::{DatabaseOpenError, Options, columns};
use futures_util::future::join_all;
use kernel::answer::{Answer, Cause};
use kernel::ids::LedgerId;
use kernel::operation::Op;
use kernel::ports::Fut;
use kernel::ports::clock::JournalTime;
use kernel::ports::journal::Writing;
use kernel::unit::Unit;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Connections that wait for what others hold.
const PATIENT_WRITERS: usize = 2;

/// See the module. The lanes end when it is dropped.
#[derive(Clone)]
pub(crate) struct Queue {
    batched: Arc<QueueHandle>,
    /// Operators' decisions, and every other change that needs a transaction of its own.
    single: mpsc::UnboundedSender<QueuedWrite>,
    /// Those that lock balances: no HALT waits behind a row that another transaction holds.
    with_balances: mpsc::UnboundedSender<QueuedWrite>,
    shared: Arc<ConnectionContext>,
}

/// The handle that adds items. The lanes end when the last clone of the queue is dropped.
struct QueueHandle(Arc<AccountQueues>);

impl Drop for QueueHandle {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Queue {
    /// Opens the lanes.
    ///
    /// # Errors
    /// [`DatabaseOpenError`].
    pub(crate) async fn open(
        options: &Options,
        session: SessionContext,
    ) -> Result<Self, DatabaseOpenError> {
        let SessionContext { time, timeline, replication, health, .. } = session;
        let shared = Arc::new(ConnectionContext {
            database: options.database.clone(),
            time: options.time.clone(),
            journal_time: time,
            timeline,
            replication,
            health,
        });
        let waiting = Arc::new(AccountQueues::default());
        let writers = Arc::new(WriterContext {
            shared: shared.clone(),
            flows: options.flows.clone(),
            batches: Arc::new(OpenBatches::of(columns::worker(options.worker.0))),
            waiting: waiting.clone(),
            transfer_cache: TransferCache::default(),
            balance_cache: BalanceCache::default(),
            clock: options.clock.clone(),
            meter: options.meter.clone(),
        });
        let lock = options.database.lock;
        let brief = if lock < BRIEF_WAIT { lock } else { BRIEF_WAIT };
        // they run until the queue is dropped
        let mut number = 0..;
        let mut next = || number.next().unwrap_or_default();
        for _ in 0..options.database.writers {
            let _runs = spawn(WriterTask::open(&writers, next(), brief).await?.run());
        }
        for _ in 0..PATIENT_WRITERS {
            let _runs = spawn(WriterTask::open(&writers, next(), lock).await?.wait());
        }
        let (with_balances, movements) = mpsc::unbounded_channel();
        let writer = WriterTask::open(&writers, next(), lock).await?;
        let _runs = spawn(writer.run_singles(movements, with_balances.downgrade()));
        let (single, writes) = mpsc::unbounded_channel();
        let mut writer = WriterTask::open(&writers, next(), lock).await?;
        let latest = writer.latest().await?;
        shared.journal_time.advance_to(latest);
        let _runs = spawn(writer.run_singles(writes, single.downgrade()));
        Ok(Self { batched: Arc::new(QueueHandle(waiting)), single, with_balances, shared })
    }

    /// The journal's time, as far as this process knows.
    pub(crate) fn time(&self) -> &JournalTime {
        &self.shared.journal_time
    }

    /// Writes units; one answer each, in order. One with something rare in it comes after those
    /// before it in this call, and before those behind it.
    pub(crate) async fn units(&self, units: Vec<Unit>) -> Vec<Writing> {
        let mut wrote = Vec::with_capacity(units.len());
        let mut batch_units = Vec::with_capacity(units.len());
        for unit in units {
            if batchable(&unit) {
                batch_units.push(unit);
                continue;
            }
            let before = self.batch_units(std::mem::take(&mut batch_units)).await;
            wrote.extend(over(before).await.into_iter().map(Writing::Over));
            let (reply, answers) = replies(1);
            let boxed = std::iter::once(Box::new(unit));
            for (unit, reply) in boxed.zip(reply) {
                self.send(SingleWrite::Unit(unit, reply));
            }
            let answer = sender(answers, 1).await.pop().flatten();
            wrote.push(Writing::Over(answer.unwrap_or_else(closed)));
        }
        wrote.extend(self.batch_units(batch_units).await);
        wrote
    }

    async fn batch_units(&self, units: Vec<Unit>) -> Vec<Writing> {
        let asked = units.len();
        if asked == 0 {
            return Vec::new();
        }
        let (replies, answers) = replies(asked);
        let item = |(unit, reply): (Unit, ReplySlot<Writing>)| {
            WorkItem::Unit(Box::new(unit), ItemReply::Grouped(reply))
        };
        self.batched.0.add(units.into_iter().zip(replies).map(item));
        let closed = || Writing::Over(closed());
        sender(answers, asked).await.into_iter().map(|wrote| wrote.unwrap_or_else(closed)).collect()
    }

    /// Legs at an enlisted ledger, each by itself; those that wait for another transaction are not waited for.
    pub(crate) async fn legs(&self, ledger: LedgerId, ops: &[Op]) -> Vec<Writing<Answer>> {
        if ops.is_empty() {
            return Vec::new();
        }
        let (replies, answers) = replies(ops.len());
        let leg = |(op, reply): (&Op, ReplySlot<Writing<Answer>>)| {
            WorkItem::Leg(EnlistedOp { ledger, op: op.clone() }, ItemReply::Grouped(reply))
        };
        self.batched.0.add(ops.iter().zip(replies).map(leg));
        let closed = || Writing::Over(closed_leg());
        sender(answers, ops.len())
            .await
            .into_iter()
            .map(|answer| answer.unwrap_or_else(closed))
            .collect()
    }

    pub(crate) fn ask<T: Send + 'static>(
        &self,
        write: impl FnOnce(AnswerSender<T>) -> SingleWrite,
    ) -> Fut<'static, Result<T, Cause>> {
        let (sender, answer) = oneshot::channel();
        self.send(write(sender));
        Box::pin(async { answer.await.unwrap_or_else(|_| Err(Cause::of("STORE_CLOSED"))) })
    }

    fn send(&self, write: SingleWrite) {
        let line = if write.locks_balances() { &self.with_balances } else { &self.single };
        // a writer that is gone drops it, and its caller gets STORE_CLOSED
        let _gone = line.send((write, 1));
    }
}

/// Waits for the result of each item, also of those that wait for another transaction.
pub(crate) async fn over<T>(items: Vec<Writing<T>>) -> Vec<T> {
    let end = async |writing| match writing {
        Writing::Over(result) => result,
        Writing::Waits(result) => result.await,
    };
    join_all(items.into_iter().map(end)).await
}

/// Waits for one answer for each item; `None` where no lane is left to give it.
async fn sender<T>(answers: oneshot::Receiver<Vec<Option<T>>>, items: usize) -> Vec<Option<T>> {
    answers.await.unwrap_or_else(|_| (0..items).map(|_| None).collect())
}
