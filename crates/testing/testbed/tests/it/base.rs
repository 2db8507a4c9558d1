//! A copy comes back: what was written after it is gone, and the server says which history it is.

use testbed::{Recovery, Server};

const WHO: &str = "SELECT (SELECT count(*) FROM t), left(pg_walfile_name(pg_current_wal_lsn()), 8), \
    (SELECT system_identifier FROM pg_control_system())";

/// Turns red where a way back keeps what came after the copy, does not read the log that the copied
/// server left, or does not begin the timeline that it says.
#[test]
fn a_copy_comes_back_in_every_way() {
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
    for (how, rows, timeline) in [
        (Recovery::Same, 1, "00000001"),
        (Recovery::Promoted, 1, "00000002"),
        (Recovery::Upto(point), 2, "00000002"),
        (Recovery::Whole, 3, "00000002"),
    ] {
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
