//! What the engine says of the requests before a call, to a ledger that does not promise to keep what it
//! refuses; and what it writes before it goes on with a claim that is not of this run.
//!
//! Each is about one wrong build: every call is said to be the first; a claim that is found is sent again
//! without writing the transfer.

use crate::fixture::faulty_ledger::Mood;
use crate::fixture::test_service::{FUNDING, NEVER, TestService};
use kernel::flow::life::Leg;
use kernel::ids::Id;
use kernel::operation::Key;
use kernel::ports::ledger::{EarlierSends, LedgerForm};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// A house whose other ledger is of the simple form.
async fn service() -> TestService {
    let mut service = TestService::open(true, NEVER).await;
    service.stop().await;
    service.faulty_spot.form(LedgerForm::Simple);
    service.start().await;
    service
}

/// What was said with the calls of a key, once there are so many.
async fn said(service: &TestService, key: Key, calls: usize) -> Vec<EarlierSends> {
    for _ in 0..12_000 {
        let said = service.faulty_spot.earlier(key);
        if said.len() >= calls {
            return said;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{:?} of {calls} calls", service.faulty_spot.earlier(key))
}

async fn version(service: &TestService, id: Id) -> u32 {
    service.stand(&[id]).await.first().expect("it is there").head.version
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_says_what_was_sent_before_it() {
    let service = service().await;
    service.faulty_spot.mood(Mood::LoseRequests);
    let id = service.opened(FUNDING, 1, 500).await;
    let key = Key { id, leg: Leg::Deposit };
    let said = said(&service, key, 3).await;
    let (first, later) = said.split_first().expect("there are calls");
    assert_eq!(*first, EarlierSends::None);
    assert!(later.iter().all(|said| *said == EarlierSends::OnlyHere), "{said:?}");
    service.faulty_spot.mood(Mood::Fair);
    service.ended(&[id]).await;
    assert_eq!(service.states(&[id]).await.get(&id), Some(&"COMMITTED"));
    // the way back: the claim is this process's own again
    let back = service.opened(crate::fixture::test_service::SPOT, 1, 100).await;
    service.ended(&[back]).await;
    let key = Key { id: back, leg: Leg::Withdraw };
    assert_eq!(service.faulty_spot.earlier(key), [EarlierSends::None]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_of_an_earlier_run_is_written_before_it_is_sent() {
    let mut service = service().await;
    service.faulty_spot.mood(Mood::LoseRequests);
    let id = service.opened(FUNDING, 1, 500).await;
    let key = Key { id, leg: Leg::Deposit };
    said(&service, key, 1).await;
    service.stop().await;
    let made = service.faulty_spot.earlier(key).len();
    // no ledger listens there yet
    service.faulty_spot.mood(Mood::Silent);
    service.start().await;
    let before = version(&service, id).await;
    let held = Arc::new(Semaphore::new(0));
    service.faulty_spot.mood(Mood::Late(held.clone()));
    let said = said(&service, key, made + 1).await;
    assert_eq!(said.get(made), Some(&EarlierSends::Unknown), "{said:?}");
    // its reply is still held back: what was written was written before
    assert_eq!(version(&service, id).await, before + 1);
    service.faulty_spot.mood(Mood::Fair);
    held.add_permits(9);
    service.ended(&[id]).await;
    assert_eq!(service.states(&[id]).await.get(&id), Some(&"COMMITTED"));
}
