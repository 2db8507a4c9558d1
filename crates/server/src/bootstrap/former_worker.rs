//! Names the worker whose process had the data folder before, where that process has certainly ended: what it held in
//! the database waits for no lease.

use kernel::ids::WorkerId;
use kernel::ports::outbox::Outbox;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// The file with the worker's name in hexadecimal digits; its lock lives as long as the process.
const FILE: &str = "worker";

/// The former worker of a folder, and the lock by which this process is the next one.
#[derive(Debug)]
struct Succession {
    former: Option<WorkerId>,
    _lock: File,
}

/// Gives back what the former worker of a folder held of the outbox.
pub(super) async fn give_back(outbox: &dyn Outbox, dir: &Path, worker: WorkerId) {
    let succession = match succeed(dir, worker) {
        Ok(Some(succession)) => succession,
        Ok(None) => return,
        Err(fault) => {
            let folder = dir.display();
            tracing::warn!(%folder, %fault, "who had the folder is not known: its messages wait for its lease");
            return;
        }
    };
    if let Some(former) = succession.former
        && let Err(cause) = outbox.release_buckets(former).await
    {
        tracing::warn!(%cause, "what the former worker held of the outbox waits for its lease");
    }
    // until the process ends
    Box::leak(Box::new(succession));
}

/// Takes the place of the former worker. `None`: another process that lives has the folder too.
fn succeed(dir: &Path, worker: WorkerId) -> io::Result<Option<Succession>> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let mut file = options.open(dir.join(FILE))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(fault)) => return Err(fault),
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    let former = u64::from_str_radix(text.trim(), 16).ok().map(WorkerId);
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{:016x}", worker.0)?;
    Ok(Some(Succession { former, _lock: file }))
}

#[cfg(test)]
mod tests {
    use super::succeed;
    use kernel::ids::WorkerId;

    /// Turns red where a worker whose process lives is taken for a former one.
    #[test]
    fn a_worker_is_former_once_its_process_has_ended() {
        let dir = tempfile::tempdir().unwrap();
        let (first, second) = (WorkerId(7), WorkerId(u64::MAX));
        let held = succeed(dir.path(), first).unwrap().unwrap();
        assert_eq!(held.former, None);
        assert!(succeed(dir.path(), second).unwrap().is_none(), "it lives");
        drop(held);
        let held = succeed(dir.path(), second).unwrap().unwrap();
        assert_eq!(held.former, Some(first));
        drop(held);
        std::fs::write(dir.path().join("worker"), "odd").unwrap();
        assert_eq!(succeed(dir.path(), first).unwrap().unwrap().former, None);
    }
}
