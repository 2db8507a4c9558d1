//! Bad bodies and amounts get a clear 4xx, never a 5xx, and open nothing.

use super::{CREATE, Door, TestSetup, USER, movement, transfer};
use axum::body::Body;
use axum::http::{Request, header};
use engine::Parts;
use kernel::ids::LedgerId;
use serde_json::json;

#[tokio::test]
async fn bad_amounts_open_nothing() {
    let door = Door::open().await;
    door.fund(4001, "1000").await;
    let digits = "9".repeat(400);
    let amounts = [
        ("1e2", "INVALID_AMOUNT"),
        ("1E2", "INVALID_AMOUNT"),
        ("NaN", "INVALID_AMOUNT"),
        ("inf", "INVALID_AMOUNT"),
        ("-100", "INVALID_AMOUNT"),
        ("+1", "INVALID_AMOUNT"),
        ("0", "INVALID_AMOUNT"),
        ("0.000000", "INVALID_AMOUNT"),
        ("", "INVALID_AMOUNT"),
        (" 1", "INVALID_AMOUNT"),
        ("1 ", "INVALID_AMOUNT"),
        ("1,0", "INVALID_AMOUNT"),
        ("1_0", "INVALID_AMOUNT"),
        (".5", "INVALID_AMOUNT"),
        ("1.", "INVALID_AMOUNT"),
        ("0x10", "INVALID_AMOUNT"),
        ("١٢", "INVALID_AMOUNT"),
        ("１", "INVALID_AMOUNT"),
        ("1.0.0", "INVALID_AMOUNT"),
        ("1\u{0}", "INVALID_AMOUNT"),
        ("--1", "INVALID_AMOUNT"),
        ("0.0000001", "PRECISION_OVERFLOW"),
        ("1.0000000", "PRECISION_OVERFLOW"),
        (&digits, "OVERFLOW"),
        ("18446744073709551616", "OVERFLOW"),
        ("9223372036854.775808", "OVERFLOW"),
    ];
    for (amount, code) in amounts {
        let reply = door.post(("4001", USER), CREATE, transfer(amount, "k")).await;
        assert_eq!((reply.status, reply.code()), (400, code), "{amount:.30}: {reply:?}");
        let body = movement(4001, amount, "r");
        let reply = door.post(("ops", "ops:act"), "/api/v1/ops/deposits", body).await;
        assert_eq!((reply.status, reply.code()), (400, code), "{amount:.30}: {reply:?}");
    }
    assert_eq!(door.rows().await, 0);
    // nothing was bound: the key is still free
    let reply = door.post(("4001", USER), CREATE, transfer("1", "k")).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert!(!reply.headers.contains_key("idempotency-replayed"));
}

/// What the assets of this door are: one with bounds, one that may not be transferred.
const BOUNDED: &str = "
    UPDATE assets_tb SET internal_transfer_enabled = 0 WHERE symbol = 'USD';
    UPDATE assets_tb SET min_transfer_amount = printf('%039d', 5000000),
        max_transfer_amount = printf('%039d', 10000000) WHERE symbol = 'USDT';";

/// Turns red where the client has to look up what the amount would have had to be, or which ledger lacks the asset.
#[tokio::test]
async fn a_refusal_names_its_asset_and_bound() {
    let spot_lacks_eth = |parts: &mut Parts| {
        let symbols = ["USDT", "USD"].map(str::to_owned).into();
        parts.settings.ledger_assets.insert(LedgerId::SPOT, symbols);
    };
    let setup =
        TestSetup { sql: BOUNDED, change: Box::new(spot_lacks_eth), ..TestSetup::default() };
    let door = Door::with(setup).await;
    for (asset, amount, code, named) in [
        ("USDT", "0.0000001", "PRECISION_OVERFLOW", "USDT has 6"),
        ("USDT", "9223372036854.775808", "OVERFLOW", "9223372036854.775807 USDT"),
        ("USDT", "4", "AMOUNT_TOO_SMALL", "5.000000 USDT"),
        ("USDT", "11", "AMOUNT_TOO_LARGE", "10.000000 USDT"),
        ("USD", "6", "TRANSFER_NOT_ALLOWED", "USD may not be transferred"),
        ("ETH", "6", "TRANSFER_NOT_ALLOWED", "SPOT does not hold ETH"),
    ] {
        let mut body = transfer(amount, "k");
        body["asset"] = json!(asset);
        let reply = door.post(("4001", USER), CREATE, body).await;
        let sentence = reply.body["error"].as_str().expect("a sentence");
        assert!(reply.code() == code && sentence.contains(named), "{reply:?}");
    }
    let by_hand = movement(4001, "0.0000001", "r");
    let by_hand = door.post(("ops", "ops:act"), "/api/v1/ops/deposits", by_hand).await;
    let sentence = by_hand.body["error"].as_str().expect("a sentence");
    assert!(sentence.ends_with("USDT has 6"), "{by_hand:?}");
}

#[tokio::test]
async fn bad_bodies_open_nothing() {
    let door = Door::open().await;
    door.fund(4001, "1000").await;
    let ok = r#""from":"FUNDING","to":"SPOT","asset":"USDT","amount":"1""#;
    let deep = format!("{{{ok},\"x\":{}{}}}", "[".repeat(4000), "]".repeat(4000));
    let deep_amount = format!(
        "{{\"from\":\"FUNDING\",\"to\":\"SPOT\",\"asset\":\"USDT\",\"amount\":{}{}}}",
        "{\"a\":".repeat(1000),
        "}".repeat(1000)
    );
    let bodies = [
        String::new(),
        "{".to_owned(),
        "null".to_owned(),
        "[]".to_owned(),
        "1".to_owned(),
        r#"["FUNDING","SPOT","USDT","1"]"#.to_owned(),
        format!("{{{ok}}} {{}}"),
        format!("{{{ok},}}"),
        format!("\u{feff}{{{ok}}}"),
        format!("{{{ok},\"amount\":\"2\"}}"),
        format!("{{{ok},\"state\":\"COMMITTED\"}}"),
        format!("{{{ok},\"reference\":\"\"}}"),
        format!("{{{ok},\"reference\":5}}"),
        format!("{{{ok},\"metadata\":{{\"a\":5}}}}"),
        format!("{{{ok},\"metadata\":{{\"a\":\"1\",\"a\":\"1\"}}}}"),
        format!("{{{ok},\"fee\":\"0\"}}"),
        format!("{{{ok},\"cid\":\"\"}}"),
        format!("{{{ok},\"cid\":\"a b\"}}"),
        format!("{{{ok},\"cid\":\"é\"}}"),
        format!("{{{ok},\"cid\":5}}"),
        format!("{{{ok},\"cid\":\"{}\"}}", "x".repeat(65)),
        format!("{{{ok},\"user_id\":\"04001\"}}"),
        format!("{{{ok},\"user_id\":9007199254740992}}"),
        format!("{{{ok},\"user_id\":4001.0}}"),
        ok.replace("\"1\"", "1"),
        ok.replace("\"1\"", "100.0"),
        ok.replace("\"1\"", "1e2"),
        ok.replace("\"1\"", "null"),
        ok.replace("\"1\"", "NaN"),
        ok.replace("\"1\"", "\"\\ud800\""),
        r#"{"from":"FUNDING","to":"SPOT","asset":"USDT"}"#.to_owned(),
        r#"{"from":null,"to":"SPOT","asset":"USDT","amount":"1"}"#.to_owned(),
        deep,
        deep_amount,
    ];
    for body in bodies {
        let reply = door.text(CREATE, body.clone()).await;
        assert_eq!((reply.status, reply.code()), (400, "BAD_REQUEST"), "{body:.80}: {reply:?}");
        let sentence = reply.body["error"].as_str().expect("a sentence");
        assert!((5..=300).contains(&sentence.len()), "{sentence}");
    }
    let reply = door.text(CREATE, Body::from(&b"{\"from\":\"\xff\"}"[..])).await;
    assert_eq!(reply.code(), "BAD_REQUEST");
    let named = door.text(CREATE, format!("{{{}}}", ok.replace("\"1\"", "1"))).await;
    assert!(named.body["error"].as_str().expect("it").contains("field `amount`"), "{named:?}");
    assert_eq!(door.rows().await, 0);
}

#[tokio::test]
async fn other_kinds_and_sizes_are_refused() {
    let door = Door::open().await;
    let large = format!("{{\"from\":\"{}\"}}", "x".repeat(17_000));
    let reply = door.text(CREATE, large).await;
    assert_eq!((reply.status, reply.code()), (413, "PAYLOAD_TOO_LARGE"));
    let token = door.token("4001", USER);
    for kind in ["", "text/plain", "application/xml", "application/x-www-form-urlencoded"] {
        let mut request =
            Request::post(CREATE).header(header::AUTHORIZATION, format!("Bearer {token}"));
        if !kind.is_empty() {
            request = request.header(header::CONTENT_TYPE, kind);
        }
        let body = Body::from(transfer("1", "k").to_string());
        let reply = door.send(request.body(body).expect("a request")).await;
        assert_eq!((reply.status, reply.code()), (415, "UNSUPPORTED_MEDIA_TYPE"), "{kind}");
    }
    assert_eq!(door.rows().await, 0);
}

#[tokio::test]
async fn other_forms_are_strict_too() {
    let door = Door::open().await;
    door.fund(4001, "10").await;
    let who = ("ops", "ops:act");
    let status = "/api/v1/ops/accounts/4001/FUNDING/status";
    for (path, body) in [
        ("/api/v1/ops/deposits", json!({"user_id": 1, "asset": "USDT", "amount": "1", "ref": "r"})),
        ("/api/v1/ops/deposits", movement(0, "1", "r")),
        ("/api/v1/ops/deposits", movement(u64::MAX, "1", "r")),
        ("/api/v1/ops/deposits", movement(1, "1", "")),
        ("/api/v1/ops/deposits", movement(1, "1", &"r".repeat(129))),
        (
            "/api/v1/ops/withdrawals",
            json!({"user_id": 1, "asset": "USDT", "amount": 1, "ref": "r", "reason": "x"}),
        ),
        (status, json!({"status": "frozen", "reason": "x"})),
        (status, json!({"status": "FROZEN"})),
        (status, json!({"status": "FROZEN", "reason": " "})),
        (status, json!({"status": "FROZEN", "reason": "x", "by": "me"})),
    ] {
        let reply = door.post(who, path, body.clone()).await;
        assert_eq!((reply.status, reply.code()), (400, "BAD_REQUEST"), "{body}: {reply:?}");
    }
    for query in ["?user=x", "?user=-1", "?users=1", "?user=0", "?limit=5", "?limit=100000"] {
        let reply = door.get(("ops", "ops:read"), &format!("/api/v1/ops/accounts{query}")).await;
        assert_eq!((reply.status, reply.code()), (400, "BAD_REQUEST"), "{query}: {reply:?}");
    }
}

/// Turns red where a parameter is ignored: a misspelt `dry_run` would move the money.
#[tokio::test]
async fn a_parameter_that_is_not_known_is_refused() {
    let door = Door::open().await;
    door.fund(4001, "1000").await;
    let lower = json!({"from": "funding", "to": "trading", "asset": "USDT", "amount": "1"});
    let batch = json!({"transfers": [transfer("1", "k")]});
    for (route, query, body) in [
        (CREATE, "foo=1", transfer("1", "k")),
        (CREATE, "dryrun=true", transfer("1", "k")),
        (CREATE, "dry_run=1", transfer("1", "k")),
        (CREATE, "dry_run", transfer("1", "k")),
        (CREATE, "dry_run=", transfer("1", "k")),
        (CREATE, "dry_run=false&dry_run=true", transfer("1", "k")),
        ("/api/v1/transfer", "dry_run=true", lower),
        ("/api/v1/internal_transfers", "dry_run=true", batch),
    ] {
        let reply = door.post(("4001", USER), &format!("{route}?{query}"), body).await;
        assert_eq!((reply.status, reply.code()), (400, "BAD_REQUEST"), "{query}: {reply:?}");
    }
    assert_eq!(door.rows().await, 0);
}

/// Turns red where a key of another change is answered as an unknown outcome, which a caller would
/// repeat for ever.
#[tokio::test]
async fn a_status_key_belongs_to_one_change() {
    let door = Door::open().await;
    door.fund(4001, "1000").await;
    for account in ["FUNDING", "SPOT"] {
        if account == "SPOT" {
            let reply = door.post(("4001", USER), CREATE, transfer("1", "k")).await;
            assert_eq!(reply.status, 200, "{reply:?}");
        }
        for (status, expected) in [("FROZEN", 200), ("ACTIVE", 409), ("FROZEN", 200)] {
            let request = Request::post(format!("/api/v1/ops/accounts/4001/{account}/status"))
                .header(header::AUTHORIZATION, format!("Bearer {}", door.token("ops", "ops:act")))
                .header(header::CONTENT_TYPE, "application/json")
                .header("idempotency-key", format!("key-{account}"))
                .body(Body::from(json!({"status": status, "reason": "a test"}).to_string()));
            let reply = door.send(request.unwrap()).await;
            assert_eq!(reply.status, expected, "{account} {status}: {reply:?}");
        }
        let back = json!({"status": "ACTIVE", "reason": "a test"});
        let path = format!("/api/v1/ops/accounts/4001/{account}/status");
        let own = door.post(("ops", "ops:act"), &path, back.clone()).await;
        assert_eq!((own.status, &own.body["outcome"]), (202, &json!("PROPOSED")), "{own:?}");
        assert_eq!(door.post(("ops-2", "ops:act"), &path, back).await.status, 200);
    }
}
