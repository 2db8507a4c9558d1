//! What is printed: a row for each run, the ratios that were aimed at, and whether the run counts.

#![expect(clippy::float_arithmetic, reason = "figures for a report; no money here")]

use crate::probe::Run;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Log,
    Sqlite,
    Portage,
    SqliteHttp,
    PortageHttp,
}

impl What {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Log => "bare-log",
            Self::Sqlite => "bare-sqlite",
            Self::Portage => "portage",
            Self::SqliteHttp => "bare-sqlite-http",
            Self::PortageHttp => "portage-http",
        }
    }
}

#[derive(Debug)]
pub(crate) struct Line {
    what: What,
    level: usize,
    run: Run,
}

impl Line {
    /// Prints a row and keeps it.
    pub(crate) fn show(what: What, level: usize, run: Run) -> Self {
        println!(
            "{:<17} {:>5} in flight {:>9.0}/s   p50 {:>7.2} ms   p99 {:>8.2} ms   {:>7.4} fsync   {:>7.0} B   {:>6.1} µs CPU   peak {:>4} MiB",
            what.name(),
            level,
            run.rate(),
            run.quantile(0.5),
            run.quantile(0.99),
            run.syncs_each(),
            run.bytes_each(),
            run.cpu_micros(),
            run.cost.peak_kib / 1_024,
        );
        Self { what, level, run }
    }
}

/// The lowest figure for bare SQLite at 1024 in flight of an earlier measurement of this shape
/// (`docs/guide/speed.md`); a peer below 0.7 of it makes the run void.
const SQLITE_AT_1024: f64 = 38_000.0;
/// The same for bare SQLite behind HTTP at 256 connections.
const SQLITE_HTTP_AT_256: f64 = 19_600.0;

/// Prints the ratios that were aimed at.
pub(crate) fn verdict(lines: &[Line], sync: Duration) {
    let find = |what, level| lines.iter().find(|line| line.what == what && line.level == level);
    let rate = |what, level| find(what, level).map(|line| line.run.rate());
    println!();
    if let (Some(ours), Some(theirs)) = (rate(What::Portage, 1_024), rate(What::Sqlite, 1_024)) {
        println!("in process at 1024: {:.2} of bare SQLite (aim 0.60)", ours / theirs);
        counts("bare SQLite at 1024", theirs, SQLITE_AT_1024);
    }
    if let (Some(ours), Some(theirs)) = (rate(What::PortageHttp, 256), rate(What::SqliteHttp, 256))
    {
        println!("through HTTP at 256: {:.2} of bare SQLite behind HTTP (aim 0.60)", ours / theirs);
        counts("bare SQLite behind HTTP at 256", theirs, SQLITE_HTTP_AT_256);
    }
    if let Some(line) = find(What::Portage, 1_024) {
        println!("fsync at 1024: {:.4} for a transfer (aim 0.02)", line.run.syncs_each());
    }
    if let Some(line) = find(What::Portage, 1) {
        let syncs = line.run.quantile(0.5) / (sync.as_secs_f64() * 1_000.0);
        println!("p50 at 1: {syncs:.1} fdatasyncs (aim 5)");
    }
}

fn counts(what: &str, rate: f64, before: f64) {
    let of = rate / before;
    let word = if of < 0.7 { "VOID: the peer is too slow here" } else { "the run counts" };
    println!("  {what}: {rate:.0}/s, {of:.2} of {before:.0} measured before: {word}");
}
