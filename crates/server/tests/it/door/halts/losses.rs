//! The way out of a HALT whose ledger lost operations for good, over HTTP, as the runbook has it.

use crate::door::{CREATE, Door, Reply, TestSetup, USER, transfer};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const FIRST: (&str, &str) = ("ops-1", "ops:read ops:act ops:approve");
const SECOND: (&str, &str) = ("ops-2", "ops:read ops:act ops:approve");

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("the folder") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).expect("a copy");
        }
    }
}

/// A server over a folder that was used before.
async fn over(dir: TempDir) -> Door {
    Door::with(TestSetup { dir, ..TestSetup::default() }).await
}

async fn committed(door: &Door, amount: &str, key: &str) -> String {
    let reply = door.post(("4001", USER), CREATE, transfer(amount, key)).await;
    assert_eq!((reply.status, &reply.body["state"]), (200, &json!("COMMITTED")), "{reply:?}");
    reply.body["req_id"].as_str().expect("an id").to_owned()
}

/// Proposed by one person and approved by another.
async fn resume(door: &Door, accept: &Value) -> Reply {
    let body = json!({ "reason": "ticket 4711: lost for good", "accept": accept });
    let proposed = door.post(FIRST, "/api/v1/ops/resume", body).await;
    let id = proposed.body["approval_id"].as_str().expect("an approval").to_owned();
    let approve = format!("/api/v1/ops/approvals/{id}/approve");
    door.post(SECOND, &approve, json!({ "reason": "seen in ticket 4711" })).await
}

/// Turns red where the refused approval does not list what is lost by key and amount, where RESUMED is
/// answered and HALT is back, or where a later proof does not list what was accepted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_spot_lost_is_listed_accepted_and_shown() {
    let door = Door::open().await;
    door.fund(4001, "100").await;
    committed(&door, "10", "k-1").await;
    let (older, later) =
        (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    copy(&door.dir.path().join("spot"), older.path());
    let lost = committed(&door, "20", "k-2").await;
    // what the machine comes back with: the journal of now, and the Spot of before
    copy(door.dir.path(), later.path());
    fs::remove_dir_all(later.path().join("spot")).expect("it goes");
    copy(older.path(), &later.path().join("spot"));
    let door = over(later).await;
    let halted = door.post(("4001", USER), CREATE, transfer("5", "k-3")).await;
    assert_eq!(halted.code(), "HALTED", "{halted:?}");
    let refused = resume(&door, &json!([])).await;
    assert_eq!(refused.code(), "BREAKS_NOT_ACCEPTED", "{refused:?}");
    let breaks = refused.body["breaks"].as_array().expect("a list").clone();
    let named: Vec<_> = breaks.iter().map(|b| (&b["key"], &b["amount"])).collect();
    let key = json!(format!("{lost}/SPOT/DEPOSIT/lost"));
    let (highest, one, amount) = (json!("SPOT/highest"), json!("-1"), json!("-20000000"));
    assert_eq!(named, [(&key, &amount), (&highest, &one)], "{refused:?}");
    let accept = |from: &[Value]| -> Value {
        from.iter().map(|b| json!({ "key": b["key"], "amount": b["amount"] })).collect()
    };
    let half = resume(&door, &accept(breaks.get(1..).unwrap_or_default())).await;
    assert_eq!(half.code(), "BREAKS_NOT_ACCEPTED", "{half:?}");
    let resumed = resume(&door, &accept(&breaks)).await;
    assert_eq!(resumed.body["outcome"], json!("RESUMED"), "{resumed:?}");
    // the number that was lost is given again, and nothing is off
    for n in 4..7 {
        committed(&door, "5", &format!("k-{n}")).await;
        let proof = door.get(FIRST, "/api/v1/ops/conservation?full=true").await;
        assert_eq!(proof.body["ok"], json!(true), "{proof:?}");
        assert_eq!(proof.body["accepted"][0]["key"], key, "{proof:?}");
    }
    // the transfer is what it was: its user has it, and its key is bound to it
    let again = door.post(("4001", USER), CREATE, transfer("20", "k-2")).await;
    assert_eq!((again.status, &again.body["req_id"]), (200, &json!(lost)), "{again:?}");
}
