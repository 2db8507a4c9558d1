//! `limits.requests_per_second`: a user's creates, and nothing else.

use super::{CREATE, Door, USER, transfer};
use kernel::ids::UserId;
use serde_json::{Value, json};

/// So slow that no test is: one place, and the next one a second later at the earliest.
async fn slow() -> Door {
    let door = Door::set(|config| config.limits.requests_per_second = 1).await;
    for user in [4001, 4002] {
        door.fund(user, "1000").await;
    }
    door
}

/// Sends creates until one is refused; each that was made is a row.
async fn until_refused(door: &Door, user: &str) -> crate::fixture::Reply {
    for n in 0..1000 {
        let reply = door.post((user, USER), CREATE, transfer("1", &format!("{user}-{n}"))).await;
        if reply.status != 200 {
            return reply;
        }
    }
    panic!("never refused");
}

#[tokio::test]
async fn too_many_creates_are_told_when_to_come_again() {
    let door = slow().await;
    let refused = until_refused(&door, "4001").await;
    assert_eq!((refused.status, refused.code()), (429, "RATE_LIMIT_EXCEEDED"), "{refused:?}");
    assert_eq!(refused.headers["retry-after"], "1");
    assert!(refused.body.get("req_id").is_none());
    let page = door.get(("x", "admin"), "/metrics").await;
    let Value::String(page) = page.body else { panic!("a text") };
    assert!(page.contains(r#"portage_refused_total{code="RATE_LIMIT_EXCEEDED"}"#), "{page}");
}

/// Turns red where a replay keeps the place that it took before anybody knew what it was.
#[tokio::test]
async fn a_replay_gives_its_place_back() {
    let door = Door::set(|config| config.limits.requests_per_second = 20).await;
    door.fund(4001, "1000").await;
    for _ in 0..20 {
        let reply = door.post(("4001", USER), CREATE, transfer("1", "k")).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_eq!(door.post(("4001", USER), CREATE, transfer("2", "k")).await.status, 409);
    }
    let place = || door.app.rate_limit.take(UserId(4001), door.service.clock.ticks());
    let free = (0..20).filter(|_| place()).count();
    assert!(free >= 19, "one create took one place: {free} are free");
}

/// Turns red where a replay waits behind the limit.
#[tokio::test]
async fn a_replay_never_counts() {
    let door = slow().await;
    let user = ("4001", USER);
    let first = door.post(user, CREATE, transfer("1", "4001-0")).await;
    assert_eq!(first.status, 200, "{first:?}");
    until_refused(&door, "4001").await;
    for _ in 0..50 {
        let again = door.post(user, CREATE, transfer("1", "4001-0")).await;
        assert_eq!((again.status, &again.body["req_id"]), (200, &first.body["req_id"]));
        let other = door.post(user, CREATE, transfer("2", "4001-0")).await;
        assert_eq!(other.status, 409);
    }
}

/// Turns red where a refusal of an earlier step takes a place.
#[tokio::test]
async fn what_opens_nothing_takes_no_place() {
    let door = slow().await;
    let user = ("4001", USER);
    for _ in 0..20 {
        assert_eq!(door.post(user, CREATE, transfer("1e2", "k")).await.code(), "INVALID_AMOUNT");
        assert_eq!(door.post(user, CREATE, json!({})).await.code(), "BAD_REQUEST");
    }
    assert_eq!(door.post(user, CREATE, transfer("1", "k")).await.status, 200);
}

/// Turns red where users share a limit, or a service that acts for many has one for all.
#[tokio::test]
async fn each_user_has_its_own() {
    let door = slow().await;
    until_refused(&door, "4001").await;
    let mut asked = transfer("1", "svc");
    asked["user_id"] = json!(4002);
    let service = ("svc", "transfers:create transfers:any");
    assert_eq!(door.post(service, CREATE, asked).await.status, 200);
}

/// Turns red where the items of a batch, or the other spelling, pass beside the limit.
#[tokio::test]
async fn items_and_the_other_spelling_count_too() {
    let door = slow().await;
    let items: Vec<_> = (0..500).map(|n| transfer("1", &n.to_string())).collect();
    let path = "/api/v1/internal_transfers";
    let reply = door.post(("4001", USER), path, json!({ "transfers": items })).await;
    let results = reply.body["results"].as_array().expect("results");
    let refused = |r: &&Value| r["code"] == "RATE_LIMIT_EXCEEDED" && r["status"] == 429;
    let refused = results.iter().filter(refused).count();
    let made = results.iter().filter(|r| r["status"] == 200).count();
    assert!(refused > 0 && made > 0 && refused + made == 500, "{made} {refused}");
    assert_eq!(door.rows().await, made);
    let lower = json!({"from": "funding", "to": "trading", "asset": "USDT", "amount": "1"});
    let mut last = 200;
    for _ in 0..1000 {
        last = door.post(("4002", USER), "/api/v1/transfer", lower.clone()).await.status;
        if last != 200 {
            break;
        }
    }
    assert_eq!(last, 429);
}
