//! Backups that the server is asked for: below one folder, one at a time.

use super::{Error, Made, Source, files};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::{Mutex, OwnedMutexGuard, oneshot};

/// The longest name.
const LONGEST: usize = 64;

/// Takes requests for backups.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct Desk {
    source: Arc<Source>,
    /// Where they go, and nowhere else: whoever holds an operator's token over the network does not
    /// choose where this process writes.
    into: PathBuf,
    turn: Arc<Mutex<()>>,
}

impl Desk {
    /// Of this source, into folders below that one.
    pub fn new(source: Source, into: PathBuf) -> Self {
        Self { source: Arc::new(source), into, turn: Arc::default() }
    }

    /// Whether a name may be one of a backup: letters, digits, `.`, `_` and `-`, the first a letter
    /// or a digit, at most 64.
    pub fn takes(name: &str) -> bool {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
        begins && name.len() <= LONGEST && name.chars().all(plain)
    }

    /// Makes a backup of that name; `None`: another one is being made. It is finished also when the
    /// caller goes away.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn back_up(&self, name: &str) -> Option<Result<Made, Error>> {
        let turn = Arc::clone(&self.turn).try_lock_owned().ok()?;
        let (told, answer) = oneshot::channel();
        let (source, into, to) =
            (Arc::clone(&self.source), self.into.clone(), self.into.join(name));
        crate::ports::beside(async move {
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
            // whoever asked went away
            let _gone = told.send(made);
        });
        answer.await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::Desk;

    #[test]
    fn a_name_leads_nowhere_else() {
        for good in ["a", "2026-11-21", "daily.7", &"x".repeat(64)] {
            assert!(Desk::takes(good), "{good}");
        }
        let long = "x".repeat(65);
        for bad in ["", ".", "..", ".a", "-a", "a/b", "/a", "a\\b", "a b", "ä", "a\0", &long] {
            assert!(!Desk::takes(bad), "{bad}");
        }
    }
}
