//! The relay's routes without a chain behind them: nothing is sent, and what is taken in stays where it is.

use super::{Door, Reply};
use serde_json::{Value, json};
use server::config::Config;

const SENDER: (&str, &str) = ("payouts", "relay:create relay:read");
const KEY: &str = "ed25519:6E8sCci9badyRkXb3JoRpBj5p8C6Tw41ELDZoiihKEtp";
const OTHER: (&str, &str) = ("refunds", "relay:create relay:read");

/// A relay of USDC without keys.
fn relay(config: &mut Config) {
    config.relay.account_id = "relay.near".to_owned();
    config.relay.token_contract = "usdc.near".to_owned();
    config.relay.asset = "USDC".to_owned();
}

fn payment(receiver: &str, amount: &str) -> Value {
    json!({"receiver_id": receiver, "amount": amount})
}

impl Door {
    async fn pay(&self, who: (&str, &str), key: &str, body: Value) -> Reply {
        self.post_with(who, "/transfer", &[("x-idempotency-key", key)], body).await
    }
}

/// Turns red where a replay opens a second transfer, and where another body is taken for the same.
#[tokio::test]
async fn a_key_is_one_transfer() {
    let door = Door::set(relay).await;
    let first = door.pay(SENDER, "k-1", payment("alice.near", "1000000")).await;
    assert_eq!(first.status, 201, "{first:?}");
    let body = json!({"transfer_id": "k-1", "req_id": first.body["req_id"],
        "status": "RECEIVED", "receiver_id": "alice.near",
        "amount": "1000000", "created_at": first.body["created_at"], "tx_hash": null,
        "completed_at": null});
    assert_eq!(first.body, body);
    let id = first.body["req_id"].as_str().expect("an id");
    let found = door.get(("ops", "ops:read"), "/api/v1/transfers?key=k-1").await;
    assert_eq!(found.body["transfers"][0]["req_id"], id, "{found:?}");
    let again = door.pay(SENDER, "k-1", payment("alice.near", "01000000")).await;
    assert_eq!((again.status, &again.body), (200, &body), "{again:?}");
    assert_eq!(again.headers["idempotency-replayed"], "true");
    for (differs, field) in
        [(payment("bob.near", "1000000"), "receiver_id"), (payment("alice.near", "1"), "amount")]
    {
        let other = door.pay(SENDER, "k-1", differs).await;
        assert_eq!((other.status, other.code()), (409, "DUPLICATE_REQUEST"), "{other:?}");
        assert_eq!(other.body["mismatched_fields"], json!([field]));
    }
    let headers = [("x-idempotency-key", "k-1"), ("idempotency-key", "k-1")];
    let both =
        door.post_with(SENDER, "/transfer", &headers, payment("alice.near", "1000000")).await;
    assert_eq!(both.status, 200, "two spellings of one key: {both:?}");
    assert_eq!(door.rows().await, 1);
}

/// Turns red where one caller's keys block another's, or tell of them.
#[tokio::test]
async fn keys_belong_to_their_caller() {
    let door = Door::set(relay).await;
    let item =
        |n: u32| json!({"key": format!("payout-{n}"), "receiver_id": "absent.near", "amount": "1"});
    let squat = json!({"transfers": (0..1_000).map(item).collect::<Vec<_>>()});
    let made = door.post(OTHER, "/transfers", squat).await;
    assert_eq!(made.status, 200, "{made:?}");
    let body = payment("alice.near", "5");
    for key in ["payout-0", "payout-999", "free"] {
        let read = door.get(SENDER, &format!("/transfer/{key}")).await;
        assert_eq!((read.status, read.code()), (404, "NOT_FOUND"), "{key}");
        assert_eq!(door.pay(SENDER, key, body.clone()).await.status, 201, "{key}");
        let again = door.pay(SENDER, key, body.clone()).await;
        assert_eq!((again.status, &again.body["receiver_id"]), (200, &json!("alice.near")));
    }
    let read = door.get(OTHER, "/transfer/payout-0").await;
    assert_eq!((read.status, &read.body["receiver_id"]), (200, &json!("absent.near")));
    assert_eq!(door.rows().await, 1_003);
}

/// Turns red where `relay.shared_keys` is ignored: two names of one caller would both pay; and where a stranger is
/// told what the key is bound to.
#[tokio::test]
async fn shared_keys_are_one_name_space_and_show_nothing_to_others() {
    let door = Door::set(|config| {
        relay(config);
        config.relay.shared_keys = true;
    })
    .await;
    let body = payment("alice.near", "5");
    assert_eq!(door.pay(SENDER, "k", body.clone()).await.status, 201);
    for differs in [body, payment("bob.near", "6")] {
        let other = door.pay(OTHER, "k", differs).await;
        assert_eq!((other.status, other.code()), (409, "DUPLICATE_REQUEST"), "{other:?}");
        assert_eq!(other.body.get("mismatched_fields"), None, "{other:?}");
    }
    let read = door.get(OTHER, "/transfer/k").await;
    assert_eq!((read.status, read.code()), (404, "NOT_FOUND"));
    assert_eq!(door.get(SENDER, "/transfer/k").await.status, 200);
    assert_eq!(door.rows().await, 1);
}

#[tokio::test]
async fn a_transfer_is_read_with_what_happened_to_it() {
    let door = Door::set(relay).await;
    let opened = door.pay(SENDER, "k", payment("alice.near", "5")).await;
    let read = door.get(SENDER, "/transfer/k").await;
    let created = &opened.body["created_at"];
    assert_eq!(read.status, 200, "{read:?}");
    let mut body = read.body.clone();
    assert!(body["updated_at"].is_string());
    body["updated_at"] = Value::Null;
    let shown = json!({"transfer_id": "k", "req_id": opened.body["req_id"], "status": "RECEIVED", "receiver_id": "alice.near",
        "amount": "5", "tx_hash": null, "retry_count": 0, "created_at": created,
        "updated_at": null, "completed_at": null, "error_message": null,
        "events": [{"time": created, "event": "RECEIVED"}]});
    assert_eq!(body, shown);
    for unknown in ["/transfer/K", "/transfer/%20", &format!("/transfer/{}", "x".repeat(129))] {
        let none = door.get(SENDER, unknown).await;
        assert_eq!((none.status, none.code()), (404, "NOT_FOUND"), "{unknown}");
    }
}

/// What a token's contract would refuse is refused before anything is opened. Turns red where our own
/// account, the contract or a name that no account has is paid.
#[tokio::test]
async fn what_a_contract_would_refuse_opens_nothing() {
    let door = Door::set(relay).await;
    let most = u128::MAX.to_string();
    for (receiver, amount, code) in [
        ("Alice.near", "1", "INVALID_RECEIVER"),
        ("a", "1", "INVALID_RECEIVER"),
        ("a..near", "1", "INVALID_RECEIVER"),
        ("", "1", "INVALID_RECEIVER"),
        ("usdc.near", "1", "INVALID_RECEIVER"),
        ("relay.near", "1", "SAME_ACCOUNT"),
        ("alice.near", "0", "INVALID_AMOUNT"),
        ("alice.near", "", "INVALID_AMOUNT"),
        ("alice.near", "-1", "INVALID_AMOUNT"),
        ("alice.near", "1.0", "INVALID_AMOUNT"),
        ("alice.near", "1e3", "INVALID_AMOUNT"),
        ("alice.near", &most, "OVERFLOW"),
        ("alice.near", "340282366920938463463374607431768211456", "OVERFLOW"),
    ] {
        let reply = door.pay(SENDER, "k", payment(receiver, amount)).await;
        assert_eq!((reply.status, reply.code()), (400, code), "{receiver} {amount}: {reply:?}");
        // of what the request has, and of nothing else
        let said = reply.body["error"].as_str().expect("a sentence");
        assert!(!said.contains("`from`") && !said.contains("`to`"), "{said}");
    }
    let body = payment("alice.near", "1");
    let none = door.post(SENDER, "/transfer", body.clone()).await;
    assert_eq!((none.status, none.code()), (400, "IDEMPOTENCY_KEY_REQUIRED"), "{none:?}");
    for key in ["a b", &"x".repeat(129), ""] {
        let unfit = door.pay(SENDER, key, body.clone()).await;
        assert_eq!((unfit.status, unfit.code()), (400, "BAD_REQUEST"), "{key}");
    }
    let two = [("x-idempotency-key", "a"), ("idempotency-key", "b")];
    assert_eq!(door.post_with(SENDER, "/transfer", &two, body.clone()).await.code(), "BAD_REQUEST");
    let more = json!({"receiver_id": "alice.near", "amount": "1", "memo": "x"});
    assert_eq!(door.pay(SENDER, "k", more).await.code(), "BAD_REQUEST");
    let number = json!({"receiver_id": "alice.near", "amount": 1});
    assert_eq!(door.pay(SENDER, "k", number).await.code(), "BAD_REQUEST");
    assert_eq!(door.rows().await, 0);
    let longest = "x".repeat(128);
    assert_eq!(door.pay(SENDER, &longest, body).await.status, 201, "no key was bound");
    assert_eq!(door.get(SENDER, &format!("/transfer/{longest}")).await.status, 200);
}

/// Turns red where one caller's day is counted with another's, where a transfer that was refused counts,
/// and where a limit is looked at before the key.
#[tokio::test]
async fn each_caller_has_a_day_of_its_own() {
    let door = Door::set(|config| {
        relay(config);
        config.relay.max_amount = "60".to_owned();
        config.relay.daily_amount = "100".to_owned();
        config.relay.transfers_per_day = 3;
    })
    .await;
    let pays =
        async |who, key, amount: &str| door.pay(who, key, payment("alice.near", amount)).await;
    let above = pays(SENDER, "a", "61").await;
    assert_eq!((above.status, above.code()), (400, "AMOUNT_TOO_LARGE"), "{above:?}");
    assert_eq!(pays(SENDER, "a", "60").await.status, 201);
    let day = pays(SENDER, "b", "41").await;
    assert_eq!((day.status, day.code()), (429, "DAILY_AMOUNT_EXCEEDED"), "{day:?}");
    assert!(day.headers.contains_key("retry-after"));
    assert_eq!(pays(SENDER, "b", "30").await.status, 201);
    assert_eq!(pays(SENDER, "c", "10").await.status, 201);
    let number = pays(SENDER, "d", "0000").await;
    assert_eq!(number.code(), "INVALID_AMOUNT");
    let number = pays(SENDER, "d", "1").await;
    assert_eq!((number.status, number.code()), (429, "DAILY_LIMIT_EXCEEDED"), "{number:?}");
    assert_eq!(pays(SENDER, "a", "60").await.status, 200, "a replay is never counted");
    assert_eq!(pays(OTHER, "e", "60").await.status, 201, "another caller");
    assert_eq!(door.rows().await, 4);
}

/// Fifty at once, of which the day allows ten. Turns red where the day is read before it is counted, and not
/// by the unit that opens.
#[tokio::test]
async fn many_at_once_do_not_exceed_a_day() {
    let door = Door::set(|config| {
        relay(config);
        config.relay.daily_amount = "10".to_owned();
    })
    .await;
    let items: Vec<Value> = (0..50)
        .map(|n| json!({"key": format!("k-{n}"), "receiver_id": "alice.near", "amount": "1"}))
        .collect();
    let reply = door.post(SENDER, "/transfers", json!({"transfers": items})).await;
    let results = reply.body["results"].as_array().expect("results");
    let made = results.iter().filter(|result| result["http_status"] == 201).count();
    let late = results.iter().filter(|result| result["code"] == "DAILY_AMOUNT_EXCEEDED").count();
    assert_eq!((made, late), (10, 40));
    assert_eq!(door.rows().await, 10);
}

/// Turns red where the list is not asked.
#[tokio::test]
async fn only_listed_receivers_are_paid() {
    let door = Door::set(|config| {
        relay(config);
        config.relay.receivers = vec!["alice.near".to_owned(), "bob.near".to_owned()];
    })
    .await;
    assert_eq!(door.pay(SENDER, "a", payment("alice.near", "1")).await.status, 201);
    for receiver in ["carol.near", "sub.alice.near"] {
        let other = door.pay(SENDER, "c", payment(receiver, "1")).await;
        assert_eq!((other.status, other.code()), (422, "TRANSFER_NOT_ALLOWED"), "{other:?}");
    }
    assert_eq!(door.rows().await, 1);
}

/// Turns red where an item is answered for another, and where a batch that is sent again pays again.
#[tokio::test]
async fn a_batch_is_answered_item_by_item() {
    let door = Door::set(relay).await;
    let item = |key: &str, amount: &str| json!({"key": key, "receiver_id": "alice.near", "amount": amount});
    let mut items: Vec<Value> = (0..999).map(|n| item(&format!("k-{n}"), "7")).collect();
    items.push(item("bad", "0"));
    let body = json!({"transfers": items});
    let first = door.post(SENDER, "/transfers", body.clone()).await;
    assert_eq!(first.status, 200, "{first:?}");
    let results = first.body["results"].as_array().expect("results");
    assert_eq!(results.len(), 1_000);
    for (index, result) in results.iter().enumerate().take(999) {
        assert_eq!((&result["index"], &result["http_status"]), (&json!(index), &json!(201)));
        assert_eq!(result["transfer_id"], format!("k-{index}"));
    }
    assert_eq!(
        (&results[999]["http_status"], &results[999]["code"]),
        (&json!(400), &json!("INVALID_AMOUNT"))
    );
    let again = door.post(SENDER, "/transfers", body).await;
    let results = again.body["results"].as_array().expect("results");
    assert!(results.iter().take(999).all(|result| result["replayed"] == true));
    assert_eq!(door.rows().await, 999);
    let above =
        json!({"transfers": (0..1_001).map(|n| item(&n.to_string(), "1")).collect::<Vec<_>>()});
    for unfit in [json!({"transfers": []}), above] {
        assert_eq!(door.post(SENDER, "/transfers", unfit).await.code(), "BAD_REQUEST");
    }
    assert_eq!(door.rows().await, 999);
}

/// Turns red where one item without a key keeps the others from being paid, and where it is paid itself: a repeat
/// of the batch would pay it again.
#[tokio::test]
async fn an_item_without_a_key_is_refused_alone() {
    let door = Door::set(relay).await;
    let item = |key: &str| json!({"key": key, "receiver_id": "alice.near", "amount": "7"});
    let long = "x".repeat(129);
    let mut items: Vec<Value> = ["k-1", "", "a b", &long, "k-2"].map(item).to_vec();
    items.push(json!({"receiver_id": "alice.near", "amount": "7"}));
    let body = json!({"transfers": items});
    for status in [201, 200] {
        let reply = door.post(SENDER, "/transfers", body.clone()).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        let results = reply.body["results"].as_array().expect("results");
        let said: Vec<_> = results.iter().map(|r| (&r["http_status"], &r["code"])).collect();
        let (made, none, unfit) = (json!(status), json!("IDEMPOTENCY_KEY_REQUIRED"), json!(400));
        let (bad, nothing) = (json!("BAD_REQUEST"), Value::Null);
        let wanted = [
            (&made, &nothing),
            (&unfit, &none),
            (&unfit, &bad),
            (&unfit, &bad),
            (&made, &nothing),
            (&unfit, &none),
        ];
        assert_eq!(said, wanted);
        assert!(results[1]["error"].to_string().contains("transfers[1].key"), "{reply:?}");
        assert_eq!(results[1]["docs"], "/docs/errors/IDEMPOTENCY_KEY_REQUIRED");
    }
    assert_eq!(door.rows().await, 2);
}

#[tokio::test]
async fn without_its_settings_there_is_no_relay() {
    let door = Door::open().await;
    let made = door.pay(SENDER, "k", payment("alice.near", "1")).await;
    assert_eq!((made.status, made.code()), (404, "NOT_FOUND"), "{made:?}");
    assert_eq!(door.get(SENDER, "/transfer/k").await.status, 404);
    assert_eq!(door.post(SENDER, "/transfers", json!({"transfers": []})).await.status, 404);
    assert_eq!(door.get(("ops", "ops:read"), "/api/v1/ops/relay/keys").await.status, 404);
    for action in ["retire", "prove-gone"] {
        let path = format!("/api/v1/ops/relay/keys/{KEY}/{action}");
        let refused = door.post(("ops", "ops:act"), &path, json!({"reason": "ticket 4711"})).await;
        assert_eq!((refused.status, refused.code()), (404, "NOT_FOUND"), "{refused:?}");
    }
    assert_eq!(door.rows().await, 0);
}

/// A relay without keys shows an account and no lane.
#[tokio::test]
async fn operators_see_the_keys() {
    let door = Door::set(relay).await;
    let keys = door.get(("ops", "ops:read"), "/api/v1/ops/relay/keys").await;
    assert_eq!(keys.status, 200, "{keys:?}");
    assert_eq!((&keys.body["account_id"], &keys.body["keys"]), (&json!("relay.near"), &json!([])));
    let pause = json!({"kind": "chain", "name": "NEAR", "reason": "maintenance"});
    let paused = door.post(("ops", "ops:act"), "/api/v1/ops/pauses", pause).await;
    assert!(paused.status < 300, "{paused:?}");
    let keys = door.get(("ops", "ops:read"), "/api/v1/ops/relay/keys").await;
    assert_eq!(keys.body["paused"], json!(["maintenance"]), "{keys:?}");
    // a key that was never used, and that this process has not, is none
    for action in ["retire", "prove-gone"] {
        let path = format!("/api/v1/ops/relay/keys/{KEY}/{action}");
        let reason = json!({"reason": "ticket 4711"});
        let refused = door.post(("ops", "ops:act"), &path, reason.clone()).await;
        assert_eq!((refused.status, refused.code()), (404, "NOT_FOUND"), "{refused:?}");
        assert_eq!(door.post(("ops", "ops:read"), &path, reason).await.status, 403);
        let silent = door.post(("ops", "ops:act"), &path, json!({})).await;
        assert_eq!((silent.status, silent.code()), (400, "BAD_REQUEST"), "{silent:?}");
    }
}
