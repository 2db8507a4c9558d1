//! Opens a SQLite file beside the process that writes it.

use rusqlite::Connection;
use std::ffi::c_int;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Between two looks at the lock. A writer that is never idle frees it for less than a millisecond between
/// two commits; the library's own handler looks every 100 ms at last and misses that on a slow disk.
const LOOK: Duration = Duration::from_micros(200);

/// Two minutes of looks.
const LOOKS: c_int = 600_000;

/// Opens the file as an operator's own tool does; each statement waits up to two minutes for its lock.
///
/// # Panics
/// There is no such file.
#[must_use]
#[expect(clippy::expect_used, reason = "a helper that cannot go on fails its test")]
pub fn beside(file: &Path) -> Connection {
    let mut db = Connection::open(file).expect("the file opens");
    db.busy_handler(Some(waits)).expect("a handler");
    db
}

fn waits(looks: c_int) -> bool {
    thread::sleep(LOOK);
    looks < LOOKS
}
