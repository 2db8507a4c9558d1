//! A pair of servers: what a required standby holds up, and what a promoted one knows.

use std::thread;
use testbed::{Database, Server};

const ROWS: &str = "SELECT string_agg(n::text, ',' ORDER BY n) FROM t";

/// Inserts a row, and gives back what `psql` answered.
fn insert(database: &Database, n: u32) -> Result<String, String> {
    database.sql(&format!("INSERT INTO t VALUES ({n}) RETURNING n"))
}

/// Turns red where a COMMIT does not wait for the standby, a cancelled wait is not acknowledged, an
/// ended one is, or the promoted standby has what it never got.
#[test]
fn a_wait_is_cancelled_and_the_standby_promoted() {
    let mut primary = Server::start().unwrap();
    let database = primary.database().unwrap();
    database.sql("CREATE TABLE t (n int)").unwrap();
    let standby = primary.standby("second").unwrap();
    primary.require_standby("second").unwrap();
    insert(&database, 1).unwrap();
    standby.detach().unwrap();
    thread::scope(|scope| {
        let waits = scope.spawn(|| insert(&database, 2));
        primary.until_waits(1).unwrap();
        assert_eq!(database.sql(ROWS).unwrap(), "1", "not visible while it waits");
        standby.attach().unwrap();
        assert_eq!(waits.join().unwrap().as_deref(), Ok("2"));
        standby.detach().unwrap();
        let cancelled = scope.spawn(|| insert(&database, 3));
        primary.until_waits(1).unwrap();
        assert_eq!(primary.cancel_waits().unwrap(), 1);
        assert_eq!(cancelled.join().unwrap().as_deref(), Ok("3"), "acknowledged");
        let ended = scope.spawn(|| insert(&database, 4));
        primary.until_waits(1).unwrap();
        assert_eq!(primary.terminate_waits().unwrap(), 1);
        assert!(ended.join().unwrap().is_err());
    });
    standby.promote().unwrap();
    let there = database.at(&standby).unwrap();
    assert_eq!(there.sql(ROWS).unwrap(), "1,2");
    there.sql("INSERT INTO t VALUES (9)").unwrap();
    assert_eq!(database.sql(ROWS).unwrap(), "1,2,3,4", "the old primary is alive, and knows more");
    primary.require_none().unwrap();
    insert(&database, 5).unwrap();
}

/// Turns red where a server that is frozen answers, or one that is thawed does not.
#[test]
fn a_frozen_server_says_nothing_until_it_is_thawed() {
    let server = Server::start().unwrap();
    server.freeze().unwrap();
    thread::scope(|scope| {
        let asked = scope.spawn(|| server.sql("SELECT 1"));
        thread::yield_now();
        assert!(!asked.is_finished());
        server.thaw().unwrap();
        assert_eq!(asked.join().unwrap().as_deref(), Ok("1"));
    });
}
