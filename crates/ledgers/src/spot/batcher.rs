//! Writes the requests of concurrent callers together: a caller that finds no write under way writes
//! one batch for every request that is queued.
//!
//! There is no task behind it. A caller that goes away in the middle of a batch leaves it to the next
//! caller, which cuts off the bytes of that batch and decides the same requests again: no caller has an
//! answer yet, and the books are unchanged.

use super::core::decide::{Command, CoreReply, Request};
use super::log::{Log, Refused, full};
use super::{Spot, snapshot};
use kernel::answer::Cause;
use kernel::ports::ledger::Reply;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::PoisonError;
use std::task::Poll;
use tokio::sync::oneshot;

/// A log batch takes no further request once it has this number of operations.
const MOST_OPERATIONS: usize = 4_096;
/// The number of bytes of log after which a snapshot is due.
const SNAPSHOT_AFTER: u64 = 32 << 20;

/// A request whose sender waits.
pub(crate) struct QueuedRequest {
    request: Request,
    answer: oneshot::Sender<Reply<CoreReply>>,
}

/// The state that only one caller at a time may use.
pub(crate) struct Writer {
    log: Log,
    /// Taken from the queue and not answered yet.
    taken: Vec<QueuedRequest>,
}

impl Writer {
    pub(crate) const fn new(log: Log) -> Self {
        Self { log, taken: Vec::new() }
    }

    /// The segment that is written, and where its whole, durable batches end.
    pub(crate) fn end(&self) -> (&str, u64) {
        self.log.end()
    }
}

impl Spot {
    /// Decides a request, makes it durable and applies it.
    pub(crate) async fn ask(&self, request: Request) -> Reply<CoreReply> {
        let (answer, reply) = oneshot::channel();
        let waiting = QueuedRequest { request, answer };
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).push(waiting);
        let (mut reply, mut turn) = (pin!(reply), pin!(self.writer.lock()));
        let turn = poll_fn(|context| match reply.as_mut().poll(context) {
            Poll::Ready(reply) => Poll::Ready(Err(reply)),
            Poll::Pending => turn.as_mut().poll(context).map(Ok),
        });
        let lost = || Reply::NoAnswer(Cause::of("GONE"));
        match turn.await {
            Err(reply) => reply.unwrap_or_else(|_| lost()),
            Ok(mut writer) => loop {
                match reply.try_recv() {
                    Ok(reply) => return reply,
                    Err(oneshot::error::TryRecvError::Closed) => return lost(),
                    Err(oneshot::error::TryRecvError::Empty) => self.turn(&mut writer).await,
                }
            },
        }
    }

    /// Runs one log batch: the requests that an earlier caller left behind, and the queued ones.
    async fn turn(&self, writer: &mut Writer) {
        self.collect(writer);
        if self.broken.get().is_none() {
            self.batch(writer).await;
        }
        if let Some(cause) = self.broken.get() {
            return answer(&mut writer.taken, |_| Reply::NoAnswer(cause.clone()));
        }
        if writer.log.grown() >= SNAPSHOT_AFTER {
            // The callers have their answers. Without room it is tried again later.
            match self.write_snapshot(writer).await {
                Err(error) if !full(&error) => {
                    self.broke(format!("writing a snapshot of Spot failed: {error}"));
                }
                Ok(()) | Err(_) => (),
            }
        }
    }

    fn collect(&self, writer: &mut Writer) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let mut operations = 0_usize;
        let enough = queue.iter().position(|waiting| {
            let before = operations;
            if let Command::Execute(ops) = &waiting.request.command {
                operations = operations.saturating_add(ops.len());
            }
            before >= MOST_OPERATIONS
        });
        let count = if writer.taken.is_empty() { enough.unwrap_or(queue.len()) } else { 0 };
        writer.taken.extend(queue.drain(..count));
    }

    async fn batch(&self, writer: &mut Writer) {
        let (decided, durable) = {
            let core = self.core();
            (core.decide(writer.taken.iter().map(|waiting| &waiting.request)), core.sequence)
        };
        if !decided.records.is_empty() {
            match writer.log.add(durable, &decided.records).await {
                Ok(()) => (),
                Err(Refused::Full) => return nothing(writer, "DISK_FULL"),
                Err(Refused::TooLong) => return nothing(writer, "BAD_OPERATION"),
                Err(Refused::Broken(message)) => return self.broke(message),
            }
        }
        let known = {
            let mut core = self.core();
            if core.apply(decided.records).is_err() {
                return self.broke("the Spot books cannot take what was decided".to_owned());
            }
            core.known()
        };
        let mut replies = decided.replies.into_iter();
        answer(&mut writer.taken, |_| match replies.next() {
            Some(CoreReply::Wrong) => Reply::OtherLedger(known),
            Some(CoreReply::Nothing(cause)) => Reply::NoAnswer(cause),
            Some(reply) => Reply::Answered(known, reply),
            None => Reply::NoAnswer(Cause::of("GONE")),
        });
    }

    /// Later batches go to a segment of their own before the snapshot is begun, so that one which
    /// is given up half-way leaves a log that is whole.
    pub(crate) async fn write_snapshot(&self, writer: &mut Writer) -> io::Result<()> {
        if let Some(cause) = self.broken.get() {
            return Err(io::Error::other(cause.clone()));
        }
        writer.log.rotate();
        let next = writer.log.next();
        let part = |place| self.core().part(place, next);
        let written = snapshot::write(&*self.disk, next, part).await;
        writer.log.rested();
        written?;
        snapshot::tidy(&*self.disk, next).await
    }
}

fn nothing(writer: &mut Writer, class: &'static str) {
    answer(&mut writer.taken, |_| Reply::NoAnswer(Cause::of(class)));
}

/// Answers all callers in order. One that is gone is passed over.
fn answer(waiting: &mut Vec<QueuedRequest>, mut reply: impl FnMut(&Request) -> Reply<CoreReply>) {
    for waiting in waiting.drain(..) {
        let said = reply(&waiting.request);
        drop(waiting.answer.send(said));
    }
}
