//! The order of checks, keys that come again, and whose transfer may be seen by whom.

use super::{CREATE, Door, USER, movement, transfer};
use axum::body::Body;
use axum::http::{Request, header};
use kernel::unit::{Put, Unit, Wrote};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;

fn body(from: &str, to: &str, asset: &str, amount: &str) -> Value {
    json!({"from": from, "to": to, "asset": asset, "amount": amount})
}

#[tokio::test]
async fn the_first_check_that_fails_answers() {
    let door = Door::open().await;
    door.fund(4001, "10").await;
    for (asked, status, code) in [
        (json!({"user_id": 4002, "amount": 1e2}), 403, "FORBIDDEN"),
        (json!({"user_id": 4002, "cid": "", "from": "X"}), 403, "FORBIDDEN"),
        (
            json!({"from": "X", "to": "X", "asset": "?", "amount": "?", "cid": ""}),
            400,
            "BAD_REQUEST",
        ),
        (body("X", "X", "?", "?"), 400, "SAME_ACCOUNT"),
        (body("SPOT", "SPOT", "USDT", "1"), 400, "SAME_ACCOUNT"),
        (body("INVALID", "SPOT", "?", "?"), 400, "INVALID_ACCOUNT_TYPE"),
        (body("spot", "FUNDING", "?", "?"), 400, "INVALID_ACCOUNT_TYPE"),
        (body("FUTURE", "SPOT", "?", "?"), 400, "UNSUPPORTED_ACCOUNT_TYPE"),
        (body("SPOT", "MARGIN", "?", "?"), 400, "UNSUPPORTED_ACCOUNT_TYPE"),
        (body("SPOT", "FUNDING", "XYZ", "?"), 400, "INVALID_ASSET"),
        (body("SPOT", "FUNDING", "usdt", "?"), 400, "INVALID_ASSET"),
        (body("SPOT", "FUNDING", "USDT", "?"), 400, "INVALID_AMOUNT"),
        (body("FUNDING", "SPOT", "USDT", "1000"), 422, "INSUFFICIENT_BALANCE"),
        (body("SPOT", "FUNDING", "USDT", "1"), 422, "SOURCE_ACCOUNT_NOT_FOUND"),
    ] {
        let reply = door.post(("4001", USER), CREATE, asked.clone()).await;
        assert_eq!((reply.status, reply.code()), (status, code), "{asked}: {reply:?}");
        let opened = reply.body.get("req_id").is_some();
        assert_eq!(opened, status == 422, "{reply:?}");
        assert_eq!(reply.body["request_id"], reply.headers["x-request-id"].to_str().expect("it"));
    }
    assert_eq!(door.rows().await, 2, "step 8 alone opens");
}

#[tokio::test]
async fn a_key_belongs_to_one_request_for_ever() {
    let door = Door::open().await;
    door.fund(4001, "100").await;
    let first = door.post(("4001", USER), CREATE, transfer("25", "k")).await;
    assert_eq!((first.status, first.body["state"].as_str()), (200, Some("COMMITTED")), "{first:?}");
    assert_eq!(first.body["amount"], "25.000000");
    assert_eq!(first.body["cid"], "k");
    for same in [transfer("25", "k"), transfer("25.00", "k"), transfer("025", "k")] {
        let again = door.post(("4001", USER), CREATE, same).await;
        assert_eq!(again.status, 200, "{again:?}");
        assert_eq!(again.headers["idempotency-replayed"], "true");
        assert_eq!(again.body["req_id"], first.body["req_id"]);
    }
    for (other, fields) in [
        (transfer("26", "k"), json!(["amount"])),
        (transfer("1e2", "k"), json!(["amount"])),
        (
            json!({"from": "SPOT", "to": "FUNDING", "asset": "BTC", "amount": "25", "cid": "k"}),
            json!(["from", "to", "asset"]),
        ),
        (
            json!({"from": "X", "to": "X", "asset": "?", "amount": "25", "cid": "k"}),
            json!(["from", "to", "asset"]),
        ),
    ] {
        let reply = door.post(("4001", USER), CREATE, other).await;
        assert_eq!((reply.status, reply.code()), (409, "DUPLICATE_REQUEST"), "{reply:?}");
        assert_eq!(reply.body["mismatched_fields"], fields);
    }
    // a failed outcome is bound too
    let failed = door.post(("4001", USER), CREATE, transfer("5000", "f")).await;
    let again = door.post(("4001", USER), CREATE, transfer("5000", "f")).await;
    assert_eq!((failed.status, again.status), (422, 422));
    assert_eq!(failed.body["req_id"], again.body["req_id"]);
    assert_eq!(again.headers["idempotency-replayed"], "true");
    // another principal's key is another key
    door.fund(4002, "100").await;
    let other = door.post(("4002", USER), CREATE, transfer("25", "k")).await;
    assert_eq!(other.status, 200);
    assert_ne!(other.body["req_id"], first.body["req_id"]);
    assert_eq!(door.rows().await, 3);
}

#[tokio::test]
async fn the_header_is_another_spelling_of_the_key() {
    let door = Door::open().await;
    door.fund(4001, "100").await;
    let token = door.token("4001", USER);
    let send = |header_key: Option<&str>, cid: Option<&str>| {
        let mut body = body("FUNDING", "SPOT", "USDT", "1");
        if let Some(cid) = cid {
            body["cid"] = json!(cid);
        }
        let mut request = Request::post(CREATE)
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .header(header::CONTENT_TYPE, "application/json");
        if let Some(key) = header_key {
            request = request.header("Idempotency-Key", key);
        }
        door.send(request.body(Body::from(body.to_string())).expect("a request"))
    };
    let first = send(Some("k"), None).await;
    let second = send(None, Some("k")).await;
    let third = send(Some("k"), Some("k")).await;
    assert_eq!(first.body["req_id"], second.body["req_id"]);
    assert_eq!(first.body["req_id"], third.body["req_id"]);
    assert_eq!(send(Some("k"), Some("j")).await.code(), "BAD_REQUEST");
    assert_eq!(send(Some("a b"), None).await.code(), "BAD_REQUEST");
    let (one, two) = (send(None, None).await, send(None, None).await);
    assert_ne!(one.body["req_id"], two.body["req_id"], "without a key each is its own");
    assert_eq!(one.body["cid"], Value::Null);
}

/// Turns red where a server that is about to end says that it is ready, or refuses what it is still sent.
#[tokio::test]
async fn a_server_that_leaves_says_so_and_takes_requests_still() {
    let door = Door::open().await;
    door.fund(4001, "100").await;
    door.app.leaving.store(true, Ordering::Relaxed);
    let ready = door.get(("x", ""), "/readyz").await;
    assert_eq!((ready.status, &ready.body["status"]), (503, &json!("draining")));
    let made = door.post(("4001", USER), CREATE, transfer("25", "k")).await;
    assert_eq!(made.status, 200, "{made:?}");
}

#[tokio::test]
async fn a_replay_comes_before_everything_that_is_looked_at_later() {
    let door = Door::open().await;
    door.fund(4001, "100").await;
    let first = door.post(("4001", USER), CREATE, transfer("25", "k")).await;
    door.app.draining.store(true, Ordering::Relaxed);
    let again = door.post(("4001", USER), CREATE, transfer("25", "k")).await;
    assert_eq!((again.status, &again.body["req_id"]), (200, &first.body["req_id"]));
    let other = door.post(("4001", USER), CREATE, transfer("26", "k")).await;
    assert_eq!(other.status, 409);
    let fresh = door.post(("4001", USER), CREATE, transfer("26", "j")).await;
    assert_eq!((fresh.status, fresh.code()), (503, "OVERLOADED"));
    assert_eq!(door.rows().await, 1);
}

#[tokio::test]
async fn under_halt_reads_and_replays_go_on_and_nothing_else() {
    let door = Door::open().await;
    door.fund(4001, "100").await;
    let first = door.post(("4001", USER), CREATE, transfer("25", "k")).await;
    door.halt().await;
    let proof = door.get(("ops", "ops:read"), "/api/v1/ops/conservation").await;
    assert!(!proof.body["breaks"].as_array().expect("breaks").is_empty());
    let health = door.get(("x", ""), "/health").await;
    assert_eq!((health.status, &health.body["status"]), (503, &json!("halted")));
    assert_eq!(door.get(("x", ""), "/readyz").await.status, 200);
    let again = door.post(("4001", USER), CREATE, transfer("25", "k")).await;
    assert_eq!((again.status, &again.body["req_id"]), (200, &first.body["req_id"]));
    assert_eq!(door.post(("4001", USER), CREATE, transfer("26", "k")).await.status, 409);
    let fresh = door.post(("4001", USER), CREATE, transfer("1", "j")).await;
    assert_eq!((fresh.status, fresh.code()), (503, "HALTED"), "{fresh:?}");
    // HALT comes before steps 4 to 6
    let bad = door.post(("4001", USER), CREATE, body("X", "X", "?", "?")).await;
    assert_eq!(bad.code(), "HALTED");
    let ops = ("ops", "ops:act");
    let booked = door.post(ops, "/api/v1/ops/deposits", movement(4001, "1", "new")).await;
    assert_eq!((booked.status, booked.code()), (503, "HALTED"));
    let id = first.body["req_id"].as_str().expect("an id");
    assert_eq!(door.get(("4001", USER), &format!("{CREATE}/{id}")).await.status, 200);
    assert_eq!(door.get(("4001", USER), "/api/v1/balances").await.status, 200);
    assert_eq!(door.rows().await, 1);
}

/// Red where `book` does not look the reference up under HALT.
#[tokio::test]
async fn under_halt_a_booking_is_answered_as_it_was_booked_and_nothing_is_booked() {
    let door = Door::open().await;
    door.fund(4001, "100").await;
    let ops = ("ops", "ops:act");
    let paths = ["/api/v1/ops/deposits", "/api/v1/ops/withdrawals"];
    let mut before = Vec::new();
    for path in paths {
        let booked = door.post(ops, path, movement(4001, "5", "r")).await;
        assert_eq!(booked.status, 201, "{booked:?}");
        before.push(booked);
    }
    door.halt().await;
    for (path, before) in paths.into_iter().zip(before) {
        let again = door.post(ops, path, movement(4001, "5", "r")).await;
        assert_eq!((again.status, &again.body), (200, &before.body), "{path}");
        let other = door.post(ops, path, movement(4001, "6", "r")).await;
        assert_eq!((other.status, other.code()), (409, "DUPLICATE_REQUEST"), "{path}");
        assert_eq!(other.body["mismatched_fields"], json!(["amount"]), "{path}");
        for reference in ["new", "new"] {
            let fresh = door.post(ops, path, movement(4001, "5", reference)).await;
            assert_eq!((fresh.status, fresh.code()), (503, "HALTED"), "{path}");
        }
    }
}

/// HALT as another process writes it: this one has not read of it. Red where the rule that books does not
/// look at HALT.
#[tokio::test]
async fn a_booking_is_refused_by_a_halt_that_this_process_has_not_read_of() {
    let door = Door::open().await;
    door.fund(4001, "100").await;
    let halt = Put::Halt { reason: "another process".into() };
    let wrote = door.app.engine.journal().write(vec![Unit::puts(vec![halt])]).await;
    assert!(matches!(wrote.as_slice(), [Wrote::Written(_)]), "{wrote:?}");
    for path in ["/api/v1/ops/deposits", "/api/v1/ops/withdrawals"] {
        let fresh = door.post(("ops", "ops:act"), path, movement(4001, "5", "behind")).await;
        assert_eq!((fresh.status, fresh.code()), (503, "HALTED"), "{path}: {fresh:?}");
    }
    let halts = door.get(("ops", "ops:read"), "/api/v1/ops/halts").await.body;
    assert_eq!(halts["halts"][0]["number"], 1, "{halts}");
    assert_eq!(halts["halts"][0]["reason"], "another process", "{halts}");
    assert_eq!(halts["halts"][0]["lifted_at"], Value::Null, "{halts}");
}

#[tokio::test]
async fn a_transfer_is_seen_by_its_user_and_by_the_service_that_made_it() {
    let door = Door::open().await;
    door.fund(4001, "100").await;
    let service = ("svc-a", "transfers:create transfers:read transfers:any");
    let unknown = door.post(service, CREATE, transfer("1", "k")).await;
    assert_eq!((unknown.status, unknown.code()), (400, "BAD_REQUEST"), "user_id is required");
    let mut asked = transfer("1", "k");
    asked["user_id"] = json!(4001);
    let made = door.post(service, CREATE, asked.clone()).await;
    assert_eq!(made.status, 200, "{made:?}");
    let id = made.body["req_id"].as_str().expect("an id");
    let path = format!("{CREATE}/{id}");
    for (who, status) in [
        (service, 200),
        (("4001", USER), 200),
        (("4002", USER), 404),
        (("svc-b", service.1), 404),
        (("svc-a", "transfers:read"), 404),
        (("root", "admin"), 404),
        (("4001", "transfers:create"), 403),
        (("ops", "ops:read"), 403),
    ] {
        let reply = door.get(who, &path).await;
        assert_eq!(reply.status, status, "{who:?}: {reply:?}");
    }
    let missing = door.get(("4001", USER), &format!("{CREATE}/01JFVQ2X8Z0Y1M3N4P5R6S7T8V")).await;
    let hidden = door.get(("4002", USER), &path).await;
    let same = |field| assert_eq!(missing.body[field], hidden.body[field]);
    same("error");
    same("code");
    assert_eq!(door.get(("4001", USER), &format!("{CREATE}/nonsense")).await.status, 404);
    // a service's key is its own: the user's own key of that name is free
    assert_eq!(door.post(("4001", USER), CREATE, transfer("1", "k")).await.status, 200);
    assert_eq!(door.post(("svc-a", USER), CREATE, transfer("1", "k")).await.status, 403);
}

#[tokio::test]
async fn the_whole_story_is_told() {
    let door = Door::open().await;
    door.fund(4001, "100").await;
    let made = door.post(("4001", USER), CREATE, transfer("40", "k")).await;
    let id = made.body["req_id"].as_str().expect("an id").to_owned();
    let story = door.get(("4001", USER), &format!("{CREATE}/{id}")).await;
    let events: Vec<_> = story.body["history"].as_array().expect("a history").iter().collect();
    let words: Vec<_> = events.iter().map(|e| e["event"].as_str().expect("a word")).collect();
    assert_eq!(words, ["CREATED", "SOURCE_CALL", "SOURCE_OK", "TARGET_CALL", "TARGET_OK"]);
    assert_eq!(events[0]["from"], Value::Null);
    assert_eq!(events[4]["to"], "COMMITTED");
    assert_eq!(story.body["state"], "COMMITTED");
    assert_eq!(story.body["error"], Value::Null);
    assert_eq!(story.body["transfer_id"], made.body["transfer_id"]);
    let balances = door.get(("4001", USER), "/api/v1/balances").await;
    assert_eq!(
        balances.body,
        json!([
            {"account": "FUNDING", "asset": "USDT", "available": "60.000000", "frozen": "0.000000", "in_flight": "0.000000", "status": "ACTIVE"},
            {"account": "SPOT", "asset": "USDT", "available": "40.000000", "frozen": "0.000000", "in_flight": "0.000000", "status": "ACTIVE"},
        ])
    );
    assert_eq!(door.get(("svc", USER), "/api/v1/balances").await.status, 403);
}

#[tokio::test]
async fn operators_book_and_freeze() {
    let door = Door::open().await;
    let ops = ("ops", "ops:act ops:read");
    let deposits = "/api/v1/ops/deposits";
    let first = door.post(ops, deposits, movement(4001, "100", "a")).await;
    let again = door.post(ops, deposits, movement(4001, "100", "a")).await;
    assert_eq!((first.status, again.status), (201, 200), "{first:?} {again:?}");
    assert_eq!(first.body["operation_id"], again.body["operation_id"]);
    assert_eq!(first.body["available"], "100.000000");
    let other = door.post(ops, deposits, movement(4001, "101", "a")).await;
    assert_eq!((other.status, other.code()), (409, "DUPLICATE_REQUEST"), "{other:?}");
    assert_eq!(other.body["mismatched_fields"], json!(["amount"]));
    let much = door.post(ops, "/api/v1/ops/withdrawals", movement(4001, "500", "a")).await;
    assert_eq!((much.status, much.code()), (422, "INSUFFICIENT_BALANCE"), "{much:?}");
    let frozen = json!({"status": "FROZEN", "reason": "test"});
    let path = |user: &str, kind: &str| format!("/api/v1/ops/accounts/{user}/{kind}/status");
    let set = door.post(ops, &path("4001", "FUNDING"), frozen.clone()).await;
    assert_eq!((set.status, &set.body["status"]), (200, &json!("FROZEN")), "{set:?}");
    let refused = door.post(("4001", USER), CREATE, transfer("1", "k")).await;
    assert_eq!((refused.status, refused.code()), (422, "ACCOUNT_FROZEN"));
    for (user, kind, status, code) in [
        ("9999", "FUNDING", 404, "ACCOUNT_NOT_FOUND"),
        ("x", "FUNDING", 404, "ACCOUNT_NOT_FOUND"),
        ("4001", "WALLET", 400, "INVALID_ACCOUNT_TYPE"),
        ("4001", "MARGIN", 400, "UNSUPPORTED_ACCOUNT_TYPE"),
    ] {
        let reply = door.post(ops, &path(user, kind), frozen.clone()).await;
        assert_eq!((reply.status, reply.code()), (status, code), "{reply:?}");
    }
    let list = door.get(ops, "/api/v1/ops/accounts?user=4001").await;
    assert_eq!(list.body["accounts"][0]["status"], "FROZEN", "{list:?}");
    let proof = door.get(ops, "/api/v1/ops/conservation?fresh=true").await;
    assert_eq!((proof.status, &proof.body["ok"]), (200, &json!(true)), "{proof:?}");
}

#[tokio::test]
async fn accounts_are_listed_page_by_page() {
    let door = Door::open().await;
    for user in 1..=25 {
        door.fund(user, "10").await;
    }
    let (mut seen, mut after) = (Vec::new(), "0".to_owned());
    loop {
        let path = format!("/api/v1/ops/accounts?limit=10&after={after}");
        let page = door.get(("ops", "ops:read"), &path).await;
        for row in page.body["accounts"].as_array().expect("rows") {
            seen.push(row["user_id"].as_str().expect("a user").to_owned());
        }
        match page.body["next"].as_str() {
            Some(next) => after = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(seen, (1..=25).map(|user| user.to_string()).collect::<Vec<_>>());
}
