//! Where a process hands over what is to be written.

use super::batches::Batches;
use super::lane::Shared;
use super::patience::Patience;
use super::session::beside;
use super::text;
use super::work::{Item, Reply, Solo, Told, common, replies};
use super::writer::{Hand, Writers};
use super::{OpenError, Options};
use kernel::answer::{Answer, Cause};
use kernel::ids::Millis;
use kernel::ports::Fut;
use kernel::unit::{Op, Unit, Wrote};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::{Mutex, mpsc, oneshot};

/// How many calls wait for a lane.
const WAITING: usize = 4_096;
/// The longest that a lane waits for what it cannot leave out (a client's key that somebody is just
/// writing): its neighbours wait with it.
const BRIEF: Duration = Duration::from_millis(100);
/// Connections that wait for what others hold.
const PATIENT: usize = 2;

/// See the module. The lanes end when it is dropped.
#[derive(Clone)]
pub(crate) struct Queue {
    common: mpsc::Sender<Vec<Item>>,
    alone: mpsc::UnboundedSender<Solo>,
    shared: Arc<Shared>,
    patience: Arc<Patience>,
}

impl Queue {
    /// Opens the lanes.
    ///
    /// # Errors
    /// [`OpenError`].
    pub(crate) async fn open(options: &Options) -> Result<Self, OpenError> {
        let shared = Arc::new(Shared {
            database: options.database.clone(),
            time: options.time.clone(),
            written: AtomicU64::new(0),
            origin: OnceLock::new(),
            reached: AtomicU64::new(0),
            fatal: options.fatal.clone(),
        });
        let patience = Arc::new(Patience::default());
        let writers = Arc::new(Writers {
            shared: shared.clone(),
            flows: options.flows.clone(),
            batches: Arc::new(Batches::of(text::worker(options.worker.0))),
            patience: patience.clone(),
            clock: options.clock.clone(),
            meter: options.meter.clone(),
        });
        let (common, waiting) = mpsc::channel(WAITING);
        let (alone, solos) = mpsc::unbounded_channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let lock = options.database.lock;
        let brief = if lock < BRIEF { lock } else { BRIEF };
        for _ in 0..options.database.writers {
            let hand = Hand::open(writers.clone(), brief).await?;
            beside(hand.run(waiting.clone()));
        }
        for _ in 0..PATIENT {
            beside(Hand::open(writers.clone(), lock).await?.wait());
        }
        let mut hand = Hand::open(writers, lock).await?;
        let latest = hand.latest().await?;
        shared.written.fetch_max(latest, Ordering::AcqRel);
        beside(hand.alone(solos));
        Ok(Self { common, alone, shared, patience })
    }

    /// When anything was written last, as far as this process knows.
    pub(crate) fn written(&self) -> Millis {
        self.shared.written.load(Ordering::Acquire)
    }

    /// Writes units; one answer each, in order. One with something rare in it comes after those
    /// before it in this call, and before those behind it.
    pub(crate) async fn units(&self, units: Vec<Unit>) -> Vec<Wrote> {
        let mut wrote = Vec::with_capacity(units.len());
        let mut together = Vec::with_capacity(units.len());
        for unit in units {
            if common(&unit) {
                together.push(unit);
                continue;
            }
            wrote.extend(self.together(std::mem::take(&mut together)).await);
            let (reply, answers) = replies(1);
            let boxed = std::iter::once(Box::new(unit));
            for (unit, reply) in boxed.zip(reply) {
                self.solo(Solo::Unit(unit, reply));
            }
            wrote.extend(answered(answers, 1).await);
        }
        wrote.extend(self.together(together).await);
        wrote
    }

    async fn together(&self, units: Vec<Unit>) -> Vec<Wrote> {
        let asked = units.len();
        if asked == 0 {
            return Vec::new();
        }
        let (replies, answers) = replies(asked);
        let item = |(unit, reply): (Unit, Reply<Wrote>)| Item::Unit(Box::new(unit), reply);
        self.hand(units.into_iter().zip(replies).map(item).collect()).await;
        answered(answers, asked).await
    }

    /// Legs at Funding, each by itself.
    pub(crate) async fn legs(&self, ops: &[Op]) -> Vec<Answer> {
        if ops.is_empty() {
            return Vec::new();
        }
        let (replies, answers) = replies(ops.len());
        let leg = |(op, reply): (&Op, Reply<Answer>)| Item::Leg(op.clone(), reply);
        self.hand(ops.iter().zip(replies).map(leg).collect()).await;
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

    async fn hand(&self, items: Vec<Item>) {
        if !items.is_empty() {
            // lanes that are gone drop the items, whose calls then hear that nobody knows
            let _gone = self.common.send(items).await;
        }
    }

    fn solo(&self, solo: Solo) {
        // as above
        let _gone = self.alone.send(solo);
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // the last of its clones but the lanes' own
        if Arc::strong_count(&self.patience) <= PATIENT.saturating_add(2) {
            self.patience.close();
        }
    }
}

async fn answered(answers: oneshot::Receiver<Vec<Option<Wrote>>>, units: usize) -> Vec<Wrote> {
    let closed = || Wrote::Unknown(Cause::of("STORE_CLOSED"));
    told(answers, units).await.into_iter().map(|wrote| wrote.unwrap_or_else(closed)).collect()
}

/// One answer for each item, whatever became of those who should have given it.
async fn told<T>(answers: oneshot::Receiver<Vec<Option<T>>>, items: usize) -> Vec<Option<T>> {
    answers.await.unwrap_or_else(|_| (0..items).map(|_| None).collect())
}
