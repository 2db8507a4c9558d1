//! The server itself: killed in mid-load, its sessions ended, no connection left, and errors that pass.
//!
//! Wrong builds that were run, each of which turns one of these red: sessions with `synchronous_commit =
//! off`; a client's key that is not bound as it came; every SQLSTATE of `errors_that_pass` read as a
//! refusal; a writer that is cut off and never connects again.

use super::fixture::{Fixture, quick};
use crate::fixture::defaults::{FUNDING, SOURCES};
use std::time::Duration;

/// Turns red where what was acknowledged is missing after a kill, or what was not is made twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgresql_is_killed_in_mid_load() {
    let mut fixture = Fixture::open(quick(true)).await;
    let worker = fixture.worker().await;
    worker.complete_transfer(FUNDING, 1, "first", 100_000).await;
    let mut keys = Vec::new();
    for round in 0..4 {
        for n in 0..20 {
            for from in SOURCES {
                let key = format!("{round}-{n}-{}", from.name());
                // whatever is not answered is asked again below
                if let Ok(accepted) = worker.create_with_key(from, 1, &key, 3).await {
                    keys.push((from, key, Some(accepted.record.id)));
                } else {
                    keys.push((from, key, None));
                }
                if n == 11 {
                    fixture.server.kill9().ok();
                }
            }
        }
        fixture.server.restart().expect("it comes back");
    }
    for (from, key, id) in &keys {
        let again = worker.open_with_key(*from, 1, key, 3).await;
        assert!(id.is_none_or(|id| id == again), "{key} was acknowledged as another transfer");
    }
    fixture.wait_for_sql("SELECT count(*) FROM transfers", &(keys.len() + 1).to_string()).await;
    fixture.assert_in_order(&worker).await;
    worker.kill().await;
}

/// Turns red where an error that passes (40001, 40P01, 57P01, 58030) is taken for a refusal: the
/// transfer would fail, or be rolled back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_that_pass_refuse_nothing() {
    let fixture = Fixture::open(quick(true)).await;
    let worker = fixture.worker().await;
    worker.complete_transfer(FUNDING, 1, "first", 10_000).await;
    for (n, code) in ["40001", "40P01", "57014", "53200", "58030", "XX000"].iter().enumerate() {
        fixture.sql(&format!("CREATE SEQUENCE times_{n}"));
        // a failing disk closes the intake for half a minute each time
        let times = if *code == "58030" { 1 } else { 4 };
        fixture.trigger(&format!("nextval('times_{n}') <= {times}"), code);
        for from in SOURCES {
            worker.complete_transfer(from, 1, &format!("{code}-{}", from.name()), 5).await;
        }
        assert_ne!(
            fixture.sql(&format!("SELECT last_value FROM times_{n}")),
            "1",
            "{code} was met"
        );
        fixture.drop_trigger();
    }
    fixture.assert_in_order(&worker).await;
    worker.kill().await;
}

/// Turns red where a session that the server ends (57P01) strands what it had in hand, or where a
/// worker does not come back once there is room again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_are_ended_and_then_there_is_no_room() {
    let fixture = Fixture::open(quick(true)).await;
    let worker = fixture.worker().await;
    let name = fixture.database.name().to_owned();
    let end = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
         WHERE datname = '{name}' AND pid <> pg_backend_pid()"
    );
    for n in 0..20 {
        if n % 5 == 0 {
            fixture.sql(&end);
        }
        worker.complete_transfer(FUNDING, 1 + n % 3, &format!("ended-{n}"), 5).await;
    }
    // nobody but a superuser's psql gets in
    fixture.proxy.refuse(true);
    fixture.proxy.cut();
    let asked = worker.create_with_key(FUNDING, 1, "no-room", 5).await;
    assert!(asked.is_err(), "{asked:?}");
    tokio::time::sleep(Duration::from_millis(300)).await;
    fixture.proxy.refuse(false);
    worker.complete_transfer(FUNDING, 1, "no-room", 5).await;
    fixture.assert_in_order(&worker).await;
    worker.kill().await;
}
