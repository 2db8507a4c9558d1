//! `limits.refused_per_hour`: a user's internal transfers that end without effect, and nothing else.

use super::{CREATE, Door, USER, transfer};
use serde_json::json;

const ALICE: (&str, &str) = ("4001", USER);

async fn limited() -> Door {
    let door = Door::set(|config| config.limits.refused_per_hour = 3).await;
    for user in [4001, 4002] {
        door.fund(user, "10").await;
    }
    door
}

/// Turns red where FAILED takes no place, where what opened nothing takes one, and where
/// users share a limit.
#[tokio::test]
async fn refused_transfers_shut_their_user_out_for_a_while() {
    let door = limited().await;
    for n in 0..10 {
        let unfit = door.post(ALICE, CREATE, transfer("1e2", &format!("unfit-{n}"))).await;
        assert_eq!(unfit.code(), "INVALID_AMOUNT");
        let made = door.post(ALICE, CREATE, transfer("0.1", &format!("good-{n}"))).await;
        assert_eq!(made.status, 200, "{made:?}");
    }
    for n in 0..3 {
        for _ in 0..3 {
            let poor = door.post(ALICE, CREATE, transfer("100", &format!("poor-{n}"))).await;
            assert_eq!((poor.status, poor.code()), (422, "INSUFFICIENT_BALANCE"), "{poor:?}");
        }
    }
    let before = door.rows().await;
    let late = door.post(ALICE, CREATE, transfer("0.1", "late")).await;
    assert_eq!((late.status, late.code()), (429, "REFUSAL_LIMIT_EXCEEDED"), "{late:?}");
    assert_eq!(late.headers["retry-after"], "1200");
    let dry = door.post(ALICE, &format!("{CREATE}?dry_run=true"), transfer("0.1", "late")).await;
    assert_eq!(dry.body["would"], "REFUSAL_LIMIT_EXCEEDED", "{dry:?}");
    assert_eq!(door.rows().await, before, "nothing was opened");
    let again = door.post(ALICE, CREATE, transfer("100", "poor-0")).await;
    assert_eq!(again.code(), "INSUFFICIENT_BALANCE", "a repeat answers: {again:?}");
    let other = door.post(("4002", USER), CREATE, transfer("0.1", "theirs")).await;
    assert_eq!(other.status, 200, "{other:?}");
}

/// Turns red where the items of a batch pass beside the limit.
#[tokio::test]
async fn items_of_a_batch_count_too() {
    let door = limited().await;
    let items: Vec<_> = (0..10).map(|n| transfer("100", &n.to_string())).collect();
    let path = "/api/v1/internal_transfers";
    assert_eq!(door.post(ALICE, path, json!({ "transfers": items })).await.status, 200);
    let late = door.post(ALICE, CREATE, transfer("0.1", "late")).await;
    assert_eq!((late.status, late.code()), (429, "REFUSAL_LIMIT_EXCEEDED"), "{late:?}");
}

/// Turns red where 0 shuts everyone out.
#[tokio::test]
async fn without_a_limit_refused_transfers_are_free() {
    let door = Door::set(|config| config.limits.refused_per_hour = 0).await;
    door.fund(4001, "10").await;
    for n in 0..150 {
        let poor = door.post(ALICE, CREATE, transfer("100", &n.to_string())).await;
        assert_eq!(poor.code(), "INSUFFICIENT_BALANCE", "{poor:?}");
    }
}
