//! HALT by hand, and its end: two persons, a proof from the beginning, named exceptions.
//!
//! Wrong builds that were run, each of which turns one of these red: a halt that answers at once, or
//! says at once what is quiet; a claim under HALT (neither the reach nor the guard looks); a proposer
//! who approves, also under another issuer; a resume without a proof; a proof that accepts a key with
//! any amount; accepted breaks that are forgotten; a ledger that nobody looks at again.

use crate::house::{FUNDING, House, NEVER, SPOT, spot_at};
use crate::way::Mood;
use engine::Refused;
use engine::deeds::{Deed, Objection, Outcome};
use kernel::code::Code;
use kernel::ids::Id;
use kernel::life::Leg;
use kernel::people::{Accepted, Stand};
use kernel::unit::Key;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

fn resume(accept: &[(&str, i128)]) -> Deed {
    let one = |(key, amount): &(&str, i128)| Accepted { key: (*key).into(), amount: *amount };
    Deed::Resume { accept: accept.iter().map(one).collect() }
}

fn approval(done: Result<engine::deeds::Performed, Objection>) -> Id {
    let Ok(Outcome::Proposed { approval }) = done.map(|done| done.outcome) else {
        panic!("nothing is proposed")
    };
    approval
}

/// Proposed by ada, approved by bob.
async fn resumed(house: &House, key: &str, deed: Deed) -> Result<Outcome, Objection> {
    let id = approval(house.does("ada", key, deed).await);
    house.does("bob", key, Deed::Approve(id)).await.map(|done| done.outcome)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_halt_names_what_was_on_the_wire_and_records_its_answer() {
    for fuse in [true, false] {
        let mut house = House::tuned(fuse, NEVER, |s| s.open_timeout_ms = 3_000).await;
        let held = Arc::new(Semaphore::new(0));
        house.way.mood(Mood::Late(held.clone()));
        let late = house.opened(FUNDING, 1, 500).await;
        house.reaches(late, "TARGET_PENDING").await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        let halted = house.does("ada", "1", Deed::Halt).await.unwrap();
        let key = Key { id: late, leg: Leg::Deposit };
        let on_wire = vec![(SPOT, key)];
        let wanted =
            |quiet| Outcome::Halted { halt: Some(1), on_wire: on_wire.clone(), calls: 1, quiet };
        assert_eq!(halted.outcome, wanted(false), "fuse={fuse}");
        assert_eq!(house.standing().await.halted.as_deref(), Some("a test"));
        let refused = house.create(FUNDING, 2, 5).await;
        assert!(matches!(refused, Err(Refused::Code(Code::Halted))), "{refused:?}");
        held.add_permits(9);
        house.way.mood(Mood::Fair);
        house.ended(&[late]).await;
        assert_eq!(house.states(&[late]).await.get(&late), Some(&"COMMITTED"), "an answer counts");
        let again = house.does("ada", "1", Deed::Halt).await.unwrap();
        assert_eq!((again.replayed, again.outcome), (true, wanted(true)));
        house.restart().await;
        assert_eq!(house.engine().halted().as_deref(), Some("a test"));
        assert_eq!(house.gauges.get("halted"), Some(1));
        assert_eq!(
            resumed(&house, "2", resume(&[])).await,
            Ok(Outcome::Resumed { accepted: vec![] })
        );
        assert_eq!(house.gauges.get("halted"), Some(0));
        house.work(1).await;
        house.adds_up().await;
    }
}

/// What stands before a claim stays there; what stands in a call is not called.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_claimed_or_called_until_two_persons_resume() {
    let house = House::open(true, NEVER).await;
    house.work(1).await;
    let held = Arc::new(Semaphore::new(0));
    house.way.mood(Mood::Late(held.clone()));
    // the withdraw at Spot is on the wire: its answer must not claim the deposit
    let out = house.opened(SPOT, 1, 10).await;
    house.reaches(out, "SOURCE_PENDING").await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    house.way.mood(Mood::Fair);
    let halt = house.does("ada", "1", Deed::Halt);
    let release = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        held.add_permits(9);
    };
    let (halted, ()) = tokio::join!(halt, release);
    assert!(matches!(halted.unwrap().outcome, Outcome::Halted { quiet: true, calls: 1, .. }));
    house.reaches(out, "SOURCE_DONE").await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    house.reaches(out, "SOURCE_DONE").await;

    let id = approval(house.does("ada", "2", resume(&[])).await);
    assert_eq!(house.does("ada", "3", Deed::Approve(id)).await, Err(Objection::SamePerson));
    // one subject is one person, whatever issuer wrote it, and however it is spelt
    let alike = [
        "another issuer|ada",
        "portage|ada\u{200b}",
        "portage|Ada",
        "former|ａｄａ",
        "portage|ada ",
    ];
    for (n, caller) in alike.into_iter().enumerate() {
        let (key, reason) = (n.to_string().into(), "a test".into());
        let other = engine::deeds::Actor { caller: caller.into(), key, reason };
        let same = house.engine().act(other, Deed::Approve(id)).await;
        assert_eq!(same, Err(Objection::SamePerson), "{caller:?}");
    }
    house.reaches(out, "SOURCE_DONE").await;
    let none = house.does("bob", "0", Deed::Approve(Id(1))).await;
    assert_eq!(none, Err(Objection::NotFound("approval")));
    assert!(house.does("bob", "1", Deed::Approve(id)).await.is_ok());
    house.ended(&[out]).await;
    let twice = house.does("eve", "1", Deed::Approve(id)).await;
    assert_eq!(twice, Err(Objection::Decided(Stand::Approved)));
    let gone = house.does("ada", "4", resume(&[])).await.unwrap_err();
    assert!(matches!(gone, Objection::NotPossible(_)), "{gone:?}");
    house.adds_up().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_resume_leaves_the_halt() {
    let house = House::open(true, NEVER).await;
    house.does("ada", "1", Deed::Halt).await.unwrap();
    let id = approval(house.does("ada", "2", resume(&[])).await);
    assert_eq!(house.does("ada", "3", Deed::Reject(id)).await.unwrap().outcome, Outcome::Declined);
    let late = house.does("bob", "1", Deed::Approve(id)).await;
    assert_eq!(late, Err(Objection::Decided(Stand::Rejected)));
    assert!(house.engine().halted().is_some());
}

/// MON-003. A break is accepted by key and amount; any other halts again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_named_breaks_are_accepted_and_any_other_halts_again() {
    let mut house = House::open(true, NEVER).await;
    house.work(1).await;
    let steal = |units: u32| {
        format!(
            "UPDATE balances_tb SET available = printf('%039d', CAST(available AS INTEGER) - {units}) \
             WHERE user_id = 3 AND asset_id = 3"
        )
    };
    house.tool().execute_batch(&steal(7)).unwrap();
    let report = house.engine().check_now().await.unwrap();
    let [broken] = report.breaks.as_slice() else { panic!("{report:?}") };
    assert_eq!((&*broken.key, broken.amount), ("FUNDING/3/total", -7));
    house.shows(&[("CONSERVATION", "service".to_owned(), true)]).await;
    let named = |refused: Result<Outcome, Objection>| match refused {
        Err(Objection::Breaks(breaks)) => breaks.iter().map(|b| b.key.clone()).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    // the proof for a resume counts every account, too
    let both = ["FUNDING/3/account/3", "FUNDING/3/total"];
    assert_eq!(named(resumed(&house, "1", resume(&[])).await), both);
    let one = resume(&[("FUNDING/3/total", -7)]);
    assert_eq!(named(resumed(&house, "one", one).await), ["FUNDING/3/account/3"]);
    for wrong in [("FUNDING/3/total", -8), ("FUNDING/3/world", -7)] {
        let key = format!("{wrong:?}");
        let refused = resumed(&house, &key, resume(&[wrong])).await;
        assert!(matches!(&refused, Err(Objection::NotPossible(_))), "{wrong:?}: {refused:?}");
    }
    assert!(house.engine().halted().is_some());
    let right = both.map(|key| (key, -7));
    assert!(resumed(&house, "2", resume(&right)).await.is_ok());
    house.shows(&[("CONSERVATION", "service".to_owned(), false)]).await;
    house.restart().await;
    house.work(1).await;
    let report = house.engine().check_now().await.unwrap();
    assert!(report.ok && report.breaks.is_empty(), "{report:?}");
    let shown = report.accepted.iter().any(|b| *b.key == *"FUNDING/3/total" && b.amount == -7);
    assert!(shown, "{report:?}");
    assert_eq!(house.engine().halted(), None);

    house.tool().execute_batch(&steal(1)).unwrap();
    let report = house.engine().check_now().await.unwrap();
    assert_eq!(report.breaks.first().map(|b| b.amount), Some(-8), "the amount is another");
    assert!(house.engine().halted().is_some());
    let both = [
        ("CONSERVATION", "service".to_owned(), false),
        ("CONSERVATION", "service".to_owned(), true),
    ];
    house.shows(&both).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_four_eyes_off_one_person_resumes_over_the_same_proof() {
    let house = House::tuned(true, NEVER, |settings| settings.four_eyes = false).await;
    house.does("ada", "1", Deed::Halt).await.unwrap();
    house
        .tool()
        .execute_batch(
            "UPDATE balances_tb SET available = printf('%039d', CAST(available AS INTEGER) + 1) \
             WHERE user_id = 3 AND asset_id = 3",
        )
        .unwrap();
    let refused = house.does("ada", "2", resume(&[])).await;
    assert!(matches!(refused, Err(Objection::Breaks(_))), "{refused:?}");
    assert!(house.engine().halted().is_some());
    let both = [("FUNDING/3/account/3", 1), ("FUNDING/3/total", 1)];
    let done = house.does("ada", "3", resume(&both)).await.unwrap();
    assert!(matches!(done.outcome, Outcome::Resumed { .. }));
    house.work(1).await;
}

/// Another ledger halts; the right one is adopted when persons resume, and only then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ledger_is_looked_at_again_when_persons_resume() {
    let house = House::open(true, NEVER).await;
    house.work(1).await;
    let mine = house.way.spot();
    let stranger = tempfile::tempdir().unwrap();
    house.way.lead(Some(spot_at(stranger.path()).await));
    house.create(FUNDING, 1, 5).await.ok();
    house.halted().await;
    let case = |open| ("WRONG_LEDGER", "ledger/SPOT".to_owned(), open);
    house.shows(&[case(true)]).await;
    house.way.lead(Some(mine));
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(house.engine().halted().is_some(), "nobody resumed");
    assert!(resumed(&house, "1", resume(&[])).await.is_ok());
    house.shows(&[case(false)]).await;
    house.work(1).await;
    let report = house.engine().check_now().await.unwrap();
    assert!(report.ok, "{report:?}");
    assert_eq!(house.engine().halted(), None);
}
