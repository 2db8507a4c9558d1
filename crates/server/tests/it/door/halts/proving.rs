//! The proof for a resume takes long: the approval is answered with its progress, and asked for again.
//!
//! Each of these wrong builds was run and turns the test here red: an approval waits for its proof without
//! an end; it is answered RESUMED before the proof has ended; how far the proof is, is not known.

use super::Hurried;
use crate::door::{Door, TestSetup};
use engine::Parts;
use kernel::ids::AssetId;
use kernel::ports::Fut;
use kernel::ports::ledger::{Ledger, Reply, Totals};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use testkit::wrapper::{LedgerWrapper, Wrapper};
use tokio::sync::Semaphore;

const FIRST: (&str, &str) = ("ops-1", "ops:read ops:act ops:approve");
const SECOND: (&str, &str) = ("ops-2", "ops:read ops:act ops:approve");
/// An approval is answered within ten seconds of the hurried clock, long before this.
const LIMIT: Duration = Duration::from_secs(30);

/// A ledger that says its totals when the test lets it.
struct LateTotals(Arc<dyn Ledger>, Arc<Semaphore>);

impl LedgerWrapper for LateTotals {
    fn inner(&self) -> &dyn Ledger {
        &*self.0
    }
    fn totals(&self) -> Fut<'_, Reply<Vec<(AssetId, Totals)>>> {
        Box::pin(async {
            let _turn = self.1.acquire().await.expect("it is never closed");
            self.0.totals().await
        })
    }
}

#[tokio::test]
async fn an_approval_says_how_far_the_proof_is_until_money_moves() {
    let late = Arc::new(Semaphore::new(Semaphore::MAX_PERMITS));
    let held = late.clone();
    let change = Box::new(move |parts: &mut Parts| {
        parts.clock = Arc::new(Hurried(parts.clock.clone()));
        // no round but those that are asked for
        parts.settings.conservation_interval_ms = 1 << 40;
        let spot = parts.ledgers.pop().expect("Spot is the last");
        parts.ledgers.push(Arc::new(Wrapper(LateTotals(spot, held))));
    });
    let door = Door::with(TestSetup { change, ..TestSetup::default() }).await;
    door.fund(4001, "100").await;
    let reason = |more: serde_json::Value| {
        let mut body = more;
        body["reason"] = json!("a test");
        body
    };
    // a slow machine stores it after the hurried limit: the same again under its key
    let key = [("Idempotency-Key", "the-halt")];
    let halt = || door.post_with(FIRST, "/api/v1/ops/halt", &key, reason(json!({})));
    let mut halted = halt().await;
    for _ in 0..100 {
        if halted.status == 200 {
            break;
        }
        halted = halt().await;
    }
    assert_eq!(halted.status, 200, "{halted:?}");
    let proposed = door.post(FIRST, "/api/v1/ops/resume", reason(json!({}))).await;
    let id = proposed.body["approval_id"].as_str().expect("an approval").to_owned();
    let approve = format!("/api/v1/ops/approvals/{id}/approve");
    let key = [("Idempotency-Key", "the-approval")];
    let before = door.get(FIRST, "/api/v1/ops/conservation?fresh=true").await;
    assert_eq!(before.body["proving"], json!(null), "{before:?}");
    // the proof waits for Spot from here on
    late.forget_permits(Semaphore::MAX_PERMITS);
    for _ in 0..2 {
        let proving = door.post_with(SECOND, &approve, &key, reason(json!({})));
        let proving = tokio::time::timeout(LIMIT, proving).await.expect("an answer before its end");
        assert_eq!(
            (proving.status, &proving.body["outcome"]),
            (202, &json!("PROVING")),
            "{proving:?}"
        );
        assert!(
            proving.body["proven"].is_u64() && proving.body["transfers"].is_u64(),
            "{proving:?}"
        );
        assert!(door.app.engine.halted().is_some(), "nothing took effect");
        let proof = door.get(FIRST, "/api/v1/ops/conservation").await;
        assert!(proof.body["proving"]["transfers"].is_u64(), "{proof:?}");
    }
    late.add_permits(1_000);
    let mut answer = door.post_with(SECOND, &approve, &key, reason(json!({}))).await;
    for _ in 0..100 {
        if answer.status != 202 {
            break;
        }
        answer = door.post_with(SECOND, &approve, &key, reason(json!({}))).await;
    }
    assert_eq!((answer.status, &answer.body["outcome"]), (200, &json!("RESUMED")), "{answer:?}");
    assert!(door.app.engine.halted().is_none(), "money moves again");
}
