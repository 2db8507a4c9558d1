//! Appends batches to the end of the log, one whole batch at a time.

pub(crate) mod codec;
pub(crate) mod files;
pub(crate) mod frame;
mod reader;
pub(crate) mod replay;
mod scan;

use super::core::record::Record;
use files::FileName;
use kernel::ports::disk::Disk;
use std::io;
use std::sync::Arc;

/// The reason why a batch, and every part of it, is not in the log.
#[derive(Debug)]
pub(crate) enum Refused {
    /// There is no room on the disk; there may be later.
    Full,
    /// The batch has more bytes than one may have.
    TooLong,
    /// The disk failed. What is in the file is no longer known.
    Broken(String),
}

pub(crate) struct Log {
    disk: Arc<dyn Disk>,
    /// The segment that is written.
    file: String,
    /// Its whole, durable batches end here.
    good: u64,
    /// The next batch's number.
    next: u64,
    /// Bytes may lie beyond `good`: of a write that failed, or of one that its caller gave up.
    dirty: bool,
    /// The folder is not known to hold the file's name durably.
    unnamed: bool,
    /// Bytes written since the last snapshot.
    grown: u64,
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Log({} at {}, next batch {})", self.file, self.good, self.next)
    }
}

impl Log {
    /// The end of a segment that was read up to `good`, after which `next` comes.
    pub(crate) fn new(disk: Arc<dyn Disk>, segment: u64, good: u64, next: u64) -> Self {
        Self {
            disk,
            file: FileName::Segment(segment).to_string(),
            good,
            next,
            dirty: true,
            unnamed: true,
            grown: good,
        }
    }

    /// The segment that is written, and where its whole, durable batches end.
    pub(crate) fn end(&self) -> (&str, u64) {
        (&self.file, self.good)
    }

    /// The next batch's number.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// Bytes written since the last snapshot.
    pub(crate) const fn grown(&self) -> u64 {
        self.grown
    }

    /// Adds a batch and makes it durable. May be dropped at any await: the next call begins with
    /// cutting off whatever was left behind.
    ///
    /// # Errors
    /// Nothing of the batch is in the log, unless the disk is broken.
    pub(crate) async fn add(&mut self, durable: u64, records: &[Record]) -> Result<(), Refused> {
        let Some(bytes) = frame::write(self.next, durable, records) else {
            return Err(Refused::TooLong);
        };
        let len = u64::try_from(bytes.len()).map_err(|_| Refused::TooLong)?;
        self.cut().await.map_err(|error| broken("cut", &error))?;
        self.dirty = true;
        if let Err((doing, error)) = self.write(&bytes).await {
            if !full(&error) {
                return Err(broken(doing, &error));
            }
            self.cut().await.map_err(|error| broken("cut", &error))?;
            return Err(Refused::Full);
        }
        self.dirty = false;
        self.unnamed = false;
        self.good = self.good.saturating_add(len);
        self.grown = self.grown.saturating_add(len);
        self.next = self.next.saturating_add(1);
        Ok(())
    }

    async fn write(&self, bytes: &[u8]) -> Result<(), (&'static str, io::Error)> {
        self.disk.append(&self.file, bytes).await.map_err(|e| ("append", e))?;
        self.disk.sync(&self.file).await.map_err(|e| ("sync", e))?;
        if self.unnamed {
            self.disk.sync_folder().await.map_err(|e| ("sync of the folder", e))?;
        }
        Ok(())
    }

    async fn cut(&mut self) -> io::Result<()> {
        if self.dirty {
            match self.disk.truncate(&self.file, self.good).await {
                Err(error) if error.kind() == io::ErrorKind::NotFound && self.good == 0 => (),
                cut => cut?,
            }
            self.dirty = false;
        }
        Ok(())
    }

    /// The next batch begins a segment of its own.
    pub(crate) fn rotate(&mut self) {
        if self.good > 0 {
            self.file = FileName::Segment(self.next).to_string();
            self.good = 0;
            self.dirty = true;
            self.unnamed = true;
        }
    }

    /// A snapshot holds everything up to here, or could not be made: the next one is due after as
    /// much again.
    pub(crate) const fn rested(&mut self) {
        self.grown = 0;
    }
}

/// Whether an error says that there is no room, and nothing worse.
pub(crate) fn full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn broken(doing: &str, error: &io::Error) -> Refused {
    Refused::Broken(format!("{doing} of the Spot log failed: {error}"))
}
