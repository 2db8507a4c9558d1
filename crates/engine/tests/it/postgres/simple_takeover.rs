//! Two workers at a ledger of the simple form: the one takes over what the other still waits for.

use super::fixture::{Fixture, quick};
use crate::fixture::defaults::FUNDING;
use crate::fixture::faulty_ledger::{CallFault, FaultyLedger};
use engine::Settings;
use kernel::flow::life::Leg;
use kernel::operation::Key;
use kernel::ports::ledger::{EarlierSends, Ledger as _, LedgerForm, Reply};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// The second worker knows nothing of the first one's request, and says so: such a ledger's refusal would
/// decide nothing then (`ledgers/tests/it/remote/simple.rs`). The first one's answer comes last, and
/// changes nothing.
///
/// Seen red where a claim of another worker is called as if nothing had been sent (`note_taken_over` says
/// `EarlierSends::None`).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_takeover_that_overtakes_the_first_answer_has_one_effect() {
    let settings = Settings { lease_ms: 3_600_000, ..quick(true) };
    let fixture = Fixture::open(settings.clone()).await;
    let simple = || {
        let ledger = FaultyLedger::over(fixture.faulty_spot.spot());
        ledger.set_form(LedgerForm::Simple);
        ledger
    };
    let (slow, quick) = (simple(), simple());
    let first = fixture.worker_over(slow.clone(), settings.clone()).await;
    let before = fixture.faulty_spot.spot().known().highest;
    let held = Arc::new(Semaphore::new(0));
    slow.set_fault(CallFault::DelayReplies(held.clone()));
    let id = first.create_with_key(FUNDING, 1, "one", 500).await.expect("it is opened").record.id;
    fixture.faulty_spot.wait_for_operation(before + 1).await;
    let second = fixture.worker_over(quick.clone(), settings).await;
    // the first one's lease has ended; it lives, and waits for its answer
    fixture.sql(
        "UPDATE workers SET leased_until = 0 \
         WHERE started_at = (SELECT min(started_at) FROM workers)",
    );
    second.wait_for_state(id, "COMMITTED").await;
    let key = Key { id, leg: Leg::Deposit };
    assert_eq!(slow.earlier_sends(key), [EarlierSends::None]);
    assert_eq!(quick.earlier_sends(key).first(), Some(&EarlierSends::Unknown));
    held.add_permits(1_000);
    tokio::time::sleep(Duration::from_millis(300)).await;
    first.wait_for_state(id, "COMMITTED").await;
    let Reply::Answered(_, listed) = fixture.faulty_spot.spot().operations(before, 100).await
    else {
        panic!("Spot does not list")
    };
    let of_it = listed.iter().filter(|operation| operation.op.key == key).count();
    assert_eq!((of_it, listed.len()), (1, 1), "one effect: {listed:?}");
    assert!(!fixture.cases().contains("CONTRADICTION"), "{}", fixture.cases());
    assert_eq!((first.engine.halted(), second.engine.halted()), (None, None));
    for worker in [first, second] {
        worker.kill().await;
    }
}
