//! A primary whose COMMITs wait for a standby beneath the engine. Waits are cancelled while the standby is
//! away, and it is promoted: what a worker answered and what it called stand there.
//!
//! This wrong build was run and turns the test here red: a COMMIT that came with a notice counts as written.
//! A client is answered then, and Spot called, for transfers that are gone with the old primary.

use super::fixture::{Fixture, Worker, quick};
use crate::fixture::defaults::SOURCES;
use crate::fixture::folders::books;
use engine::{Accepted, Refused};
use futures_util::future::join_all;
use kernel::ids::{Id, LedgerId};
use std::time::Duration;

/// The number of times that the waits are cancelled while clients ask.
const ROUNDS: usize = 10;

/// A client's key of a transfer from there.
fn key(name: &str, from: LedgerId) -> String {
    format!("{name}-{}", from.name())
}

/// Clients ask for a transfer each way, while each COMMIT is acknowledged though no standby has it.
async fn asked_without_a_standby(
    fixture: &Fixture,
    worker: &Worker,
) -> Vec<Result<Accepted, Refused>> {
    let keys = SOURCES.map(|from| (from, key("lost", from)));
    let asks = join_all(keys.iter().map(|(from, key)| worker.create_with_key(*from, 2, key, 7)));
    let cancels = async {
        let mut cancelled = 0;
        for _ in 0..ROUNDS {
            cancelled += tokio::task::block_in_place(|| {
                fixture.server.until_waits(1).expect("a COMMIT waits");
                fixture.server.cancel_waits().expect("it is cancelled")
            });
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        cancelled
    };
    let (answers, cancelled) = tokio::join!(asks, cancels);
    assert!(cancelled > 0, "no COMMIT was acknowledged without a standby");
    answers
}

/// The whole scene, on both paths of the engine.
async fn promoted(fuse: bool) {
    let mut fixture = Fixture::open(quick(fuse)).await;
    let standby = fixture.server.standby("second").expect("a standby");
    fixture.server.require_standby("second").expect("it is required");
    let old = fixture.worker().await;
    let mut told: Vec<(LedgerId, Id)> = Vec::new();
    for from in SOURCES {
        told.push((from, old.complete_transfer(from, 1, &key("told", from), 7).await));
    }
    let before = books(&fixture.faulty_spot.spot()).await;
    standby.detach().expect("it is cut off");
    let answers = asked_without_a_standby(&fixture, &old).await;
    let acknowledged = answers.iter().filter(|answer| answer.is_ok()).count();
    let (called, ..) = books(&fixture.faulty_spot.spot()).await;
    let none = (0, before.0);
    assert_eq!(
        (acknowledged, called),
        none,
        "answered, or called, and no standby has it: fuse={fuse}"
    );
    let seen = fixture.sql("SELECT count(*) > 2 FROM transfers");
    assert_eq!(seen, "t", "the primary shows what no standby has");

    standby.promote().expect("it is promoted");
    let there = fixture.database.at(&standby).expect("an address");
    let kept = there.sql("SELECT count(*) FROM transfers").expect("a count");
    assert_eq!(kept, told.len().to_string(), "the standby has what was acknowledged, and no more");
    fixture.proxy.lead_to(&standby.address().expect("an address"));
    fixture.proxy.cut();
    let why = old.wait_for_exit().await;
    assert!(why.contains("not the one that this process has been working on"), "{why}");
    old.kill().await;
    assert_eq!(
        books(&fixture.faulty_spot.spot()).await,
        before,
        "called while the standby took over"
    );

    let new = fixture.worker().await;
    for (from, id) in told {
        assert_eq!(new.open_with_key(from, 1, &key("told", from), 7).await, id, "{}", from.name());
    }
    // the clients whose requests had no answer ask again: each is done once
    for from in SOURCES {
        let id = new.complete_transfer(from, 2, &key("lost", from), 7).await;
        assert_eq!(new.open_with_key(from, 2, &key("lost", from), 7).await, id);
    }
    let report = new.engine.reconciler.check_now().await.expect("a proof");
    assert!(report.ok, "{:?}", report.breaks);
    assert_eq!(new.engine.halted(), None);
    let ended = there.sql("SELECT count(*) FROM transfers WHERE state = 40").expect("a count");
    assert_eq!(ended, "4");
    new.kill().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_and_called_is_at_the_promoted_standby() {
    promoted(true).await;
    promoted(false).await;
}
