//! Money moves both ways through a server while it, and the ledger elsewhere, are killed as
//! processes; in the end every transfer is final, the sums are proven, and each effect is there once.

use super::fixture::{Fixture, Form, Struck, read};
use super::script::Program;
use crate::release::server::until;
use serde_json::json;
use std::fs;
use std::path::Path;
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

/// The guide's ledger with another text in the place of one.
fn changed_ledger(dir: &Path, name: &str, change: (&str, &str)) -> Program {
    let Program::Python(file) = Program::guide("own_ledger.py") else { panic!("it is Python") };
    let text = fs::read_to_string(file).expect("the file");
    assert_eq!(text.matches(change.0).count(), 1, "{change:?}");
    let changed = dir.join(name);
    fs::write(&changed, text.replace(change.0, change.1)).expect("it is written");
    Program::Python(changed)
}

/// An asset that is added while everything runs. A ledger that names no assets refuses one that it does not hold and
/// stores the refusal, so the money goes back. One that names them is asked for no other, and for none with other
/// decimals. Seen red with a build that names assets to ledgers at its start alone, and with a ledger that answers
/// `unknown`: the money stays in flight. Turns red with a build that does not compare decimals.
#[test]
fn an_asset_added_at_run_time_reaches_a_ledger_elsewhere() {
    let held = "\"USDT\": 6}";
    let dir = tempfile::tempdir().expect("a folder");
    let named = "{\"assets\": [{\"asset\": a, \"decimals\": d} for a, d in ASSETS.items()]}";
    let ledger = |name: &str, change| changed_ledger(dir.path(), name, change);
    let mut fixture = Fixture::open(ledger("silent.py", (named, "{}")), "MARGIN", Form::Full);
    let added = json!({ "symbol": "EURC", "precision": 2, "reason": "a test" });
    assert_eq!(fixture.act("/api/v1/ops/assets", added).status, 201);
    let money =
        json!({ "user_id": 4001, "asset": "EURC", "amount": "9", "ref": "e", "reason": "a test" });
    assert_eq!(fixture.act("/api/v1/ops/deposits", money).status, 201);
    let asked = |fixture: &Fixture, path: &str, cid: &str, from: &str, to: &str| {
        let body = json!({ "from": from, "to": to, "asset": "EURC", "amount": "4.50", "cid": cid });
        fixture.server().must("POST", path, &fixture.user, Some(body))
    };
    let sent = |fixture: &Fixture, cid: &str, from: &str, to: &str| {
        asked(fixture, "/api/v1/internal_transfer", cid, from, to).text("req_id").to_owned()
    };
    // the next start of the ledger is heard a moment later
    let would = |fixture: &Fixture, code: &str| {
        let path = "/api/v1/internal_transfer?dry_run=true";
        until(|| asked(fixture, path, "dry", "FUNDING", "MARGIN").text("would") == code)
    };
    let refused = sent(&fixture, "k-1", "FUNDING", "MARGIN");
    assert!(until(|| fixture.state(&refused) == "ROLLED_BACK"), "{}", fixture.state(&refused));
    assert!(would(&fixture, "COMMITTED"), "nothing is known of its assets");
    fixture.becomes(ledger("other.py", (held, "\"USDT\": 6, \"EURC\": 3}")));
    assert!(would(&fixture, "TRANSFER_NOT_ALLOWED"), "an asset with other decimals");
    fixture.becomes(ledger("more.py", (held, "\"USDT\": 6, \"EURC\": 2}")));
    assert!(would(&fixture, "COMMITTED"), "an asset with the same decimals");
    let there = sent(&fixture, "k-2", "FUNDING", "MARGIN");
    assert!(until(|| fixture.state(&there) == "COMMITTED"), "{}", fixture.state(&there));
    let back = sent(&fixture, "k-3", "MARGIN", "FUNDING");
    assert!(until(|| fixture.state(&back) == "COMMITTED"), "{}", fixture.state(&back));
    fixture.proven();
}
