//! The error of settings from which no adapter can be made.

use std::fmt;

/// Why the adapter cannot be made with these settings, as a sentence without a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadChainSettings(pub String);

impl fmt::Display for BadChainSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadChainSettings {}
