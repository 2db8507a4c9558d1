//! The port to a folder of files, for the log of the Spot core.

use super::Fut;
use std::io;

/// One folder. Names are plain file names inside it.
pub trait Disk: Send + Sync {
    /// The names of the files that are there.
    fn list(&self) -> Fut<'_, io::Result<Vec<String>>>;
    /// Appends; nothing is durable before [`Disk::sync`]. On an error any part may have been
    /// written.
    fn append<'a>(&'a self, file: &'a str, bytes: &'a [u8]) -> Fut<'a, io::Result<()>>;
    /// Reads up to `len` bytes from `offset`; fewer only at the end of the file.
    fn read<'a>(&'a self, file: &'a str, offset: u64, len: usize) -> Fut<'a, io::Result<Vec<u8>>>;
    /// The file's length in bytes.
    fn len<'a>(&'a self, file: &'a str) -> Fut<'a, io::Result<u64>>;
    /// Makes the file's bytes durable.
    fn sync<'a>(&'a self, file: &'a str) -> Fut<'a, io::Result<()>>;
    /// Cuts the file to this length.
    fn truncate<'a>(&'a self, file: &'a str, len: u64) -> Fut<'a, io::Result<()>>;
    /// Renames over whatever has that name.
    fn rename<'a>(&'a self, from: &'a str, to: &'a str) -> Fut<'a, io::Result<()>>;
    /// Removes a file for good.
    fn remove<'a>(&'a self, file: &'a str) -> Fut<'a, io::Result<()>>;
    /// Makes creations, renames and removals durable.
    fn sync_folder(&self) -> Fut<'_, io::Result<()>>;
}
