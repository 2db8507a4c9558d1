//! The log: lines for people on a terminal, JSON for machines, always on stderr.

use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// Starts logging. `PORTAGE_LOG` says what is logged (`info`, `engine=debug`), `PORTAGE_LOG_FORMAT`
/// how (`text`, `json`). Called once; a second call changes nothing.
pub fn start(default: &str) {
    let wanted = std::env::var("PORTAGE_LOG").unwrap_or_else(|_| default.to_owned());
    let filter = EnvFilter::try_new(&wanted).unwrap_or_else(|_| EnvFilter::new(default));
    let json = std::env::var("PORTAGE_LOG_FORMAT").is_ok_and(|format| format == "json");
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let _already = if json { lines.json().try_init() } else { lines.try_init() };
}
