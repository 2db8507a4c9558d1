//! The log: lines for people on a terminal, JSON for machines, always on stderr.

use crate::config::{Format, Log};
use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// Starts logging. Called once; a second call changes nothing.
pub fn start(settings: &Log) {
    // a level that cannot be read was refused with the settings
    let filter = EnvFilter::try_new(&settings.level).unwrap_or_else(|_| EnvFilter::new("info"));
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let _already = match settings.format {
        Format::Json => lines.json().try_init(),
        Format::Text => lines.try_init(),
    };
}
