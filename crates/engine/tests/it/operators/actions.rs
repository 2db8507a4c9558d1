//! What operators do: once for each key, in the audit, and in the history of the transfer.
//!
//! Wrong builds that were run, each of which turns one of these red: `act` without the look at the
//! key; a retry that leaves the row in the heap; a retry that forgets the journal's due rows; an ask
//! that hastens nothing, or calls a fence; an event without its caller; assets that Spot is not told
//! of.

use crate::fixture::defaults::{COIN, FUNDING, NEVER, SPOT};
use crate::fixture::faulty_ledger::CallFault;
use crate::fixture::test_service::TestService;
use engine::Settings;
use engine::operators::{
    ActionResult, AdminAction, AssetChange, NewAsset, Objection, StoredAnswer,
};
use kernel::answer::Evidence;
use kernel::code::Code;
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, Id, LedgerId, UserId};
use kernel::money::{Amount, AssetStatus};
use kernel::operators::NoteText;
use kernel::ports::ledger::{AccountStatus, Moved, Reply, Whose};
use kernel::retry::Backoff;
use testkit::deposit;

/// Nothing is tried again by itself while a test lasts.
fn patient(settings: &mut Settings) {
    settings.backoff = Backoff { base: 600_000, cap: 600_000 };
}

fn count(service: &TestService, sql: &str) -> i64 {
    service.tool().query_row(sql, [], |row| row.get(0)).expect("a number")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_is_due_now_in_the_heap_and_in_the_journal() {
    let mut service = TestService::open_with(true, NEVER, patient).await;
    for key in ["heap", "journal"] {
        let id = service.open_retried(FUNDING, CallFault::LoseRequests).await;
        if key == "journal" {
            service.restart().await;
        }
        let done = service.execute_as("ada", key, AdminAction::Retry(id)).await.unwrap();
        assert_eq!((done.outcome, done.replayed), (ActionResult::Retried, false));
        service.wait_for_end(&[id]).await;
        let told = service.history(id).await;
        let mine: Vec<_> = told.iter().filter(|(what, ..)| what == "OPERATOR").collect();
        let [(_, caller, detail)] = mine.as_slice() else { panic!("{told:?}") };
        assert_eq!(caller.as_deref(), Some("portage|ada"));
        assert!(detail.as_ref().is_some_and(|d| d.contains("a test") && d.contains("RETRY")));
        let again = service.execute_as("ada", key, AdminAction::Retry(id)).await.unwrap();
        assert_eq!(
            (again.outcome, again.replayed, again.at),
            (ActionResult::Retried, true, done.at)
        );
        let ended = service.execute_as("ada", "late", AdminAction::Retry(id)).await.unwrap_err();
        assert!(matches!(&ended, Objection::NotPossible(why) if why.contains("COMMITTED")));
        assert_eq!(service.history(id).await.len(), told.len(), "neither left a line");
    }
    service.assert_in_order().await;
}

/// No state and no HALT keeps a note out, and it is no line of the history, which the transfer's user
/// reads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_note_is_written_in_any_state_and_under_halt() {
    let mut service = TestService::open_with(true, NEVER, patient).await;
    let open = service.open_retried(FUNDING, CallFault::LoseRequests).await;
    let ended = service.open_transfer(FUNDING, 2, 5).await;
    service.wait_for_end(&[ended]).await;
    service.execute_as("eve", "halt", AdminAction::Halt).await.unwrap();
    let note = |id, words| AdminAction::NoteTransfer { id, text: NoteText::parse(words).unwrap() };
    for (key, id) in [("open", open), ("ended", ended)] {
        let before = (service.states(&[id]).await, service.history(id).await);
        let done = service.execute_as("ada", key, note(id, "their bank confirmed")).await.unwrap();
        assert_eq!((done.outcome, done.replayed), (ActionResult::Noted, false));
        let other = service.execute_as("ada", key, note(id, "it did not")).await;
        assert_eq!(other, Err(Objection::Mismatch(vec!["value"])));
        assert_eq!((service.states(&[id]).await, service.history(id).await), before);
    }
    let unknown = service.execute_as("ada", "unknown", note(Id(5), "who")).await;
    assert_eq!(unknown, Err(Objection::NotFound("transfer")));
    service.restart().await;
    let again =
        service.execute_as("ada", "ended", note(ended, " their bank confirmed\n")).await.unwrap();
    assert_eq!((again.outcome, again.replayed), (ActionResult::Noted, true));
    assert_eq!(count(&service, "SELECT count(*) FROM operator_actions WHERE action = 'NOTE'"), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_key_does_one_thing() {
    let mut service = TestService::open_with(true, NEVER, patient).await;
    let id = service.open_retried(FUNDING, CallFault::LoseRequests).await;
    let action =
        || AdminAction::Status { ledger: FUNDING, user: UserId(2), status: AccountStatus::Frozen };
    let (one, two) = tokio::join!(
        service.execute_as("ada", "k", action()),
        service.execute_as("ada", "k", action())
    );
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_eq!([one.replayed, two.replayed].iter().filter(|replayed| **replayed).count(), 1);
    assert_eq!((one.outcome, one.at), (two.outcome, two.at));
    assert_eq!(count(&service, "SELECT count(*) FROM operator_actions"), 1);
    service.restart().await;
    assert!(service.execute_as("ada", "k", action()).await.unwrap().replayed);
    let other = [
        (AdminAction::Retry(id), vec!["kind", "subject", "value"]),
        (
            AdminAction::Status { ledger: FUNDING, user: UserId(3), status: AccountStatus::Frozen },
            vec!["subject"],
        ),
        (
            AdminAction::Status { ledger: FUNDING, user: UserId(2), status: AccountStatus::Active },
            vec!["value"],
        ),
    ];
    for (action, fields) in other {
        assert_eq!(service.execute_as("ada", "k", action).await, Err(Objection::Mismatch(fields)));
    }
    assert!(
        !service.execute_as("bob", "k", action()).await.unwrap().replayed,
        "a key is a person's own"
    );
    assert_eq!(count(&service, "SELECT count(*) FROM operator_actions"), 2);
    let refused = service.create(FUNDING, 2, 5).await.unwrap();
    assert_eq!(refused.record.error.map(|e| e.code), Some("ACCOUNT_FROZEN".into()));
}

/// Red where the ledger's key of a change is `principal|key` as it stands: the second person's freeze
/// was taken for a repeat of the first one's, and the account stayed open.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bar_in_a_subject_makes_no_two_persons_share_a_key() {
    let service = TestService::open(true, NEVER).await;
    for ledger in [FUNDING, SPOT] {
        let user = UserId(if ledger == FUNDING { 2 } else { 3 });
        if ledger == SPOT {
            service.create(FUNDING, 3, 5).await.unwrap();
        }
        let set = |status| AdminAction::Status { ledger, user, status };
        let name = ledger.name();
        for (who, key, status) in [
            ("auth0|ada", name.to_owned(), AccountStatus::Frozen),
            ("eve", name.to_owned(), AccountStatus::Active),
            ("auth0", format!("ada|{name}"), AccountStatus::Frozen),
        ] {
            let done = service.execute_as(who, &key, set(status)).await.unwrap();
            assert_eq!((done.outcome, done.replayed), (ActionResult::StatusSet, false), "{who}");
        }
        let port = service.engine.ledger(ledger).expect("a ledger");
        let Reply::Answered(_, all) = port.accounts(Whose::User(user)).await else { panic!() };
        assert!(all.iter().all(|holding| holding.status == AccountStatus::Frozen), "{all:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ask_says_what_is_stored_and_the_repeat_takes_it() {
    let service = TestService::open_with(true, NEVER, patient).await;
    let asked = |said| ActionResult::Asked { ledger: SPOT, leg: Leg::Deposit, said };
    let id = service.open_retried(FUNDING, CallFault::LoseRequests).await;
    let nothing = service.execute_as("ada", "1", AdminAction::Ask(id)).await.unwrap();
    assert_eq!(nothing.outcome, asked(StoredAnswer::Nothing));
    let before = service.records(&[id]).await;
    assert!(
        before.iter().all(|record| record.head.due_at.is_some()),
        "and no retry is due earlier"
    );
    service.faulty_spot.set_fault(CallFault::Silent);
    let silent = service.execute_as("ada", "2", AdminAction::Ask(id)).await.unwrap();
    assert_eq!(silent.outcome, asked(StoredAnswer::Unknown { why: "TIMEOUT".into() }));
    service.faulty_spot.set_fault(CallFault::None);
    service.execute_as("ada", "3", AdminAction::Retry(id)).await.unwrap();
    service.wait_for_end(&[id]).await;

    let id = service.open_retried(FUNDING, CallFault::LoseReplies).await;
    let done = service.execute_as("ada", "4", AdminAction::Ask(id)).await.unwrap();
    assert!(
        matches!(done.outcome, ActionResult::Asked { said: StoredAnswer::Done { .. }, .. }),
        "{done:?}"
    );
    service.wait_for_end(&[id]).await;
    service.disable_at_spot(1).await;
    let id = service.open_retried(FUNDING, CallFault::LoseReplies).await;
    service.execute_as("ada", "halt", AdminAction::Halt).await.unwrap();
    let refused = service.execute_as("ada", "5", AdminAction::Ask(id)).await.unwrap();
    assert_eq!(refused.outcome, asked(StoredAnswer::Rejected(Evidence::code("ACCOUNT_DISABLED"))));
    assert_eq!(service.states(&[id]).await.get(&id), Some(&"TARGET_PENDING"), "no call under HALT");
    assert!(service.execute_as("ada", "5", AdminAction::Ask(id)).await.unwrap().replayed);
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

async fn fund(service: &TestService, asset: AssetId) -> Moved {
    let movement = deposit(&format!("gold-{asset}"), 1, asset, 1_000);
    service.opened.world.external(movement).await.expect("an answer")
}

async fn has(service: &TestService, ledger: LedgerId, asset: AssetId) -> Option<Amount> {
    let port = service.engine.ledger(ledger).expect("a ledger");
    let kernel::ports::ledger::Reply::Answered(_, all) =
        port.accounts(Whose::User(UserId(1))).await
    else {
        panic!("no accounts")
    };
    all.iter().find(|holding| holding.asset == asset).map(|holding| holding.available)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_asset_that_is_added_works_at_once_and_after_a_restart() {
    let mut service = TestService::open(true, NEVER).await;
    let (one, two) = tokio::join!(
        service.execute_as("ada", "gold", AdminAction::AddAsset(gold())),
        service.execute_as(
            "bob",
            "tin",
            AdminAction::AddAsset(NewAsset { symbol: "TIN".to_owned(), ..gold() })
        ),
    );
    let number = |done: Result<engine::operators::PerformedAction, Objection>| {
        let Ok(ActionResult::Asset { asset }) = done.map(|done| done.outcome) else {
            panic!("no asset")
        };
        asset.id
    };
    let (gold_id, tin_id) = (number(one), number(two));
    assert_ne!(gold_id, tin_id);
    assert!(matches!(fund(&service, gold_id).await, Moved::Done { .. }));
    let id = service.open_transfer_of(gold_id, FUNDING, 1, 400).await;
    service.wait_for_end(&[id]).await;
    assert_eq!(has(&service, SPOT, gold_id).await, Some(Amount(400)));
    service.restart().await;
    let id = service.open_transfer_of(gold_id, FUNDING, 1, 100).await;
    service.wait_for_end(&[id]).await;
    assert_eq!(has(&service, SPOT, gold_id).await, Some(Amount(500)));
    service.assert_in_order().await;
    let again = service.execute_as("ada", "2", AdminAction::AddAsset(gold())).await.unwrap_err();
    assert!(matches!(again, Objection::NotPossible(_)), "{again:?}");
    let bad = [
        NewAsset { symbol: "gold".to_owned(), ..gold() },
        NewAsset { symbol: "LEAD".to_owned(), precision: 39, ..gold() },
        NewAsset { symbol: "LEAD".to_owned(), min: Amount(0), ..gold() },
        NewAsset { symbol: "LEAD".to_owned(), min: Amount(9), max: Some(Amount(8)), ..gold() },
    ];
    for asset in bad {
        let refused =
            service.execute_as("ada", "3", AdminAction::AddAsset(asset)).await.unwrap_err();
        assert!(matches!(refused, Objection::Invalid(_)), "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_an_asset_counts_from_its_answer() {
    let service = TestService::open(true, NEVER).await;
    let usdt = || AssetChange { symbol: "USDT".to_owned(), ..AssetChange::default() };
    let change = |key: &'static str, change| {
        service.execute_as("ada", key, AdminAction::ChangeAsset(change))
    };
    change("1", AssetChange { max: Some(Some(Amount(50))), ..usdt() }).await.unwrap();
    let code = |refused: Result<engine::Accepted, engine::Refused>| match refused {
        Err(engine::Refused::Code(code)) => code,
        other => panic!("{other:?}"),
    };
    assert_eq!(code(service.create(FUNDING, 1, 51).await), Code::AmountTooLarge);
    change("2", AssetChange { max: Some(None), ..usdt() }).await.unwrap();
    let id = service.open_transfer(FUNDING, 1, 51).await;
    service.wait_for_end(&[id]).await;
    change("3", AssetChange { status: Some(AssetStatus::Suspended), ..usdt() }).await.unwrap();
    assert_eq!(code(service.create(FUNDING, 1, 51).await), Code::AssetSuspended);
    let known = service.engine.asset("USDT").unwrap();
    assert_eq!((known.id, known.precision, known.max), (COIN, 6, None));
    let none = AssetChange { symbol: "LEAD".to_owned(), ..AssetChange::default() };
    assert_eq!(change("4", none).await, Err(Objection::NotFound("asset")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accounts_and_cases_that_are_not_there_are_said_so() {
    let service = TestService::open_with(true, NEVER, |s| s.alerts.after_retries = 3).await;
    let status = |user| AdminAction::Status {
        ledger: FUNDING,
        user: UserId(user),
        status: AccountStatus::Frozen,
    };
    assert_eq!(
        service.execute_as("ada", "1", status(77)).await,
        Err(Objection::NotFound("account"))
    );
    let unknown = AdminAction::Retry(Id(5));
    assert_eq!(service.execute_as("ada", "2", unknown).await, Err(Objection::NotFound("transfer")));
    let assign = |case| AdminAction::Assign { case, to: "portage|bob".into() };
    assert_eq!(service.execute_as("ada", "3", assign(9)).await, Err(Objection::NotFound("case")));
    service.faulty_spot.set_fault(CallFault::LoseRequests);
    let id = service.open_transfer(FUNDING, 1, 5).await;
    service.wait_for_episodes(&[("STUCK", format!("transfer/{id}"), true)]).await;
    let case = count(&service, "SELECT case_id FROM cases");
    let case = u64::try_from(case).unwrap();
    let done = service.execute_as("ada", "3", assign(case)).await.unwrap();
    assert_eq!(done.outcome, ActionResult::Noted);
    let comment = AdminAction::Comment { case, text: "look at it".into() };
    service.execute_as("bob", "1", comment).await.unwrap();
    assert_eq!(count(&service, "SELECT count(*) FROM case_notes"), 2);
    assert_eq!(count(&service, "SELECT count(*) FROM operator_actions"), 2, "no refusal is a row");
}
