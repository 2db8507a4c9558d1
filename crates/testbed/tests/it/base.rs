//! A copy comes back: what was written after it is gone, and the server says which history it is.

use testbed::{Recovery, Server};

const WHO: &str = "SELECT (SELECT count(*) FROM t), left(pg_walfile_name(pg_current_wal_lsn()), 8), \
    (SELECT system_identifier FROM pg_control_system())";

/// Each of these, with how many of three rows are there afterwards, and on which timeline; the first
/// one has the log of the server that was copied.
fn come_back(ways: impl FnOnce(String) -> Vec<(Recovery, u32, &'static str)>) {
    let mut server = Server::start().unwrap();
    let database = server.database().unwrap();
    database.sql("CREATE TABLE t (n int); INSERT INTO t VALUES (1)").unwrap();
    let base = server.base_backup().unwrap();
    let before = database.sql(WHO).unwrap();
    let system = before.rsplit('|').next().unwrap();
    assert!(before.starts_with("1|00000001|"), "{before}");
    database.sql("INSERT INTO t VALUES (2)").unwrap();
    let point = database.sql("SELECT pg_current_wal_flush_lsn()").unwrap();
    database.sql("INSERT INTO t VALUES (3)").unwrap();
    for (how, rows, timeline) in ways(point) {
        server.restore(&base, &how).unwrap();
        assert_eq!(database.sql(WHO).unwrap(), format!("{rows}|{timeline}|{system}"), "{how:?}");
        // it is whole: it takes writes and comes back after a kill
        database.sql("INSERT INTO t VALUES (9)").unwrap();
        server.kill9().unwrap();
        server.restart().unwrap();
        let again = format!("{}|{timeline}|{system}", rows + 1);
        assert_eq!(database.sql(WHO).unwrap(), again, "{how:?}");
    }
}

/// Turns red where a way back keeps what came after the copy, or does not begin the timeline that it
/// says.
#[test]
fn a_copy_comes_back_without_what_came_after_it() {
    come_back(|point| {
        vec![
            (Recovery::Upto(point), 2, "00000002"),
            (Recovery::Same, 1, "00000001"),
            (Recovery::Promoted, 1, "00000002"),
        ]
    });
}

/// Turns red where the log that the server left is not read to its end.
#[test]
fn a_copy_and_the_whole_log_are_all_that_there_was() {
    come_back(|_| vec![(Recovery::Whole, 3, "00000002")]);
}
