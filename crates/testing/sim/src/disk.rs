//! A simulated folder: it knows which bytes were written, which of them are durable, and what a power cut leaves.
//!
//! It is as unkind as POSIX allows: bytes are durable after their sync, names after the folder's,
//! and of what was not synced a power cut keeps any beginning, with holes in it.

use crate::world::{Crash, SplitMix, breath, die};
use kernel::ports::Fut;
use kernel::ports::disk::Disk;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What goes wrong with one call that changes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DiskFault {
    /// No room: an append wrote a part.
    Full,
    /// A broken disk: an append wrote a part, a sync made nothing durable.
    Broken,
    /// The process dies before anything is changed.
    CrashBefore,
    /// The process dies in the middle: an append wrote a part.
    CrashWithin,
    /// The process dies when it is done.
    CrashAfter,
}

impl DiskFault {
    /// Its name in the counts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "Spot disk full",
            Self::Broken => "Spot disk broken",
            Self::CrashBefore => "crash before a disk call",
            Self::CrashWithin => "crash within a disk call",
            Self::CrashAfter => "crash after a disk call",
        }
    }

    /// Every fault that ends the process.
    pub const CRASHES: [Self; 3] = [Self::CrashBefore, Self::CrashWithin, Self::CrashAfter];
}

#[derive(Debug, Clone, Default)]
struct File {
    live: Vec<u8>,
    durable: Vec<u8>,
    /// It was cut since its last sync, so it may no longer begin with what is durable.
    cut: bool,
}

impl File {
    /// Everything is durable now. What was durable before is not copied again.
    fn harden(&mut self) {
        let same = self.live.len() >= self.durable.len() && !self.cut;
        let from = if same { self.durable.len() } else { 0 };
        self.durable.truncate(from);
        self.durable.extend(self.live.iter().skip(from));
        self.cut = false;
    }
}

/// A change of names since the folder's last sync.
#[derive(Debug, Clone)]
enum Change {
    Link(String, u64),
    Unlink(String),
    /// One change for the medium: never both names, never none.
    Rename(String, String, u64),
}

type FileNames = BTreeMap<String, u64>;

#[derive(Debug)]
struct Inner {
    files: BTreeMap<u64, File>,
    names: FileNames,
    durable: FileNames,
    changes: Vec<Change>,
    next: u64,
    room: Option<usize>,
    lies: bool,
    calls: u64,
    planned: BTreeMap<u64, DiskFault>,
    /// How often each happens, of 1000 calls.
    rates: Vec<(DiskFault, u64)>,
    /// How often each fault happened so far.
    met: BTreeMap<DiskFault, u64>,
    draws: SplitMix,
}

/// The folder. A handle: clones are the same one.
#[derive(Clone)]
pub struct SimDisk {
    inner: Arc<Mutex<Inner>>,
    crash: Crash,
}

impl fmt::Debug for SimDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimDisk").field("names", &self.inner().names).finish_non_exhaustive()
    }
}

fn no_such_file() -> io::Error {
    ErrorKind::NotFound.into()
}

impl Inner {
    fn file(&mut self, name: &str) -> io::Result<&mut File> {
        let inode = self.names.get(name).ok_or_else(no_such_file)?;
        self.files.get_mut(inode).ok_or_else(no_such_file)
    }

    fn link(&mut self, name: &str, inode: u64) {
        self.names.insert(name.to_owned(), inode);
        self.changes.push(Change::Link(name.to_owned(), inode));
    }

    fn unlink(&mut self, name: &str) -> io::Result<u64> {
        let inode = self.names.remove(name).ok_or_else(no_such_file)?;
        self.changes.push(Change::Unlink(name.to_owned()));
        Ok(inode)
    }

    /// Appends as much as there is room for.
    fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        if !self.names.contains_key(name) {
            let inode = self.next;
            self.next += 1;
            self.files.insert(inode, File::default());
            self.link(name, inode);
        }
        let fits = self.room.map_or(bytes.len(), |room| least(room, bytes.len()));
        if let Some(room) = &mut self.room {
            *room -= fits;
        }
        let (part, rest) = bytes.split_at(fits);
        self.file(name)?.live.extend(part);
        if rest.is_empty() { Ok(()) } else { Err(ErrorKind::StorageFull.into()) }
    }

    /// The fault of this call, by the rates.
    fn drawn(&mut self) -> Option<DiskFault> {
        if self.rates.is_empty() {
            return None;
        }
        let mut at = self.draws.next() % 1_000;
        let mut rates = self.rates.iter();
        let hit = rates.find(|(_, rate)| {
            let hit = at < *rate;
            at = at.saturating_sub(*rate);
            hit
        });
        hit.map(|(fault, _)| *fault)
    }

    /// A number below `n`, or 0.
    fn below(&mut self, n: usize) -> usize {
        let drawn = usize::try_from(self.draws.next() >> 1).unwrap_or(usize::MAX);
        drawn.checked_rem(n).unwrap_or(0)
    }

    /// What the medium holds of a file after the power went.
    fn left(&mut self, file: &File) -> Vec<u8> {
        let File { live, durable, .. } = file;
        let Some(tail) = live.strip_prefix(durable.as_slice()) else {
            // cut and not synced: as it was, or as it is
            return if self.draws.once_in(1, 2) { durable.clone() } else { live.clone() };
        };
        let kept = self.below(tail.len() + 1);
        let (kept, _) = tail.split_at(kept);
        let mut left = [durable.as_slice(), kept].concat();
        if self.draws.once_in(1, 3) {
            // a sector in the middle did not make it
            let from = durable.len() + self.below(kept.len());
            let hole = left.iter_mut().skip(from).take(512);
            hole.for_each(|byte| *byte = 0);
        }
        left
    }
}

const fn least(a: usize, b: usize) -> usize {
    if a < b { a } else { b }
}

impl SimDisk {
    /// An empty folder; what it loses is drawn from the seed.
    pub fn new(seed: u64, crash: Crash) -> Self {
        let inner = Inner {
            files: BTreeMap::new(),
            names: BTreeMap::new(),
            durable: BTreeMap::new(),
            changes: Vec::new(),
            next: 0,
            room: None,
            lies: false,
            calls: 0,
            planned: BTreeMap::new(),
            rates: Vec::new(),
            met: BTreeMap::new(),
            draws: SplitMix(seed),
        };
        Self { inner: Arc::new(Mutex::new(inner)), crash }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same folder under another process, which dies where this handle's calls say so.
    #[must_use]
    pub fn under(&self, crash: Crash) -> Self {
        Self { inner: self.inner.clone(), crash }
    }

    /// The power goes: only what is durable stays, and a drawn part of the rest. A process that is
    /// only killed leaves everything, and needs no call.
    pub fn power_cut(&self) {
        let mut inner = self.inner();
        let changes = std::mem::take(&mut inner.changes);
        let made = inner.below(changes.len() + 1);
        let mut names = inner.durable.clone();
        for change in changes.into_iter().take(made) {
            match change {
                Change::Link(name, inode) => names.insert(name, inode),
                Change::Unlink(name) => names.remove(&name),
                Change::Rename(from, to, inode) => {
                    names.remove(&from);
                    names.insert(to, inode)
                }
            };
        }
        let mut files = BTreeMap::new();
        for inode in names.values() {
            let file = inner.files.get(inode).cloned().unwrap_or_default();
            let live = inner.left(&file);
            files.insert(*inode, File { durable: live.clone(), live, cut: false });
        }
        inner.files = files;
        inner.durable = names.clone();
        inner.names = names;
    }

    /// A copy of the folder as it is: a backup, or a clone that is started beside it.
    pub fn copy(&self, seed: u64) -> Self {
        let inner = self.inner();
        let copy = Self::new(seed, self.crash.clone());
        {
            let mut other = copy.inner();
            other.files = inner.files.clone();
            other.names = inner.names.clone();
            other.durable = inner.durable.clone();
            other.changes = inner.changes.clone();
            other.next = inner.next;
        }
        copy
    }

    /// Number of bytes that may still be written; none: no limit.
    pub fn room(&self, bytes: Option<usize>) {
        self.inner().room = bytes;
    }

    /// Says that it synced and did not: a wrong build.
    pub fn lie(&self) {
        self.inner().lies = true;
    }

    /// Number of calls that were begun and change something.
    pub fn calls(&self) -> u64 {
        self.inner().calls
    }

    /// The n-th such call, counted from 0, goes wrong.
    pub fn plan(&self, n: u64, fault: DiskFault) {
        self.inner().planned.insert(n, fault);
    }

    /// From now on each of these happens in this number of 1000 calls.
    pub fn rates(&self, rates: Vec<(DiskFault, u64)>) {
        self.inner().rates = rates;
    }

    /// How often each fault happened.
    pub fn met(&self) -> BTreeMap<DiskFault, u64> {
        self.inner().met.clone()
    }

    /// One call that changes something, at the mercy of the plan. `part` is what it leaves when it
    /// fails in the middle.
    async fn change<T>(
        &self,
        part: impl FnOnce(&mut Inner),
        whole: impl FnOnce(&mut Inner) -> io::Result<T>,
    ) -> io::Result<T> {
        breath().await;
        let fault = {
            let mut inner = self.inner();
            let n = inner.calls;
            inner.calls += 1;
            let fault = inner.planned.remove(&n).or_else(|| inner.drawn());
            fault.into_iter().for_each(|fault| *inner.met.entry(fault).or_insert(0) += 1);
            fault
        };
        match fault {
            Some(DiskFault::CrashBefore) => die(&self.crash, "crashed before a disk call").await,
            Some(DiskFault::Full) => {
                part(&mut self.inner());
                return Err(ErrorKind::StorageFull.into());
            }
            Some(DiskFault::Broken) => {
                part(&mut self.inner());
                return Err(io::Error::other("the simulated disk is broken"));
            }
            Some(DiskFault::CrashWithin) => {
                part(&mut self.inner());
                die(&self.crash, "crashed within a disk call").await;
                return Err(ErrorKind::Interrupted.into());
            }
            Some(DiskFault::CrashAfter) | None => {}
        }
        let done = whole(&mut self.inner());
        if fault == Some(DiskFault::CrashAfter) {
            die(&self.crash, "crashed after a disk call").await;
        }
        breath().await;
        done
    }
}

impl Disk for SimDisk {
    fn list(&self) -> Fut<'_, io::Result<Vec<String>>> {
        Box::pin(async { Ok(self.inner().names.keys().cloned().collect()) })
    }

    fn append<'a>(&'a self, file: &'a str, bytes: &'a [u8]) -> Fut<'a, io::Result<()>> {
        let part = move |inner: &mut Inner| {
            let (some, _) = bytes.split_at(inner.below(bytes.len() + 1));
            // what it leaves is all that counts: the call fails anyway
            let _failed = inner.append(file, some);
        };
        Box::pin(self.change(part, move |inner| inner.append(file, bytes)))
    }

    fn read<'a>(&'a self, file: &'a str, offset: u64, len: usize) -> Fut<'a, io::Result<Vec<u8>>> {
        Box::pin(async move {
            let offset = usize::try_from(offset).unwrap_or(usize::MAX);
            let mut inner = self.inner();
            let bytes = &inner.file(file)?.live;
            Ok(bytes.iter().skip(offset).take(len).copied().collect())
        })
    }

    fn len<'a>(&'a self, file: &'a str) -> Fut<'a, io::Result<u64>> {
        Box::pin(async move {
            let len = self.inner().file(file)?.live.len();
            Ok(u64::try_from(len).unwrap_or(u64::MAX))
        })
    }

    fn sync<'a>(&'a self, file: &'a str) -> Fut<'a, io::Result<()>> {
        let whole = move |inner: &mut Inner| {
            let lies = inner.lies;
            let file = inner.file(file)?;
            if !lies {
                file.harden();
            }
            Ok(())
        };
        Box::pin(self.change(|_| (), whole))
    }

    fn truncate<'a>(&'a self, file: &'a str, len: u64) -> Fut<'a, io::Result<()>> {
        let whole = move |inner: &mut Inner| {
            let len = usize::try_from(len).unwrap_or(usize::MAX);
            let file = inner.file(file)?;
            file.live.truncate(len);
            file.cut = true;
            Ok(())
        };
        Box::pin(self.change(|_| (), whole))
    }

    fn rename<'a>(&'a self, from: &'a str, to: &'a str) -> Fut<'a, io::Result<()>> {
        let whole = move |inner: &mut Inner| {
            let inode = inner.names.remove(from).ok_or_else(no_such_file)?;
            inner.names.insert(to.to_owned(), inode);
            inner.changes.push(Change::Rename(from.to_owned(), to.to_owned(), inode));
            Ok(())
        };
        Box::pin(self.change(|_| (), whole))
    }

    fn remove<'a>(&'a self, file: &'a str) -> Fut<'a, io::Result<()>> {
        Box::pin(self.change(|_| (), move |inner| inner.unlink(file).map(drop)))
    }

    fn sync_folder(&self) -> Fut<'_, io::Result<()>> {
        let whole = |inner: &mut Inner| {
            inner.durable = inner.names.clone();
            inner.changes.clear();
            Ok(())
        };
        Box::pin(self.change(|_| (), whole))
    }
}

#[cfg(test)]
mod tests {
    use super::{DiskFault, SimDisk};
    use crate::world::{Sim, Stop};
    use kernel::ports::disk::Disk;

    fn disk(seed: u64) -> (Sim, SimDisk) {
        let sim = Sim::new(seed);
        let disk = SimDisk::new(seed, sim.crash());
        (sim, disk)
    }

    /// Writes `durable` with both syncs, then `pending` with none.
    fn written(seed: u64) -> (Sim, SimDisk) {
        let (sim, disk) = disk(seed);
        let on = disk.clone();
        let write = async move {
            on.append("log", b"durable").await.unwrap();
            on.sync("log").await.unwrap();
            on.sync_folder().await.unwrap();
            on.append("log", b" pending").await.unwrap();
            on.append("new", b"its name was never synced").await.unwrap();
            on.sync("new").await.unwrap();
        };
        sim.block_on(write).unwrap();
        (sim, disk)
    }

    fn log(sim: &Sim, disk: &SimDisk) -> Vec<u8> {
        let on = disk.clone();
        sim.block_on(async move { on.read("log", 0, 100).await.unwrap() }).unwrap()
    }

    #[test]
    fn a_power_cut_keeps_what_is_durable_and_any_part_of_the_rest() {
        let (mut lengths, mut named) = (std::collections::BTreeSet::new(), 0);
        for seed in 0..200 {
            let (sim, disk) = written(seed);
            disk.power_cut();
            let bytes = log(&sim, &disk);
            assert!(bytes.starts_with(b"durable"), "{bytes:?}");
            assert!(bytes.len() <= b"durable pending".len());
            lengths.insert(bytes.len());
            let on = disk.clone();
            let names = sim.block_on(async move { on.list().await.unwrap() }).unwrap();
            named += usize::from(names.contains(&"new".to_owned()));
        }
        assert_eq!(lengths.len(), 9);
        assert!((50..150).contains(&named), "{named}");
    }

    #[test]
    fn a_killed_process_leaves_what_it_wrote() {
        let (sim, disk) = written(1);
        disk.plan(disk.calls(), DiskFault::CrashAfter);
        let on = disk.clone();
        let last = sim.block_on(async move { on.append("log", b"!").await });
        assert!(matches!(last, Err(Stop::Dead(_))));
        sim.revive();
        assert_eq!(log(&sim, &disk), b"durable pending!");
    }

    #[test]
    fn a_full_and_a_broken_disk_say_so() {
        let (sim, disk) = written(2);
        disk.room(Some(3));
        let on = disk.clone();
        let full = sim.block_on(async move { on.append("log", b"12345").await }).unwrap();
        assert_eq!(full.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
        assert_eq!(log(&sim, &disk), b"durable pending123");
        disk.plan(disk.calls(), DiskFault::Broken);
        let on = disk.clone();
        assert!(sim.block_on(async move { on.sync("log").await }).unwrap().is_err());
        disk.power_cut();
        assert!(log(&sim, &disk).len() <= b"durable pending123".len());
    }
}
