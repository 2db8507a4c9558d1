//! A client's own reference and words: kept, shown wherever the transfer is, part of the request.

use super::{CREATE, Door, USER, transfer};
use serde_json::{Value, json};

fn with(reference: Value, metadata: Value) -> Value {
    let mut body = transfer("1", "k");
    body["reference"] = reference;
    body["metadata"] = metadata;
    body
}

/// Turns red where one of the two is dropped on its way into the store or out of it.
#[tokio::test]
async fn they_are_shown_wherever_the_transfer_is() {
    let door = Door::open().await;
    door.fund(4001, "100").await;
    let user = ("4001", USER);
    let asked = with(json!("Rechnung 12 – März"), json!({"till": "7", "a.b": ""}));
    let made = door.post(user, CREATE, asked.clone()).await;
    let again = door.post(user, CREATE, asked.clone()).await;
    let id = made.body["req_id"].as_str().expect("an id");
    let get = door.get(user, &format!("{CREATE}/{id}")).await;
    let lower = door.get(user, &format!("/api/v1/transfer/{id}")).await;
    let mut poor = asked.clone();
    poor["amount"] = json!("5000");
    poor["cid"] = json!("poor");
    let failed = door.post(user, CREATE, poor).await;
    for (reply, status) in [(made, 200), (again, 200), (get, 200), (lower, 200), (failed, 422)] {
        assert_eq!(reply.status, status, "{reply:?}");
        assert_eq!(reply.body["reference"], asked["reference"], "{reply:?}");
        assert_eq!(reply.body["metadata"], asked["metadata"], "{reply:?}");
    }
    let bare = door.post(user, CREATE, transfer("1", "bare")).await;
    assert_eq!((&bare.body["reference"], &bare.body["metadata"]), (&Value::Null, &json!({})));
}

/// Turns red where a repeat with other words is taken for the same request, or with the same for
/// another.
#[tokio::test]
async fn they_are_part_of_the_request() {
    let door = Door::open().await;
    door.fund(4001, "100").await;
    let user = ("4001", USER);
    let first = door.post(user, CREATE, with(json!("x"), json!({"a": "1", "b": "2"}))).await;
    let same = door.post(user, CREATE, with(json!("x"), json!({"b": "2", "a": "1"}))).await;
    assert_eq!((same.status, &same.body["req_id"]), (200, &first.body["req_id"]), "{same:?}");
    for (reference, metadata, differs) in [
        (json!("y"), json!({"a": "1", "b": "2"}), json!(["reference"])),
        (Value::Null, json!({"a": "1", "b": "2"}), json!(["reference"])),
        (json!("x"), json!({"a": "1", "b": "3"}), json!(["metadata"])),
        (json!("x"), json!({"a": "1"}), json!(["metadata"])),
        (json!("x"), json!({"a1": "b2"}), json!(["metadata"])),
        (Value::Null, Value::Null, json!(["reference", "metadata"])),
    ] {
        let reply = door.post(user, CREATE, with(reference, metadata)).await;
        assert_eq!((reply.status, reply.code()), (409, "DUPLICATE_REQUEST"), "{reply:?}");
        assert_eq!(reply.body["mismatched_fields"], differs);
    }
    // nothing and an empty object are the same
    let bare = door.post(user, CREATE, transfer("1", "j")).await;
    let mut empty = transfer("1", "j");
    empty["metadata"] = json!({});
    let again = door.post(user, CREATE, empty).await;
    assert_eq!((again.status, &again.body["req_id"]), (200, &bare.body["req_id"]), "{again:?}");
    assert_eq!(door.rows().await, 2);
}

/// Turns red where an operator cannot come from what a client has to its transfer.
#[tokio::test]
async fn an_operator_finds_a_transfer_by_its_key_or_reference() {
    let door = Door::open().await;
    door.fund(4001, "100").await;
    let user = ("4001", USER);
    let mut ids = Vec::new();
    for (cid, reference) in [("k-1", "order-1"), ("k-2", "order 2&x")] {
        let mut body = transfer("1", cid);
        body["reference"] = json!(reference);
        ids.push(door.post(user, CREATE, body).await.body["req_id"].clone());
    }
    for (query, wanted) in [
        ("key=k-1", vec![&ids[0]]),
        ("key=k-1&user=4001", vec![&ids[0]]),
        ("key=k-1&user=4002", vec![]),
        ("key=k-2&caller=portage%7C4001", vec![&ids[1]]),
        ("key=k-2&caller=portage%7C4002", vec![]),
        ("reference=order+2%26x", vec![&ids[1]]),
        ("reference=order-1&key=k-2", vec![]),
        ("key=k", vec![]),
    ] {
        let found = door.get(("ops", "ops:read"), &format!("/api/v1/transfers?{query}")).await;
        assert_eq!(found.status, 200, "{query}: {found:?}");
        let rows = found.body["transfers"].as_array().expect("rows");
        assert_eq!(rows.iter().map(|row| &row["req_id"]).collect::<Vec<_>>(), wanted, "{query}");
    }
}
