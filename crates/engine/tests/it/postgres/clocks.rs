//! Two servers whose clocks are a day apart: the database's counts. And what a worker wrote while the database's own
//! clock was ahead.
//!
//! Wrong builds that were run, each of which turns one of these red: a store that takes its process's clock
//! for the time; an engine that takes the day of a limit from it.

use super::fixture::{Fixture, quick};
use crate::fixture::defaults::{FUNDING, SOURCES};
use crate::fixture::faulty_ledger::CallFault;
use engine::{Limits, Settings};
use kernel::retry::Backoff;
use std::time::Duration;

const DAY: u64 = 86_400_000;

/// Turns red where a worker tells by its own clock whether a neighbour lives: it would carry on what the
/// neighbour holds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_whose_clock_is_a_day_ahead_takes_no_other_for_dead() {
    let fixture = Fixture::open(quick(true)).await;
    let behind = fixture.worker().await;
    behind.complete_transfer(FUNDING, 1, "first", 10_000).await;
    let (late, ids) = fixture.open_with_late_replies(&behind, 5).await;
    fixture.faulty_spot.set_fault(CallFault::None);
    let ahead = fixture.worker_ahead(DAY).await;
    for n in 0..20 {
        for worker in [&ahead, &behind] {
            for from in SOURCES {
                let key = format!("{n}-{}", from.name());
                let id = worker.open_with_key(from, 2, &key, 3).await;
                if n > 0 {
                    worker.wait_for_state(id, "COMMITTED").await;
                }
            }
        }
    }
    // longer than a lease
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let taken = behind.states(&ids).await.into_values().filter(|state| *state == "COMMITTED");
    assert_eq!(taken.count(), 0, "a worker was taken for dead");
    late.add_permits(1_000);
    for id in &ids {
        behind.wait_for_state(*id, "COMMITTED").await;
    }
    let dated =
        "SELECT count(*) FROM transfers WHERE greatest(created_at, updated_at) > portage_now()";
    assert_eq!(fixture.sql(dated), "0", "a time that has not come");
    fixture.assert_in_order(&ahead).await;
    // and what a dead one held is taken over by the other
    fixture.faulty_spot.set_fault(CallFault::LoseReplies);
    let held =
        behind.create_with_key(FUNDING, 1, "dying", 5).await.expect("it is opened").record.id;
    behind.kill().await;
    fixture.faulty_spot.set_fault(CallFault::None);
    ahead.wait_for_state(held, "COMMITTED").await;
    ahead.kill().await;
}

/// Turns red where the day of a limit is a server's own, or where two count apart: together they let
/// more through.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_day_is_one_day_for_servers_whose_clocks_are_a_day_apart() {
    let mut settings = quick(true);
    settings.limits = Limits { transfers_per_day: 7, ..settings.limits };
    let fixture = Fixture::open(settings).await;
    let workers = [fixture.worker().await, fixture.worker_ahead(DAY).await];
    let asked = workers.iter().enumerate().map(|(w, worker)| {
        let all = (0..10).map(move |n| async move {
            worker.create_with_key(FUNDING, 3, &format!("{w}-{n}"), 2).await.is_ok()
        });
        futures_util::future::join_all(all)
    });
    let came: Vec<bool> = futures_util::future::join_all(asked).await.concat();
    assert_eq!(came.iter().filter(|came| **came).count(), 7, "{came:?}");
    assert_eq!(fixture.sql("SELECT count(*) FROM transfers WHERE user_id = 3"), "7");
    let [one, two] = workers;
    fixture.assert_in_order(&one).await;
    one.kill().await;
    two.kill().await;
}

/// Turns red where a time that was written ahead counts as one to wait for: for up to an hour no worker tries the transfer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_put_off_while_the_database_was_ahead_is_tried_when_its_clock_is_right_again() {
    // it waits for its time when its worker dies
    let backoff = Backoff { base: 2_000, cap: 2_000 };
    let fixture = Fixture::open(Settings { backoff, ..quick(true) }).await;
    let clock = |ahead: u64| {
        let now = "extract(epoch FROM clock_timestamp()) * 1000";
        fixture.sql(&format!(
            "CREATE OR REPLACE FUNCTION portage_now() RETURNS bigint LANGUAGE sql VOLATILE AS $$ \
             SELECT ({now})::bigint + {ahead} $$"
        ));
    };
    for minutes in [2, 59] {
        let worker = fixture.worker().await;
        fixture.faulty_spot.set_fault(CallFault::LoseReplies);
        clock(minutes * 60_000);
        let key = format!("{minutes} minutes");
        let held = worker.create_with_key(FUNDING, 1, &key, 5).await.expect("it is opened");
        let ahead = "SELECT count(*) FROM due WHERE due_at > portage_now()";
        fixture.wait_for_sql(ahead, "1").await;
        worker.kill().await;
        clock(0);
        fixture.faulty_spot.set_fault(CallFault::None);
        let other = fixture.worker().await;
        other.wait_for_state(held.record.id, "COMMITTED").await;
        fixture.assert_in_order(&other).await;
        other.kill().await;
    }
}
