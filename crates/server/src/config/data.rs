//! `[data]`: the data folder.

use super::section::section;
use std::path::PathBuf;

section! {
    /// Where everything is stored.
    Data {
        /// The folder; one process holds it at a time.
        dir: PathBuf = PathBuf::from("./portage-data"),
    }
}
