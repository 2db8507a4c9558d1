//! Takes the backups that operators request over HTTP: below one folder, one at a time.

use super::{Backup, BackupError, Source, files};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::{Mutex, OwnedMutexGuard, oneshot};

/// The most characters in the name of a backup.
const LONGEST: usize = 64;

/// Takes requests for backups.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct BackupService {
    source: Arc<Source>,
    /// Where they go, and nowhere else: a caller with an operator's token does not
    /// choose where this process writes.
    into: PathBuf,
    turn: Arc<Mutex<()>>,
}

impl BackupService {
    /// Of this source, into folders below that one.
    pub fn new(source: Source, into: PathBuf) -> Self {
        Self { source: Arc::new(source), into, turn: Arc::default() }
    }

    /// Whether a name may be one of a backup: letters, digits, `.`, `_` and `-`, the first a letter
    /// or a digit, at most 64.
    pub fn is_valid_name(name: &str) -> bool {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
        begins && name.len() <= LONGEST && name.chars().all(plain)
    }

    /// Makes a backup of that name; `None`: another one is being made. It is finished also when the
    /// caller goes away.
    ///
    /// # Errors
    /// [`BackupError`].
    pub async fn back_up(&self, name: &str) -> Option<Result<Backup, BackupError>> {
        let turn = Arc::clone(&self.turn).try_lock_owned().ok()?;
        let (sender, answer) = oneshot::channel();
        let (source, into, to) =
            (Arc::clone(&self.source), self.into.clone(), self.into.join(name));
        crate::runtime::beside(async move {
            let _turn: OwnedMutexGuard<()> = turn;
            files::sweep(&into);
            let made = source.back_up(&to, None).await;
            match &made {
                Ok(made) => tracing::info!(
                    dir = %made.dir.display(),
                    transfers = made.manifest.transfers,
                    stood_still_us = made.stood_still_us,
                    "backup made"
                ),
                Err(fault) => tracing::error!(%fault, "no backup"),
            }
            // the caller went away
            let _gone = sender.send(made);
        });
        answer.await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::BackupService;

    #[test]
    fn a_name_leads_nowhere_else() {
        for good in ["a", "2026-11-21", "daily.7", &"x".repeat(64)] {
            assert!(BackupService::is_valid_name(good), "{good}");
        }
        let long = "x".repeat(65);
        for bad in ["", ".", "..", ".a", "-a", "a/b", "/a", "a\\b", "a b", "ä", "a\0", &long] {
            assert!(!BackupService::is_valid_name(bad), "{bad}");
        }
    }
}
