//! HALT over several processes: what one of them answered holds for what any of them proves, books or
//! calls, whichever process has read of it.

use super::fixture::{Fixture, Worker, quick};
use super::locks::Holder;
use crate::fixture::defaults::{COIN, NEVER};
use crate::fixture::faulty_ledger::{CallFault, FaultyLedger, ReplyLatch};
use engine::Settings;
use engine::operators::{ActionResult, AdminAction, Objection};
use kernel::code::Code;
use kernel::ports::journal::ServiceQueries as _;
use kernel::ports::ledger::Moved;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use testkit::deposit;

const RESUME: AdminAction = AdminAction::Resume { accept: Vec::new() };

impl Worker {
    /// The halt that stands, and whether everything before it has ended.
    async fn halts(&self, who: &str, key: &str) -> (Option<u64>, bool) {
        match self.execute_as(who, key, AdminAction::Halt).await.map(|done| done.outcome) {
            Ok(ActionResult::Halted { halt, quiet, .. }) => (halt, quiet),
            other => panic!("{other:?}"),
        }
    }
}

/// The proof of a resume runs at one worker while another answers the next HALT.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_halt_of_one_worker_is_not_ended_by_a_proof_of_another() {
    let settings = Settings { open_timeout_ms: 30_000, ..quick(true) };
    let fixture = Fixture::open(settings.clone()).await;
    let near = fixture.worker().await;
    let far_spot = FaultyLedger::over(fixture.faulty_spot.spot());
    let far = fixture.worker_over(far_spot.clone(), settings).await;
    assert_eq!(near.halts("ada", "1").await, (Some(1), true));
    let proposal = far.propose_as("ada", "2", RESUME).await;
    let latch = ReplyLatch::closed();
    far_spot.set_fault(CallFault::DelayProofs(latch.clone()));
    let approving = far.execute_as("bob", "1", AdminAction::Approve(proposal));
    let halting = async {
        latch.wait_for_reply().await;
        assert_eq!(near.halts("eve", "1").await, (Some(2), true));
        far_spot.set_fault(CallFault::None);
        latch.release(100);
    };
    let (late, ()) = tokio::join!(approving, halting);
    assert!(matches!(late, Err(Objection::NotPossible(_))), "{late:?}");
    let status = near.store.service_status().await.expect("the journal answers");
    assert_eq!((status.halted.as_deref(), status.halts), (Some("ada 1: a test"), 2));
    let halts = "SELECT halt, reason, lifted_at IS NULL FROM halts ORDER BY halt";
    assert_eq!(fixture.sql(halts), "1|ada 1: a test|t\n2|eve 1: a test|t");
    let fresh = near.propose_as("ada", "3", RESUME).await;
    far.execute_as("bob", "2", AdminAction::Approve(fresh)).await.expect("it ends");
    near.complete_transfer(crate::fixture::defaults::FUNDING, 1, "after", 5).await;
    fixture.assert_in_order(&far).await;
    for worker in [near, far] {
        worker.kill().await;
    }
}

/// Without four eyes there is no proposal that the next halt closes: the number alone holds it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_operator_ends_no_halt_that_was_raised_during_the_proof() {
    let settings = Settings { open_timeout_ms: 30_000, four_eyes: false, ..quick(true) };
    let fixture = Fixture::open(settings.clone()).await;
    let near = fixture.worker().await;
    let far_spot = FaultyLedger::over(fixture.faulty_spot.spot());
    let far = fixture.worker_over(far_spot.clone(), settings).await;
    assert_eq!(near.halts("ada", "1").await, (Some(1), true));
    let latch = ReplyLatch::closed();
    far_spot.set_fault(CallFault::DelayProofs(latch.clone()));
    let resuming = far.execute_as("bob", "1", RESUME);
    let halting = async {
        latch.wait_for_reply().await;
        assert_eq!(near.halts("eve", "1").await, (Some(2), true));
        far_spot.set_fault(CallFault::None);
        latch.release(100);
    };
    let (late, ()) = tokio::join!(resuming, halting);
    assert!(matches!(late, Err(Objection::NotPossible(_))), "{late:?}");
    let status = near.store.service_status().await.expect("the journal answers");
    assert_eq!((status.halted.as_deref(), status.halts), (Some("ada 1: a test"), 2));
    far.execute_as("bob", "2", RESUME).await.expect("it ends");
    fixture.assert_in_order(&far).await;
    for worker in [near, far] {
        worker.kill().await;
    }
}

/// The worker that books has not read of the HALT that another wrote.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deposit_meets_a_halt_that_its_process_has_not_read_of() {
    let settings = Settings { open_timeout_ms: 30_000, lease_ms: 3_600_000, ..quick(true) };
    let fixture = Fixture::open(settings.clone()).await;
    let near = fixture.worker().await;
    let far = fixture.worker_with(Settings { scan_interval_ms: NEVER, ..settings }).await;
    let books = async |reference| far.engine.operators.book(deposit(reference, 1, COIN, 7)).await;
    let before = books("before").await;
    assert!(matches!(before, Ok(Moved::Done { replayed: false, .. })), "{before:?}");
    fixture.sql("INSERT INTO halts VALUES (1, 'another process', 0, NULL)");
    fixture.sql("INSERT INTO service_state VALUES ('halted', 'another process', 1, 0)");
    assert_eq!(far.engine.halted(), None, "it has not read of it");
    assert_eq!(books("behind").await, Ok(Moved::Refused(Code::Halted)));
    let again = books("before").await;
    assert!(matches!(again, Ok(Moved::Done { replayed: true, .. })), "{again:?}");
    assert_eq!(fixture.sql("SELECT count(*) FROM externals WHERE reference = 'behind'"), "0");
    for worker in [near, far] {
        worker.kill().await;
    }
}

/// A deposit waits for a row that another session holds, and HALT comes: it is refused while the row is held still,
/// and HALT answers quiet when it was. Red where it is booked once the row is free.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deposit_that_waits_for_a_row_is_refused_by_the_halt_that_comes_meanwhile() {
    let fixture = Fixture::open(Settings { open_timeout_ms: 30_000, ..quick(true) }).await;
    let near = fixture.worker().await;
    let far = fixture.worker().await;
    let holder =
        Holder::takes(&fixture.database, "SELECT 1 FROM balances_tb WHERE user_id = 1 FOR UPDATE")
            .await;
    let ended = AtomicBool::new(false);
    let booking = async {
        let moved = far.engine.operators.book(deposit("waits", 1, COIN, 7)).await;
        ended.store(true, Ordering::SeqCst);
        moved
    };
    let halting = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(!ended.load(Ordering::SeqCst), "it waits");
        assert_eq!(near.halts("ada", "1").await, (Some(1), true));
        assert!(ended.load(Ordering::SeqCst), "what had begun has ended");
    };
    let (moved, ()) = tokio::join!(booking, halting);
    assert_eq!(moved, Ok(Moved::Refused(Code::Halted)));
    holder.ends(&fixture.database);
    assert_eq!(fixture.sql("SELECT count(*) FROM externals WHERE reference = 'waits'"), "0");
    for worker in [near, far] {
        worker.kill().await;
    }
}
