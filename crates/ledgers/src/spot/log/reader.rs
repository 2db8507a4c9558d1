//! Reads a file forward, through a window of it in memory.

use kernel::ports::disk::Disk;
use std::io;

/// How much is read at once.
const WINDOW: usize = 1 << 20;

/// A file and the piece of it in memory.
pub(crate) struct Reader<'a> {
    disk: &'a dyn Disk,
    file: &'a str,
    at: u64,
    window: Vec<u8>,
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(disk: &'a dyn Disk, file: &'a str) -> Self {
        Self { disk, file, at: 0, window: Vec::new() }
    }

    /// Reads `len` bytes from an offset; fewer only at the end of the file.
    pub(crate) async fn take(&mut self, offset: u64, len: usize) -> io::Result<&[u8]> {
        let inside = |at: u64, window: &[u8]| {
            let from = usize::try_from(offset.checked_sub(at)?).ok()?;
            let to = from.checked_add(len)?;
            (to <= window.len()).then_some(from)
        };
        let from = if let Some(from) = inside(self.at, &self.window) {
            from
        } else {
            let wanted = if len > WINDOW { len } else { WINDOW };
            self.window = self.disk.read(self.file, offset, wanted).await?;
            self.at = offset;
            0
        };
        let rest = self.window.get(from..).unwrap_or_default();
        Ok(rest.get(..len).unwrap_or(rest))
    }

    /// As many bytes from an offset as are easily had.
    pub(crate) async fn some(&mut self, offset: u64) -> io::Result<&[u8]> {
        self.take(offset, WINDOW).await
    }
}
