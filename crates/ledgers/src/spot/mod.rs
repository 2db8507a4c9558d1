//! The Spot core is the ledger of trading accounts: books in memory, results in a log, snapshots.
//!
//! [`Spot`] is a thin driver around a pure core. The core decides what a batch comes to and changes
//! nothing; the driver makes the results durable, applies them, and only then answers.
//!
//! ```text
//! decide ─► log (one sync) ─► apply ─► answer          start: snapshot ─► every batch after it
//! ```
//!
//! Reading order: `record`, `core`, `decide` (the rules), `batcher` (the driver's loop), `log`,
//! `replay`.

mod batcher;
mod core;
mod log;
mod port;
mod snapshot;
#[cfg(test)]
mod tests;

pub use log::replay::TornTail;
pub use snapshot::quiesce::{FilePart, QuiescedFiles};

use self::core::Core;
use self::core::record::Record;
use crate::SpotOpenError;
use batcher::{QueuedRequest, Writer};
use kernel::answer::Cause;
use kernel::ids::AssetId;
use kernel::operation::{Identity, Incarnation, Known};
use kernel::ports::clock::Rng;
use kernel::ports::disk::Disk;
use kernel::ports::ledger::Reply;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::{fmt, io};

/// Ends the process; called once, when the disk is broken.
pub type Fatal = Arc<dyn Fn(String) + Send + Sync>;

/// A Spot ledger in this process. It owns its folder.
pub struct Spot {
    disk: Arc<dyn Disk>,
    /// Changed only under the lock `writer`.
    core: Mutex<Core>,
    queue: Mutex<Vec<QueuedRequest>>,
    writer: tokio::sync::Mutex<Writer>,
    broken: OnceLock<Cause>,
    fatal: Fatal,
}

impl fmt::Debug for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spot").field("broken", &self.broken).finish_non_exhaustive()
    }
}

impl Spot {
    /// Opens the folder, or makes a new ledger in an empty one, and logs this start. `assets` are
    /// the known ones; `acknowledged` is the highest operation that the journal has a receipt of.
    /// A torn tail that was dropped is returned beside the ledger.
    ///
    /// # Errors
    /// What is in the folder cannot be trusted, or the disk fails; nothing was changed.
    pub async fn open(
        disk: Arc<dyn Disk>,
        rng: &dyn Rng,
        assets: Vec<AssetId>,
        acknowledged: u64,
        fatal: Fatal,
    ) -> Result<(Arc<Self>, Option<TornTail>), SpotOpenError> {
        let found = log::replay::read(disk.clone(), Core::new(assets), acknowledged).await?;
        let (mut core, mut log) = (found.core, found.log);
        let mut start = Vec::new();
        if core.identity.is_none() {
            start.push(Record::Identity(Identity(draw(rng))));
        }
        start.push(Record::Incarnation(Incarnation(draw(rng))));
        let first = log.next();
        log.add(core.sequence, &start).await.map_err(|refused| {
            SpotOpenError::Io(match refused {
                log::Refused::Full => io::ErrorKind::StorageFull.into(),
                log::Refused::TooLong => io::ErrorKind::InvalidData.into(),
                log::Refused::Broken(message) => io::Error::other(message),
            })
        })?;
        core.apply(start).map_err(|_| SpotOpenError::Damaged {
            file: log::files::FileName::Segment(first).to_string(),
            offset: 0,
            what: "the start does not fit what is there",
        })?;
        let spot = Self {
            disk,
            core: Mutex::new(core),
            queue: Mutex::default(),
            writer: tokio::sync::Mutex::new(Writer::new(log)),
            broken: OnceLock::new(),
            fatal,
        };
        Ok((Arc::new(spot), found.torn))
    }

    /// The identity, the incarnation and the highest operation.
    #[must_use]
    pub fn known(&self) -> Known {
        self.core().known()
    }

    /// Writes a snapshot now, so that the next start need not repeat the log: for a planned stop.
    ///
    /// # Errors
    /// The disk's; the log goes on as it was.
    pub async fn snapshot(&self) -> io::Result<()> {
        let mut writer = self.writer.lock().await;
        self.write_snapshot(&mut writer).await
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        // A panic that was caught while the books were held left them half changed; `broken` is
        // set before, so no caller is answered from them.
        self.core.lock().unwrap_or_else(|poisoned| {
            self.broke("a panic left the Spot books half changed".to_owned());
            PoisonError::into_inner(poisoned)
        })
    }

    /// Answers from the books as they are, unless they can no longer be trusted.
    fn read<T>(&self, look: impl FnOnce(&Core) -> Result<T, Cause>) -> Reply<T> {
        let core = self.core();
        if let Some(cause) = self.broken.get() {
            return Reply::NoAnswer(cause.clone());
        }
        match look(&core) {
            Ok(said) => Reply::Answered(core.known(), said),
            Err(cause) => Reply::NoAnswer(cause),
        }
    }

    /// Stops every answer from now on. The first caller reports it.
    fn broke(&self, message: String) {
        if self.broken.set(Cause::because("DISK_BROKEN", message.as_str())).is_ok() {
            (self.fatal)(message);
        }
    }
}

fn draw(rng: &dyn Rng) -> u128 {
    (u128::from(rng.next()) << 64) | u128::from(rng.next())
}
