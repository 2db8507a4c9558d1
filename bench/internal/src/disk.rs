//! The real folder, with its syncs counted.

use crate::probe::Syncs;
use kernel::ports::Fut;
use kernel::ports::disk::Disk;
use ledgers::disk::Folder;
use std::io;
use std::sync::Arc;

/// A folder whose syncs are counted.
pub(crate) struct Counted {
    pub folder: Folder,
    pub syncs: Arc<Syncs>,
}

impl Disk for Counted {
    fn list(&self) -> Fut<'_, io::Result<Vec<String>>> {
        self.folder.list()
    }
    fn append<'a>(&'a self, file: &'a str, bytes: &'a [u8]) -> Fut<'a, io::Result<()>> {
        self.folder.append(file, bytes)
    }
    fn read<'a>(&'a self, file: &'a str, offset: u64, len: usize) -> Fut<'a, io::Result<Vec<u8>>> {
        self.folder.read(file, offset, len)
    }
    fn len<'a>(&'a self, file: &'a str) -> Fut<'a, io::Result<u64>> {
        self.folder.len(file)
    }
    fn sync<'a>(&'a self, file: &'a str) -> Fut<'a, io::Result<()>> {
        self.syncs.count();
        self.folder.sync(file)
    }
    fn truncate<'a>(&'a self, file: &'a str, len: u64) -> Fut<'a, io::Result<()>> {
        self.folder.truncate(file, len)
    }
    fn rename<'a>(&'a self, from: &'a str, to: &'a str) -> Fut<'a, io::Result<()>> {
        self.folder.rename(from, to)
    }
    fn remove<'a>(&'a self, file: &'a str) -> Fut<'a, io::Result<()>> {
        self.folder.remove(file)
    }
    fn sync_folder(&self) -> Fut<'_, io::Result<()>> {
        self.syncs.count();
        self.folder.sync_folder()
    }
}
