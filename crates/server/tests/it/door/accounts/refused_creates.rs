//! `limits.refused_per_hour` where a transfer ends after its create was answered.

use super::transfers::{ALICE, BOB, TRANSFERS, transfer};
use crate::door::{Door, Reply};
use serde_json::Value;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

const MOST: u32 = 3;

async fn limited(most: u32) -> Door {
    let door = Door::set(|config| config.limits.refused_per_hour = most);
    door.await.has_two_accounts().await
}

/// A create under a key, by the owner of ACC-1.
async fn asks(door: &Door, key: &str, to: &str) -> Reply {
    let key = [("Idempotency-Key", key)];
    door.post_with(ALICE, TRANSFERS, &key, transfer("ACC-1", to, "1")).await
}

/// The user's transfers in this state.
async fn listed(door: &Door, status: &str) -> usize {
    let page = door.get(ALICE, &format!("{TRANSFERS}?status={status}&limit=100")).await;
    page.body["transfers"].as_array().map_or(0, Vec::len)
}

fn shut_out(reply: &Reply) {
    assert_eq!((reply.status, reply.code()), (429, "REFUSAL_LIMIT_EXCEEDED"), "{reply:?}");
    assert_eq!(reply.headers["retry-after"], "1200");
    assert_eq!(reply.body.get("transferId"), None);
}

/// Turns red where a create counts by what it is when it is answered (its end is never asked for), and
/// where a repeat is counted or refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_probes_account_numbers_is_shut_out_after_a_few() {
    let door = limited(MOST).await;
    for n in 0..MOST {
        let opened = asks(&door, &format!("probe-{n}"), &format!("NONE-{n}")).await;
        assert_eq!(opened.status, 201, "{opened:?}");
        let ended = door.ended_account_transfer(&opened).await;
        assert_eq!(ended["reason"], "TARGET_ACCOUNT_NOT_FOUND", "{ended}");
        for _ in 0..5 {
            let again = asks(&door, &format!("probe-{n}"), &format!("NONE-{n}")).await;
            assert_eq!(again.status, 200, "a repeat is no new refusal: {again:?}");
        }
    }
    let before = door.rows().await;
    for to in ["NONE-9", "ACC-2"] {
        shut_out(&asks(&door, to, to).await);
    }
    assert_eq!(door.rows().await, before, "nothing was opened");
    let again = asks(&door, "probe-0", "NONE-0").await;
    assert_eq!(
        (again.status, &again.headers["idempotency-replayed"]),
        (200, &"true".parse().unwrap())
    );
    let other = asks(&door, "probe-0", "NONE-1").await;
    assert_eq!((other.status, other.code()), (409, "DUPLICATE_REQUEST"), "{other:?}");
    let theirs = door.post(BOB, TRANSFERS, transfer("ACC-2", "NONE-1", "1")).await;
    assert_eq!(theirs.status, 201, "each user has its own: {theirs:?}");
}

/// Turns red where what was paid takes a place.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transfer_that_completes_takes_no_place() {
    let door = limited(MOST).await;
    for n in 0..4 * MOST {
        let opened = asks(&door, &format!("k-{n}"), "ACC-2").await;
        assert_eq!(opened.status, 201, "{n}: {opened:?}");
        if n % 2 == 0 {
            let ended = door.ended_account_transfer(&opened).await;
            assert_eq!(ended["status"], "COMPLETED", "{ended}");
        }
    }
}

/// Polls a create this number of times, and drops it. True where it was answered before.
async fn goes_away(door: &Door, key: &str, looks: usize) -> bool {
    let mut ask = pin!(asks(door, key, "NONE"));
    for _ in 0..looks {
        if poll_fn(|context| Poll::Ready(ask.as_mut().poll(context).is_ready())).await {
            return true;
        }
        tokio::task::yield_now().await;
    }
    false
}

/// A caller who goes away before the answer reads the end in the list of its transfers. Turns red where a create is
/// counted by the request that waits for its answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_goes_away_before_the_answer_is_counted_too() {
    const PLACES: usize = 40;
    const WHILE: Duration = Duration::from_millis(3);
    let door = limited(40).await;
    let (mut opened, mut cut, mut looks) = (0, 0, 1);
    while opened < PLACES {
        let answered = goes_away(&door, &format!("cut-{opened}"), looks).await;
        let mut waits = 20;
        while door.rows().await == opened && waits > 0 {
            waits -= 1;
            tokio::time::sleep(WHILE).await;
        }
        if door.rows().await == opened {
            // it went away before anything was opened
            looks += 1 + looks / 2;
            continue;
        }
        opened += 1;
        cut += usize::from(!answered);
    }
    assert!(cut > 0, "no caller went away in time");
    while listed(&door, "FAILED").await < PLACES {
        tokio::time::sleep(WHILE).await;
    }
    // behind the answers that the callers did not wait for
    tokio::time::sleep(Duration::from_secs(2)).await;
    let late = asks(&door, "late", "NONE").await;
    assert_eq!(
        late.body.get("code"),
        Some(&Value::from("REFUSAL_LIMIT_EXCEEDED")),
        "{cut}: {late:?}"
    );
}
