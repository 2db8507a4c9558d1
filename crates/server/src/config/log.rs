//! `[log]`: the format and the level of the log.

use super::section::{Setting, SettingRules, Shape, section};
use serde::{Deserialize, Serialize};

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Lines that people read.
    Text,
    /// One JSON object a line.
    Json,
}

impl Setting for LogFormat {
    const KIND: &'static str = "`text` or `json`";
    const SHAPE: Shape = Shape::Text;
}

section! {
    /// The log, on stderr.
    Log {
        /// `text` for people, `json` (one object a line) for machines.
        format: LogFormat = LogFormat::Text,
        /// What is written: `error`, `warn`, `info`, `debug`, or by part (`info,engine=debug`).
        level: String = "info".to_owned(),
    }
}

impl Log {
    pub(super) fn rules(&self, rules: &mut SettingRules) {
        let named = |level: &str| LEVELS.contains(&level.trim().to_lowercase().as_str());
        let part = |part: &str| named(part.rsplit('=').next().unwrap_or_default());
        rules.need(
            "log.level",
            self.level.split(',').all(part),
            "`off`, `error`, `warn`, `info`, `debug` or `trace`, also by part: `info,engine=debug`",
        );
    }
}

/// How much may be asked for.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
