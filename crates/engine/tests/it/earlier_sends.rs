//! What the engine says of the requests before a call, to a ledger that does not promise to keep what it
//! refuses; and what it writes before it goes on with a claim that is not of this run.
//!
//! Each is about one wrong build: every call is said to be the first; a claim that is found is sent again
//! without writing the transfer.

use crate::house::{FUNDING, House, NEVER};
use crate::way::Mood;
use kernel::ids::Id;
use kernel::life::Leg;
use kernel::ports::ledger::{EarlierSends, Form};
use kernel::unit::Key;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// A house whose other ledger is of the simple form.
async fn house() -> House {
    let mut house = House::open(true, NEVER).await;
    house.stop().await;
    house.way.form(Form::Simple);
    house.start().await;
    house
}

/// What was said with the calls of a key, once there are so many.
async fn said(house: &House, key: Key, calls: usize) -> Vec<EarlierSends> {
    for _ in 0..2_000 {
        let said = house.way.earlier(key);
        if said.len() >= calls {
            return said;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{:?} of {calls} calls", house.way.earlier(key))
}

async fn version(house: &House, id: Id) -> u32 {
    house.stand(&[id]).await.first().expect("it is there").head.version
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_says_what_was_sent_before_it() {
    let house = house().await;
    house.way.mood(Mood::LoseRequests);
    let id = house.opened(FUNDING, 1, 500).await;
    let key = Key { id, leg: Leg::Deposit };
    let said = said(&house, key, 3).await;
    let (first, later) = said.split_first().expect("there are calls");
    assert_eq!(*first, EarlierSends::None);
    assert!(later.iter().all(|said| *said == EarlierSends::OnlyHere), "{said:?}");
    house.way.mood(Mood::Fair);
    house.ended(&[id]).await;
    assert_eq!(house.states(&[id]).await.get(&id), Some(&"COMMITTED"));
    // the way back: the claim is this process's own again
    let back = house.opened(crate::house::SPOT, 1, 100).await;
    house.ended(&[back]).await;
    let key = Key { id: back, leg: Leg::Withdraw };
    assert_eq!(house.way.earlier(key), [EarlierSends::None]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_of_an_earlier_run_is_written_before_it_is_sent() {
    let mut house = house().await;
    house.way.mood(Mood::LoseRequests);
    let id = house.opened(FUNDING, 1, 500).await;
    let key = Key { id, leg: Leg::Deposit };
    said(&house, key, 1).await;
    house.stop().await;
    let made = house.way.earlier(key).len();
    // nobody is there to be called yet
    house.way.mood(Mood::Silent);
    house.start().await;
    let before = version(&house, id).await;
    let held = Arc::new(Semaphore::new(0));
    house.way.mood(Mood::Late(held.clone()));
    let said = said(&house, key, made + 1).await;
    assert_eq!(said.get(made), Some(&EarlierSends::Unknown), "{said:?}");
    // its reply is still held back: what was written was written before
    assert_eq!(version(&house, id).await, before + 1);
    house.way.mood(Mood::Fair);
    held.add_permits(9);
    house.ended(&[id]).await;
    assert_eq!(house.states(&[id]).await.get(&id), Some(&"COMMITTED"));
}
