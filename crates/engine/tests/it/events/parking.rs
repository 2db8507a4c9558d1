//! Keys whose messages fail again and again: they are parked, hold up no other, keep their order, and go
//! on by themselves or when an operator says so.
//!
//! Wrong builds that were run: later messages of a parked key are consumed at once
//! (`messages_of_a_parked_key_keep_their_order`); the offset goes on where nothing could be parked
//! (`the_offset_waits_until_the_messages_are_parked`).

use super::fixture::AccountService;
use crate::fixture::pipeline_faults::SLOW;
use engine::Settings;
use engine::operators::{ActionResult, AdminAction, Objection, Verdict};
use kernel::ids::Id;
use kernel::operators::Scope;
use kernel::ports::bus::{Bus as _, PartitionLag};
use kernel::ports::inbox::{Inbox as _, ParkedKey};
use kernel::retry::Backoff;
use std::sync::atomic::Ordering;
use std::time::Duration;
use testkit::{MINUTE, wait_for, wait_until};

const HOUR: u64 = 3_600_000;
/// A transfer of this amount gets no answer.
const BAD: u128 = 13;

impl AccountService {
    /// Parks no key for longer than the test takes, and sends nothing again by itself.
    async fn parking() -> Self {
        let test = Self::open(true).await;
        for (number, owner) in [("A-1", 1), ("B-1", 2), ("C-1", 1)] {
            test.account(number, owner, 1_000).await;
        }
        test.service.pipeline_faults.fail(BAD);
        test
    }

    async fn parked_keys(&self) -> Vec<ParkedKey> {
        self.service.store().parked_keys(None, 100).await.expect("parked keys")
    }

    /// Waits until at least this number of messages is parked.
    async fn parked(&self, messages: u64) -> ParkedKey {
        let parked = wait_for(MINUTE, async || match &self.parked_keys().await[..] {
            [key] if key.messages >= messages => Some(key.clone()),
            _ => None,
        });
        match parked.await {
            Some(key) => key,
            None => panic!("{:?}", self.parked_keys().await),
        }
    }

    async fn lag(&self, group: &str, topic: &str) -> u64 {
        let lag = self.bus().lag(group.into(), vec![topic.into()]).await.expect("the lag");
        lag.iter().map(PartitionLag::messages).sum()
    }

    async fn no_lag(&self, group: &str, topic: &str) {
        let no_lag = wait_until(MINUTE, async || self.lag(group, topic).await == 0).await;
        assert!(no_lag, "{group} is behind on {topic}");
    }

    /// The transfers of a topic, in the order of their messages.
    async fn order_on(&self, topic: &str, ids: &[Id]) -> Vec<usize> {
        let messages = self.messages(&[topic]).await;
        let which = |payload: &str| ids.iter().position(|id| payload.contains(&id.to_string()));
        messages.iter().filter_map(|message| which(&message.payload)).collect()
    }
}

/// One account that fails is parked: the offset of its partition goes on, every other transfer ends, and
/// when the cause is gone its transfers end too, in their order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_of_a_parked_key_keep_their_order() {
    let test = AccountService::parking().await;
    let bad = test.open_transfer("A-1", "B-1", BAD).await.id;
    test.parked(1).await;
    let mut behind = Vec::new();
    for amount in 1..6 {
        behind.push(test.open_transfer("A-1", "B-1", amount).await.id);
    }
    let others = [
        test.open_transfer("C-1", "B-1", 7).await.id,
        test.open_transfer("C-1", "A-1", 8).await.id,
    ];
    test.wait_for_end(&others).await;
    let key = test.parked(6).await;
    assert_eq!((&*key.name.group, &*key.name.key), ("validation-group", "A-1"));
    assert!(key.next.failures >= 5 && key.next.cause.contains("TIMEOUT"), "{key:?}");
    test.no_lag("validation-group", "transfer-validation").await;
    let states = test.service.states(&behind).await;
    assert!(states.values().all(|state| *state == "PENDING"), "{states:?}");
    test.service.wait_for_open_case("PARKED").await;
    test.service.pipeline_faults.heal();
    let ids: Vec<Id> = std::iter::once(bad).chain(behind).collect();
    test.wait_for_end(&ids).await;
    assert_eq!(test.order_on("transfer-execution", &ids).await, [0, 1, 2, 3, 4, 5]);
    test.holds("A-1", 1_000 + 8 - 13 - 15).await;
    let none = wait_until(MINUTE, async || test.parked_keys().await.is_empty()).await;
    assert!(none, "{:?}", test.parked_keys().await);
    test.service.wait_for_closed_case("PARKED").await;
    test.in_order().await;
}

/// Sixteen parked keys, each with many messages whose check is slow: while they are tried another account of the
/// same group pays as ever, and what is paid from a parked account meanwhile stays behind what waits.
///
/// Turns red where a consumer tries parked keys within its own round (run: the release before).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parked_keys_that_are_slow_hold_no_other_account() {
    const KEYS: usize = 16;
    const BEHIND: usize = 10;
    let test = AccountService::parking().await;
    let numbers: Vec<String> = (0..KEYS).map(|n| format!("P-{n}")).collect();
    let mut of_key: Vec<Vec<Id>> = Vec::new();
    for number in &numbers {
        test.account(number, 1, 1_000).await;
        of_key.push(vec![test.open_transfer(number, "B-1", BAD).await.id]);
    }
    let parked = async |messages: u64| {
        let keys = test.parked_keys().await;
        keys.len() == KEYS && keys.iter().all(|key| key.messages >= messages)
    };
    assert!(wait_until(MINUTE, async || parked(1).await).await, "not all are parked");
    for (number, ids) in numbers.iter().zip(&mut of_key) {
        for _ in 0..BEHIND {
            ids.push(test.open_transfer(number, "B-1", SLOW).await.id);
        }
    }
    let all = u64::try_from(BEHIND).expect("few") + 1;
    assert!(wait_until(MINUTE, async || parked(all).await).await, "not all are parked");
    let faults = &test.service.pipeline_faults;
    faults.slow_ms.store(200, Ordering::SeqCst);
    let begun = async || faults.slow_checks.load(Ordering::SeqCst) > 0;
    faults.slow_checks.store(0, Ordering::SeqCst);
    faults.heal();
    assert!(wait_until(MINUTE, begun).await, "no parked key is tried");
    for (number, ids) in numbers.iter().zip(&mut of_key) {
        ids.push(test.open_transfer(number, "B-1", 1).await.id);
    }
    let other = test.open_transfer("C-1", "B-1", 7).await.id;
    test.wait_for_end(&[other]).await;
    let tried = faults.slow_checks.load(Ordering::SeqCst);
    assert!(tried < 100, "it waited for {tried} checks of others");
    let ids: Vec<Id> = of_key.iter().flatten().copied().collect();
    test.wait_for_end(&ids).await;
    for ids in &of_key {
        let order: Vec<usize> = (0..ids.len()).collect();
        assert_eq!(test.order_on("transfer-execution", ids).await, order);
    }
    test.in_order().await;
}

/// A message that can never go through: two persons end its transfer, nothing moves, and the messages behind it go on.
///
/// Turns red where no verdict ends a transfer that waits for its message (the release before), and where one person
/// is enough.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_persons_end_a_transfer_whose_message_cannot_go_through() {
    let test = AccountService::parking().await;
    let bad = test.open_transfer("A-1", "B-1", BAD).await.id;
    test.parked(1).await;
    let behind = test.open_transfer("A-1", "B-1", 5).await.id;
    test.parked(2).await;
    let evidence = serde_json::json!({ "ticket": 7 });
    let ends = AdminAction::Resolve { id: bad, verdict: Verdict::Rejected, evidence };
    let done = test.service.execute_as("ada", "ends", ends).await.expect("a proposal");
    let ActionResult::Proposed { approval } = done.outcome else { panic!("{done:?}") };
    let approve = AdminAction::Approve(approval);
    let alone = test.service.execute_as("ada", "alone", approve.clone()).await;
    assert!(alone.is_err(), "{alone:?}");
    test.service.execute_as("bob", "approves", approve).await.expect("it ends");
    test.wait_for_end(&[bad, behind]).await;
    let states = test.service.states(&[bad, behind]).await;
    assert_eq!((states[&bad], states[&behind]), ("FAILED", "COMPLETED"));
    let record = test.service.records(&[bad]).await.pop().expect("it is there");
    assert_eq!(record.error.map(|error| error.code.to_string()), Some("CANCELLED".to_owned()));
    test.holds("A-1", 995).await;
    test.published(bad, &["transfer-validation", "transfer-failed"]).await;
    let none = wait_until(MINUTE, async || test.parked_keys().await.is_empty()).await;
    assert!(none, "{:?}", test.parked_keys().await);
    test.in_order().await;
}

/// Where nothing can be parked the offset stays, and so does the message; parked ones outlive the process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_offset_waits_until_the_messages_are_parked() {
    let mut test = AccountService::parking().await;
    test.service.pipeline_faults.parks_nothing.store(true, Ordering::SeqCst);
    let bad = test.open_transfer("A-1", "B-1", BAD).await.id;
    let other = test.open_transfer("C-1", "B-1", 7).await.id;
    test.wait_for_end(&[other]).await;
    tokio::time::sleep(Duration::from_millis(1_000)).await;
    assert_eq!(test.parked_keys().await, []);
    assert_ne!(test.lag("validation-group", "transfer-validation").await, 0);
    test.service.pipeline_faults.parks_nothing.store(false, Ordering::SeqCst);
    test.parked(1).await;
    test.no_lag("validation-group", "transfer-validation").await;
    test.service.restart().await;
    assert_eq!(test.parked_keys().await.len(), 1);
    test.service.pipeline_faults.heal();
    test.wait_for_end(&[bad]).await;
    test.in_order().await;
}

/// An operator has a key tried at once that would wait for long; a key that does not wait is not found.
///
/// Turns red where the action is written and the clock of the key is not set.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_has_a_parked_key_tried_now() {
    let test = AccountService::parking().await;
    let bad = test.open_transfer("A-1", "B-1", BAD).await.id;
    let key = test.parked(1).await;
    let mut late = key.next.clone();
    late.due = u64::MAX >> 2;
    test.service.pipeline_faults.heal();
    // the clock of the key is far away: by itself it is tried no more
    let mut set = test.service.store().try_again(key.name.clone(), late.clone()).await;
    set = set.and(test.service.store().try_again(key.name.clone(), late).await);
    set.expect("it is put off");
    if test.parked_keys().await.is_empty() {
        // it was tried between healing and putting off
        test.wait_for_end(&[bad]).await;
        return;
    }
    let unpark = |key: &str| AdminAction::Unpark {
        group: "validation-group".into(),
        topic: "transfer-validation".into(),
        key: key.into(),
    };
    let none = test.service.execute_as("ada", "none", unpark("Z-1")).await;
    assert_eq!(none, Err(Objection::NotFound("parked key")));
    let done = test.service.execute_as("ada", "unpark", unpark("A-1")).await.expect("it is done");
    assert_eq!(done.outcome, ActionResult::Unparked);
    test.wait_for_end(&[bad]).await;
    test.in_order().await;
}

/// A group that is paused takes nothing, keeps its place, and goes on when it is resumed; only then can it be
/// taken elsewhere, and what it meets again has no second effect.
///
/// Turns red where a paused group consumes, and where a seek moves a group under its members.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_group_takes_nothing_and_can_be_taken_elsewhere() {
    let test = AccountService::parking().await;
    let first = test.open_transfer("A-1", "B-1", 5).await.id;
    test.wait_for_end(&[first]).await;
    let seek = AdminAction::Seek { group: "execution-group".into(), to: 0 };
    let refused = test.service.execute_as("ada", "early", seek.clone()).await;
    assert!(matches!(refused, Err(Objection::NotPossible(_))), "{refused:?}");
    let scope = Scope::Group("execution-group");
    let paused = test.service.execute_as("ada", "pause", AdminAction::Pause(scope)).await;
    let ActionResult::Paused { number: Some(number) } = paused.expect("it is paused").outcome
    else {
        panic!("no number")
    };
    tokio::time::sleep(Duration::from_millis(600)).await;
    let waits = test.open_transfer("A-1", "B-1", 6).await.id;
    test.service.wait_for_state(waits, "VALIDATED").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    test.service.wait_for_state(waits, "VALIDATED").await;
    let preview = test.service.engine.operators.seek_preview("execution-group", 0).await;
    assert!(preview.is_ok_and(|all| all.iter().any(|seek| seek.to < seek.from)));
    let sought = test.service.execute_as("ada", "seek", seek).await.expect("it is taken back");
    assert!(matches!(sought.outcome, ActionResult::Sought { partitions: 1.. }), "{sought:?}");
    let resume = test.service.execute_as("ada", "resume", AdminAction::Unpause(number)).await;
    resume.expect("it is resumed");
    test.wait_for_end(&[waits]).await;
    test.no_lag("execution-group", "transfer-execution").await;
    test.holds("A-1", 1_000 - 11).await;
    test.in_order().await;
}

/// What a message would have moved during a pause goes on when the pause ends, and waits for no second look.
///
/// Turns red where its message is passed over and nothing else (run: the release before): it waits a minute.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_pause_held_back_goes_on_when_it_ends() {
    // no second look within the test
    let later = |settings: &mut Settings| settings.resend = Backoff { base: HOUR, cap: HOUR };
    let test = AccountService::tuned(true, later).await;
    test.account("A-1", 1, 1_000).await;
    test.account("B-1", 2, 0).await;
    let pause = async |key: &str, scope| {
        let done = test.service.execute_as("ada", key, AdminAction::Pause(scope)).await;
        let done = done.expect("it is paused").outcome;
        let ActionResult::Paused { number: Some(number) } = done else { panic!("{done:?}") };
        number
    };
    let lift = async |key: &str, number| {
        let done = test.service.execute_as("ada", key, AdminAction::Unpause(number)).await;
        done.expect("it ends");
    };
    let group = pause("group", Scope::Group("validation-group")).await;
    tokio::time::sleep(Duration::from_millis(600)).await;
    let waits = test.open_transfer("A-1", "B-1", 6).await.id;
    let flow = test.service.engine.flows().named("account").expect("the flow");
    let flow = pause("flow", Scope::Flow(flow)).await;
    lift("the group", group).await;
    test.no_lag("validation-group", "transfer-validation").await;
    test.service.wait_for_state(waits, "PENDING").await;
    lift("the flow", flow).await;
    test.wait_for_end(&[waits]).await;
    test.holds("B-1", 6).await;
    test.in_order().await;
}
