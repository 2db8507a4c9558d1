//! Running sums on PostgreSQL: a row that was changed by hand is found by the count of all rows, a
//! running sum that was changed by hand halts once.

use super::fixture::{Fixture, quick};
use crate::fixture::defaults::{FUNDING, SPOT};
use engine::operators::{ActionResult, Actor, AdminAction};

/// Transfers of every end, and their proof.
async fn lived_in(fixture: &Fixture) -> super::fixture::Worker {
    let worker = fixture.worker().await;
    for user in 1..4 {
        worker.complete_transfer(FUNDING, user, "out", 1_000).await;
        worker.complete_transfer(SPOT, user, "back", 400).await;
    }
    fixture.assert_in_order(&worker).await;
    worker
}

/// Turns red where a writer counts other rows than it writes, in any of its ways; where the rows are
/// never counted again; or where the count is forgotten in the next round.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_was_changed_is_found_by_the_count_and_halts() {
    for tamper in [
        "INSERT INTO operations SELECT gen_random_uuid(), ledger, leg, result, code, 1000000, asset_id, \
         amount, account, at FROM operations WHERE ledger = 1 AND leg = 'DEPOSIT' LIMIT 1",
        "UPDATE externals SET amount = amount + 1 WHERE user_id = 9",
    ] {
        let fixture = Fixture::open(quick(true)).await;
        let worker = lived_in(&fixture).await;
        fixture.sql(tamper);
        let report = worker.engine.reconciler.check_now().await.expect("a round");
        assert!(report.ok && !report.recounted, "the running sums do not know: {report:?}");
        worker.engine.reconciler.count_all().await;
        for _ in 0..2 {
            let report = worker.engine.reconciler.check_now().await.expect("a round");
            assert_eq!((report.ok, report.recounted), (false, true), "{tamper}");
        }
        assert!(worker.engine.halted().is_some(), "{tamper}");
        worker.kill().await;
    }
}

/// Turns red where the checker believes the running sums more than the rows it counted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_running_sum_halts_once() {
    let fixture = Fixture::open(quick(true)).await;
    let worker = lived_in(&fixture).await;
    fixture.sql(
        "UPDATE running_sums SET count = count + 1, amount = amount + 5 WHERE (lane, ledger, leg) = \
         (SELECT lane, ledger, leg FROM running_sums WHERE ledger = 2 AND leg = 'DEPOSIT' LIMIT 1)",
    );
    let report = worker.engine.reconciler.check_now().await.expect("a round");
    let found: Vec<_> = report.breaks.iter().map(|b| (&*b.key, b.amount)).collect();
    assert_eq!(found, [("SPOT/3/clearing", 5), ("SPOT/receipts", 1)]);
    assert!(worker.engine.halted().is_some());
    let report = worker.engine.reconciler.check_now().await.expect("a round");
    assert!(report.ok && report.recounted, "{report:?}");
    let by = |sub: &str, key: &str| Actor {
        caller: format!("test|{sub}").into(),
        key: key.into(),
        reason: "a test".into(),
    };
    let proposed = worker
        .engine
        .operators
        .execute(by("ada", "1"), AdminAction::Resume { accept: Vec::new() })
        .await;
    let Ok(ActionResult::Proposed { approval }) = proposed.map(|done| done.outcome) else {
        panic!("nothing is proposed")
    };
    assert!(
        worker
            .engine
            .operators
            .execute(by("bob", "1"), AdminAction::Approve(approval))
            .await
            .is_ok()
    );
    worker.complete_transfer(FUNDING, 2, "again", 70).await;
    fixture.assert_in_order(&worker).await;
    assert_eq!(worker.engine.halted(), None);
    worker.kill().await;
}
