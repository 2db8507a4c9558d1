//! Processes by their number: finds those of a server, measures their use, and ends them.

use crate::Outcome;
use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// What `/proc` says of one process.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    state: char,
    parent: u32,
    /// Its own time and that of its children which ended, in hundredths of a second.
    ticks: u64,
}

/// Sends a signal to processes; those that are gone already do not matter.
///
/// # Errors
/// There is no shell.
pub fn signal(name: &str, processes: &[u32]) -> Outcome {
    // the shell's own `kill`: the program is missing on a bare machine
    let mut kill = Command::new("sh");
    kill.args(["-c", "signal=$1; shift; kill -s \"$signal\" \"$@\"", "sh", name]);
    kill.args(processes.iter().map(u32::to_string)).stdin(Stdio::null()).stderr(Stdio::null());
    kill.status().map(drop).map_err(|fault| format!("kill: {fault}"))
}

/// The processes that one started itself.
pub(crate) fn children(of: u32) -> Vec<u32> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter(|process| read(*process).is_some_and(|stat| stat.parent == of)).collect()
}

/// Whether a process runs still. One that ended and was not waited for does not.
pub(crate) fn runs(process: u32) -> bool {
    read(process).is_some_and(|stat| stat.state != 'Z')
}

/// Whether there is a process of this number, ended or not.
pub(crate) fn there(process: u32) -> bool {
    read(process).is_some()
}

/// The time that a process and its children used, also those that ended.
#[must_use]
pub fn used(process: u32) -> Duration {
    let ticks = |process| read(process).map_or(0, |stat| stat.ticks);
    let all = ticks(process) + children(process).into_iter().map(ticks).sum::<u64>();
    Duration::from_millis(all * 10)
}

fn read(process: u32) -> Option<Stat> {
    let path = PathBuf::from("/proc").join(process.to_string()).join("stat");
    parse(&fs::read_to_string(path).ok()?)
}

/// The name of the program may hold anything, also brackets: what counts begins after the last one.
fn parse(stat: &str) -> Option<Stat> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11..15)?.iter().filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Some(Stat {
        state: fields.first()?.chars().next()?,
        parent: fields.get(1)?.parse().ok()?,
        ticks,
    })
}

/// A port of this machine that is free now.
///
/// # Errors
/// There is none.
pub fn free_port() -> Outcome<u16> {
    let bound = TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr());
    bound.map(|address| address.port()).map_err(|fault| format!("no free port: {fault}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let line = "7 (a) (b) S 5 7 7 0 -1 4194560 1 2 3 4 10 20 30 40 20 0 1 0 99 1 1";
        assert_eq!(parse(line), Some(Stat { state: 'S', parent: 5, ticks: 100 }));
        assert_eq!(parse("7 (a"), None);
    }

    #[test]
    fn a_child_is_seen_and_its_end_too() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        assert!(children(std::process::id()).contains(&child.id()));
        assert!(runs(child.id()));
        signal("KILL", &[child.id()]).unwrap();
        let ended =
            crate::clock::until(Duration::from_secs(10), || (!runs(child.id())).then_some(()));
        assert!(ended.is_some());
        assert!(there(child.id()), "it was not waited for yet");
        child.wait().unwrap();
        assert!(!there(child.id()));
    }
}
