//! A moment in which the core stands still, so that its files can be copied as of one instant.

use super::Spot;
use super::gather::Writer;
use super::names::Name;
use kernel::ports::ledger::Known;
use std::fmt;
use std::io;
use tokio::sync::MutexGuard;

/// While this is held nothing is decided, written or removed: calls wait, questions are answered.
/// Hold it for milliseconds.
pub struct Frozen<'a> {
    /// Who it is, and up to which operation its files say what it did.
    pub known: Known,
    /// Its files, each up to where it is durable and whole.
    pub pieces: Vec<Piece>,
    _writer: MutexGuard<'a, Writer>,
}

impl fmt::Debug for Frozen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frozen").field("known", &self.known).finish_non_exhaustive()
    }
}

/// A file's beginning. Whoever holds it open has these bytes for as long as he likes: they are never
/// written again, and a name that is removed takes no bytes from whoever opened it before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The file's name in the core's folder.
    pub name: String,
    /// So many bytes of it.
    pub len: u64,
}

impl Spot {
    /// Waits for the batch or snapshot that is being written, then holds everything that comes
    /// after it.
    ///
    /// # Errors
    /// The disk's, or the core is broken.
    pub async fn freeze(&self) -> io::Result<Frozen<'_>> {
        let writer = self.writer.lock().await;
        if let Some(cause) = self.broken.get() {
            return Err(io::Error::other(cause.clone()));
        }
        let (last, good) = writer.end();
        let mut pieces = Vec::new();
        for name in self.disk.list().await? {
            let len = match Name::parse(&name) {
                Some(Name::Segment(_)) if name == last => good,
                Some(Name::Segment(_) | Name::Snapshot(_)) => self.disk.len(&name).await?,
                Some(Name::Aside(_)) | None => continue,
            };
            pieces.push(Piece { name, len });
        }
        Ok(Frozen { known: self.known(), pieces, _writer: writer })
    }
}
