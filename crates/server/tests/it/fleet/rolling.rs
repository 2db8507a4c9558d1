//! Workers and servers come and go while users work.
//!
//! A wrong build that was run: `server.drain_delay_ms` is not waited for. The first test is red: requests
//! are cut off.

use super::Fleet;
use super::clients::Clients;

/// What a worker has under its lease: transfers that no other worker may carry while its lease stands.
fn held(worker: &str) -> String {
    format!(
        "SELECT count(*) > 0 FROM due JOIN transfers t USING (transfer_id) \
         WHERE leased_by = {worker} AND due.due_at IS NULL AND t.state NOT IN (40, -10, -30)"
    )
}

/// Turns red where what a dead worker held is stranded, where a stop or a start of any process fails
/// one request of those who are answered by others, and where money is made or lost on the way.
#[test]
fn a_worker_dies_and_all_others_are_restarted_under_load() {
    let mut fleet = Fleet::start(1);
    let dying = fleet.newest();
    fleet.work();
    let clients = Clients::start(&fleet.square);
    clients.more(40);
    // it dies with transfers in its hands
    let work = &fleet.works[0];
    loop {
        work.halt();
        if fleet.sql(&held(&dying)) == "t" {
            break;
        }
        work.resume();
    }
    work.kill9();
    fleet.until(&held(&dying), "f");
    work.again();
    clients.more(40);
    // all others, one by one, in order
    for process in fleet.works.iter().skip(1).chain([&fleet.spot]).chain(&fleet.serves) {
        fleet.end(process);
        clients.more(10);
        fleet.begin(process);
        clients.more(40);
    }
    let seen = fleet.settled(clients);
    assert!(seen.cut.is_empty(), "requests were cut off: {:?}", seen.cut);
    assert!(fleet.works.iter().all(super::Process::runs));
}

/// Turns red where the death of a server takes along more than the requests in its hands, or where one
/// of those is made twice.
#[test]
fn a_server_dies_under_load() {
    let fleet = Fleet::start(2);
    let clients = Clients::start(&fleet.square);
    for serve in &fleet.serves {
        clients.more(40);
        serve.kill9();
        clients.more(40);
        serve.again();
    }
    clients.more(40);
    let seen = fleet.settled(clients);
    let most = super::USERS;
    assert!(seen.cut.values().all(|cut| *cut <= most), "more than one each: {:?}", seen.cut);
}
