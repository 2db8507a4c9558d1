//! The named crash points of the kill campaign: the n-th system call of a kind on a file, or to a client.

use crate::strace::{Inject, Trace};
use std::path::{Path, PathBuf};

/// When in a life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// From the start until it listens.
    Start,
    /// While clients send requests.
    Load,
    /// From the signal to the end.
    Drain,
}

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    /// Whatever the call is about.
    All,
    /// The journal's write-ahead log.
    Wal,
    Database,
    SpotLog,
    SpotFolder,
}

#[derive(Debug)]
pub struct Point {
    pub name: &'static str,
    pub phase: Phase,
    calls: &'static str,
    of: Of,
    /// The highest n that is drawn.
    pub most: u64,
}

/// A call that makes a file durable, in either spelling.
pub(crate) const SYNC: &str = "fsync,fdatasync";

/// Every one. The process dies as it enters the call, which does nothing then.
#[rustfmt::skip]
pub const POINTS: [Point; 17] = [
    Point { name: "a request is read",            phase: Phase::Load,  calls: "recvfrom",  of: Of::All,        most: 60 },
    Point { name: "the journal's log is written", phase: Phase::Load,  calls: "pwrite64",  of: Of::Wal,        most: 60 },
    Point { name: "the journal's log is synced",  phase: Phase::Load,  calls: SYNC,        of: Of::Wal,        most: 15 },
    Point { name: "Spot's log is written",        phase: Phase::Load,  calls: "pwrite64",  of: Of::SpotLog,    most: 8 },
    Point { name: "Spot's log is synced",         phase: Phase::Load,  calls: "fdatasync", of: Of::SpotLog,    most: 12 },
    Point { name: "a reply is sent",              phase: Phase::Load,  calls: "writev",    of: Of::All,        most: 60 },
    Point { name: "start: journal's log written", phase: Phase::Start, calls: "pwrite64",  of: Of::Wal,        most: 4 },
    Point { name: "start: journal's log synced",  phase: Phase::Start, calls: SYNC,        of: Of::Wal,        most: 2 },
    Point { name: "start: Spot's log cut",        phase: Phase::Start, calls: "ftruncate", of: Of::SpotLog,    most: 1 },
    Point { name: "start: Spot's log written",    phase: Phase::Start, calls: "pwrite64",  of: Of::SpotLog,    most: 1 },
    Point { name: "start: Spot's log synced",     phase: Phase::Start, calls: "fdatasync", of: Of::SpotLog,    most: 1 },
    Point { name: "stop: database written",       phase: Phase::Drain, calls: "pwrite64",  of: Of::Database,   most: 12 },
    Point { name: "stop: database synced",        phase: Phase::Drain, calls: SYNC,        of: Of::Database,   most: 1 },
    Point { name: "stop: journal's log cut",      phase: Phase::Drain, calls: "ftruncate", of: Of::Wal,        most: 1 },
    Point { name: "stop: Spot's snapshot named",  phase: Phase::Drain, calls: "rename",    of: Of::All,        most: 1 },
    Point { name: "stop: Spot's folder synced",   phase: Phase::Drain, calls: "fdatasync", of: Of::SpotFolder, most: 1 },
    Point { name: "stop: Spot's old log removed", phase: Phase::Drain, calls: "unlink",    of: Of::All,        most: 1 },
];

impl Point {
    /// The trace that kills a server of this data folder at the n-th.
    pub fn trace(&self, data: &Path, out: PathBuf, n: u64) -> Trace {
        let inject =
            Inject { calls: self.calls, what: "signal=SIGKILL", when: Some(n.to_string()) };
        Trace { inject: Some(inject), files: files(self.of, data), ..Trace::to(out, self.calls) }
    }
}

pub(crate) fn files(of: Of, data: &Path) -> Vec<PathBuf> {
    match of {
        Of::All => Vec::new(),
        Of::Wal => vec![data.join("portage.db-wal")],
        Of::Database => vec![data.join("portage.db")],
        Of::SpotFolder => vec![data.join("spot")],
        Of::SpotLog => {
            let Ok(all) = std::fs::read_dir(data.join("spot")) else { return Vec::new() };
            let paths = all.flatten().map(|entry| entry.path());
            let mut logs: Vec<_> =
                paths.filter(|path| path.extension().is_some_and(|end| end == "log")).collect();
            logs.push(data.join("spot").join("spot-0000000000000001.log"));
            logs
        }
    }
}
