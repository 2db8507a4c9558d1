//! Money moves both ways through a server while it, and the ledger elsewhere, are killed as
//! processes; in the end every transfer is final, the sums are proven, and each effect is there once.

use super::scene::{Form, Scene, Struck, read};
use super::script::Program;
use crate::release::server::until;
use serde_json::json;
use std::fs;
use std::time::Duration;

/// Kills in the middle of load, at another moment each time.
fn kills(scene: &mut Scene, all: &[Struck]) {
    for (n, struck) in (0..).zip(all) {
        scene.struck(*struck, Duration::from_millis(300 + 37 * n));
    }
}

/// One number out of the guide's store.
fn count(scene: &Scene, sql: &str) -> u64 {
    let db = read(&scene.far().join("ledger.db"));
    db.query_row(sql, [], |row| row.get::<_, i64>(0)).expect("a count").unsigned_abs()
}

/// Each effect once, in the ledger's own books: they are no part of the server's proof.
fn once(scene: &Scene, [there, back]: [u64; 2], done: &str) {
    let of = |leg: &str| {
        count(scene, &format!("SELECT count(*) FROM operations WHERE leg = '{leg}' AND {done}"))
    };
    // one was sent ahead
    assert_eq!([of("DEPOSIT"), of("WITHDRAW"), of("REFUND")], [there + 1, back, 0]);
    let has = count(scene, "SELECT sum(CAST(available AS INTEGER)) FROM balances");
    assert_eq!(has, Scene::rest([there, back]) * 1_000_000);
}

const ALL: [Struck; 4] = [Struck::Ledger, Struck::Server, Struck::Both, Struck::Ledger];

#[test]
fn the_guides_ledger_behind_a_server() {
    let mut scene = Scene::open(Program::guide("own_ledger.py"), "MARGIN", Form::Full);
    kills(&mut scene, &ALL);
    let sums = scene.exact();
    once(&scene, sums, "error IS NULL");
}

#[test]
fn the_simple_form_behind_a_server_over_a_way_that_loses() {
    let mut scene = Scene::open(Program::guide("own_ledger_simple.py"), "MARGIN", Form::Simple);
    scene.loses(4, 7);
    kills(&mut scene, &ALL);
    scene.works(Duration::from_millis(300));
    assert!(scene.fair() > 10, "messages were lost");
    let sums = scene.exact();
    once(&scene, sums, "answer = '{\"success\": true}'");
}

#[test]
fn spot_served_by_a_process_that_is_killed() {
    let mut scene = Scene::open(Program::Spot(vec![]), "SPOT", Form::Full);
    kills(&mut scene, &[Struck::Ledger; 5]);
    kills(&mut scene, &ALL);
    scene.exact();
}

/// An asset that is added while everything runs. A ledger elsewhere that does not know it yet refuses
/// nothing: the transfer waits. Seen red with a build that names assets to ledgers at its start alone.
#[test]
fn an_asset_added_at_run_time_reaches_a_ledger_elsewhere() {
    let mut scene = Scene::open(Program::guide("own_ledger.py"), "MARGIN", Form::Full);
    let added = json!({ "symbol": "EURC", "precision": 2, "reason": "a test" });
    assert_eq!(scene.act("/api/v1/ops/assets", added).status, 201);
    let money =
        json!({ "user_id": 4001, "asset": "EURC", "amount": "9", "ref": "e", "reason": "a test" });
    assert_eq!(scene.act("/api/v1/ops/deposits", money).status, 201);
    let sent = |scene: &Scene, from: &str, to: &str| {
        let body =
            json!({ "from": from, "to": to, "asset": "EURC", "amount": "4.50", "cid": from });
        let path = "/api/v1/internal_transfer";
        scene.server().must("POST", path, &scene.user, Some(body)).text("req_id").to_owned()
    };
    let there = sent(&scene, "FUNDING", "MARGIN");
    assert!(until(|| scene.state(&there) == "TARGET_PENDING"), "{}", scene.state(&there));
    let Program::Python(file) = Program::guide("own_ledger.py") else { panic!("it is Python") };
    let file = fs::read_to_string(file).expect("the file");
    let (few, more) = ("\"USDT\"}", "\"USDT\", \"EURC\"}");
    assert_eq!(file.matches(few).count(), 1);
    let changed = scene.dir.path().join("more.py");
    fs::write(&changed, file.replace(few, more)).expect("it is written");
    scene.becomes(Program::Python(changed));
    assert!(until(|| scene.state(&there) == "COMMITTED"), "{}", scene.state(&there));
    let back = sent(&scene, "MARGIN", "FUNDING");
    assert!(until(|| scene.state(&back) == "COMMITTED"), "{}", scene.state(&back));
    scene.proven();
}
