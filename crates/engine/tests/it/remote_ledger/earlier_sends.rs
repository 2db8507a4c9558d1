//! What the engine says of the requests before a call, to a ledger that does not promise to keep what it
//! refuses; and what it writes before it goes on with a claim that is not of this run.
//!
//! Each is about one wrong build: every call is said to be the first; a claim that is found is sent again
//! without writing the transfer.

use crate::fixture::defaults::{FUNDING, NEVER};
use crate::fixture::faulty_ledger::CallFault;
use crate::fixture::test_service::TestService;
use kernel::flow::life::Leg;
use kernel::ids::Id;
use kernel::operation::Key;
use kernel::ports::ledger::{EarlierSends, LedgerForm};
use std::sync::Arc;
use testkit::{MINUTE, wait_until};
use tokio::sync::Semaphore;

/// A house whose other ledger is of the simple form.
async fn service() -> TestService {
    let mut service = TestService::open(true, NEVER).await;
    service.stop().await;
    service.faulty_spot.set_form(LedgerForm::Simple);
    service.start().await;
    service
}

/// What was said with the calls of a key, once there are at least `calls`.
async fn said(service: &TestService, key: Key, calls: usize) -> Vec<EarlierSends> {
    let all = async || service.faulty_spot.earlier_sends(key).len() >= calls;
    let all = wait_until(MINUTE, all).await;
    let said = service.faulty_spot.earlier_sends(key);
    assert!(all, "{said:?} of {calls} calls");
    said
}

async fn version(service: &TestService, id: Id) -> u32 {
    service.records(&[id]).await.first().expect("it is there").head.version
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_says_what_was_sent_before_it() {
    let service = service().await;
    service.faulty_spot.set_fault(CallFault::LoseRequests);
    let id = service.open_transfer(FUNDING, 1, 500).await;
    let key = Key { id, leg: Leg::Deposit };
    let said = said(&service, key, 3).await;
    let (first, later) = said.split_first().expect("there are calls");
    assert_eq!(*first, EarlierSends::None);
    assert!(later.iter().all(|said| *said == EarlierSends::OnlyHere), "{said:?}");
    service.faulty_spot.set_fault(CallFault::None);
    service.wait_for_end(&[id]).await;
    assert_eq!(service.states(&[id]).await.get(&id), Some(&"COMMITTED"));
    // the way back: the claim is this process's own again
    let back = service.open_transfer(crate::fixture::defaults::SPOT, 1, 100).await;
    service.wait_for_end(&[back]).await;
    let key = Key { id: back, leg: Leg::Withdraw };
    assert_eq!(service.faulty_spot.earlier_sends(key), [EarlierSends::None]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_of_an_earlier_run_is_written_before_it_is_sent() {
    let mut service = service().await;
    service.faulty_spot.set_fault(CallFault::LoseRequests);
    let id = service.open_transfer(FUNDING, 1, 500).await;
    let key = Key { id, leg: Leg::Deposit };
    said(&service, key, 1).await;
    service.stop().await;
    let made = service.faulty_spot.earlier_sends(key).len();
    // no ledger listens there yet
    service.faulty_spot.set_fault(CallFault::Silent);
    service.start().await;
    let before = version(&service, id).await;
    let held = Arc::new(Semaphore::new(0));
    service.faulty_spot.set_fault(CallFault::DelayReplies(held.clone()));
    let said = said(&service, key, made + 1).await;
    assert_eq!(said.get(made), Some(&EarlierSends::Unknown), "{said:?}");
    // its reply is still held back: what was written was written before
    assert_eq!(version(&service, id).await, before + 1);
    service.faulty_spot.set_fault(CallFault::None);
    held.add_permits(9);
    service.wait_for_end(&[id]).await;
    assert_eq!(service.states(&[id]).await.get(&id), Some(&"COMMITTED"));
}
