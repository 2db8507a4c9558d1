//! Cases: one per episode, opened by what the journal says, closed by the fact that ends it.
//!
//! Wrong builds that were run, each of which turns one of these red: the age of TARGET_PENDING taken
//! from the last write; retries of the target counted as failures of the compensation; a case opened
//! again after a restart; no `RETRY` event; cases never closed; the silence of a ledger, or a hasty
//! user, never noticed; a contradiction that pauses nothing.

use crate::house::{COIN, FUNDING, House, NEVER, SPOT};
use crate::way::Mood;
use engine::Refused;
use engine::deeds::Deed;
use kernel::code::Code;
use kernel::ids::{Id, UserId};
use kernel::money::Amount;
use kernel::people::Scope;
use kernel::ports::ledger::{AccountStatus, Ledger as _, StatusChange};
use kernel::record::Account;
use kernel::unit::{Key, Op};
use std::sync::Arc;
use std::time::Duration;

fn of(id: Id) -> String {
    format!("transfer/{id}")
}

/// The details of a history's `RETRY` events.
async fn retries(house: &House, id: Id) -> Vec<String> {
    let told = house.told(id).await.into_iter();
    told.filter(|(what, ..)| what == "RETRY").filter_map(|(.., detail)| detail).collect()
}

/// So many rounds of the watch, at least.
async fn rounds() {
    tokio::time::sleep(Duration::from_millis(200)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_retries_are_one_case_over_restarts_until_the_end() {
    let mut house = House::tuned(true, NEVER, |s| s.alerts.after_retries = 10).await;
    house.way.mood(Mood::LoseRequests);
    let id = house.opened(FUNDING, 1, 500).await;
    house.shows(&[("STUCK", of(id), true)]).await;
    assert!(house.stand(&[id]).await.iter().all(|record| record.head.retries >= 10));
    house.restart().await;
    rounds().await;
    house.shows(&[("STUCK", of(id), true)]).await;
    house.shows_gauge("STUCK/WARNING", 1).await;
    house.shows_gauge("CONSERVATION/CRITICAL", 0).await;
    // between two rounds it may be in a hand
    house.shows_gauge("internal/SPOT", 1).await;
    house.way.mood(Mood::Fair);
    house.ended(&[id]).await;
    house.shows(&[("STUCK", of(id), false)]).await;
    rounds().await;
    assert_eq!(retries(&house, id).await, ["STUCK opened", "STUCK closed"]);
    house.shows_gauge("STUCK/WARNING", 0).await;
    house.shows_gauge("internal/SPOT", 0).await;
}

/// MON-001. The clock of the case is the event that led to the call: each retry writes the row.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn target_pending_is_critical_after_a_minute_in_it() {
    let mut house = House::open(false, NEVER).await;
    house.way.mood(Mood::LoseRequests);
    let id = house.opened(FUNDING, 1, 500).await;
    house.reaches(id, "TARGET_PENDING").await;
    house.clock.forward(40_000);
    house.restart().await;
    house.clock.forward(15_000);
    rounds().await;
    assert_eq!(house.episodes(), []);
    house.clock.forward(6_000);
    house.shows(&[("TARGET_PENDING", of(id), true)]).await;
    assert_eq!(house.cases().first().map(|(severity, ..)| &**severity), Some("CRITICAL"));
    house.clock.forward(240_000);
    let both = |open| [("TARGET_PENDING", of(id), open), ("STUCK", of(id), open)];
    house.shows(&both(true)).await;
    house.way.mood(Mood::Fair);
    house.ended(&[id]).await;
    house.shows(&both(false)).await;
    house.engine().check_now().await.unwrap();
    assert_eq!(house.engine().halted(), None);
}

/// MON-002, by the failures of the refund alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_failed_compensations_are_critical() {
    for fuse in [true, false] {
        let house = House::tuned(fuse, NEVER, |s| s.alerts.compensation_failures = 25).await;
        let first = house.opened(FUNDING, 1, 10).await;
        house.ended(&[first]).await;
        house.way.mood(Mood::LoseRequests);
        let id = house.opened(FUNDING, 1, 500).await;
        while house.stand(&[id]).await.iter().any(|record| record.head.retries < 25) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        house.hinder("NEW.available > OLD.available AND NEW.user_id = 1");
        disabled(&house, 1).await;
        house.way.mood(Mood::Fair);
        house.reaches(id, "COMPENSATING").await;
        rounds().await;
        let now = house.stand(&[id]).await;
        let failed = now.first().map_or(0, |record| record.head.retries);
        assert!(failed < 25, "fuse={fuse}: it is early enough: {failed}");
        assert_eq!(house.episodes(), [], "fuse={fuse}: {failed}");
        house.shows(&[("COMPENSATION", of(id), true)]).await;
        house.unhinder();
        house.ended(&[id]).await;
        house.shows(&[("COMPENSATION", of(id), false)]).await;
        assert_eq!(house.states(&[id]).await.get(&id), Some(&"ROLLED_BACK"));
    }
}

/// The user's account at Spot is disabled.
async fn disabled(house: &House, user: u64) {
    let change = StatusChange {
        user: UserId(user),
        status: AccountStatus::Disabled,
        reason: "a test".into(),
        caller: "a test".into(),
        key: "disabled".into(),
    };
    assert_eq!(house.engine().set_status(SPOT, change).await, Ok(true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_ledger_is_a_case_until_it_answers() {
    let house = House::open(true, NEVER).await;
    house.way.mood(Mood::Silent);
    rounds().await;
    house.clock.forward(50_000);
    rounds().await;
    assert_eq!(house.episodes(), []);
    house.clock.forward(11_000);
    house.shows(&[("LEDGER_SILENT", "ledger/SPOT".to_owned(), true)]).await;
    house.way.mood(Mood::Fair);
    house.clock.forward(5_000);
    house.shows(&[("LEDGER_SILENT", "ledger/SPOT".to_owned(), false)]).await;
}

/// MON-004.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hasty_user_is_a_case_until_a_calm_minute() {
    let house = House::tuned(true, NEVER, |s| s.limits.warn_per_minute = 5).await;
    for n in 0..6 {
        house.opened(FUNDING, 1, 10 + n).await;
    }
    for n in 0..5 {
        house.opened(FUNDING, 2, 10 + n).await;
    }
    house.shows(&[("ABNORMAL_FREQUENCY", "user/1".to_owned(), true)]).await;
    house.clock.forward(45_000);
    rounds().await;
    house.shows(&[("ABNORMAL_FREQUENCY", "user/1".to_owned(), true)]).await;
    house.clock.forward(80_000);
    house.shows(&[("ABNORMAL_FREQUENCY", "user/1".to_owned(), false)]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_contradiction_is_a_case_until_the_pause_is_lifted() {
    let house = House::open(true, NEVER).await;
    house.way.mood(Mood::LoseRequests);
    let id = house.opened(FUNDING, 1, 500).await;
    house.reaches(id, "TARGET_PENDING").await;
    let spot = house.way.spot();
    let op = Op {
        key: Key { id, leg: kernel::life::Leg::Deposit },
        account: Account::User(UserId(1)),
        other: None,
        asset: COIN,
        amount: Amount(499),
    };
    spot.execute(spot.known(), Arc::from([op])).await;
    house.way.mood(Mood::Fair);
    house.shows(&[("CONTRADICTION", of(id), true)]).await;
    let paused = house.standing().await.paused;
    let [pause] = paused.as_slice() else { panic!("{paused:?}") };
    assert_eq!(pause.scope, Scope::Flow(house.engine().flows().named("internal").unwrap()));
    rounds().await;
    house.shows(&[("CONTRADICTION", of(id), true)]).await;
    // lifted, the case is closed; and where the flow meets it again, that is another episode
    house.way.mood(Mood::LoseRequests);
    house.does("ada", "1", Deed::Unpause(pause.number)).await.unwrap();
    house.shows(&[("CONTRADICTION", of(id), false)]).await;
    house.way.mood(Mood::Fair);
    house.shows(&[("CONTRADICTION", of(id), false), ("CONTRADICTION", of(id), true)]).await;
    let wanted = ["CONTRADICTION opened", "CONTRADICTION closed", "CONTRADICTION opened"];
    assert_eq!(retries(&house, id).await, wanted);
    let refused = house.create(SPOT, 2, 1).await;
    assert!(matches!(refused, Err(Refused::Code(Code::Overloaded))), "{refused:?}");
}
