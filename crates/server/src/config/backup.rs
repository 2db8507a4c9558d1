//! `[backup]`: the folder for backups that operators request over HTTP.

use super::section::section;
use std::path::PathBuf;

section! {
    /// Copies of everything, taken while serving.
    Backup {
        /// Where backups go that the server is asked for; without it `backups` in `data.dir`. It belongs on another disk, and to one server alone.
        dir: Option<PathBuf> = None,
    }
}
