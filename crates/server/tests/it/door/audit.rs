//! The audit through the door: proven, sealed, and held against a seal that was kept.

use super::{CREATE, Door, USER, transfer};
use serde_json::{Value, json};

const OPS: (&str, &str) = ("7", "ops:read");
const VERIFY: &str = "/api/v1/ops/audit/verify";

async fn worked(door: &Door, user: u64, n: u64) {
    door.fund(user, "1000").await;
    for cid in 0..n {
        let body = transfer("1", &format!("c{cid}"));
        let reply = door.post((&user.to_string(), USER), CREATE, body).await;
        assert_eq!(reply.status, 200, "{reply:?}");
    }
}

/// Executes SQL on the journal's file.
fn spoil(door: &Door, sql: &str) {
    let db = testbed::beside(&door.dir.path().join(store::sqlite::FILE));
    assert_eq!(db.execute(sql, []).expect("it is done"), 1, "{sql}");
}

#[tokio::test]
async fn the_proof_names_what_was_changed() {
    let door = Door::open().await;
    worked(&door, 4001, 3).await;
    let first = door.app.sealer.seal().await.expect("a seal").expect("something new");
    worked(&door, 4002, 2).await;
    let reply = door.get(OPS, VERIFY).await;
    assert_eq!((reply.status, &reply.body["ok"]), (200, &json!(true)), "{reply:?}");
    assert_eq!((&reply.body["transfers"], &reply.body["seals"]), (&json!(5), &json!(1)));
    assert!(reply.body["unsealed"].as_u64() > Some(0), "{reply:?}");
    let said = engine::audit::SealText(&first).to_string();
    assert_eq!(reply.body["last"]["seal"], json!(said));
    let reply = door.get(OPS, &format!("{VERIFY}?seal={said}")).await;
    assert_eq!(reply.body["ok"], json!(true), "{reply:?}");
    let other = said.replacen("1:", "2:", 1);
    let reply = door.get(OPS, &format!("{VERIFY}?seal={other}")).await;
    let fault = reply.body["faults"][0].as_str().expect("a sentence").to_owned();
    assert!(fault.contains("it is not there"), "{fault}");
    for bad in ["?seal=1", "?seal=", "?sael=x"] {
        assert_eq!(door.get(OPS, &format!("{VERIFY}{bad}")).await.status, 400, "{bad}");
    }
    spoil(&door, "UPDATE transfers SET user_id = 4009 WHERE transfer_id = 2");
    let reply = door.get(OPS, VERIFY).await;
    assert_eq!((&reply.body["ok"], &reply.body["wrong"]), (&json!(false), &json!(1)));
    let fault = reply.body["faults"][0].as_str().expect("a sentence").to_owned();
    assert!(fault.contains("what was agreed"), "{fault}");
}

#[tokio::test]
async fn seals_are_listed_newest_first() {
    let door = Door::open().await;
    for user in 1..=5 {
        worked(&door, user, 1).await;
        door.app.sealer.seal().await.expect("a seal").expect("something new");
    }
    let numbers = |body: &Value| -> Vec<u64> {
        let seals = body["seals"].as_array().expect("a list");
        seals.iter().map(|seal| seal["number"].as_u64().expect("a number")).collect()
    };
    let path = "/api/v1/ops/audit/seals";
    let reply = door.get(OPS, &format!("{path}?limit=3")).await;
    assert_eq!((numbers(&reply.body), &reply.body["next"]), (vec![5, 4, 3], &json!(3)));
    let reply = door.get(OPS, &format!("{path}?limit=3&before=3")).await;
    assert_eq!((numbers(&reply.body), &reply.body["next"]), (vec![2, 1], &json!(null)));
    assert_eq!(reply.body["seals"][1]["previous"], json!("0".repeat(64)));
    assert_eq!(door.get(OPS, &format!("{path}?limit=0")).await.status, 400);
}
