//! Where a process hands over what is to be written.

use super::ask::Common;
use super::batches::Batches;
use super::lane::Shared;
use super::purses::Purses;
use super::recall::Recall;
use super::session::beside;
use super::text;
use super::waiting::Waiting;
use super::work::{Item, Reply, Solo, Teller, Told, Trial, closed, common, replies};
use super::writer::{Hand, Writers};
use super::{OpenError, Options};
use futures_util::future::join_all;
use kernel::answer::{Answer, Cause};
use kernel::ids::Millis;
use kernel::ports::Fut;
use kernel::ports::journal::Writing;
use kernel::unit::{Op, Unit, Wrote};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// The longest that a lane waits for what it cannot leave out (a client's key that somebody is just
/// writing): its neighbours wait with it.
const BRIEF: Duration = Duration::from_millis(100);
/// Connections that wait for what others hold.
const PATIENT: usize = 2;

/// See the module. The lanes end when it is dropped.
#[derive(Clone)]
pub(crate) struct Queue {
    common: Arc<Entrance>,
    /// What people decide, and whatever else is a transaction of its own.
    alone: mpsc::UnboundedSender<Trial>,
    /// Such as meets balances: nobody's halt waits behind a row that somebody holds.
    bank: mpsc::UnboundedSender<Trial>,
    shared: Arc<Shared>,
}

/// Where items come in. The lanes end when the last clone of the queue is gone.
struct Entrance(Arc<Waiting>);

impl Drop for Entrance {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Queue {
    /// Opens the lanes.
    ///
    /// # Errors
    /// [`OpenError`].
    pub(crate) async fn open(options: &Options, common: Common) -> Result<Self, OpenError> {
        let Common { past, replication, health } = common;
        let shared = Arc::new(Shared {
            database: options.database.clone(),
            time: options.time.clone(),
            written: AtomicU64::new(0),
            past,
            replication,
            health,
        });
        let waiting = Arc::new(Waiting::default());
        let writers = Arc::new(Writers {
            shared: shared.clone(),
            flows: options.flows.clone(),
            batches: Arc::new(Batches::of(text::worker(options.worker.0))),
            waiting: waiting.clone(),
            recall: Recall::default(),
            purses: Purses::default(),
            clock: options.clock.clone(),
            meter: options.meter.clone(),
        });
        let lock = options.database.lock;
        let brief = if lock < BRIEF { lock } else { BRIEF };
        // they run until the queue is dropped
        let mut number = 0..;
        let mut next = || number.next().unwrap_or_default();
        for _ in 0..options.database.writers {
            let _runs = beside(Hand::open(&writers, next(), brief).await?.run());
        }
        for _ in 0..PATIENT {
            let _runs = beside(Hand::open(&writers, next(), lock).await?.wait());
        }
        let (bank, movements) = mpsc::unbounded_channel();
        let hand = Hand::open(&writers, next(), lock).await?;
        let _runs = beside(hand.alone(movements, bank.downgrade()));
        let (alone, solos) = mpsc::unbounded_channel();
        let mut hand = Hand::open(&writers, next(), lock).await?;
        let latest = hand.latest().await?;
        shared.written.fetch_max(latest, Ordering::AcqRel);
        let _runs = beside(hand.alone(solos, alone.downgrade()));
        Ok(Self { common: Arc::new(Entrance(waiting)), alone, bank, shared })
    }

    /// When anything was written last, as far as this process knows.
    pub(crate) fn written(&self) -> Millis {
        self.shared.written.load(Ordering::Acquire)
    }

    /// Writes units; one answer each, in order. One with something rare in it comes after those
    /// before it in this call, and before those behind it.
    pub(crate) async fn units(&self, units: Vec<Unit>) -> Vec<Writing> {
        let mut wrote = Vec::with_capacity(units.len());
        let mut together = Vec::with_capacity(units.len());
        for unit in units {
            if common(&unit) {
                together.push(unit);
                continue;
            }
            let before = self.together(std::mem::take(&mut together)).await;
            wrote.extend(over(before).await.into_iter().map(Writing::Over));
            let (reply, answers) = replies(1);
            let boxed = std::iter::once(Box::new(unit));
            for (unit, reply) in boxed.zip(reply) {
                self.solo(Solo::Unit(unit, reply));
            }
            let answer = told(answers, 1).await.pop().flatten();
            wrote.push(Writing::Over(answer.unwrap_or_else(closed)));
        }
        wrote.extend(self.together(together).await);
        wrote
    }

    async fn together(&self, units: Vec<Unit>) -> Vec<Writing> {
        let asked = units.len();
        if asked == 0 {
            return Vec::new();
        }
        let (replies, answers) = replies(asked);
        let item = |(unit, reply): (Unit, Reply<Writing>)| {
            Item::Unit(Box::new(unit), Teller::Together(reply))
        };
        self.common.0.add(units.into_iter().zip(replies).map(item));
        let closed = || Writing::Over(closed());
        told(answers, asked).await.into_iter().map(|wrote| wrote.unwrap_or_else(closed)).collect()
    }

    /// Legs at Funding, each by itself.
    pub(crate) async fn legs(&self, ops: &[Op]) -> Vec<Answer> {
        if ops.is_empty() {
            return Vec::new();
        }
        let (replies, answers) = replies(ops.len());
        let leg = |(op, reply): (&Op, Reply<Answer>)| Item::Leg(op.clone(), reply);
        self.common.0.add(ops.iter().zip(replies).map(leg));
        let closed = || Answer::Unknown(Cause::of("STORE_CLOSED"));
        told(answers, ops.len())
            .await
            .into_iter()
            .map(|answer| answer.unwrap_or_else(closed))
            .collect()
    }

    /// Something by itself.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        solo: impl FnOnce(Told<T>) -> Solo,
    ) -> Fut<'static, Result<T, Cause>> {
        let (told, answer) = oneshot::channel();
        self.solo(solo(told));
        Box::pin(async { answer.await.unwrap_or_else(|_| Err(Cause::of("STORE_CLOSED"))) })
    }

    fn solo(&self, solo: Solo) {
        let line = if solo.meets_balances() { &self.bank } else { &self.alone };
        // a lane that is gone drops it, whose call then hears that nobody knows
        let _gone = line.send((solo, 1));
    }
}

/// What became of each, those too that wait for somebody else.
pub(crate) async fn over(units: Vec<Writing>) -> Vec<Wrote> {
    let end = async |writing| match writing {
        Writing::Over(wrote) => wrote,
        Writing::Waits(wrote) => wrote.await,
    };
    join_all(units.into_iter().map(end)).await
}

/// One answer for each item, whatever became of those who should have given it.
async fn told<T>(answers: oneshot::Receiver<Vec<Option<T>>>, items: usize) -> Vec<Option<T>> {
    answers.await.unwrap_or_else(|_| (0..items).map(|_| None).collect())
}
