//! The admin routes: what is looked up, what is done, by whom, and what the audit says of it.

use super::{CREATE, Door, Reply, USER, transfer};
use axum::body::Body;
use axum::http::{Method, Request, header};
use serde_json::{Value, json};

/// An operator who acts.
const FIRST: (&str, &str) = ("ops-1", "ops:read ops:act ops:approve");
/// The operator who decides what the first one proposed.
const SECOND: (&str, &str) = ("ops-2", "ops:read ops:act ops:approve");

impl Door {
    /// One action with this reason.
    async fn act(&self, who: (&str, &str), path: &str, mut body: Value) -> Reply {
        body["reason"] = json!("a test");
        self.post(who, &format!("/api/v1{path}"), body).await
    }

    async fn look(&self, path: &str) -> Value {
        let reply = self.get(FIRST, &format!("/api/v1{path}")).await;
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
        reply.body
    }

    async fn sent(&self, method: Method, path: &str, body: Value) -> Reply {
        let token = self.token(FIRST.0, FIRST.1);
        let request = Request::builder()
            .method(method)
            .uri(format!("/api/v1{path}"))
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body.to_string()));
        self.send(request.expect("a request")).await
    }
}

#[tokio::test]
async fn money_stops_at_once_and_moves_again_by_two_persons() {
    let door = Door::open().await;
    door.fund(4001, "100").await;
    let halted = door.act(FIRST, "/ops/halt", json!({})).await;
    assert_eq!((halted.status, &halted.body["outcome"]), (200, &json!("HALTED")), "{halted:?}");
    assert_eq!(halted.body["quiet"], true, "nothing was on its way: {halted:?}");
    let refused = door.post(("4001", USER), CREATE, transfer("1", "k")).await;
    assert_eq!((refused.status, refused.code()), (503, "HALTED"));
    let proposed = door.act(FIRST, "/ops/resume", json!({})).await;
    assert_eq!(proposed.status, 202, "{proposed:?}");
    let id = proposed.body["approval_id"].as_str().expect("an approval").to_owned();
    let approve = format!("/ops/approvals/{id}/approve");
    let own = door.act(FIRST, &approve, json!({})).await;
    assert_eq!((own.status, own.code()), (403, "FORBIDDEN"), "not by who proposed: {own:?}");
    let refused = door.post(("4001", USER), CREATE, transfer("1", "k")).await;
    assert_eq!(refused.code(), "HALTED", "a proposal changes nothing");
    let resumed = door.act(SECOND, &approve, json!({})).await;
    assert_eq!((resumed.status, &resumed.body["outcome"]), (200, &json!("RESUMED")), "{resumed:?}");
    let made = door.post(("4001", USER), CREATE, transfer("1", "k")).await;
    assert_eq!(made.status, 200, "money moves again: {made:?}");
    let again = door.act(SECOND, &approve, json!({})).await;
    assert_eq!((again.status, again.code()), (409, "ALREADY_DECIDED"), "{again:?}");
    let approvals = door.look("/ops/approvals?status=APPROVED").await;
    assert_eq!(approvals["approvals"][0]["decided_by"], "portage|ops-2");
    let actions = door.look("/ops/audit").await;
    let kinds: Vec<_> =
        actions["actions"].as_array().expect("rows").iter().map(|a| &a["kind"]).collect();
    assert_eq!(kinds, ["APPROVE", "RESUME", "HALT"], "newest first, and no refused one");
    assert_eq!(actions["actions"][2]["by"], "portage|ops-1");
    assert_eq!(actions["actions"][2]["reason"], "a test");
}

/// Turns red where a header is ignored that other routes take for the key: a fresh `ref` at each try books again.
#[tokio::test]
async fn the_key_of_a_deposit_is_its_ref() {
    let door = Door::open().await;
    let path = "/api/v1/ops/deposits";
    let body = json!({"user_id": 4001, "asset": "USDT", "amount": "1", "ref": "wire-1", "reason": "a test"});
    for (key, status) in [("k-1", 400), ("wire-1", 201)] {
        let reply = door.post_with(FIRST, path, &[("idempotency-key", key)], body.clone()).await;
        assert_eq!(reply.status, status, "{key}: {reply:?}");
    }
}

#[tokio::test]
async fn a_deposit_above_a_persons_day_is_booked_by_another() {
    let door = Door::set(|config| {
        config.ops.daily_deposit_limit.insert("USDT".to_owned(), "100".to_owned());
    });
    let door = door.await;
    let path = "/ops/deposits";
    let body = |amount: &str, reference: &str| json!({"user_id": 4001, "asset": "USDT", "amount": amount, "ref": reference});
    let first = door.act(FIRST, path, body("100", "wire-1")).await;
    assert_eq!(first.status, 201, "{first:?}");
    let over = door.act(FIRST, path, body("0.5", "wire-2")).await;
    assert_eq!((over.status, over.code()), (409, "SECOND_PERSON_REQUIRED"), "{over:?}");
    let bound = "deposit on a day: 100 USDT (ops.daily_deposit_limit.USDT); nothing is booked";
    assert!(over.body["error"].as_str().is_some_and(|said| said.contains(bound)), "{over:?}");
    let id = over.body["approval_id"].as_str().expect("a proposal").to_owned();
    let again = door.act(FIRST, path, body("0.5", "wire-2")).await;
    assert_eq!(again.body["approval_id"], id, "{again:?}");
    let waits = door.look("/ops/approvals?status=PENDING").await;
    let row = &waits["approvals"][0];
    let said = (&row["kind"], &row["subject"], &row["by"]);
    let wanted = (&json!("DEPOSIT"), &json!("deposit/wire-2"), &json!("portage|ops-1"));
    assert_eq!(said, wanted, "{waits:?}");
    assert_eq!(row["value"]["user_id"], "4001", "{waits:?}");
    assert!(
        row["value"]["amount"].as_str().is_some_and(|text| text.starts_with("0.5")),
        "{waits:?}"
    );
    let approve = format!("/ops/approvals/{id}/approve");
    let own = door.act(FIRST, &approve, json!({})).await;
    assert_eq!((own.status, own.code()), (403, "FORBIDDEN"), "{own:?}");
    let done = door.act(SECOND, &approve, json!({})).await;
    assert_eq!((done.status, &done.body["outcome"]), (200, &json!("DEPOSITED")), "{done:?}");
    assert_eq!(done.body["ref"], "wire-2");
    let twice = door.act(SECOND, &approve, json!({})).await;
    assert_eq!((twice.status, twice.code()), (409, "ALREADY_DECIDED"), "{twice:?}");
    let booked = door.act(FIRST, path, body("0.5", "wire-2")).await;
    assert_eq!((booked.status, &booked.body["user_id"]), (200, &json!("4001")), "{booked:?}");
    let another = door.act(SECOND, path, body("100", "wire-3")).await;
    assert_eq!(another.status, 201, "what was approved is not counted: {another:?}");
}

/// Turns red where money goes out on one person's word (run: the release before).
#[tokio::test]
async fn a_withdrawal_above_a_persons_day_is_booked_by_another() {
    let door = Door::set(|config| {
        config.ops.daily_deposit_limit.insert("USDT".to_owned(), "100".to_owned());
    });
    let door = door.await;
    let body = |amount: &str, reference: &str| json!({"user_id": 4001, "asset": "USDT", "amount": amount, "ref": reference});
    assert_eq!(door.act(FIRST, "/ops/deposits", body("100", "wire-1")).await.status, 201);
    assert_eq!(door.act(SECOND, "/ops/deposits", body("100", "wire-2")).await.status, 201);
    let path = "/ops/withdrawals";
    let within = door.act(FIRST, path, body("60", "payout-1")).await;
    assert_eq!(within.status, 201, "deposits are counted by themselves: {within:?}");
    // what the account cannot pay is refused, and waits for no second person
    let poor = door.act(FIRST, path, body("150", "payout-3")).await;
    assert_eq!((poor.status, poor.code()), (422, "INSUFFICIENT_BALANCE"), "{poor:?}");
    let over = door.act(FIRST, path, body("60", "payout-2")).await;
    assert_eq!((over.status, over.code()), (409, "SECOND_PERSON_REQUIRED"), "{over:?}");
    let id = over.body["approval_id"].as_str().expect("a proposal").to_owned();
    let waits = door.look("/ops/approvals?status=PENDING").await;
    assert_eq!(waits["approvals"].as_array().map(Vec::len), Some(1), "{waits:?}");
    let row = &waits["approvals"][0];
    let said = (&row["kind"], &row["subject"], &row["value"]["direction"]);
    let wanted = (&json!("WITHDRAWAL"), &json!("withdrawal/payout-2"), &json!("out"));
    assert_eq!(said, wanted, "{waits:?}");
    let approve = format!("/ops/approvals/{id}/approve");
    let own = door.act(FIRST, &approve, json!({})).await;
    assert_eq!((own.status, own.code()), (403, "FORBIDDEN"), "{own:?}");
    let done = door.act(SECOND, &approve, json!({})).await;
    assert_eq!((done.status, &done.body["outcome"]), (200, &json!("WITHDRAWN")), "{done:?}");
    let booked = door.act(FIRST, path, body("60", "payout-2")).await;
    assert_eq!(
        (booked.status, &booked.body["available"]),
        (200, &json!("80.000000")),
        "{booked:?}"
    );
}

#[tokio::test]
async fn an_action_is_done_once_for_each_key() {
    let door = Door::open().await;
    let pause = |name: &str| json!({"kind": "asset", "name": name, "reason": "a test"});
    let path = "/api/v1/ops/pauses";
    let key = [("Idempotency-Key", "k")];
    let first = door.post_with(FIRST, path, &key, pause("USDT")).await;
    let again = door.post_with(FIRST, path, &key, pause("USDT")).await;
    assert_eq!((first.status, again.status), (200, 200), "{first:?} {again:?}");
    assert_eq!(again.headers["idempotency-replayed"], "true");
    assert_eq!(first.body, again.body, "the same answer");
    let other = door.post_with(FIRST, path, &key, pause("BTC")).await;
    assert_eq!((other.status, other.code()), (409, "DUPLICATE_REQUEST"), "{other:?}");
    let theirs = door.post_with(SECOND, path, &key, pause("BTC")).await;
    assert_eq!(theirs.status, 200, "another person's key is another key: {theirs:?}");
    assert_eq!(door.look("/ops/audit").await["actions"].as_array().expect("rows").len(), 2);
}

#[tokio::test]
async fn what_is_paused_opens_nothing_until_it_is_resumed() {
    let door = Door::open().await;
    door.fund(4001, "100").await;
    for (kind, name) in
        [("asset", "USDT"), ("ledger", "SPOT"), ("flow", "internal"), ("account", "4001/FUNDING")]
    {
        let paused = door.act(FIRST, "/ops/pauses", json!({"kind": kind, "name": name})).await;
        assert_eq!(paused.status, 200, "{kind}: {paused:?}");
        let listed = door.look("/ops/pauses").await;
        assert_eq!(
            (&listed["pauses"][0]["kind"], &listed["pauses"][0]["name"]),
            (&json!(kind), &json!(name))
        );
        let before = door.rows().await;
        let refused = door.post(("4001", USER), CREATE, transfer("1", kind)).await;
        assert_eq!((refused.status, refused.code()), (503, "OVERLOADED"), "{kind}: {refused:?}");
        assert_eq!(refused.body["paused"], json!(format!("{kind}/{name}")), "{refused:?}");
        let sentence = refused.body["error"].as_str().expect("a sentence");
        assert!(sentence.contains(&format!("The {kind} {name} is paused")), "{sentence}");
        let many = json!({"transfers": [transfer("1", kind)]});
        let many = door.post(("4001", USER), "/api/v1/internal_transfers", many).await;
        assert_eq!(many.body["results"][0]["paused"], refused.body["paused"], "{many:?}");
        assert_eq!(door.rows().await, before, "{kind}: nothing was opened");
        let id = paused.body["pause_id"].as_u64().expect("a number");
        let path = format!("/ops/pauses/{id}?reason=over");
        let mut resumed = door.sent(Method::DELETE, &path, json!({})).await;
        if kind == "account" {
            // who stopped a user's account does not lift that alone
            assert_eq!(
                (resumed.status, &resumed.body["outcome"]),
                (202, &json!("PROPOSED")),
                "{resumed:?}"
            );
            let approval = resumed.body["approval_id"].as_str().expect("a proposal");
            let approve = format!("/ops/approvals/{approval}/approve");
            assert_eq!(door.act(FIRST, &approve, json!({})).await.status, 403);
            resumed = door.act(SECOND, &approve, json!({})).await;
        }
        assert_eq!(resumed.status, 200, "{kind}: {resumed:?}");
        let made = door.post(("4001", USER), CREATE, transfer("1", kind)).await;
        assert_eq!(made.status, 200, "{kind}: {made:?}");
    }
    for (kind, name, status) in [
        ("asset", "XYZ", 404),
        ("ledger", "MOON", 404),
        ("ledger", "FUTURE", 404),
        ("flow", "relay", 404),
        ("chain", "NEAR", 404),
        ("account", "4001", 400),
        ("account", "0/SPOT", 400),
        ("planet", "Earth", 400),
    ] {
        let reply = door.act(FIRST, "/ops/pauses", json!({"kind": kind, "name": name})).await;
        assert_eq!(reply.status, status, "{kind} {name}: {reply:?}");
    }
    let none = door.sent(Method::DELETE, "/ops/pauses/999", json!({})).await;
    assert_eq!(none.status, 404, "{none:?}");
}

#[tokio::test]
async fn assets_are_added_limited_and_suspended() {
    let door = Door::open().await;
    let new = json!({"symbol": "EURC", "precision": 2, "min_transfer_amount": "1.00"});
    let added = door.act(FIRST, "/ops/assets", new.clone()).await;
    assert_eq!((added.status, &added.body["asset_id"]), (201, &json!(6)), "{added:?}");
    let twice = door.act(FIRST, "/ops/assets", new).await;
    assert_eq!((twice.status, twice.code()), (409, "NOT_POSSIBLE"), "{twice:?}");
    let moved = |amount: &str, cid: &str| json!({"from": "FUNDING", "to": "SPOT", "asset": "EURC", "amount": amount, "cid": cid});
    let deposit =
        json!({"user_id": 4001, "asset": "EURC", "amount": "50", "ref": "r", "reason": "x"});
    assert_eq!(door.post(FIRST, "/api/v1/ops/deposits", deposit).await.status, 201);
    let made = door.post(("4001", USER), CREATE, moved("5", "a")).await;
    assert_eq!(made.status, 200, "it can be moved at once, at both ledgers: {made:?}");
    let small = door.post(("4001", USER), CREATE, moved("0.99", "b")).await;
    assert_eq!(small.code(), "AMOUNT_TOO_SMALL");
    let change = json!({"max_transfer_amount": "10", "reason": "a test"});
    let changed = door.sent(Method::PATCH, "/ops/assets/EURC", change).await;
    assert_eq!(
        (changed.status, &changed.body["max_transfer_amount"]),
        (200, &json!("10.00")),
        "{changed:?}"
    );
    assert_eq!(
        door.post(("4001", USER), CREATE, moved("11", "c")).await.code(),
        "AMOUNT_TOO_LARGE"
    );
    let lift = json!({"max_transfer_amount": null, "status": "SUSPENDED", "reason": "a test"});
    let resumed = door.sent(Method::PATCH, "/ops/assets/EURC", lift).await;
    assert_eq!(
        (&resumed.body["max_transfer_amount"], &resumed.body["status"]),
        (&Value::Null, &json!("SUSPENDED"))
    );
    assert_eq!(door.post(("4001", USER), CREATE, moved("11", "d")).await.code(), "ASSET_SUSPENDED");
    let none = door.sent(Method::PATCH, "/ops/assets/XYZ", json!({"reason": "x"})).await;
    assert_eq!(none.status, 404, "{none:?}");
    let listed = door.look("/ops/assets").await;
    assert_eq!(listed["assets"].as_array().expect("rows").len(), 6);
}

#[tokio::test]
async fn a_transfer_is_found_and_told_whole() {
    let door = Door::open().await;
    door.fund(4001, "100").await;
    let made = door.post(("4001", USER), CREATE, transfer("25", "k")).await;
    let failed = door.post(("4001", USER), CREATE, transfer("5000", "f")).await;
    let id = made.body["req_id"].as_str().expect("an id");
    for (query, found) in [
        ("", 2),
        ("?state=COMMITTED", 1),
        ("?state=ENDED", 2),
        ("?state=OPEN", 0),
        ("?user=4001", 2),
        ("?user=4002", 0),
        ("?asset=USDT&from=FUNDING&to=SPOT", 2),
        ("?from=SPOT", 0),
        ("?limit=1", 1),
        ("?error_class=INSUFFICIENT_BALANCE", 1),
        ("?min_age=3600", 0),
        ("?min_attempts=1", 0),
        ("?from=2020-01-01T00:00:00Z", 2),
        ("?to=2020-01-01T00:00:00Z", 0),
    ] {
        let page = door.look(&format!("/transfers{query}")).await;
        assert_eq!(page["transfers"].as_array().expect("rows").len(), found, "{query}: {page}");
    }
    let first = door.look("/transfers?limit=1").await;
    assert_eq!(first["transfers"][0]["req_id"], failed.body["req_id"], "newest first");
    let next = first["next"].as_str().expect("a next page");
    let second = door.look(&format!("/transfers?limit=1&cursor={next}")).await;
    assert_eq!(second["transfers"][0]["req_id"], id);
    for query in [
        "?state=X",
        "?flow=x",
        "?asset=x",
        "?from=x",
        "?limit=0",
        "?limit=101",
        "?cursor=x",
        "?x=1",
    ] {
        let reply = door.get(FIRST, &format!("/api/v1/transfers{query}")).await;
        assert_eq!(reply.status, 400, "{query}: {reply:?}");
    }
    let serial = made.body["transfer_id"].to_string();
    for name in [id, serial.as_str()] {
        let whole = door.look(&format!("/transfers/{name}")).await;
        assert_eq!(
            (&whole["state"], &whole["principal"]),
            (&json!("COMMITTED"), &json!("portage|4001"))
        );
        let legs: Vec<_> =
            whole["legs"].as_array().expect("legs").iter().map(|l| l["leg"].as_str()).collect();
        assert_eq!(legs.len(), 3, "withdraw, deposit, settle: {whole}");
        assert_eq!(whole["intents"], json!([]));
        let history = whole["history"].as_array().expect("a history");
        let linked = history.windows(2).all(|pair| pair[0]["hash"] == pair[1]["prev_hash"]);
        assert!(linked && history.len() == 5, "{whole}");
    }
    assert_eq!(door.get(FIRST, "/api/v1/transfers/999").await.status, 404);
    let stats = door.look("/stats").await;
    assert_eq!(
        (&stats["flows"][0]["ended"], &stats["flows"][0]["refund_ratio"]),
        (&json!(2), &json!("0.0000"))
    );
}

/// Over the whole way: on a transfer that has ended, under HALT, once for each key, newest last, and
/// nothing of it where the user looks.
#[tokio::test]
async fn a_note_on_a_transfer_is_for_operators_alone() {
    let door = Door::open().await;
    door.fund(4001, "100").await;
    let made = door.post(("4001", USER), CREATE, transfer("25", "k")).await;
    let id = made.body["req_id"].as_str().expect("an id").to_owned();
    let path = format!("/ops/transfers/{id}/notes");
    let halted = door.act(FIRST, "/ops/halt", json!({})).await;
    assert_eq!(halted.status, 200, "{halted:?}");
    let first = door.act(FIRST, &path, json!({"text": "  de\u{301}j\u{e0}\nvu "})).await;
    assert_eq!((first.status, &first.body["outcome"]), (200, &json!("NOTED")), "{first:?}");
    let key = [("Idempotency-Key", "k")];
    let body = |text: &str| json!({"text": text, "reason": "ticket 4711"});
    let whole = format!("/api/v1{path}");
    let send = |text| door.post_with(SECOND, &whole, &key, body(text));
    let (second, again, other) = (send("two").await, send("two ").await, send("three").await);
    assert_eq!((second.status, again.status), (200, 200), "{again:?}");
    assert_eq!(again.headers["idempotency-replayed"], "true");
    assert_eq!((other.status, other.code()), (409, "DUPLICATE_REQUEST"), "{other:?}");
    let whole = door.look(&format!("/transfers/{id}")).await;
    let notes = whole["notes"].as_array().expect("notes");
    let words: Vec<_> = notes.iter().map(|n| (&n["text"], &n["by"], &n["reason"])).collect();
    let by = [json!("portage|ops-1"), json!("portage|ops-2")];
    let (text, reason) =
        ([json!("d\u{e9}j\u{e0}\nvu"), json!("two")], [json!("a test"), json!("ticket 4711")]);
    let wanted = [(&text[0], &by[0], &reason[0]), (&text[1], &by[1], &reason[1])];
    assert_eq!(words, wanted, "newest last, as they are kept");
    let user = door.get(("4001", USER), &format!("/api/v1/internal_transfer/{id}")).await;
    let seen = user.body.to_string();
    assert!(user.status == 200 && !seen.contains("vu") && !seen.contains("OPERATOR"), "{seen}");
    let audit = door.look(&format!("/ops/audit?subject={id}")).await;
    let kinds: Vec<_> =
        audit["actions"].as_array().expect("rows").iter().map(|a| &a["kind"]).collect();
    assert_eq!(kinds, ["NOTE", "NOTE"], "{audit}");
    for text in ["", " \n", "a\u{7}", "a\r\nb", &"x".repeat(1001)] {
        let refused = door.act(FIRST, &path, json!({ "text": text })).await;
        assert_eq!((refused.status, refused.code()), (400, "BAD_REQUEST"), "{text}: {refused:?}");
    }
    let none = format!("/ops/transfers/{}/notes", "01JFVQ2X8Z0Y1M3N4P5R6S7T8V");
    let none = door.act(FIRST, &none, json!({"text": "x"})).await;
    assert_eq!((none.status, none.code()), (404, "NOT_FOUND"), "{none:?}");
    let reads = ("ops-3", "ops:read");
    let refused = door.act(reads, &path, json!({"text": "x"})).await;
    assert_eq!((refused.status, refused.code()), (403, "FORBIDDEN"), "{refused:?}");
}

#[tokio::test]
async fn what_has_ended_is_not_steered() {
    let door = Door::open().await;
    door.fund(4001, "100").await;
    let made = door.post(("4001", USER), CREATE, transfer("25", "k")).await;
    let id = made.body["req_id"].as_str().expect("an id");
    let resolve = json!({"answer": "rejected", "evidence": {"ticket": "1"}});
    for (action, body) in [("retry", json!({})), ("ask", json!({})), ("resolve", resolve.clone())] {
        let reply = door.act(FIRST, &format!("/ops/transfers/{id}/{action}"), body).await;
        assert_eq!((reply.status, reply.code()), (409, "NOT_POSSIBLE"), "{action}: {reply:?}");
    }
    let other = "01JFVQ2X8Z0Y1M3N4P5R6S7T8V";
    let none = door.act(FIRST, &format!("/ops/transfers/{other}/retry"), json!({})).await;
    assert_eq!((none.status, none.code()), (404, "NOT_FOUND"), "{none:?}");
    let many = door.act(FIRST, "/ops/transfers/retry", json!({"ids": [id, other, "x"]})).await;
    assert_eq!(many.status, 200, "{many:?}");
    let codes: Vec<_> = many.body["results"]
        .as_array()
        .expect("results")
        .iter()
        .map(|r| r["code"].as_str())
        .collect();
    assert_eq!(codes, [Some("NOT_POSSIBLE"), Some("NOT_FOUND"), Some("NOT_FOUND")]);
    for bad in [
        json!({"answer": "maybe", "evidence": {}}),
        json!({"answer": "done"}),
        json!({"answer": "done", "evidence": [], "x": 1}),
    ] {
        let reply = door.act(FIRST, &format!("/ops/transfers/{id}/resolve"), bad.clone()).await;
        assert_eq!(reply.status, 400, "{bad}: {reply:?}");
    }
    let reply = door.act(FIRST, &format!("/ops/transfers/{id}/explode"), json!({})).await;
    assert_eq!(reply.status, 404, "{reply:?}");
}

#[tokio::test]
async fn a_reason_is_always_asked_for() {
    let door = Door::open().await;
    for path in ["/api/v1/ops/halt", "/api/v1/ops/resume", "/api/v1/ops/pauses"] {
        for reason in [json!(null), json!(""), json!("  "), json!("a\nb"), json!("x".repeat(257))] {
            let mut body = json!({"reason": reason});
            if path.ends_with("pauses") {
                body["kind"] = json!("asset");
                body["name"] = json!("USDT");
            }
            let reply = door.post(FIRST, path, body).await;
            assert_eq!((reply.status, reply.code()), (400, "BAD_REQUEST"), "{path} {reply:?}");
        }
    }
    assert_eq!(door.look("/ops/audit").await["actions"], json!([]), "nothing was done");
}

#[tokio::test]
async fn a_status_is_in_the_audit_with_who_and_why() {
    let door = Door::open().await;
    door.fund(4001, "100").await;
    let body = json!({"status": "FROZEN"});
    let set = door.act(FIRST, "/ops/accounts/4001/FUNDING/status", body.clone()).await;
    assert_eq!(set.status, 200, "{set:?}");
    let page = door.look("/ops/audit?subject=account/4001/FUNDING").await;
    let row = &page["actions"][0];
    assert_eq!(
        (&row["kind"], &row["by"], &row["value"]),
        (&json!("STATUS"), &json!("portage|ops-1"), &body)
    );
    let frozen = door.post(("4001", USER), CREATE, transfer("1", "k")).await;
    assert_eq!(frozen.code(), "ACCOUNT_FROZEN", "{frozen:?}");
    let unknown = door.act(FIRST, "/ops/accounts/77/FUNDING/status", body).await;
    assert_eq!((unknown.status, unknown.code()), (404, "ACCOUNT_NOT_FOUND"), "{unknown:?}");
}
