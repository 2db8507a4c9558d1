//! A folder in memory that fails when it is told to. It knows what is durable.

use kernel::ports::Fut;
use kernel::ports::disk::Disk;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Mutex;

/// What the next call of a kind does instead of succeeding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// An append writes half and fails so.
    Append(io::ErrorKind),
    /// A sync fails so.
    Sync(io::ErrorKind),
    /// A sync is never answered.
    Hang,
}

/// The files of a folder.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

#[derive(Debug, Default)]
pub(crate) struct Memory {
    files: Mutex<Files>,
    /// What a process killed after each change would leave, where that is wanted.
    pub(crate) history: Mutex<Option<Vec<Files>>>,
    faults: Mutex<VecDeque<Fault>>,
    /// How often a file was synced.
    pub(crate) syncs: Mutex<usize>,
}

impl Memory {
    pub(crate) fn of(files: Files) -> Self {
        Self { files: Mutex::new(files), ..Self::default() }
    }

    pub(crate) fn files(&self) -> Files {
        self.files.lock().unwrap().clone()
    }

    pub(crate) fn fail(&self, fault: Fault) {
        self.faults.lock().unwrap().push_back(fault);
    }

    fn fault(&self, wanted: impl Fn(&Fault) -> bool) -> Option<Fault> {
        let mut faults = self.faults.lock().unwrap();
        if faults.front().is_some_and(wanted) { faults.pop_front() } else { None }
    }

    fn note(&self, files: &Files) {
        if let Some(history) = &mut *self.history.lock().unwrap() {
            history.push(files.clone());
        }
    }

    fn with<T>(&self, file: &str, run: impl FnOnce(&mut Vec<u8>) -> T) -> io::Result<T> {
        let mut files = self.files.lock().unwrap();
        let done = files.get_mut(file).map(run);
        self.note(&files);
        done.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Disk for Memory {
    fn list(&self) -> Fut<'_, io::Result<Vec<String>>> {
        Box::pin(async { Ok(self.files.lock().unwrap().keys().cloned().collect()) })
    }

    fn append<'a>(&'a self, file: &'a str, bytes: &'a [u8]) -> Fut<'a, io::Result<()>> {
        Box::pin(async move {
            let fault = self.fault(|fault| matches!(fault, Fault::Append(_)));
            let part = if fault.is_some() { bytes.len() / 2 } else { bytes.len() };
            let mut files = self.files.lock().unwrap();
            files.entry(file.to_owned()).or_default().extend(&bytes[..part]);
            self.note(&files);
            match fault {
                Some(Fault::Append(kind)) => Err(kind.into()),
                _ => Ok(()),
            }
        })
    }

    fn read<'a>(&'a self, file: &'a str, offset: u64, len: usize) -> Fut<'a, io::Result<Vec<u8>>> {
        Box::pin(async move {
            let offset = usize::try_from(offset).unwrap();
            self.with(file, |bytes| bytes.iter().skip(offset).take(len).copied().collect())
        })
    }

    fn len<'a>(&'a self, file: &'a str) -> Fut<'a, io::Result<u64>> {
        Box::pin(async move { self.with(file, |bytes| u64::try_from(bytes.len()).unwrap()) })
    }

    fn sync<'a>(&'a self, file: &'a str) -> Fut<'a, io::Result<()>> {
        Box::pin(async move {
            *self.syncs.lock().unwrap() += 1;
            match self.fault(|fault| matches!(fault, Fault::Sync(_) | Fault::Hang)) {
                Some(Fault::Sync(kind)) => Err(kind.into()),
                Some(_) => std::future::pending().await,
                None => self.with(file, |_| ()),
            }
        })
    }

    fn truncate<'a>(&'a self, file: &'a str, len: u64) -> Fut<'a, io::Result<()>> {
        Box::pin(async move { self.with(file, |b| b.resize(usize::try_from(len).unwrap(), 0)) })
    }

    fn rename<'a>(&'a self, from: &'a str, to: &'a str) -> Fut<'a, io::Result<()>> {
        Box::pin(async move {
            let mut files = self.files.lock().unwrap();
            let bytes = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
            files.insert(to.to_owned(), bytes);
            self.note(&files);
            Ok(())
        })
    }

    fn remove<'a>(&'a self, file: &'a str) -> Fut<'a, io::Result<()>> {
        Box::pin(async move {
            let mut files = self.files.lock().unwrap();
            let removed = files.remove(file);
            self.note(&files);
            removed.map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
        })
    }

    fn sync_folder(&self) -> Fut<'_, io::Result<()>> {
        Box::pin(async { Ok(()) })
    }
}
