//! What people do: once for each key, in the audit, and in the history of the transfer.
//!
//! Wrong builds that were run, each of which turns one of these red: `act` without the look at the
//! key; a retry that leaves the row in the heap; a retry that forgets the journal's due rows; an ask
//! that hastens nothing, or calls a fence; an event without its caller; assets that Spot is not told
//! of.

use crate::house::{COIN, FUNDING, House, NEVER, SPOT};
use crate::way::Mood;
use engine::Settings;
use engine::deeds::{AssetChange, Deed, NewAsset, Objection, Outcome, Said};
use kernel::answer::Evidence;
use kernel::code::Code;
use kernel::ids::{AssetId, Id, LedgerId, UserId};
use kernel::life::Leg;
use kernel::money::{Amount, AssetStatus};
use kernel::ports::ledger::{
    AccountStatus, Direction, External, Heard, Moved, StatusChange, Whose, World as _,
};
use kernel::retry::Backoff;

/// Nothing is tried again by itself while a test lasts.
fn patient(settings: &mut Settings) {
    settings.backoff = Backoff { base: 600_000, cap: 600_000 };
}

async fn stuck(house: &House, mood: Mood) -> Id {
    house.way.mood(mood);
    let id = house.opened(FUNDING, 1, 500).await;
    while house.stand(&[id]).await.iter().any(|record| record.head.retries == 0) {
        tokio::time::sleep(std::time::Duration::from_millis(3)).await;
    }
    house.way.mood(Mood::Fair);
    id
}

fn count(house: &House, sql: &str) -> i64 {
    house.tool().query_row(sql, [], |row| row.get(0)).expect("a number")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_is_due_now_in_the_heap_and_in_the_journal() {
    let mut house = House::tuned(true, NEVER, patient).await;
    for key in ["heap", "journal"] {
        let id = stuck(&house, Mood::LoseRequests).await;
        if key == "journal" {
            house.restart().await;
        }
        let done = house.does("ada", key, Deed::Retry(id)).await.unwrap();
        assert_eq!((done.outcome, done.replayed), (Outcome::Hastened, false));
        house.ended(&[id]).await;
        let told = house.told(id).await;
        let mine: Vec<_> = told.iter().filter(|(what, ..)| what == "OPERATOR").collect();
        let [(_, caller, detail)] = mine.as_slice() else { panic!("{told:?}") };
        assert_eq!(caller.as_deref(), Some("portage|ada"));
        assert!(detail.as_ref().is_some_and(|d| d.contains("a test") && d.contains("RETRY")));
        let again = house.does("ada", key, Deed::Retry(id)).await.unwrap();
        assert_eq!((again.outcome, again.replayed, again.at), (Outcome::Hastened, true, done.at));
        let ended = house.does("ada", "late", Deed::Retry(id)).await.unwrap_err();
        assert!(matches!(&ended, Objection::NotPossible(why) if why.contains("COMMITTED")));
        assert_eq!(house.told(id).await.len(), told.len(), "neither left a line");
    }
    house.adds_up().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_does_one_thing_whoever_repeats_it() {
    let mut house = House::tuned(true, NEVER, patient).await;
    let id = stuck(&house, Mood::LoseRequests).await;
    let deed = || Deed::Status { ledger: FUNDING, user: UserId(2), status: AccountStatus::Frozen };
    let (one, two) = tokio::join!(house.does("ada", "k", deed()), house.does("ada", "k", deed()));
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_eq!([one.replayed, two.replayed].iter().filter(|replayed| **replayed).count(), 1);
    assert_eq!((one.outcome, one.at), (two.outcome, two.at));
    assert_eq!(count(&house, "SELECT count(*) FROM operator_actions"), 1);
    house.restart().await;
    assert!(house.does("ada", "k", deed()).await.unwrap().replayed);
    let other = [
        (Deed::Retry(id), vec!["kind", "subject", "value"]),
        (
            Deed::Status { ledger: FUNDING, user: UserId(3), status: AccountStatus::Frozen },
            vec!["subject"],
        ),
        (
            Deed::Status { ledger: FUNDING, user: UserId(2), status: AccountStatus::Active },
            vec!["value"],
        ),
    ];
    for (deed, fields) in other {
        assert_eq!(house.does("ada", "k", deed).await, Err(Objection::Mismatch(fields)));
    }
    assert!(!house.does("bob", "k", deed()).await.unwrap().replayed, "a key is a person's own");
    assert_eq!(count(&house, "SELECT count(*) FROM operator_actions"), 2);
    let refused = house.create(FUNDING, 2, 5).await.unwrap();
    assert_eq!(refused.record.error.map(|e| e.code), Some("ACCOUNT_FROZEN".into()));
}

/// Red where the ledger's key of a change is `principal|key` as it stands: the second person's freeze
/// was taken for a repeat of the first one's, and the account stayed open.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bar_in_a_subject_makes_no_two_persons_share_a_key() {
    let house = House::open(true, NEVER).await;
    for ledger in [FUNDING, SPOT] {
        let user = UserId(if ledger == FUNDING { 2 } else { 3 });
        if ledger == SPOT {
            house.create(FUNDING, 3, 5).await.unwrap();
        }
        let set = |status| Deed::Status { ledger, user, status };
        let name = ledger.name();
        for (who, key, status) in [
            ("auth0|ada", name.to_owned(), AccountStatus::Frozen),
            ("eve", name.to_owned(), AccountStatus::Active),
            ("auth0", format!("ada|{name}"), AccountStatus::Frozen),
        ] {
            let done = house.does(who, &key, set(status)).await.unwrap();
            assert_eq!((done.outcome, done.replayed), (Outcome::StatusSet, false), "{who}");
        }
        let port = house.engine().ledger(ledger).expect("a ledger");
        let Heard::Said(_, all) = port.accounts(Whose::User(user)).await else { panic!() };
        assert!(all.iter().all(|holding| holding.status == AccountStatus::Frozen), "{all:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ask_says_what_is_stored_and_the_repeat_takes_it() {
    let house = House::tuned(true, NEVER, patient).await;
    let asked = |said| Outcome::Asked { ledger: SPOT, leg: Leg::Deposit, said };
    let id = stuck(&house, Mood::LoseRequests).await;
    let nothing = house.does("ada", "1", Deed::Ask(id)).await.unwrap();
    assert_eq!(nothing.outcome, asked(Said::Nothing));
    let before = house.stand(&[id]).await;
    assert!(before.iter().all(|record| record.head.due_at.is_some()), "and nothing is hastened");
    house.way.mood(Mood::Silent);
    let silent = house.does("ada", "2", Deed::Ask(id)).await.unwrap();
    assert_eq!(silent.outcome, asked(Said::Unclear("TIMEOUT".into())));
    house.way.mood(Mood::Fair);
    house.does("ada", "3", Deed::Retry(id)).await.unwrap();
    house.ended(&[id]).await;

    let id = stuck(&house, Mood::LoseReplies).await;
    let done = house.does("ada", "4", Deed::Ask(id)).await.unwrap();
    assert!(matches!(done.outcome, Outcome::Asked { said: Said::Done(_), .. }), "{done:?}");
    house.ended(&[id]).await;
    let change = StatusChange {
        user: UserId(1),
        status: AccountStatus::Disabled,
        reason: "a test".into(),
        caller: "a test".into(),
        key: "disabled".into(),
    };
    assert_eq!(house.engine().set_status(SPOT, change).await, Ok(true));
    let id = stuck(&house, Mood::LoseReplies).await;
    house.does("ada", "halt", Deed::Halt).await.unwrap();
    let refused = house.does("ada", "5", Deed::Ask(id)).await.unwrap();
    assert_eq!(refused.outcome, asked(Said::Rejected(Evidence::code("ACCOUNT_DISABLED"))));
    assert_eq!(house.states(&[id]).await.get(&id), Some(&"TARGET_PENDING"), "no call under HALT");
    assert!(house.does("ada", "5", Deed::Ask(id)).await.unwrap().replayed);
}

fn gold() -> NewAsset {
    NewAsset {
        id: None,
        symbol: "GOLD".to_owned(),
        precision: 3,
        transferable: true,
        min: Amount(1),
        max: None,
        daily: None,
    }
}

async fn fund(house: &House, asset: AssetId) -> Moved {
    let movement = External {
        direction: Direction::In,
        reference: format!("gold-{asset}").into(),
        user: UserId(1),
        asset,
        amount: Amount(1_000),
        reason: "a test".into(),
        caller: "a test".into(),
    };
    house.store().funding().external(movement).await.expect("an answer")
}

async fn has(house: &House, ledger: LedgerId, asset: AssetId) -> Option<Amount> {
    let port = house.engine().ledger(ledger).expect("a ledger");
    let kernel::ports::ledger::Heard::Said(_, all) = port.accounts(Whose::User(UserId(1))).await
    else {
        panic!("no accounts")
    };
    all.iter().find(|holding| holding.asset == asset).map(|holding| holding.available)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_asset_that_is_added_works_at_once_and_after_a_restart() {
    let mut house = House::open(true, NEVER).await;
    let (one, two) = tokio::join!(
        house.does("ada", "gold", Deed::AddAsset(gold())),
        house.does("bob", "tin", Deed::AddAsset(NewAsset { symbol: "TIN".to_owned(), ..gold() })),
    );
    let number = |done: Result<engine::deeds::Performed, Objection>| {
        let Ok(Outcome::Asset(asset)) = done.map(|done| done.outcome) else { panic!("no asset") };
        asset.id
    };
    let (gold_id, tin_id) = (number(one), number(two));
    assert_ne!(gold_id, tin_id);
    assert!(matches!(fund(&house, gold_id).await, Moved::Done { .. }));
    let id = house.moved(FUNDING, 1, 400, gold_id).await;
    house.ended(&[id]).await;
    assert_eq!(has(&house, SPOT, gold_id).await, Some(Amount(400)));
    house.restart().await;
    let id = house.moved(FUNDING, 1, 100, gold_id).await;
    house.ended(&[id]).await;
    assert_eq!(has(&house, SPOT, gold_id).await, Some(Amount(500)));
    house.adds_up().await;
    let again = house.does("ada", "2", Deed::AddAsset(gold())).await.unwrap_err();
    assert!(matches!(again, Objection::NotPossible(_)), "{again:?}");
    let bad = [
        NewAsset { symbol: "gold".to_owned(), ..gold() },
        NewAsset { symbol: "LEAD".to_owned(), precision: 39, ..gold() },
        NewAsset { symbol: "LEAD".to_owned(), min: Amount(0), ..gold() },
        NewAsset { symbol: "LEAD".to_owned(), min: Amount(9), max: Some(Amount(8)), ..gold() },
    ];
    for asset in bad {
        let refused = house.does("ada", "3", Deed::AddAsset(asset)).await.unwrap_err();
        assert!(matches!(refused, Objection::Invalid(_)), "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_an_asset_counts_from_its_answer() {
    let house = House::open(true, NEVER).await;
    let usdt = || AssetChange { symbol: "USDT".to_owned(), ..AssetChange::default() };
    let change = |key: &'static str, change| house.does("ada", key, Deed::ChangeAsset(change));
    change("1", AssetChange { max: Some(Some(Amount(50))), ..usdt() }).await.unwrap();
    let code = |refused: Result<engine::Accepted, engine::Refused>| match refused {
        Err(engine::Refused::Code(code)) => code,
        other => panic!("{other:?}"),
    };
    assert_eq!(code(house.create(FUNDING, 1, 51).await), Code::AmountTooLarge);
    change("2", AssetChange { max: Some(None), ..usdt() }).await.unwrap();
    let id = house.opened(FUNDING, 1, 51).await;
    house.ended(&[id]).await;
    change("3", AssetChange { status: Some(AssetStatus::Suspended), ..usdt() }).await.unwrap();
    assert_eq!(code(house.create(FUNDING, 1, 51).await), Code::AssetSuspended);
    let known = house.engine().asset("USDT").unwrap();
    assert_eq!((known.id, known.precision, known.max), (COIN, 6, None));
    let none = AssetChange { symbol: "LEAD".to_owned(), ..AssetChange::default() };
    assert_eq!(change("4", none).await, Err(Objection::NotFound("asset")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accounts_and_cases_that_are_not_there_are_said_so() {
    let house = House::tuned(true, NEVER, |s| s.alerts.after_retries = 3).await;
    let status =
        |user| Deed::Status { ledger: FUNDING, user: UserId(user), status: AccountStatus::Frozen };
    assert_eq!(house.does("ada", "1", status(77)).await, Err(Objection::NotFound("account")));
    let nobody = Deed::Retry(Id(5));
    assert_eq!(house.does("ada", "2", nobody).await, Err(Objection::NotFound("transfer")));
    let assign = |case| Deed::Assign { case, to: "portage|bob".into() };
    assert_eq!(house.does("ada", "3", assign(9)).await, Err(Objection::NotFound("case")));
    house.way.mood(Mood::LoseRequests);
    let id = house.opened(FUNDING, 1, 5).await;
    house.shows(&[("STUCK", format!("transfer/{id}"), true)]).await;
    let case = count(&house, "SELECT case_id FROM cases");
    let case = u64::try_from(case).unwrap();
    let done = house.does("ada", "3", assign(case)).await.unwrap();
    assert_eq!(done.outcome, Outcome::Noted);
    let comment = Deed::Comment { case, text: "look at it".into() };
    house.does("bob", "1", comment).await.unwrap();
    assert_eq!(count(&house, "SELECT count(*) FROM case_notes"), 2);
    assert_eq!(count(&house, "SELECT count(*) FROM operator_actions"), 2, "no refusal is a row");
}
