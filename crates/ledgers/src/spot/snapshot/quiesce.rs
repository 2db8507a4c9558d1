//! Stops the core for a moment, so that a backup copies its files as of one instant.

use crate::spot::Spot;
use crate::spot::batcher::Writer;
use crate::spot::log::files::FileName;
use kernel::operation::Known;
use std::{fmt, io};
use tokio::sync::MutexGuard;

/// While this is held nothing is decided, written or removed: calls wait, questions are answered.
/// Hold it for milliseconds.
pub struct QuiescedFiles<'a> {
    /// Who it is, and up to which operation its files say what it did.
    pub known: Known,
    /// Its files, each up to where it is durable and whole.
    pub parts: Vec<FilePart>,
    _writer: MutexGuard<'a, Writer>,
}

impl fmt::Debug for QuiescedFiles<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frozen").field("known", &self.known).finish_non_exhaustive()
    }
}

/// A file's beginning. A process that holds it open has these bytes for as long as it likes: they
/// are never written again, and a name that is removed takes no bytes from a process that opened it
/// before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePart {
    /// The file's name in the core's folder.
    pub name: String,
    /// The number of its bytes.
    pub len: u64,
}

impl Spot {
    /// Waits for the batch or snapshot that is being written, then holds everything that comes
    /// after it.
    ///
    /// # Errors
    /// The disk's, or the core is broken.
    pub async fn quiesce(&self) -> io::Result<QuiescedFiles<'_>> {
        let writer = self.writer.lock().await;
        if let Some(cause) = self.broken.get() {
            return Err(io::Error::other(cause.clone()));
        }
        let (last, good) = writer.end();
        let mut parts = Vec::new();
        for name in self.disk.list().await? {
            let len = match FileName::parse(&name) {
                Some(FileName::Segment(_)) if name == last => good,
                Some(FileName::Segment(_) | FileName::Snapshot(_)) => self.disk.len(&name).await?,
                Some(FileName::Unfinished(_)) | None => continue,
            };
            parts.push(FilePart { name, len });
        }
        Ok(QuiescedFiles { known: self.known(), parts, _writer: writer })
    }
}
