//! The Spot that is served by itself ends and begins again between the batches of several workers.
//!
//! A wrong build that was run: no worker adopts the new incarnation, and nothing ends any more.

use super::Fleet;
use super::clients::Clients;
use crate::fixture::http_socket::post;
use std::collections::BTreeSet;

/// Turns red where what Spot did before it ended is made again, or is not matched when it is back;
/// where a Spot that is away fails a request; and where a restart halts the money.
#[test]
fn spot_ends_and_begins_between_batches_of_several_workers() {
    let fleet = Fleet::start(2);
    let clients = Clients::start(&fleet.square);
    let mut incarnations = BTreeSet::new();
    for round in 0..6 {
        clients.more(40);
        if round % 2 == 0 {
            fleet.spot.kill9();
            // it is away while others ask for it
            clients.more(10);
        } else {
            fleet.end(&fleet.spot);
        }
        fleet.begin(&fleet.spot);
        clients.more(40);
        let waiting = "SELECT count(*) FROM transfers WHERE state = 40";
        let before: u64 = fleet.sql(waiting).parse().expect("a number");
        fleet.until(&format!("SELECT ({waiting}) > {before}"), "t");
        let current = "SELECT incarnation FROM ledgers_tb WHERE ledger = 2 AND current";
        assert!(incarnations.insert(fleet.sql(current)), "no worker adopted the new one");
    }
    let seen = fleet.settled(clients);
    assert!(seen.cut.is_empty(), "requests were cut off: {:?}", seen.cut);
    assert_eq!(fleet.sql("SELECT count(*) FROM service_state WHERE name = 'halted'"), "0");
    no_backup_without_spot(&fleet);
}

/// Turns red where a server of which Spot is elsewhere calls half of the service a backup.
fn no_backup_without_spot(fleet: &Fleet) {
    let asked = post("/api/v1/ops/backup", &fleet.token, "", r#"{"dir":"half"}"#);
    let refused = fleet.square.insist(0, &asked);
    assert_eq!(refused.status, 500, "{refused:?}");
    let why = refused.text("error");
    assert!(why.contains("Spot is served elsewhere"), "{refused:?}");
    let made = |n: usize| fleet.dir.path().join(format!("serve-{n}")).join("backups").join("half");
    assert!(!(0..2).any(|n| made(n).exists()), "something passes for a backup");
}
