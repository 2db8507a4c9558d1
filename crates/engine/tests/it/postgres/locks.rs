//! Rows that somebody else holds: who needs one waits, and nobody else does.

use super::site::{LOCK, Site, quick};
use crate::house::{FUNDING, SPOT};
use engine::Alerts;
use std::time::Duration;

/// Turns red where a lock is taken for a refusal (the money would go back), where nobody is told, or
/// where a neighbour waits for the row too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_balance_that_somebody_holds_delays_its_own_transfers_only() {
    let mut settings = quick(true);
    settings.alerts = Alerts { target_pending_seconds: 2, ..settings.alerts };
    let site = Site::open(settings).await;
    let worker = site.worker().await;
    for user in [1, 2] {
        let id = worker.keyed(FUNDING, user, "first", 1_000).await;
        worker.reaches(id, "COMMITTED").await;
    }
    let holder = tokio::task::spawn_blocking({
        let url = site.database.url().to_owned();
        move || {
            std::process::Command::new("psql")
                .args(["-X", "-q", "-d", &url, "-c"])
                .arg(
                    "BEGIN; SELECT 1 FROM balances_tb WHERE user_id = 1 FOR UPDATE; \
                     SELECT pg_sleep(5); COMMIT",
                )
                .status()
        }
    });
    site.until("SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' AND state = 'active' AND pid <> pg_backend_pid()", "1").await;
    // the withdraw is at Spot, the deposit needs the row
    let held = worker.create(SPOT, 1, "held", 7).await.expect("it is opened").record.id;
    worker.reaches(held, "TARGET_PENDING").await;
    // one that would take its money from the row
    let poor = worker.create(FUNDING, 1, "poor", 7).await;
    for n in 0..40 {
        let before = std::time::Instant::now();
        let id = worker.keyed(FUNDING, 2, &format!("free-{n}"), 3).await;
        worker.reaches(id, "COMMITTED").await;
        assert!(before.elapsed() < LOCK * 8, "a neighbour waits: {:?}", before.elapsed());
    }
    assert_eq!(worker.states(&[held]).await.get(&held), Some(&"TARGET_PENDING"));
    site.until(
        "SELECT count(*) FROM cases WHERE kind = 'TARGET_PENDING' OR kind LIKE 'STUCK%'",
        "1",
    )
    .await;
    assert!(holder.await.expect("psql").expect("psql").success());
    worker.reaches(held, "COMMITTED").await;
    let poor = match poor {
        Ok(accepted) => accepted.record.id,
        Err(_) => worker.keyed(FUNDING, 1, "poor", 7).await,
    };
    worker.reaches(poor, "COMMITTED").await;
    site.adds_up(&worker).await;
    worker.kill().await;
}

/// Turns red where a client's key in somebody else's open transaction holds the neighbours of the one
/// who asks for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_somebody_holds_delays_nobody_else() {
    let site = Site::open(quick(true)).await;
    let worker = site.worker().await;
    let holder = tokio::task::spawn_blocking({
        let url = site.database.url().to_owned();
        move || {
            std::process::Command::new("psql")
                .args(["-X", "-q", "-d", &url, "-c"])
                .arg(
                    "BEGIN; INSERT INTO keys VALUES ('internal', 'test|1', 'held', 0); \
                     SELECT pg_sleep(4); ROLLBACK",
                )
                .status()
        }
    });
    site.until("SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' AND state = 'active' AND pid <> pg_backend_pid()", "1").await;
    let (held, free) = tokio::join!(worker.create(FUNDING, 1, "held", 7), async {
        let mut slowest = Duration::ZERO;
        for n in 0..20 {
            let before = std::time::Instant::now();
            worker.keyed(FUNDING, 2, &format!("free-{n}"), 3).await;
            slowest = slowest.max(before.elapsed());
        }
        slowest
    });
    assert!(free < LOCK * 6, "a neighbour waits {free:?}");
    assert!(holder.await.expect("psql").expect("psql").success());
    let id = match held {
        Ok(accepted) => accepted.record.id,
        Err(_) => worker.keyed(FUNDING, 1, "held", 7).await,
    };
    worker.reaches(id, "COMMITTED").await;
    site.adds_up(&worker).await;
    worker.kill().await;
}
