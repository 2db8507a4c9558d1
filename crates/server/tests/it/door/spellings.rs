//! Two spellings of one flow and of one id.

use super::{CREATE, Door, USER, transfer};
use serde_json::{Value, json};

const V2: &str = "/api/v1/transfer";

fn lower(from: &str, to: &str, amount: &str) -> Value {
    json!({"from": from, "to": to, "user_id": 4001, "asset": "USDT", "amount": amount})
}

/// The v2 source's §12, as it is written there.
#[tokio::test]
async fn the_source_s_own_requests_work() {
    let door = Door::open().await;
    door.fund(4001, "100").await;
    let user = ("4001", USER);
    let made = door.post(user, V2, lower("funding", "trading", "1.5")).await;
    let mut names: Vec<_> = made.body.as_object().expect("an object").keys().collect();
    names.sort();
    assert_eq!(names, ["message", "req_id", "status"], "{made:?}");
    assert_eq!(made.status, 200);
    assert_eq!(made.body["status"], "committed");
    let id = made.body["req_id"].as_str().expect("an id");
    assert_eq!((id.len(), id.matches('-').count()), (36, 4));
    let story = door.get(user, &format!("{V2}/{id}")).await;
    assert_eq!((story.status, &story.body["req_id"]), (200, &json!(id)), "{story:?}");
    assert_eq!(story.body["state"], "committed");
    assert_eq!((&story.body["from"], &story.body["to"]), (&json!("funding"), &json!("trading")));
    assert_eq!(
        (&story.body["user_id"], &story.body["amount"]),
        (&json!("4001"), &json!("1.500000"))
    );
    let created = story.body["created_at"].as_u64().expect("milliseconds");
    assert!(created > 1_600_000_000_000 && created <= story.body["updated_at"].as_u64().unwrap());
    let back = door.post(user, V2, lower("trading", "funding", "0.5")).await;
    assert_eq!((back.status, &back.body["status"]), (200, &json!("committed")), "{back:?}");
    let poor = door.post(user, V2, lower("funding", "trading", "5000")).await;
    assert_eq!((poor.status, poor.code()), (422, "INSUFFICIENT_BALANCE"), "{poor:?}");
    assert_eq!(poor.body["status"], "failed");
    let failed = poor.body["req_id"].as_str().expect("an id");
    let story = door.get(user, &format!("{V2}/{failed}")).await;
    assert_eq!(story.body["state"], "failed");
    assert_eq!(story.body["error"], "INSUFFICIENT_BALANCE");
    assert_eq!(door.get(("4002", USER), &format!("{V2}/{id}")).await.status, 404);
}

/// Turns red where one spelling's names are taken for the other's.
#[tokio::test]
async fn each_spelling_has_its_own_names() {
    let door = Door::open().await;
    door.fund(4001, "100").await;
    for (from, to, code) in [
        ("FUNDING", "trading", "INVALID_ACCOUNT_TYPE"),
        ("funding", "SPOT", "INVALID_ACCOUNT_TYPE"),
        ("funding", "spot", "INVALID_ACCOUNT_TYPE"),
        ("Funding", "trading", "INVALID_ACCOUNT_TYPE"),
        ("funding", "funding", "SAME_ACCOUNT"),
        ("x", "x", "SAME_ACCOUNT"),
        ("future", "trading", "UNSUPPORTED_ACCOUNT_TYPE"),
        ("trading", "margin", "UNSUPPORTED_ACCOUNT_TYPE"),
    ] {
        let reply = door.post(("4001", USER), V2, lower(from, to, "1")).await;
        assert_eq!((reply.status, reply.code()), (400, code), "{from} {to}: {reply:?}");
    }
    let mut asked = transfer("1", "k");
    asked["from"] = json!("trading");
    assert_eq!(door.post(("4001", USER), CREATE, asked).await.code(), "INVALID_ACCOUNT_TYPE");
    let other =
        json!({"from": "funding", "to": "trading", "user_id": 4002, "asset": "USDT", "amount": 1});
    assert_eq!(door.post(("4001", USER), V2, other).await.status, 403);
    assert_eq!(door.rows().await, 0);
}

/// Turns red where the two spellings have name spaces of their own: a client that moves from one to
/// the other would pay twice.
#[tokio::test]
async fn a_key_is_one_in_both_spellings() {
    let door = Door::open().await;
    door.fund(4001, "100").await;
    let user = ("4001", USER);
    let first = door.post(user, CREATE, transfer("25", "k")).await;
    let key = [("idempotency-key", "k")];
    let again = door.post_with(user, V2, &key, lower("funding", "trading", "25")).await;
    assert_eq!((again.status, &again.body["status"]), (200, &json!("committed")), "{again:?}");
    assert_eq!(again.headers["idempotency-replayed"], "true");
    let uuid = again.body["req_id"].as_str().expect("an id");
    let get = door.get(user, &format!("{CREATE}/{uuid}")).await;
    assert_eq!(get.body["req_id"], first.body["req_id"]);
    let other = door.post_with(user, V2, &key, lower("trading", "funding", "25")).await;
    assert_eq!(other.body["mismatched_fields"], json!(["from", "to"]), "{other:?}");
    assert_eq!(door.rows().await, 1);
}

#[tokio::test]
async fn both_spellings_of_an_id_are_read_and_no_third() {
    let door = Door::open().await;
    door.fund(4001, "100").await;
    let user = ("4001", USER);
    let made = door.post(user, CREATE, transfer("25", "k")).await;
    let ulid = made.body["req_id"].as_str().expect("an id").to_owned();
    let lower = door.get(user, &format!("{V2}/{ulid}")).await;
    let uuid = lower.body["req_id"].as_str().expect("an id").to_owned();
    for route in [CREATE, V2] {
        for id in [&ulid, &ulid.to_lowercase(), &uuid, &uuid.to_uppercase()] {
            assert_eq!(door.get(user, &format!("{route}/{id}")).await.status, 200, "{route} {id}");
        }
        for id in [&uuid.replace('-', ""), &format!("%7B{uuid}%7D"), &format!("{ulid}0")] {
            let reply = door.get(user, &format!("{route}/{id}")).await;
            assert_eq!((reply.status, reply.code()), (404, "NOT_FOUND"), "{route} {id}");
        }
    }
}
