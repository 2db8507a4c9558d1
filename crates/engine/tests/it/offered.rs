//! Flows that are known and not offered, and what a flow says is normal in its states.
//!
//! Each of these wrong builds was run and turns a test here red: a create looks at the parties alone; a
//! worker takes due transfers of each flow that it knows; the monitor takes its own setting for every
//! state that calls the target.

use crate::fixture::defaults::{COIN, FUNDING, NEVER, terms};
use crate::fixture::faulty_ledger::CallFault;
use crate::fixture::test_service::TestService;
use engine::Refused;
use kernel::code::Code;
use kernel::flow::life::Normal;
use kernel::ids::{FlowId, Id};
use kernel::ports::journal::UnitWriter as _;
use kernel::record::{Head, Record};
use kernel::unit::{Event, Hold, Put, Then, Unit, Wrote};
use std::sync::Arc;
use std::time::Duration;

/// Waits for several rounds of the scanner and of the watch.
async fn rounds() {
    tokio::time::sleep(Duration::from_millis(300)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flow_without_an_adapter_is_refused_at_intake() {
    let service = TestService::open(true, NEVER).await;
    let flows = flows::registry();
    for table in flows.0.iter().skip(1) {
        let flow = flows.named(table.flow).unwrap();
        // parties that the internal flow takes
        let refused = service.engine.intake.create(flow, terms(FUNDING, 1, 10, COIN)).await;
        let code = match refused {
            Err(Refused::Code(code)) => Some(code),
            Ok(_) | Err(Refused::Mismatch(_) | Refused::Unknown(_)) => None,
        };
        assert_eq!(code, Some(Code::UnsupportedAccountType), "{}", table.flow);
    }
    let id = service.open_transfer(FUNDING, 1, 10).await;
    service.wait_for_end(&[id]).await;
}

/// A transfer at its start, open and due, as another binary may have left it.
async fn left_by_another(service: &TestService, flow: FlowId, id: Id) {
    let start = service.engine.flows().table(flow).start;
    let head = Head { due_at: Some(1), ..Head::start(start) };
    let record = Record::new(id, flow, head, Arc::new(terms(FUNDING, 1, 10, COIN)));
    let what = "CREATED";
    let created =
        Event { id, from: None, to: start, what, caller: None, detail: None, agreed: None };
    let free = Put::Head { id, head, error: None, hold: Hold::Free };
    let then =
        Then { puts: vec![Put::Open(record), free], events: vec![created], ..Then::default() };
    let wrote = service.store().write(vec![Unit { guards: Vec::new(), then }]).await;
    assert!(matches!(wrote.as_slice(), [Wrote::Written(_)]), "{wrote:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transfer_of_a_flow_that_is_not_offered_waits_untouched() {
    let mut service = TestService::open(true, NEVER).await;
    let flows = flows::registry();
    let mut others = Vec::new();
    for (n, table) in flows.0.iter().enumerate().skip(1) {
        let id = Id::new(service.engine.journal().now(), u128::try_from(n).unwrap());
        left_by_another(&service, flows.named(table.flow).unwrap(), id).await;
        others.push(id);
    }
    for restarted in [false, true] {
        if restarted {
            service.restart().await;
        }
        rounds().await;
        let ids = service.work(2).await;
        service.wait_for_end(&ids).await;
        let now = service.records(&others).await;
        assert_eq!(now.len(), others.len());
        for record in now {
            let start = flows.table(record.flow).start;
            assert_eq!((record.head.state, record.head.retries), (start, 0), "{record:?}");
            assert_eq!((record.error, record.head.version), (None, 0), "it was written");
        }
    }
    service.assert_in_order().await;
}

/// The internal flow with another time in a state.
async fn with_normal(state: &str, normal: Normal) -> TestService {
    let mut service = TestService::open(false, NEVER).await;
    let rows = service.flows.0.iter_mut().flat_map(|table| &mut table.states);
    rows.filter(|row| row.name == state).for_each(|row| row.normal = normal);
    service.restart().await;
    service.faulty_spot.set_fault(CallFault::LoseRequests);
    service
}

fn of(id: Id) -> String {
    format!("transfer/{id}")
}

/// The setting is for the states that say so: this one has its own time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_of_the_target_is_overdue_by_its_own_time() {
    let service = with_normal("TARGET_PENDING", Normal::Seconds(600)).await;
    let id = service.open_transfer(FUNDING, 1, 500).await;
    service.wait_for_state(id, "TARGET_PENDING").await;
    service.clock.forward(500_000);
    rounds().await;
    assert_eq!(service.episodes(), [], "not after the 60 s that are set, nor after 300 s");
    service.clock.forward(101_000);
    service.wait_for_episodes(&[("TARGET_PENDING", of(id), true)]).await;
}

/// Where no target is called the case is STUCK.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_state_is_stuck_by_its_own_time() {
    let service = with_normal("SOURCE_PENDING", Normal::Seconds(5)).await;
    let id = service.open_transfer(kernel::ids::LedgerId::SPOT, 1, 500).await;
    service.wait_for_state(id, "SOURCE_PENDING").await;
    service.clock.forward(6_000);
    service.wait_for_episodes(&[("STUCK", of(id), true)]).await;
}
