//! The scope of clients' keys is one for all processes of a journal: by the binary, on PostgreSQL.

use super::super::relay_chain::LocalChain;
use super::super::{Served, eventually, portage, said};
use super::{pays, reads};
use std::time::Duration;

const SHARED: &str = "PORTAGE_RELAY__SHARED_KEYS";
/// A worker that lives for a minute, by the database's clock.
const OTHER: &str = "INSERT INTO workers (worker, started_at, leased_until, length) \
    SELECT 77, now, now + 60000, 60000 \
    FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now) m";
const STORED: &str =
    "SELECT value || ' ' || version FROM service_state WHERE name = 'resource/relay-keys'";

/// The server's settings with the other scope.
fn switches(served: &mut Served, on: &str) {
    for setting in served.settings.iter_mut().filter(|setting| setting.0 == SHARED) {
        on.clone_into(&mut setting.1);
    }
}

/// Turns red where a process with another scope starts beside a worker, and where one that began before the scope was
/// changed opens a transfer: its key would be bound twice.
#[test]
fn processes_that_scope_keys_differently_share_no_journal() {
    let chain = LocalChain::start();
    let database = testbed::Database::given().expect("a database");
    let keys = chain.access_keys(1);
    let own = [("RELAY_ACCESS_KEYS", &*keys), (SHARED, "false")];
    // a relay's lease is longer than that of other tests
    let stored = [("DATABASE_URL", database.url()), ("PORTAGE_ENGINE__LEASE_SECONDS", "5")];
    let more = [&own[..], &stored].concat();
    let mut served = chain.served_in(tempfile::tempdir().expect("a folder"), &more);
    assert_eq!(database.sql(STORED).expect("a row"), "caller 1");
    assert_eq!(pays(&served, "payouts", "k-1", "7").0, 201);
    served.process.kill();
    database.sql(OTHER).expect("another worker");
    switches(&mut served, "true");
    let mut command = portage(served.dir.path(), &served.settings);
    let (code, text) = said(&command.args(["serve", "--listen", "127.0.0.1:0"]).output().unwrap());
    assert_eq!(code, Some(78), "{text}");
    assert!(text.contains("relay.shared_keys") && text.contains("`caller`"), "{text}");
    assert_eq!(database.sql(STORED).expect("a row"), "caller 1");
    database.sql("DELETE FROM workers WHERE worker = 77").expect("it left");
    // that of the killed server runs out by itself
    std::thread::sleep(Duration::from_secs(6));
    served.again(|_| ());
    assert_eq!(database.sql(STORED).expect("a row"), "shared 2");
    assert_eq!(pays(&served, "payouts", "k-1", "7").0, 200, "it is found in its scope");
    assert_eq!(pays(&served, "payouts", "k-2", "7").0, 201);
    // as another process changes it that sees no worker
    let change =
        "UPDATE service_state SET value = 'caller', version = 3 WHERE name = 'resource/relay-keys'";
    database.sql(change).expect("it is changed");
    let (status, refused) = pays(&served, "payouts", "k-3", "7");
    assert_eq!((status, &refused["code"]), (503, &"OVERLOADED".into()), "{refused}");
    assert_eq!(reads(&served, "payouts", "k-3").0, 404, "nothing was opened");
    assert_eq!(pays(&served, "payouts", "k-2", "7").0, 200, "a repeat is one");
    eventually("what it took in goes on", || {
        reads(&served, "payouts", "k-2").1["status"] == "FAILED"
    });
    assert!(served.log().contains("relay-keys"), "the log names the row");
}
