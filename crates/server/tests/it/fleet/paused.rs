//! A worker that stands still, and goes on when others have ended its work.

use super::clients::{Clients, FIRST, Wish};
use super::front::{Front, ProxyReply};
use super::{Fleet, SECRET_WORD};
use crate::fixture::http_socket::head;
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

/// How many transfers have ended well.
const DONE: &str = "SELECT count(*) FROM transfers WHERE state = 40";

fn wish(cid: &str, to_spot: bool) -> Wish {
    Wish { user: FIRST, cid: cid.to_owned(), to_spot, amount: 7 }
}

/// A session that holds the first user's balance until it is ended.
struct Holder(Child);

impl Holder {
    const IS: &str = "FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' AND state = 'active' \
        AND datname = current_database() AND pid <> pg_backend_pid()";

    fn takes(fleet: &Fleet) -> Self {
        let text = format!(
            "BEGIN; SELECT 1 FROM balances_tb WHERE user_id = {FIRST} FOR UPDATE; SELECT pg_sleep(600)"
        );
        let mut psql = Command::new("psql");
        psql.args(["-X", "-q", "-o", "/dev/null", "-d", fleet.database.url(), "-c", &text]);
        let holder = Self(psql.spawn().expect("psql"));
        fleet.until(&format!("SELECT count(*) {}", Self::IS), "1");
        holder
    }

    fn ends(mut self, fleet: &Fleet) {
        let ended = fleet.sql(&format!("SELECT count(pg_terminate_backend(pid)) {}", Self::IS));
        assert_eq!(ended, "1", "it held its row until now");
        assert!(!self.0.wait().expect("psql ends").success());
    }
}

/// Turns red where a worker that comes back late writes over what others did meanwhile, executes it
/// once more, or works no more: it was halted between an effect at Spot and the write of its answer.
#[test]
fn a_worker_stands_still_between_an_effect_and_its_answer() {
    let mut fleet = Fleet::start(1);
    // its call waits at Spot; then it waits itself, and Spot has executed
    fleet.spot.halt();
    fleet.square.move_money(0, wish("late", true));
    fleet.until("SELECT count(*) FROM transfers WHERE cid = 'late' AND state = 30", "1");
    thread::sleep(Duration::from_millis(300));
    fleet.works[0].halt();
    fleet.spot.resume();
    let front = Front::default();
    front.put(fleet.spot.port);
    let executed = || {
        let answer = front.ask(0, &head("GET", "/operations?after=0&limit=100", SECRET_WORD, ""));
        let ProxyReply::Answered(answer) = answer else { panic!("Spot answers: {answer:?}") };
        let all = answer.body["operations"].as_array().expect("a list").clone();
        all.iter().any(|one| one["amount"] == "7000000" && one["success"] == true)
    };
    while !executed() {
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(fleet.sql("SELECT state FROM transfers WHERE cid = 'late'"), "30");
    // another one ends its work once its lease is over, and others'
    fleet.work();
    let clients = Clients::start(&fleet.square);
    fleet.until("SELECT state FROM transfers WHERE cid = 'late'", "40");
    clients.more(40);
    goes_on(fleet, clients);
}

/// The worker that stood still is back: beside the other it harms nothing, and then it carries on alone.
fn goes_on(fleet: Fleet, clients: Clients) {
    fleet.works[0].resume();
    clients.more(40);
    fleet.works[1].kill9();
    let before: u64 = fleet.sql(DONE).parse().expect("a number");
    fleet.until(&format!("SELECT ({DONE}) >= {}", before + 40), "t");
    fleet.settled(clients);
}

/// Turns red where a worker that is halted inside its transaction holds its rows for ever, or where it
/// goes on with that transaction when it is back.
#[test]
fn a_worker_stands_still_inside_its_transaction() {
    // it waits for a row until the test lets it go
    let mut fleet = Fleet::with(1, &[("PORTAGE_DATABASE__LOCK_TIMEOUT_MS", "20000")]);
    let holder = Holder::takes(&fleet);
    // Spot gives, and the deposit waits for the row
    fleet.square.move_money(0, wish("held", false));
    let waits = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' \
                 AND datname = current_database() AND application_name LIKE 'portage%'";
    // a wait that ended before the worker stood still is none: the next one
    loop {
        fleet.until(waits, "t");
        fleet.works[0].halt();
        if fleet.sql(waits) == "t" {
            break;
        }
        fleet.works[0].resume();
    }
    holder.ends(&fleet);
    let inside = "SELECT count(*) > 0 FROM pg_stat_activity WHERE state = 'idle in transaction' \
                  AND datname = current_database() AND application_name LIKE 'portage%'";
    fleet.until(inside, "t");
    fleet.work();
    let clients = Clients::start(&fleet.square);
    // the row is free when the database has ended the session, and the work when the lease is over
    fleet.until("SELECT state FROM transfers WHERE cid = 'held'", "40");
    clients.more(40);
    goes_on(fleet, clients);
}
