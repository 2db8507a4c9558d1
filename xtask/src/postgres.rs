//! The PostgreSQL that the tests use: the one that was given, or one that lives as long as they run.

use crate::{Outcome, run, tools};
use std::path::PathBuf;
use testbed::{GIVEN, Options, Server};

/// Enough for two test programs at once, whose tests have a pool each.
const CONNECTIONS: u32 = 600;

/// Makes sure that a server can be started.
pub(crate) fn needed() -> Outcome {
    tools::need(Server::possible, "postgresql", "the tests run on a real server")
}

/// Number of MiB that are enough for all databases that stand at one time.
const ROOM: u64 = 4_096;

/// A folder in memory, where there is one with room. Each test makes a database, and PostgreSQL writes a
/// checkpoint whenever one is made or dropped. No test kills this server: those that do start their own, on disk.
fn ram_disk() -> Option<PathBuf> {
    let folder = PathBuf::from("/dev/shm");
    let mut df = run::program("df");
    df.args(["--output=avail", "--block-size=1M"]).arg(&folder);
    let free = run::output(df).ok().and_then(|text| room(&text));
    free.filter(|free| *free >= ROOM).map(|_| folder)
}

/// The number below the heading of `df`.
fn room(printed: &str) -> Option<u64> {
    printed.lines().nth(1)?.trim().parse().ok()
}

/// Starts a server where none was given; every program started later finds its URL.
pub(crate) fn start() -> Outcome<Server> {
    if let Ok(given) = Server::given() {
        println!("{GIVEN} names a server: it is used as it is");
        return Ok(given);
    }
    needed()?;
    let below = ram_disk();
    let options = Options { max_connections: CONNECTIONS, below, ..Options::default() };
    let server = Server::with(&options)?;
    run::hand_down(GIVEN, server.url())?;
    println!("a server of our own, until the tests end: {GIVEN}={}", server.url());
    Ok(server)
}

#[cfg(test)]
mod tests {
    use super::room;

    #[test]
    fn the_room_of_a_folder_is_read() {
        assert_eq!(room("Avail\n24003\n"), Some(24_003));
        assert_eq!(room("Avail\n-\n"), None);
        assert_eq!(room(""), None);
    }
}
