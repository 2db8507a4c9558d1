//! Takes backups of the journal and Spot at one consistent point, while the server runs.
//!
//! Spot pauses for a moment: the backup opens its files and notes how far they are durable, and begins a read
//! transaction of the journal. At that moment every operation of Spot has its claim in the journal, and every
//! receipt in the journal is an operation of Spot; a transfer that is under way is in the state that a crash would
//! leave. The backup copies everything afterwards, while the server works.
//!
//! A journal in PostgreSQL is copied by PostgreSQL's own tools. While Spot pauses, the backup reads the position of
//! the database's log: the database, recovered to that position, and this copy of Spot are one instant.

mod files;
mod lost_units;
mod manifest;
mod pair;
mod restore;
mod service;

pub(crate) use self::lost_units::halt_over_lost_units;
pub(crate) use self::manifest::FILE as MANIFEST;
pub use self::manifest::{DatabasePoint, FileRow, Manifest, SpotPoint, verified};
pub use self::pair::paired;
pub use self::restore::{moved, restored, whole};
pub use self::service::BackupService;

use self::files::SpaceLimit;
use crate::auth::key;
use crate::bootstrap::SPOT;
use crate::http::format;
use engine::audit::SealText;
use kernel::answer::Cause;
use kernel::ids::LedgerId;
use kernel::operation::Known;
use kernel::operators::{Case, Severity, Subject};
use kernel::ports::clock::Clock;
use kernel::ports::journal::{RESTORED_ROW, ServiceQueries as _};
use kernel::unit::Put;
use ledgers::spot::{QuiescedFiles, Spot};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::postgres::Postgres;
use store::sqlite::{CopyPosition, DatabaseCopy, Embedded, FILE};

/// The case that a restored folder begins with.
const KIND: &str = "RESTORED";

/// Where the journal is.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "connections have none")]
pub enum JournalStore {
    /// In the data folder.
    Folder(Arc<Embedded>),
    /// In PostgreSQL, whose own tools copy it.
    Database(Arc<Postgres>),
}

/// Says whether a backup may come into being there, before anything is copied.
///
/// # Errors
/// Something is there already.
pub fn may_be_made(to: &Path) -> Result<(), BackupError> {
    files::free(to)
}

/// The parts of the service that a backup copies.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct Source {
    pub journal: JournalStore,
    /// The trading accounts, where they are in this process.
    pub spot: Option<Arc<Spot>>,
    pub dir: PathBuf,
    pub clock: Arc<dyn Clock>,
}

/// The reason why there is no backup. A failed backup leaves nothing that looks like one.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// Something has that name already.
    #[error("{0}: is there already")]
    Exists(PathBuf),
    /// Nothing of the service is in this process.
    #[error(
        "the journal is in PostgreSQL, and Spot is served elsewhere: nothing is here to be copied. \
         Copy the database with its own tools; stop `portage spot serve` and run `portage backup` \
         over its folder, with the same database.url"
    )]
    Elsewhere,
    /// The database does not answer, or not as it must.
    #[error("the database: {0}")]
    Silent(Cause),
    /// The database and the backup are not of one instant.
    #[error("{0}")]
    Apart(String),
    /// No room on the disk.
    #[error("no room for the backup: {0}")]
    Full(io::Error),
    /// Reading or writing failed.
    #[error("{0}: {1}")]
    Io(PathBuf, io::Error),
}

impl BackupError {
    fn at(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        |fault| {
            if matches!(fault.kind(), StorageFull | QuotaExceeded) {
                return Self::Full(fault);
            }
            Self::Io(path.to_owned(), fault)
        }
    }
}

/// A backup that is durable.
#[derive(Debug, Clone)]
pub struct Backup {
    /// The folder in which it is.
    pub dir: PathBuf,
    /// The manifest of the backup.
    pub manifest: Manifest,
    /// The time that calls to Spot waited, in microseconds.
    pub stood_still_us: u64,
}

/// A file of Spot that is held open, and how much of it is copied.
struct OpenFile {
    name: String,
    file: File,
    len: u64,
}

/// One instant of journal and Spot.
struct Snapshot {
    copying: DatabaseCopy,
    spot: Option<(Known, Vec<OpenFile>)>,
    stood_still_us: u64,
}

impl Source {
    /// Makes a backup in a folder that is not there yet, or empty. `most`: the maximum size in bytes.
    /// A caller that drops this on its way leaves a folder behind whose name ends in `.partial`.
    ///
    /// # Errors
    /// [`BackupError`].
    pub async fn back_up(&self, to: &Path, most: Option<u64>) -> Result<Backup, BackupError> {
        let partial = files::partial(to)?;
        let made = self.into(&partial, most).await;
        let made = made.and_then(|(manifest, stood_still_us)| {
            files::named(&partial, to)?;
            Ok(Backup { dir: to.to_owned(), manifest, stood_still_us })
        });
        if made.is_err() {
            // half a backup has no manifest, and no name that one would look for
            drop(fs::remove_dir_all(&partial));
        }
        made
    }

    async fn into(
        &self,
        partial: &Path,
        most: Option<u64>,
    ) -> Result<(Manifest, u64), BackupError> {
        let store = match &self.journal {
            JournalStore::Folder(store) => store,
            JournalStore::Database(store) => {
                return self.beside_database(store, partial, most).await;
            }
        };
        let copying = store.database_copy().map_err(BackupError::at(&self.dir))?;
        let snapshot = self.snapshot(copying).await.map_err(BackupError::at(&self.dir))?;
        let Snapshot { copying, spot, stood_still_us } = snapshot;
        let manifest =
            self.copied(partial, move |copy| copy.all(copying, spot, SpaceLimit::of(most)));
        Ok((manifest.await?, stood_still_us))
    }

    /// Spot, and where the log of the journal's database was while it stood still.
    async fn beside_database(
        &self,
        store: &Postgres,
        partial: &Path,
        most: Option<u64>,
    ) -> Result<(Manifest, u64), BackupError> {
        let spot = self.spot.as_ref().ok_or(BackupError::Elsewhere)?;
        let status = store.service_status().await.map_err(BackupError::Silent)?;
        let known = status.ledger(LedgerId::SPOT);
        if known.is_some_and(|known| known.identity != spot.known().identity) {
            let what = "the Spot in this folder is not the one that the journal knows";
            return Err(BackupError::Apart(what.to_owned()));
        }
        let pointing = store.wal_position_reader().await.map_err(BackupError::Silent)?;
        let frozen = spot.quiesce().await.map_err(BackupError::at(&self.dir))?;
        let begun = self.clock.ticks();
        let opened = self.opened(&frozen).map_err(BackupError::at(&self.dir))?;
        let point = pointing.position().await.map_err(BackupError::Silent)?;
        let known = frozen.known;
        drop(frozen);
        let stood_still_us = self.clock.ticks().saturating_sub(begun) / 1_000;
        pointing.pass().await.map_err(BackupError::Silent)?;
        let manifest = Manifest {
            format: manifest::FORMAT,
            release: env!("CARGO_PKG_VERSION").to_owned(),
            at: format::time(self.clock.now()),
            journal: format!("{:032x}", point.identity.0),
            transfers: point.transfers,
            last_written: format::time(point.at),
            spot: Some(SpotPoint::of(known)),
            database: Some(DatabasePoint::of(&point)),
            seal: point.seal.as_ref().map(|seal| SealText(seal).to_string()),
            files: Vec::new(),
        };
        let manifest =
            self.copied(partial, move |copy| copy.outside(opened, SpaceLimit::of(most), manifest));
        Ok((manifest.await?, stood_still_us))
    }

    /// Copies on a thread that may block.
    async fn copied(
        &self,
        partial: &Path,
        work: impl FnOnce(Copy<'_>) -> io::Result<Manifest> + Send + 'static,
    ) -> Result<Manifest, BackupError> {
        let (partial, source) = (partial.to_owned(), self.dir.clone());
        let at = format::time(self.clock.now());
        let copied = tokio::task::spawn_blocking(move || {
            work(Copy { partial: &partial, source: &source, at }).map_err(BackupError::at(&partial))
        });
        copied.await.unwrap_or_else(|died| {
            Err(BackupError::Io(self.dir.clone(), io::Error::other(died.to_string())))
        })
    }

    /// Stops Spot for a moment and chooses the instant that all parts are copied of.
    async fn snapshot(&self, copying: DatabaseCopy) -> io::Result<Snapshot> {
        let Some(spot) = &self.spot else {
            copying.begin()?;
            return Ok(Snapshot { copying, spot: None, stood_still_us: 0 });
        };
        let frozen = spot.quiesce().await?;
        let begun = self.clock.ticks();
        let opened = self.opened(&frozen)?;
        copying.begin()?;
        let known = frozen.known;
        drop(frozen);
        let stood_still_us = self.clock.ticks().saturating_sub(begun) / 1_000;
        Ok(Snapshot { copying, spot: Some((known, opened)), stood_still_us })
    }

    /// Opens what is to be copied: it cannot be removed then.
    fn opened(&self, frozen: &QuiescedFiles<'_>) -> io::Result<Vec<OpenFile>> {
        let mut opened = Vec::new();
        for piece in &frozen.parts {
            let (name, len) = (piece.name.clone(), piece.len);
            match File::open(self.dir.join(SPOT).join(&name)) {
                Ok(file) => opened.push(OpenFile { name, file, len }),
                // a segment that nothing was written to yet
                Err(fault) if fault.kind() == io::ErrorKind::NotFound && len == 0 => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(opened)
    }
}

/// The copying itself, on a thread that may block.
struct Copy<'a> {
    partial: &'a Path,
    source: &'a Path,
    at: String,
}

impl Copy<'_> {
    fn all(
        self,
        copying: DatabaseCopy,
        spot: Option<(Known, Vec<OpenFile>)>,
        mut space: SpaceLimit,
    ) -> io::Result<Manifest> {
        let point = copying.position()?;
        let known = spot.as_ref().map(|(known, _)| *known);
        let journal = self.partial.join(FILE);
        copying.write(&journal, marks(&self.at, &point, known), space.left())?;
        // ends the read transaction, which keeps the write-ahead log from being moved
        drop(copying);
        let mut rows = vec![files::row(FILE, &journal)?];
        space.take(rows.iter().map(|row| row.bytes).sum())?;
        if let Some((_, opened)) = spot {
            self.spot(opened, &mut space, &mut rows)?;
        }
        self.key(&mut space, &mut rows)?;
        let manifest = Manifest {
            format: manifest::FORMAT,
            release: env!("CARGO_PKG_VERSION").to_owned(),
            at: self.at,
            journal: format!("{:032x}", point.identity.0),
            transfers: point.transfers,
            last_written: format::time(point.at),
            spot: known.map(SpotPoint::of),
            database: None,
            seal: point.seal.as_ref().map(|seal| SealText(seal).to_string()),
            files: rows,
        };
        manifest.write(self.partial)?;
        Ok(manifest)
    }

    /// The parts that are not in the journal's database.
    fn outside(
        self,
        opened: Vec<OpenFile>,
        mut space: SpaceLimit,
        about: Manifest,
    ) -> io::Result<Manifest> {
        let mut files = Vec::new();
        self.spot(opened, &mut space, &mut files)?;
        self.key(&mut space, &mut files)?;
        let manifest = Manifest { files, ..about };
        manifest.write(self.partial)?;
        Ok(manifest)
    }

    fn spot(
        &self,
        opened: Vec<OpenFile>,
        space: &mut SpaceLimit,
        rows: &mut Vec<FileRow>,
    ) -> io::Result<()> {
        let folder = self.partial.join(SPOT);
        DirBuilder::new().mode(0o700).create(&folder)?;
        for OpenFile { name, file, len } in opened {
            space.take(len)?;
            rows.push(files::copy(file, len, &folder.join(&name), format!("{SPOT}/{name}"))?);
        }
        File::open(&folder)?.sync_all()
    }

    /// The key of the seals, where the folder has one.
    fn key(&self, space: &mut SpaceLimit, rows: &mut Vec<FileRow>) -> io::Result<()> {
        match File::open(self.source.join(key::AUDIT)) {
            Ok(file) => {
                let (len, to) = (file.metadata()?.len(), self.partial.join(key::AUDIT));
                space.take(len)?;
                rows.push(files::copy(file, len, &to, key::AUDIT.to_owned())?);
                Ok(())
            }
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(fault) => Err(fault),
        }
    }
}

/// The writes that mark the copy: its first start is halted, and a case explains why.
fn marks(at: &str, point: &CopyPosition, spot: Option<Known>) -> Vec<Put> {
    let spot = match spot {
        Some(known) => format!("Spot up to operation {}", known.highest),
        None => "without Spot, which was elsewhere".to_owned(),
    };
    let facts = format!(
        "this folder is a backup of {at}: transfers up to number {}, the last write of {}, {spot}. \
         What happened afterwards is not in it: compare it with the outside before you resume",
        point.transfers,
        format::time(point.at)
    );
    halted(at, facts)
}

/// HALT, and the case that says why, over the one that a restore before may have left.
fn halted(at: &str, facts: String) -> Vec<Put> {
    set_back(format!("restored from a backup of {at}"), at, facts)
}

/// The writes of a journal that was set back, for whatever reason: a case, HALT, and the mark that chains look at.
fn set_back(reason: String, at: &str, facts: String) -> Vec<Put> {
    let case = Case {
        kind: KIND,
        severity: Severity::Critical,
        subject: Subject::Service,
        facts: facts.into(),
    };
    let fact = "the journal was set back again";
    vec![
        Put::Close { kind: KIND.into(), subject: Subject::Service, fact: fact.into() },
        Put::Case(case),
        Put::Halt { reason: reason.into() },
        // keys of chains that it has no row of are held against their whole history
        Put::Resource { name: RESTORED_ROW.into(), value: at.into() },
    ]
}
