//! The ids that speak of the API, once more against the binary itself: nothing is wrapped here.

pub(crate) mod server;

use rusqlite::{Connection, OpenFlags};
use serde_json::json;
use server::{Answer, Server, portage, token, until};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const TO_SPOT: (&str, &str) = ("FUNDING", "SPOT");
const TO_FUNDING: (&str, &str) = ("SPOT", "FUNDING");
const TRANSFERS: &str = "transfers:create transfers:read";
const OPS: &str = "ops:read ops:act";

/// Tokens of one user and of an operator.
struct Tokens {
    user: String,
    ops: String,
    second: String,
}

impl Tokens {
    fn of(dir: &Path) -> Self {
        let [ops, second] = ["1", "2"].map(|sub| token(dir, sub, OPS));
        Self { user: token(dir, "4001", TRANSFERS), ops, second }
    }
}

fn deposit(server: &Server, ops: &str, amount: &str) {
    let body = json!({
        "user_id": 4001, "asset": "USDT", "amount": amount, "ref": "seed", "reason": "a test",
    });
    let booked = server.must("POST", "/api/v1/ops/deposits", ops, Some(body));
    assert_eq!(booked.status, 201, "the deposit is booked: {booked:?}");
}

fn status(server: &Server, ops: &str, account: &str, status: &str) {
    let path = format!("/api/v1/ops/accounts/4001/{account}/status");
    let body = json!({ "status": status, "reason": "a test" });
    let set = server.must("POST", &path, ops, Some(body));
    assert_eq!(set.status, 200, "the status is set: {set:?}");
}

/// Available and frozen at Funding, available at Spot.
fn money(server: &Server, user: &str) -> [String; 3] {
    let balances = server.must("GET", "/api/v1/balances", user, None);
    let of = |account: &str, field: &str| {
        let rows = balances.body.as_array().expect("a list of balances");
        let row = rows.iter().find(|row| row["account"] == account && row["asset"] == "USDT");
        row.map_or("-", |row| row[field].as_str().unwrap_or_default()).to_owned()
    };
    [of("FUNDING", "available"), of("FUNDING", "frozen"), of("SPOT", "available")]
}

/// The states of a transfer's history.
fn path(server: &Server, user: &str, id: &str) -> Vec<String> {
    let story = server.must("GET", &format!("/api/v1/internal_transfer/{id}"), user, None);
    let history = story.body["history"].as_array().expect("a history").clone();
    history.iter().map(|step| step["to"].as_str().unwrap_or_default().to_owned()).collect()
}

/// No case, no halt, and `portage check` agrees once no process holds the folder.
fn sound(server: Server, dir: &Path, ops: &str) {
    let proof = server.must("GET", "/api/v1/ops/conservation?fresh=true", ops, None);
    assert_eq!((proof.status, &proof.body["ok"]), (200, &json!(true)), "it is proven: {proof:?}");
    assert!(proof.body["halted"].is_null(), "no halt: {proof:?}");
    server.kill();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let journal = Connection::open_with_flags(dir.join("portage.db"), flags).expect("the journal");
    let count = "SELECT count(*) FROM cases";
    let cases: i64 = journal.query_row(count, [], |row| row.get(0)).expect("cases are readable");
    drop(journal);
    assert_eq!(cases, 0, "no case is open");
    let check = portage(&["check"], dir);
    assert!(check.status.success(), "`portage check` agrees: {check:?}");
}

/// INV-001 to -003, FSM-001 to -004, CON-002, IDP: each end that a transfer can have.
#[test]
fn every_end_of_a_transfer() {
    let dir = tempfile::tempdir().expect("a folder for a test");
    let dir = dir.path();
    let server = Server::start(dir);
    let tokens = Tokens::of(dir);
    let post = |way, amount, cid| {
        let answer = server.transfer(&tokens.user, way, amount, cid);
        answer.unwrap_or_else(|| panic!("an answer to {cid}"))
    };
    let has = |funding: &str, spot: &str| {
        assert_eq!(money(&server, &tokens.user), [funding, "0.000000", spot]);
    };
    let ends = |answer: &Answer, status: u16, states: &[&str]| {
        assert_eq!(answer.status, status, "{answer:?}");
        assert_eq!(path(&server, &tokens.user, answer.text("req_id")), states);
    };
    deposit(&server, &tokens.ops, "100");
    let happy = ["INIT", "SOURCE_PENDING", "SOURCE_DONE", "TARGET_PENDING", "COMMITTED"];
    let there = post(TO_SPOT, "30", "there");
    ends(&there, 200, &happy);
    has("70.000000", "30.000000");
    ends(&post(TO_FUNDING, "10.5", "back"), 200, &happy);
    has("80.500000", "19.500000");
    for (way, cid) in [(TO_SPOT, "poor-1"), (TO_FUNDING, "poor-2")] {
        let failed = post(way, "1000", cid);
        ends(&failed, 422, &["INIT", "SOURCE_PENDING", "FAILED"]);
        assert_eq!(failed.text("code"), "INSUFFICIENT_BALANCE");
    }
    for (way, cid) in [(TO_SPOT, "refused-1"), (TO_FUNDING, "refused-2")] {
        status(&server, &tokens.ops, way.1, "DISABLED");
        let back = post(way, "5", cid);
        let states = [&happy[..4], &["COMPENSATING", "ROLLED_BACK"]].concat();
        ends(&back, 422, &states);
        assert_eq!(back.text("code"), "ACCOUNT_DISABLED");
        status(&server, &tokens.second, way.1, "ACTIVE");
    }
    has("80.500000", "19.500000");
    let again = post(TO_SPOT, "30", "there");
    assert_eq!(again.text("req_id"), there.text("req_id"), "the same transfer");
    assert!(again.head.contains("idempotency-replayed: true"), "{again:?}");
    assert_eq!(post(TO_SPOT, "31", "there").status, 409, "another body under the same key");
    has("80.500000", "19.500000");
    sound(server, dir, &tokens.ops);
}

/// What a client wrote down: its key, and the id that it was given.
type Noted = Mutex<Vec<(String, Option<String>)>>;

/// Sends transfers of one unit from several clients until told to stop.
fn load(server: &Server, user: &str, noted: &Noted, (next, stop): (&AtomicU64, &AtomicBool)) {
    thread::scope(|scope| {
        for client in 0..4 {
            scope.spawn(move || {
                let way = if client % 2 == 0 { TO_SPOT } else { TO_FUNDING };
                while !stop.load(Ordering::Relaxed) {
                    let cid = format!("{}-{}", way.0, next.fetch_add(1, Ordering::Relaxed));
                    let answer = server.transfer(user, way, "1", &cid);
                    let id = answer.map(|answer| answer.text("req_id").to_owned());
                    let id = id.filter(|id| !id.is_empty());
                    noted.lock().expect("no client panics").push((cid, id));
                    thread::sleep(Duration::from_millis(3));
                }
            });
        }
    });
}

/// Load, `kill -9` in the middle of it, and a start on what is left; as often as told.
fn kills(times: u64, rest: Duration) {
    let dir = tempfile::tempdir().expect("a folder for a test");
    let dir = dir.path();
    let mut server = Server::start(dir);
    let tokens = Tokens::of(dir);
    deposit(&server, &tokens.ops, "100000");
    let seeded = server.transfer(&tokens.user, TO_SPOT, "50000", "seed");
    assert_eq!(seeded.map(|answer| answer.status), Some(200), "Spot is funded");
    let (noted, next) = (Noted::default(), AtomicU64::new(0));
    let acknowledged = || {
        let noted = noted.lock().expect("no client panics");
        noted.iter().filter(|(_, id)| id.is_some()).count()
    };
    for kill in 0..times {
        let before = acknowledged();
        let stop = AtomicBool::new(false);
        server = thread::scope(|scope| {
            let (running, stop) = (&server, &stop);
            let clients = {
                let (user, noted, next) = (&tokens.user, &noted, &next);
                scope.spawn(move || load(running, user, noted, (next, stop)))
            };
            // a different moment each time; a busy machine may not have begun by then
            thread::sleep(rest + Duration::from_millis(7 * kill));
            assert!(until(|| acknowledged() > before), "there is load");
            running.strike();
            stop.store(true, Ordering::Relaxed);
            clients.join().expect("no client panics");
            Server::start(dir)
        });
    }
    let noted = noted.into_inner().expect("no client panics");
    for id in noted.iter().filter_map(|(_, id)| id.as_ref()) {
        let path = format!("/api/v1/internal_transfer/{id}");
        let state = || server.must("GET", &path, &tokens.user, None);
        let ended = until(|| state().text("state") == "COMMITTED");
        assert!(ended, "what was acknowledged is found and ends: {:?}", state());
    }
    let mut sum = [0_u64; 2];
    for (cid, id) in &noted {
        let way = if cid.starts_with("FUNDING") { TO_SPOT } else { TO_FUNDING };
        sum[usize::from(way == TO_SPOT)] += 1;
        if id.is_none() {
            // a busy machine answers that it goes on
            let again = until(|| {
                let answer = server.transfer(&tokens.user, way, "1", cid);
                answer.is_some_and(|answer| answer.status == 200)
            });
            assert!(again, "what was cut off is asked again");
        }
    }
    let [back, there] = sum;
    let funding = format!("{}.000000", 50_000 + back - there);
    let spot = format!("{}.000000", 50_000 + there - back);
    let has = || money(&server, &tokens.user);
    let exact = [funding, "0.000000".to_owned(), spot];
    assert!(until(|| has() == exact), "each transfer moved once: {:?}, not {exact:?}", has());
    sound(server, dir, &tokens.ops);
}

/// INV-004, CRA, FND-004: everything that was acknowledged is found, and ends.
#[test]
fn killed_in_mid_flight() {
    kills(2, Duration::from_millis(400));
}

/// Plain kills raise no alarm.
#[test]
fn ten_plain_kills() {
    kills(10, Duration::from_millis(60));
}
