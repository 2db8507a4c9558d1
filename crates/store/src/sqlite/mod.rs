//! The embedded store keeps the journal and the enlisted ledgers in one folder, on SQLite, for one
//! process.
//!
//! One writer thread (`write`) takes all waiting items as one transaction with one sync. Readers
//! (`read`) have connections of their own and never wait for the writer; operators' searches and lists
//! (`admin`) have other connections again.

mod admin;
mod columns;
mod failure;
mod funding;
mod inbox;
mod journal;
mod last_unit;
mod ledger_owners;
mod outbox;
mod read;
mod rows;
mod upgrade;
mod webhooks;
mod write;

pub use admin::backup::{CopyPosition, DatabaseCopy};
pub use funding::EnlistedLedger;
pub use last_unit::{LAST_UNIT, LostUnits};
pub use upgrade::{ShapeState, Upgrade};

use kernel::answer::Cause;
use kernel::bucket_leases::BucketLeases;
use kernel::flow::table::Flows;
use kernel::ids::{LedgerId, WorkerId};
use kernel::operation::Identity;
use kernel::ports::Fut;
use kernel::ports::clock::{Clock, JournalTime};
use kernel::ports::meter::Meter;
use last_unit::{LastUnit, units_written};
use read::due::HandedOut;
use read::threads::ReaderThreads;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension};
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;
use write::work::Work;
use write::writer::{self, Writer};
use write::writer_state::WriterState;

/// The file that holds everything.
pub const FILE: &str = "portage.db";
/// The file whose lock says who owns the folder.
pub const LOCK: &str = "portage.lock";
/// Marks the file as ours: "Port".
const APPLICATION: i64 = 0x506f_7274;
/// How many requests wait for the writer.
const WAITING: usize = 4_096;
/// How many questions are answered at once, and as many searches of operators.
const READERS: usize = 2;

/// The options of a store.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct Options {
    /// The folder; made where it is missing.
    pub dir: PathBuf,
    pub flows: Arc<Flows>,
    /// The time; the store's own never goes back.
    pub clock: Arc<dyn Clock>,
    pub meter: Arc<dyn Meter>,
    /// Ends the process: the store can no longer keep its word.
    pub fatal: Arc<dyn Fn(String) + Send + Sync>,
    /// The most bytes of the database; above them the store is full. `None`: as many as fit.
    pub max_bytes: Option<u64>,
}

/// Why a folder cannot be opened.
#[derive(Debug)]
pub enum OpenError {
    /// Another process owns it.
    Locked(PathBuf),
    /// A newer release wrote it.
    Newer(i64),
    /// A build before the first release wrote it.
    Unreleased(i64),
    /// It has the number of a released shape, and something of it is missing or has another form.
    OtherSchema { shape: i64, different: String },
    /// A step to the present shape failed, and the store is as it was.
    Upgrade { shape: i64, name: &'static str, error: String },
    /// A store in this folder wrote this many units, and its database is gone or empty.
    Gone(u64),
    /// The file is not what this release wrote.
    Damaged(String),
    /// The folder cannot be used.
    Io(std::io::Error),
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Locked(dir) => write!(f, "another process owns {}", dir.display()),
            Self::Newer(version) => write!(f, "a newer release wrote it (shape {version})"),
            Self::Unreleased(version) => write!(
                f,
                "a build before the first release wrote it (shape {version}, this one keeps shape \
                 {}), and nothing converts it: move the folder away and start with a new one",
                upgrade::VERSION
            ),
            Self::OtherSchema { shape, different } => write!(
                f,
                "it has the number of shape {shape}, and `{different}` is not that shape's: a build between releases wrote \
                 it, or it was changed by hand. It stays as it is: use the build that wrote it, or move the folder away and \
                 start with a new one"
            ),
            Self::Upgrade { shape, name, error } => {
                write!(f, "the step to shape {shape} ({name}) failed and changed nothing: {error}")
            }
            Self::Gone(units) => write!(
                f,
                "{FILE} is gone or empty, and {LAST_UNIT} says that a store here wrote {units} units: bring the file back, or \
                 restore a backup into another folder. To begin anew and give up what it held, use another folder"
            ),
            Self::Damaged(what) => write!(f, "the store is damaged: {what}"),
            Self::Io(error) => write!(f, "the folder cannot be used: {error}"),
        }
    }
}

impl std::error::Error for OpenError {}

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> Self {
        // what is stored is whole: the disk takes nothing, or does not answer
        let kind = match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => io::ErrorKind::StorageFull,
            Some(ErrorCode::SystemIoFailure) => io::ErrorKind::Other,
            _ => return Self::Damaged(error.to_string()),
        };
        Self::Io(io::Error::new(kind, error.to_string()))
    }
}

#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct Embedded {
    file: PathBuf,
    flows: Arc<Flows>,
    clock: Arc<dyn Clock>,
    writer: mpsc::Sender<Work>,
    readers: ReaderThreads,
    /// The readers of operators' searches: a read for a transfer never waits behind one.
    admin_readers: ReaderThreads,
    time: Arc<JournalTime>,
    /// The count of ticks at which the write under way began; 0 where there is none.
    begun: Arc<AtomicU64>,
    handed_out: Arc<Mutex<HandedOut>>,
    /// The one process's worker, once it said that it lives.
    worker: Mutex<Option<WorkerId>>,
    /// The worker that publishes each bucket of the outbox.
    buckets: Mutex<BucketLeases>,
    funding: Arc<EnlistedLedger>,
    accounts: Arc<EnlistedLedger>,
    last_unit: Arc<LastUnit>,
    lost_units: Option<LostUnits>,
    /// The folder is ours for as long as this is open.
    _lock: Arc<File>,
}

impl Embedded {
    /// Opens a folder: takes its lock, makes or checks the tables, finds what is open.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(options: Options) -> Result<Arc<Self>, OpenError> {
        std::fs::create_dir_all(&options.dir).map_err(OpenError::Io)?;
        let lock = Arc::new(lock(&options.dir)?);
        let file = options.dir.join(FILE);
        if let Some(gone) = gone(&options.dir) {
            return Err(gone);
        }
        private(&file).map_err(OpenError::Io)?;
        let db = Connection::open(&file)?;
        writer::setup(&db)?;
        if let Some(most) = options.max_bytes {
            let page: i64 = db.query_row("PRAGMA page_size", [], |row| row.get(0))?;
            let pages = i64::try_from(most).unwrap_or(i64::MAX) / page;
            db.pragma_update(None, "max_page_count", pages)?;
        }
        for step in upgrade::run(&db)? {
            tracing::info!(shape = step.shape, name = step.name, "the store was upgraded");
        }
        let identity = identity(&db)?;
        let state = WriterState::read(&db)?;
        let last_unit = Arc::new(LastUnit::open(&options.dir, identity).map_err(OpenError::Io)?);
        let lost_units = last_unit.lost(state.audit);
        let handed_out = Arc::new(Mutex::new(HandedOut::open(&db, &options.flows)?));
        let threads = || (0..READERS).map(|_| reader(&file)).collect::<Result<_, _>>();
        let (readers, admin_readers) =
            (ReaderThreads::new(threads()?), ReaderThreads::new(threads()?));
        let (asks, asked) = mpsc::channel(WAITING);
        let Options { flows, clock, meter, fatal, .. } = options;
        let time = Arc::new(JournalTime::new(clock.clone(), state.at));
        let begun = Arc::new(AtomicU64::new(0));
        let writer = Writer {
            db,
            flows: flows.clone(),
            clock: clock.clone(),
            meter,
            fatal,
            state,
            time: time.clone(),
            begun: begun.clone(),
            last_unit: last_unit.clone(),
        };
        // the folder stays ours until the last write is done
        let held = lock.clone();
        std::thread::spawn(move || {
            writer.run(asked);
            drop(held);
        });
        let enlisted = |ledger| {
            let (writer, readers) = (asks.clone(), readers.clone());
            Arc::new(EnlistedLedger { ledger, writer, readers, identity })
        };
        let (funding, accounts) = (enlisted(LedgerId::FUNDING), enlisted(LedgerId::ACCOUNT));
        let _lock = lock;
        Ok(Arc::new(Self {
            file,
            flows,
            clock,
            writer: asks,
            readers,
            admin_readers,
            time,
            begun,
            handed_out,
            worker: Mutex::default(),
            buckets: Mutex::default(),
            funding,
            accounts,
            last_unit,
            lost_units,
            _lock,
        }))
    }

    /// The Funding ledger, which is enlisted in this journal.
    pub fn funding(&self) -> Arc<EnlistedLedger> {
        self.funding.clone()
    }

    /// The accounts ledger, which is enlisted in this journal too.
    pub fn accounts(&self) -> Arc<EnlistedLedger> {
        self.accounts.clone()
    }

    /// The units that are missing at the end, where the database had more before it was opened: a write-ahead log was
    /// deleted or cut, or the database's file is an older copy.
    pub fn lost_units(&self) -> Option<LostUnits> {
        self.lost_units
    }

    /// Forgets them, once the database says that they are lost. Until then each start finds them again.
    pub fn forget_lost_units(&self) {
        if let Some(lost) = self.lost_units {
            self.last_unit.set(lost.stored);
        }
    }

    fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection, &Flows) -> rusqlite::Result<T> + Send + 'static,
    ) -> Fut<'_, Result<T, Cause>> {
        let flows = self.flows.clone();
        self.readers.ask(move |db| question(db, &flows))
    }
}

fn lock(dir: &Path) -> Result<File, OpenError> {
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(dir.join(LOCK))
        .map_err(OpenError::Io)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::Locked(dir.to_owned())),
        Err(TryLockError::Error(error)) => Err(OpenError::Io(error)),
    }
}

/// Makes the database's file where it is missing, read by this user alone whatever the process's
/// umask is. SQLite gives its log and its index the mode of this file.
fn private(file: &Path) -> std::io::Result<()> {
    File::options().create(true).truncate(false).write(true).mode(0o600).open(file).map(drop)
}

/// [`OpenError::Gone`] where the database of a folder is missing or empty, and the file beside it says that a store was
/// there.
pub fn gone(dir: &Path) -> Option<OpenError> {
    let file = dir.join(FILE);
    let empty = std::fs::metadata(&file).is_ok_and(|file| file.len() == 0) || !file.exists();
    units_written(dir).filter(|_| empty).map(OpenError::Gone)
}

/// A connection that only reads.
fn reader(file: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(file, flags)?;
    db.busy_timeout(std::time::Duration::from_secs(5))?;
    db.set_prepared_statement_cache_capacity(64);
    Ok(db)
}

/// How the store in a folder stands to this release; nothing is changed or locked.
///
/// # Errors
/// [`OpenError`]; of the kind `NotFound` where there is none.
pub fn state(dir: &Path) -> Result<ShapeState, OpenError> {
    let file = dir.join(FILE);
    std::fs::metadata(&file).map_err(OpenError::Io)?;
    upgrade::state(&reader(&file)?)
}

/// Runs the steps that the store of a former release lacks, in one transaction; gives back which.
///
/// # Errors
/// [`OpenError`]; of the kind `NotFound` where there is no store. The store is as it was then.
pub fn migrate(dir: &Path) -> Result<&'static [Upgrade], OpenError> {
    let file = dir.join(FILE);
    std::fs::metadata(&file).map_err(OpenError::Io)?;
    let _lock = lock(dir)?;
    let db = Connection::open(&file)?;
    writer::setup(&db)?;
    upgrade::run(&db)
}

/// The identity of this store, which is drawn once.
fn identity(db: &Connection) -> Result<Identity, OpenError> {
    let sql = "SELECT value FROM service_state WHERE name = 'identity'";
    let text: Option<String> = db.query_row(sql, [], |row| row.get(0)).optional()?;
    let number = text.and_then(|text| u128::from_str_radix(&text, 16).ok());
    number.map(Identity).ok_or_else(|| OpenError::Damaged("no identity".to_owned()))
}
