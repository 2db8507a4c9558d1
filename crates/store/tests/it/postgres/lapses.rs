//! Proposals lapse by the database's own clock, which goes back where it was wrong; the times of history stay ahead then.

use super::fixture::{database, open};
use crate::fixture::{Fixture, NOON, id};
use kernel::ids::Millis;
use kernel::operators::{ApprovalStatus, LONGEST_APPROVAL, Proposal};
use kernel::ports::journal::{OperatorQueries as _, UnitWriter as _};
use kernel::unit::{Guard, Put, Unit, Wrote};
use store::postgres::Postgres;

const HOUR: Millis = 3_600_000;

async fn proposes(store: &Postgres, n: u64) {
    let put = Put::Propose(Proposal {
        id: id(n),
        kind: "RESOLVE",
        subject: "s".into(),
        value: "{}".into(),
        reason: "r".into(),
        caller: "issuer|one".into(),
        lasts: HOUR,
    });
    let wrote = store.write(vec![Unit::puts(vec![put])]).await;
    assert!(matches!(wrote[..], [Wrote::Written(_)]), "{wrote:?}");
}

/// How each stands as it is read, and as a decision finds it.
async fn stands(store: &Postgres, ns: &[u64]) -> Vec<(ApprovalStatus, bool)> {
    let mut all = Vec::new();
    for n in ns {
        let found = store.approval(id(*n)).await.expect("an answer").expect("the proposal");
        let guard = Unit::guarded(vec![Guard::Pending(id(*n))], vec![]);
        let wrote = store.write(vec![guard]).await;
        all.push((found.stand, matches!(wrote[..], [Wrote::Written(_)])));
    }
    all
}

/// Turns red where a proposal lapses by the times of history: one of before a jump could not be decided after it, and
/// one of after it for as long as the jump was.
#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_jumped_moves_no_lapse() {
    const WAITS: (ApprovalStatus, bool) = (ApprovalStatus::Pending, true);
    const LAPSED: (ApprovalStatus, bool) = (ApprovalStatus::Lapsed, false);
    let (fixture, database) = (Fixture::new(), database());
    let store = open(database.url(), fixture.clock.clone(), fixture.flows.clone()).await;
    proposes(&store, 1).await;
    fixture.clock.set(NOON + 2 * LONGEST_APPROVAL);
    proposes(&store, 2).await;
    fixture.clock.set(NOON + 1_000);
    proposes(&store, 3).await;
    assert_eq!(stands(&store, &[1, 2, 3]).await, [WAITS, LAPSED, WAITS]);
    fixture.clock.set(NOON + HOUR);
    assert_eq!(stands(&store, &[1, 3]).await, [LAPSED, WAITS]);
    fixture.clock.set(NOON + HOUR + 1_000);
    assert_eq!(stands(&store, &[3]).await, [LAPSED]);
    assert_eq!(store.pending_approvals().await, Ok(vec![]));
}
