//! Money moves both ways through a server while it, and the ledger elsewhere, are killed as
//! processes; in the end every transfer is final, the sums are proven, and each effect is there once.

use super::fixture::{Fixture, Form, Struck, read};
use super::script::Program;
use crate::release::server::until;
use serde_json::json;
use std::fs;
use std::time::Duration;

/// Kills in the middle of load, at another moment each time.
fn kills(fixture: &mut Fixture, all: &[Struck]) {
    for (n, struck) in (0..).zip(all) {
        fixture.struck(*struck, Duration::from_millis(300 + 37 * n));
    }
}

/// One number out of the guide's store.
fn count(fixture: &Fixture, sql: &str) -> u64 {
    let db = read(&fixture.far().join("ledger.db"));
    db.query_row(sql, [], |row| row.get::<_, i64>(0)).expect("a count").unsigned_abs()
}

/// Each effect once, in the ledger's own books: they are no part of the server's proof.
fn once(fixture: &Fixture, [there, back]: [u64; 2], done: &str) {
    let of = |leg: &str| {
        count(fixture, &format!("SELECT count(*) FROM operations WHERE leg = '{leg}' AND {done}"))
    };
    // one was sent ahead
    assert_eq!([of("DEPOSIT"), of("WITHDRAW"), of("REFUND")], [there + 1, back, 0]);
    let has = count(fixture, "SELECT sum(CAST(available AS INTEGER)) FROM balances");
    assert_eq!(has, Fixture::rest([there, back]) * 1_000_000);
}

const ALL: [Struck; 4] = [Struck::Ledger, Struck::Server, Struck::Both, Struck::Ledger];

#[test]
fn the_guides_ledger_behind_a_server() {
    let mut fixture = Fixture::open(Program::guide("own_ledger.py"), "MARGIN", Form::Full);
    kills(&mut fixture, &ALL);
    let sums = fixture.exact();
    once(&fixture, sums, "error IS NULL");
}

#[test]
fn the_simple_form_behind_a_server_over_a_way_that_loses() {
    let mut fixture = Fixture::open(Program::guide("own_ledger_simple.py"), "MARGIN", Form::Simple);
    fixture.loses(4, 7);
    kills(&mut fixture, &ALL);
    fixture.works(Duration::from_millis(300));
    assert!(fixture.fair() > 10, "messages were lost");
    let sums = fixture.exact();
    once(&fixture, sums, "answer = '{\"success\": true}'");
}

#[test]
fn spot_served_by_a_process_that_is_killed() {
    let mut fixture = Fixture::open(Program::Spot(vec![]), "SPOT", Form::Full);
    kills(&mut fixture, &[Struck::Ledger; 5]);
    kills(&mut fixture, &ALL);
    fixture.exact();
}

/// An asset that is added while everything runs. The guide's ledger refuses one that it does not hold and stores
/// the refusal, so the money goes back. Seen red with a build that names assets to ledgers at its start alone, and
/// with a ledger that answers `unknown`: the money stays in flight.
#[test]
fn an_asset_added_at_run_time_reaches_a_ledger_elsewhere() {
    let mut fixture = Fixture::open(Program::guide("own_ledger.py"), "MARGIN", Form::Full);
    let added = json!({ "symbol": "EURC", "precision": 2, "reason": "a test" });
    assert_eq!(fixture.act("/api/v1/ops/assets", added).status, 201);
    let money =
        json!({ "user_id": 4001, "asset": "EURC", "amount": "9", "ref": "e", "reason": "a test" });
    assert_eq!(fixture.act("/api/v1/ops/deposits", money).status, 201);
    let sent = |fixture: &Fixture, cid: &str, from: &str, to: &str| {
        let body = json!({ "from": from, "to": to, "asset": "EURC", "amount": "4.50", "cid": cid });
        let path = "/api/v1/internal_transfer";
        fixture.server().must("POST", path, &fixture.user, Some(body)).text("req_id").to_owned()
    };
    let refused = sent(&fixture, "k-1", "FUNDING", "MARGIN");
    assert!(until(|| fixture.state(&refused) == "ROLLED_BACK"), "{}", fixture.state(&refused));
    let Program::Python(file) = Program::guide("own_ledger.py") else { panic!("it is Python") };
    let file = fs::read_to_string(file).expect("the file");
    let (few, more) = ("\"USDT\"}", "\"USDT\", \"EURC\"}");
    assert_eq!(file.matches(few).count(), 1);
    let changed = fixture.dir.path().join("more.py");
    fs::write(&changed, file.replace(few, more)).expect("it is written");
    fixture.becomes(Program::Python(changed));
    let there = sent(&fixture, "k-2", "FUNDING", "MARGIN");
    assert!(until(|| fixture.state(&there) == "COMMITTED"), "{}", fixture.state(&there));
    let back = sent(&fixture, "k-3", "MARGIN", "FUNDING");
    assert!(until(|| fixture.state(&back) == "COMMITTED"), "{}", fixture.state(&back));
    fixture.proven();
}
