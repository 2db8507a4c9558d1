//! A batch: refused as one, then each item on its own.

use super::{CREATE, Door, USER, transfer};
use serde_json::{Value, json};

const BATCH: &str = "/api/v1/internal_transfers";

fn many(items: &[Value]) -> Value {
    json!({ "transfers": items })
}

fn results(body: &Value) -> Vec<Value> {
    body["results"].as_array().unwrap_or_else(|| panic!("results: {body}")).clone()
}

#[tokio::test]
async fn each_item_is_answered_for_itself() {
    let door = Door::open().await;
    door.fund(4001, "100").await;
    let user = ("4001", USER);
    let bound = door.post(user, CREATE, transfer("2", "old")).await;
    let mut unknown = transfer("1", "asset");
    unknown["asset"] = json!("XYZ");
    let items = [
        transfer("1", "a"),
        transfer("5000", "poor"),
        unknown,
        transfer("1e2", "amount"),
        transfer("2", "old"),
        transfer("3", "old"),
        transfer("1", "b"),
    ];
    let reply = door.post(user, BATCH, many(&items)).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    let results = results(&reply.body);
    let told = |field: &str| -> Vec<Value> { results.iter().map(|r| r[field].clone()).collect() };
    assert_eq!(told("index"), [0, 1, 2, 3, 4, 5, 6].map(Value::from));
    assert_eq!(told("status"), [200, 422, 400, 400, 200, 409, 200].map(Value::from));
    let replayed = [false, false, false, false, true, false, false];
    assert_eq!(told("replayed"), replayed.map(Value::from));
    let codes: Vec<_> = results.iter().map(|r| r["code"].as_str().unwrap_or("")).collect();
    let expected = [
        "",
        "INSUFFICIENT_BALANCE",
        "INVALID_ASSET",
        "INVALID_AMOUNT",
        "",
        "DUPLICATE_REQUEST",
        "",
    ];
    assert_eq!(codes, expected);
    assert_eq!(results[4]["req_id"], bound.body["req_id"]);
    assert_eq!(results[5]["mismatched_fields"], json!(["amount"]));
    // opened: with every field of a create's own answer
    for index in [0, 1, 4, 6] {
        for field in bound.body.as_object().expect("an object").keys() {
            assert!(results[index].get(field).is_some(), "{index}: {field}");
        }
    }
    for index in [2, 3, 5] {
        assert!(results[index].get("req_id").is_none(), "{:?}", results[index]);
    }
    assert_eq!(door.rows().await, 4);
}

/// Turns red where a repeat makes something anew.
#[tokio::test]
async fn it_may_be_repeated_as_it_is() {
    let door = Door::open().await;
    door.fund(4001, "1000").await;
    let items: Vec<_> = (0..200).map(|n| transfer("1", &format!("k{}", n % 150))).collect();
    let user = ("4001", USER);
    let first = results(&door.post(user, BATCH, many(&items)).await.body);
    // on a slow machine some are answered before their end
    assert!(first.iter().all(|r| r["status"] == 200 || r["status"] == 202), "{first:?}");
    // equal keys inside are the same transfer, and one of them is not a replay
    for n in 0..50 {
        assert_eq!(first[n]["req_id"], first[n + 150]["req_id"]);
        assert_ne!(first[n]["replayed"], first[n + 150]["replayed"]);
    }
    assert_eq!(door.rows().await, 150);
    let mut again = results(&door.post(user, BATCH, many(&items)).await.body);
    for _ in 0..20 {
        if again.iter().any(|r| r["status"] != 200) {
            again = results(&door.post(user, BATCH, many(&items)).await.body);
        }
    }
    for (one, two) in first.iter().zip(&again) {
        assert_eq!((&two["req_id"], &two["replayed"]), (&one["req_id"], &json!(true)));
        assert_eq!(two["status"], 200, "{two}");
    }
    assert_eq!(door.rows().await, 150);
    let balances = door.get(user, "/api/v1/balances").await;
    assert_eq!(balances.body[0]["available"], "850.000000", "{balances:?}");
}

/// Turns red where a part of a batch that does not fit is made.
#[tokio::test]
async fn what_does_not_fit_is_refused_as_a_whole() {
    let door = Door::open().await;
    door.fund(4001, "1000").await;
    let user = ("4001", USER);
    let good = || transfer("1", "good");
    let with = |field: &str, value: Value| {
        let mut item = transfer("1", "bad");
        item[field] = value;
        many(&[good(), item])
    };
    let without = json!({"from": "FUNDING", "to": "SPOT", "asset": "USDT", "amount": "1"});
    let thousand: Vec<_> = (0..1001).map(|n| transfer("1", &n.to_string())).collect();
    let cases = [
        (with("cid", Value::Null), "transfers[1].cid"),
        (with("cid", json!("")), "transfers[1].cid"),
        (with("cid", json!("a b")), "transfers[1].cid"),
        (many(&[good(), without]), "transfers[1].cid"),
        (with("amount", json!(1)), "transfers[1].amount"),
        (with("fee", json!("1")), "fee"),
        (with("reference", json!("")), "transfers[1].reference"),
        (with("metadata", json!({"a": 1})), "transfers[1].metadata"),
        (many(&[]), "transfers"),
        (many(&thousand), "1 to 1000"),
        (json!({}), "transfers"),
        (json!({"transfers": {}}), "transfers"),
        (json!({"transfers": [good()], "cid": "k"}), "cid"),
        (json!([good()]), "object"),
    ];
    for (body, says) in cases {
        let reply = door.post(user, BATCH, body).await;
        assert_eq!((reply.status, reply.code()), (400, "BAD_REQUEST"), "{says}: {reply:?}");
        let sentence = reply.body["error"].as_str().expect("a sentence");
        assert!(sentence.contains(says), "{says}: {sentence}");
    }
    let key = [("idempotency-key", "k")];
    let reply = door.post_with(user, BATCH, &key, many(&[good()])).await;
    assert_eq!((reply.status, reply.code()), (400, "BAD_REQUEST"), "{reply:?}");
    // another user's item, even among malformed ones
    for other in [json!({"user_id": 4002, "amount": 1}), json!({"user_id": 4002})] {
        let reply = door.post(user, BATCH, many(&[good(), other])).await;
        assert_eq!((reply.status, reply.code()), (403, "FORBIDDEN"), "{reply:?}");
    }
    let mut named = good();
    named["user_id"] = json!(4002);
    assert_eq!(door.post(user, BATCH, many(&[good(), named])).await.status, 403);
    assert_eq!(door.rows().await, 0);
}

/// Turns red where a batch has the small bodies' limit, or none.
#[tokio::test]
async fn a_body_has_up_to_a_mebibyte() {
    let door = Door::open().await;
    door.fund(4001, "10000").await;
    let items: Vec<_> = (0..1000).map(|n| transfer("1", &format!("{n:060}"))).collect();
    let padded = |size: usize| {
        let body = many(&items).to_string();
        format!("{body}{}", " ".repeat(size - body.len()))
    };
    let over = door.text(BATCH, padded((1 << 20) + 1)).await;
    assert_eq!((over.status, over.code()), (413, "PAYLOAD_TOO_LARGE"));
    assert!(over.body["error"].as_str().expect("it").contains("1 MiB"), "{over:?}");
    assert_eq!(door.rows().await, 0);
    let full = door.text(BATCH, padded(1 << 20)).await;
    let opened = results(&full.body);
    assert_eq!(opened.len(), 1000);
    for (index, result) in opened.iter().enumerate() {
        assert!(result["req_id"].is_string() && result["index"] == index, "{result}");
    }
    assert_eq!(door.rows().await, 1000);
}

/// Turns red where a batch pushes what the engine has no room for into the scanner's hands: those
/// would be answered PENDING, and stand in the way of others.
#[tokio::test]
async fn it_never_holds_more_than_the_engine_takes_in() {
    let door = Door::set(|config| config.engine.ring = 8).await;
    door.fund(4001, "1000").await;
    let items: Vec<_> = (0..100).map(|n| transfer("1", &n.to_string())).collect();
    let reply = door.post(("4001", USER), BATCH, many(&items)).await;
    let results = results(&reply.body);
    assert!(results.iter().all(|r| r["status"] == 200), "{results:?}");
}

#[tokio::test]
async fn a_service_makes_transfers_of_many_users() {
    let door = Door::open().await;
    let users: Vec<_> = (1..=20).collect();
    let mut items = Vec::new();
    for user in &users {
        door.fund(*user, "10").await;
        let mut item = transfer("1", &format!("u{user}"));
        item["user_id"] = json!(user);
        items.push(item);
    }
    let service = ("svc", "transfers:create transfers:any");
    let reply = door.post(service, BATCH, many(&items)).await;
    assert!(results(&reply.body).iter().all(|r| r["status"] == 200), "{reply:?}");
    items[3].as_object_mut().expect("an object").remove("user_id");
    let reply = door.post(service, BATCH, many(&items)).await;
    assert_eq!((reply.status, reply.code()), (400, "BAD_REQUEST"), "{reply:?}");
}
