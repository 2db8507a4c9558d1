//! `[log]`

use super::section::{Setting, section};
use serde::{Deserialize, Serialize};

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

impl Setting for Format {
    const KIND: &'static str = "`text` or `json`";
}

section! {
    /// The log, on stderr.
    Log {
        /// `text` for people, `json` (one object a line) for machines.
        format: Format = Format::Text,
        /// What is written: `error`, `warn`, `info`, `debug`, or by part (`info,engine=debug`).
        level: String = "info".to_owned(),
    }
}
