//! The bus of one process: a log of messages in a file of its own, and groups in RAM.
//!
//! It has what a broker has (partitions by murmur2, offsets of groups, rebalances), so that a flow
//! behaves the same on both. A process that dies keeps what it published and committed. Where power is
//! lost the last moments of the file may be, as with a broker that acknowledges before it syncs: the
//! outbox of the journal is the truth, and sends again by time. Calls take the file's lock for the time
//! of a transaction without a sync.

mod groups;
mod log;
mod member;

use groups::Groups;
use kernel::answer::Cause;
use kernel::ports::Fut;
use kernel::ports::bus::{Bus, BusMessage, Member};
use kernel::ports::clock::Clock;
use log::Log;
use member::InProcessMember;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So many partitions a topic has.
pub const PARTITIONS: u32 = 6;

/// What members and publishers share.
struct Shared {
    log: Log,
    groups: Groups,
}

/// A handle to the bus of this process.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct InProcess {
    shared: Arc<Mutex<Shared>>,
    clock: Arc<dyn Clock>,
}

impl InProcess {
    /// Opens the log in a file; makes it where it is missing.
    ///
    /// # Errors
    /// `BUS_FAILED`: the file is not a log of ours, or cannot be used.
    pub fn open(file: &Path, clock: Arc<dyn Clock>) -> Result<Self, Cause> {
        let log = Log::open(file)?;
        let shared = Shared { log, groups: Groups::default() };
        Ok(Self { shared: Arc::new(Mutex::new(shared)), clock })
    }

    /// Forgets messages that were published before a time, whether they were consumed or not: as
    /// long as the outbox keeps them they can be sent again. Gives back how many.
    ///
    /// # Errors
    /// `BUS_FAILED`: the file could not be written.
    pub fn forget(&self, before: kernel::ids::Millis) -> Result<u64, Cause> {
        self.lock().log.forget(before).map_err(|error| failed(&error))
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failed(error: &rusqlite::Error) -> Cause {
    Cause::because("BUS_FAILED", error.to_string())
}

impl Bus for InProcess {
    fn publish(&self, messages: Vec<BusMessage>) -> Fut<'_, Vec<Result<(), Cause>>> {
        Box::pin(async move {
            let written = self.lock().log.append(&messages, self.clock.now());
            let answer = written.map_err(|error| failed(&error));
            messages.iter().map(|_| answer.clone()).collect()
        })
    }

    fn subscribe(
        &self,
        group: Arc<str>,
        topics: Vec<Arc<str>>,
    ) -> Fut<'_, Result<Box<dyn Member>, Cause>> {
        Box::pin(async move {
            let id = self.lock().groups.join(&group, topics);
            let member: Box<dyn Member> = Box::new(InProcessMember::new(self.clone(), group, id));
            Ok(member)
        })
    }
}
