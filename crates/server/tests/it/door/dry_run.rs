//! A dry run says what would become of a create, and does nothing.

use super::{CREATE, Door, USER, transfer};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;

const DRY: &str = "/api/v1/internal_transfer?dry_run=true";

fn asks(from: &str, to: &str, asset: &str, amount: &str) -> Value {
    json!({"from": from, "to": to, "asset": asset, "amount": amount})
}

/// Every dry answer is what the real create answers right after it; turns red where a check of the
/// two is missing or stands elsewhere.
#[tokio::test]
async fn it_says_what_the_create_then_does() {
    let door = Door::open().await;
    door.fund(4001, "10").await;
    let (user, poor) = (("4001", USER), ("4002", USER));
    let frozen = json!({"status": "FROZEN", "reason": "a test"});
    let disabled = json!({"status": "DISABLED", "reason": "a test"});
    for (id, status) in [(4003, &frozen), (4004, &disabled)] {
        door.fund(id, "10").await;
        let path = format!("/api/v1/ops/accounts/{id}/FUNDING/status");
        assert_eq!(door.post(("ops", "ops:act"), &path, status.clone()).await.status, 200);
    }
    for (who, body, would) in [
        (user, asks("X", "X", "?", "?"), "SAME_ACCOUNT"),
        (user, asks("X", "SPOT", "?", "?"), "INVALID_ACCOUNT_TYPE"),
        (user, asks("FUTURE", "SPOT", "?", "?"), "UNSUPPORTED_ACCOUNT_TYPE"),
        (user, asks("SPOT", "FUNDING", "XYZ", "?"), "INVALID_ASSET"),
        (user, asks("SPOT", "FUNDING", "USDT", "?"), "INVALID_AMOUNT"),
        (user, asks("SPOT", "FUNDING", "USDT", "0.0000001"), "PRECISION_OVERFLOW"),
        (poor, asks("FUNDING", "SPOT", "USDT", "1"), "SOURCE_ACCOUNT_NOT_FOUND"),
        (user, asks("SPOT", "FUNDING", "USDT", "1"), "SOURCE_ACCOUNT_NOT_FOUND"),
        (("4003", USER), asks("FUNDING", "SPOT", "USDT", "1"), "ACCOUNT_FROZEN"),
        (("4004", USER), asks("FUNDING", "SPOT", "USDT", "1"), "ACCOUNT_DISABLED"),
        (user, asks("FUNDING", "SPOT", "USDT", "10.000001"), "INSUFFICIENT_BALANCE"),
        (user, asks("FUNDING", "SPOT", "BTC", "1"), "INSUFFICIENT_BALANCE"),
        (user, asks("FUNDING", "SPOT", "USDT", "10"), "COMMITTED"),
        (user, asks("SPOT", "FUNDING", "USDT", "10"), "COMMITTED"),
    ] {
        let rows = door.rows().await;
        let dry = door.post(who, DRY, body.clone()).await;
        assert_eq!(dry.body, json!({"dry_run": true, "would": would}), "{body}");
        assert_eq!((dry.status, door.rows().await), (200, rows), "nothing is written");
        let real = door.post(who, CREATE, body.clone()).await;
        let said = if real.status == 200 { "COMMITTED" } else { real.code() };
        assert_eq!(said, would, "{body}: {real:?}");
    }
}

#[tokio::test]
async fn who_may_not_ask_and_what_does_not_fit_is_refused_as_ever() {
    let door = Door::open().await;
    let mut other = transfer("1", "k");
    other["user_id"] = json!(4002);
    assert_eq!(door.post(("4001", USER), DRY, other).await.status, 403);
    assert_eq!(door.post(("4001", "transfers:read"), DRY, transfer("1", "k")).await.status, 403);
    let reply = door.post(("4001", USER), DRY, json!({"amount": "1"})).await;
    assert_eq!((reply.status, reply.code()), (400, "BAD_REQUEST"));
}

#[tokio::test]
async fn a_bound_key_is_told_of_before_anything_else() {
    let door = Door::open().await;
    door.fund(4001, "100").await;
    let user = ("4001", USER);
    let made = door.post(user, CREATE, transfer("25", "k")).await;
    let poor = door.post(user, CREATE, transfer("5000", "f")).await;
    door.app.draining.store(true, Ordering::Relaxed);
    let again = door.post(user, DRY, transfer("25", "k")).await;
    let told = json!({"dry_run": true, "would": "COMMITTED", "req_id": made.body["req_id"]});
    assert_eq!((again.status, &again.body), (200, &told));
    assert_eq!(again.headers["idempotency-replayed"], "true");
    let failed = door.post(user, DRY, transfer("5000", "f")).await;
    assert_eq!(failed.body["would"], "INSUFFICIENT_BALANCE");
    assert_eq!(failed.body["req_id"], poor.body["req_id"]);
    let other = door.post(user, DRY, transfer("26", "k")).await;
    let told =
        json!({"dry_run": true, "would": "DUPLICATE_REQUEST", "mismatched_fields": ["amount"]});
    assert_eq!((other.status, &other.body), (200, &told));
    let fresh = door.post(user, DRY, transfer("26", "j")).await;
    assert_eq!(fresh.body["would"], "OVERLOADED");
}

/// Turns red where asking counts against the limits.
#[tokio::test]
async fn it_counts_nothing() {
    let door = Door::set(|config| config.limits.requests_per_second = 1).await;
    door.fund(4001, "100").await;
    let user = ("4001", USER);
    for _ in 0..20 {
        let dry = door.post(user, DRY, transfer("1", "k")).await;
        assert_eq!(dry.body["would"], "COMMITTED");
    }
    assert_eq!(door.post(user, CREATE, transfer("1", "k")).await.status, 200);
}
