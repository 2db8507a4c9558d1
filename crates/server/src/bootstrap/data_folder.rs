//! Makes the data folder, locks it for one process, writes the owner's note, and explains why a folder cannot be
//! used.

use super::SPOT;
use crate::cli::exit::{Exit, Fault};
use crate::file_modes;
use crate::runtime::SystemClock;
use kernel::ports::meter::NoMeter;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;
use store::sqlite::{Embedded, Options};

/// The owner's note: pid and address of the process that holds the folder.
pub(crate) const OWNER: &str = "owner";

/// Opens the journal alone, of a folder that is there: to read it.
///
/// # Errors
/// As [`super::Service::open`].
pub fn journal(dir: &Path) -> Result<Arc<Embedded>, Fault> {
    let options = Options {
        dir: dir.to_owned(),
        flows: Arc::new(flows::registry()),
        clock: Arc::new(SystemClock::default()),
        meter: Arc::new(NoMeter),
        fatal: Arc::new(|_| ()),
        max_bytes: None,
    };
    Embedded::open(options).map_err(|fault| journal_fault(dir, &fault))
}

/// Creates the data folder, which only its owner may read: it holds balances.
pub(crate) fn create_folder(dir: &Path) -> Result<(), Fault> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(dir.join(SPOT));
    made.map_err(|fault| {
        Fault::new(Exit::CantCreate, format!("{}: cannot be made: {fault}", dir.display()))
    })?;
    file_modes::narrow(dir);
    Ok(())
}

/// The process that holds a data folder, as its note says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The id of the process.
    pub pid: String,
    /// The address on which it listens.
    pub url: String,
}

impl Owner {
    /// False where that process is certainly gone; the note of one that was killed stays.
    pub fn lives(&self) -> bool {
        let all = Path::new("/proc");
        !all.join("self").exists() || all.join(&self.pid).exists()
    }
}

/// The owner's note, where there is one.
pub fn owner(dir: &Path) -> Option<Owner> {
    let note = fs::read_to_string(dir.join(OWNER)).ok()?;
    let (pid, url) = note.trim().split_once(' ')?;
    Some(Owner { pid: pid.to_owned(), url: url.to_owned() })
}

fn locked(dir: &Path) -> Fault {
    let who = match owner(dir) {
        Some(Owner { pid, url }) => format!("process {pid}, which serves {url}"),
        None => "another process".to_owned(),
    };
    Fault::new(Exit::TempFail, format!("{}: held by {who}", dir.display()))
}

pub(crate) fn journal_fault(dir: &Path, fault: &store::sqlite::OpenError) -> Fault {
    use store::sqlite::OpenError;
    let exit = match fault {
        OpenError::Locked(_) => return locked(dir),
        OpenError::Damaged(_)
        | OpenError::Gone(_)
        | OpenError::Newer(_)
        | OpenError::Unreleased(_)
        | OpenError::OtherSchema { .. }
        | OpenError::Upgrade { .. } => Exit::Data,
        OpenError::Io(fault) if fault.kind() == io::ErrorKind::StorageFull => Exit::TempFail,
        OpenError::Io(_) => Exit::Io,
    };
    Fault::new(exit, format!("{}: {fault}", dir.display()))
}

pub(super) fn spot_fault(dir: &Path, fault: &ledgers::SpotOpenError) -> Fault {
    use ledgers::SpotOpenError;
    let exit = match fault {
        SpotOpenError::Locked => return locked(dir.parent().unwrap_or(dir)),
        SpotOpenError::Damaged { .. }
        | SpotOpenError::Acknowledged { .. }
        | SpotOpenError::Newer { .. } => Exit::Data,
        SpotOpenError::Io(fault) if fault.kind() == io::ErrorKind::StorageFull => Exit::TempFail,
        SpotOpenError::Io(_) => Exit::Io,
    };
    Fault::new(exit, format!("{}: {fault}", dir.display()))
}
