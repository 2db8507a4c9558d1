//! A process without workers opens transfers, others carry them, and whoever waits is told.

use crate::house::{FUNDING, House, NEVER, SPOT, create};
use crate::way::Mood;
use engine::deeds::{Deed, Outcome};
use kernel::record::Record;
use std::sync::Arc;
use std::time::Duration;

fn state(house: &House, record: &Record) -> &'static str {
    house.engine().flows().table(record.flow).state(record.head.state).name
}

/// Turns red where intake carries what it opens although no worker runs here, and where those who
/// wait are told only of what this process did.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::disallowed_methods, reason = "a client, not a task of the engine")]
async fn others_carry_what_is_opened_without_workers() {
    for fuse in [true, false] {
        let mut house = House::tuned(fuse, NEVER, |settings| {
            settings.workers = false;
            settings.sync_timeout_ms = 60_000;
        })
        .await;
        let engine = Arc::clone(house.engine());
        let waits = tokio::spawn(async move { create(&engine, FUNDING, 1, 7).await });
        // many rounds of the scanner
        tokio::time::sleep(Duration::from_millis(200)).await;
        let open = house.engine().journal().aged(u64::MAX >> 1, 10).await.expect("it answers");
        assert_eq!(open.iter().map(|record| state(&house, record)).collect::<Vec<_>>(), ["INIT"]);
        house.settings.workers = true;
        let worker = house.rival().await;
        let accepted = waits.await.expect("it is told").expect("it is opened");
        assert_eq!(state(&house, &accepted.record), "COMMITTED");
        let back = house.create(SPOT, 1, 5).await.expect("it is opened");
        assert_eq!(state(&house, &back.record), "COMMITTED");
        drop(worker);
        house.adds_up().await;
    }
}

/// Turns red where a deed takes a transfer into the hands of a process that has no workers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deed_without_workers_leaves_the_transfer_to_others() {
    let mut house = House::tuned(true, NEVER, |settings| settings.workers = false).await;
    house.settings.workers = true;
    house.settings.backoff.base = 3_600_000;
    house.settings.backoff.cap = 3_600_000;
    let worker = house.rival().await;
    house.way.mood(Mood::LoseRequests);
    let id = house.opened(FUNDING, 1, 7).await;
    house.reaches(id, "TARGET_PENDING").await;
    // the worker asked in vain, and asks again in an hour
    for _ in 0..1_000 {
        if house.stand(&[id]).await.iter().all(|record| record.head.retries > 0) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    house.way.mood(Mood::Fair);
    let done = house.does("ann", "now", Deed::Retry(id)).await.expect("it is done");
    assert_eq!(done.outcome, Outcome::Hastened);
    house.ended(&[id]).await;
    drop(worker);
    house.adds_up().await;
}
