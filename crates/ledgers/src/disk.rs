//! Implements the port `Disk` for the Spot core with a real folder: it reserves room in files ahead,
//! syncs on one thread, and locks the folder.

use crate::SpotOpenError;
use kernel::ports::Fut;
use kernel::ports::disk::Disk;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use tokio::sync::oneshot;

/// The lock file's name. It is never removed: a file that is locked and removed locks nothing.
const LOCK: &str = "lock";
/// Room is set aside in such pieces, as zeros: a sync of bytes inside the file's length writes no
/// metadata.
const AHEAD: u64 = 256 << 10;
/// Only files of this ending get room ahead: the logs, which grow by small pieces.
const GROWING: &str = ".log";

/// A folder that this process owns until it is dropped.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    files: Mutex<BTreeMap<String, Open>>,
    syncs: mpsc::Sender<Sync>,
    /// Held, never read: its lock goes with it.
    _lock: File,
}

/// A file that is held open.
#[derive(Debug, Clone)]
struct Open {
    file: Arc<File>,
    /// The end of the appended bytes; zeros may follow.
    end: u64,
    len: u64,
}

/// A file to be synced, and who waits for it.
#[derive(Debug)]
struct Sync {
    file: Arc<File>,
    done: oneshot::Sender<io::Result<()>>,
}

impl Folder {
    /// Makes the folder where it is missing, and takes it.
    ///
    /// # Errors
    /// `Locked` where another owner holds it, in this process or in another; `Io`.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, SpotOpenError> {
        let path = path.into();
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
        let lock = File::options().create(true).append(true).mode(0o600).open(path.join(LOCK))?;
        match lock.try_lock() {
            Ok(()) => (),
            Err(TryLockError::WouldBlock) => return Err(SpotOpenError::Locked),
            Err(TryLockError::Error(error)) => return Err(SpotOpenError::Io(error)),
        }
        let (syncs, asked) = mpsc::channel::<Sync>();
        // Syncs take as long as the disk likes, and must not hold up the task that polls; a thread
        // of their own is nearer than a pool, and works without a runtime.
        std::thread::Builder::new().name("portage-sync".to_owned()).spawn(move || {
            for sync in asked {
                drop(sync.done.send(sync.file.sync_data()));
            }
        })?;
        Ok(Self { path, files: Mutex::default(), syncs, _lock: lock })
    }

    /// Runs with a file that is held open; with `create` it is made where it is missing.
    fn with<T>(
        &self,
        name: &str,
        create: bool,
        run: impl FnOnce(&mut Open) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = files.get_mut(name) {
            return run(open);
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(create).mode(0o600);
        let file = options.open(self.path.join(name))?;
        let len = file.metadata()?.len();
        let mut open = Open { file: Arc::new(file), end: len, len };
        let ran = run(&mut open);
        files.insert(name.to_owned(), open);
        ran
    }

    fn forget(&self, name: &str) -> Option<Open> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).remove(name)
    }

    async fn synced(&self, file: Arc<File>) -> io::Result<()> {
        let (done, waits) = oneshot::channel();
        let gone = || io::Error::other("the thread that syncs is gone");
        self.syncs.send(Sync { file, done }).map_err(|_| gone())?;
        waits.await.map_err(|_| gone())?
    }
}

impl Open {
    fn append(&mut self, bytes: &[u8], ahead: bool) -> io::Result<()> {
        let end = self.end.saturating_add(u64::try_from(bytes.len()).map_err(io::Error::other)?);
        if ahead && end > self.len {
            self.reserve(end.saturating_add(AHEAD))?;
        }
        self.file.write_all_at(bytes, self.end)?;
        self.end = end;
        if self.len < end {
            self.len = end;
        }
        Ok(())
    }

    /// Fills the file with zeros up to a length. No room for that is no error: the bytes
    /// themselves may still fit.
    fn reserve(&mut self, len: u64) -> io::Result<()> {
        let zeros = vec![0; usize::try_from(len.saturating_sub(self.len)).unwrap_or_default()];
        match self.file.write_all_at(&zeros, self.len) {
            Ok(()) => self.len = len,
            Err(error) if full(&error) => self.len = self.file.metadata()?.len(),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let left = usize::try_from(self.end.saturating_sub(offset)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; if len < left { len } else { left }];
        self.file.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }
}

fn full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

impl Disk for Folder {
    fn list(&self) -> Fut<'_, io::Result<Vec<String>>> {
        Box::pin(async {
            let mut names = Vec::new();
            for entry in fs::read_dir(&self.path)? {
                if let Ok(name) = entry?.file_name().into_string() {
                    names.push(name);
                }
            }
            names.retain(|name| name != LOCK);
            names.sort_unstable();
            Ok(names)
        })
    }

    fn append<'a>(&'a self, file: &'a str, bytes: &'a [u8]) -> Fut<'a, io::Result<()>> {
        let ahead = file.ends_with(GROWING);
        Box::pin(async move { self.with(file, true, |open| open.append(bytes, ahead)) })
    }

    fn read<'a>(&'a self, file: &'a str, offset: u64, len: usize) -> Fut<'a, io::Result<Vec<u8>>> {
        Box::pin(async move { self.with(file, false, |open| open.read(offset, len)) })
    }

    fn len<'a>(&'a self, file: &'a str) -> Fut<'a, io::Result<u64>> {
        Box::pin(async move { self.with(file, false, |open| Ok(open.end)) })
    }

    fn sync<'a>(&'a self, file: &'a str) -> Fut<'a, io::Result<()>> {
        Box::pin(async move {
            let file = self.with(file, false, |open| Ok(open.file.clone()))?;
            self.synced(file).await
        })
    }

    fn truncate<'a>(&'a self, file: &'a str, len: u64) -> Fut<'a, io::Result<()>> {
        Box::pin(async move {
            self.with(file, false, |open| {
                open.file.set_len(len)?;
                (open.end, open.len) = (len, len);
                Ok(())
            })
        })
    }

    fn rename<'a>(&'a self, from: &'a str, to: &'a str) -> Fut<'a, io::Result<()>> {
        Box::pin(async move {
            fs::rename(self.path.join(from), self.path.join(to))?;
            self.forget(from);
            self.forget(to);
            Ok(())
        })
    }

    fn remove<'a>(&'a self, file: &'a str) -> Fut<'a, io::Result<()>> {
        Box::pin(async move {
            self.forget(file);
            fs::remove_file(self.path.join(file))
        })
    }

    fn sync_folder(&self) -> Fut<'_, io::Result<()>> {
        Box::pin(async {
            let folder = File::open(&self.path)?;
            self.synced(Arc::new(folder)).await
        })
    }
}
