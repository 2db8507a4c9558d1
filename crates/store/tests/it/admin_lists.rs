//! Cases, approvals, actions and webhooks, as operators list them.

use crate::fixture::{Fixture, NOON, id, written};
use crate::operator_actions::{action, case, close};
use kernel::ids::Id;
use kernel::operators::{ApprovalStatus, Note, Proposal, Subject};
use kernel::ports::admin_queries::{AdminQueries, Tells};
use kernel::ports::journal::OperatorQueries as _;
use kernel::unit::{Put, Unit};
use store::sqlite::Embedded;

#[tokio::test(flavor = "multi_thread")]
async fn cases_are_listed_as_they_stand_with_their_notes() {
    let fixture = Fixture::new();
    let store = fixture.open();
    let about = |n| Subject::Transfer(id(n));
    for n in 0..6 {
        written(&store, Unit::puts(vec![case("STUCK", about(n))])).await;
    }
    written(&store, Unit::puts(vec![close("STUCK", about(2)), case("STUCK", about(2))])).await;
    written(&store, Unit::puts(vec![close("STUCK", about(4)), close("OTHER", about(5))])).await;
    let note = |note| Put::Note { case: 2, caller: "issuer|me".into(), note };
    for whom in ["ann", "bob"] {
        let comment = Note::Comment(format!("for {whom}").into());
        let puts = vec![note(Note::Assigned(whom.into())), note(comment)];
        written(&store, Unit::puts(puts)).await;
    }
    let list = async |open, about, before, limit| -> Vec<u64> {
        let found = store.cases(open, about, before, limit).await.expect("cases");
        found.iter().map(|case| case.opened.number).collect()
    };
    assert_eq!(list(None, None, None, 100).await, [7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(list(None, None, Some(5), 2).await, [4, 3]);
    assert_eq!(list(Some(true), None, None, 100).await, [7, 6, 4, 2, 1]);
    assert_eq!(list(Some(false), None, None, 100).await, [5, 3]);
    assert_eq!(list(None, Some(about(2)), None, 100).await, [7, 3]);
    assert_eq!(list(Some(true), Some(about(2)), None, 100).await, [7]);
    assert_eq!(list(None, Some(about(2)), Some(7), 100).await, [3]);
    let (row, notes) = store.case(2).await.expect("a question").expect("the second");
    assert_eq!((row.opened.subject, row.assigned.as_deref()), (about(1), Some("bob")));
    assert_eq!(row.closed, None);
    let told: Vec<_> = notes.into_iter().map(|row| row.note).collect();
    let comment = |words: &str| Note::Comment(words.into());
    let should = [
        Note::Assigned("ann".into()),
        comment("for ann"),
        Note::Assigned("bob".into()),
        comment("for bob"),
    ];
    assert_eq!(told, should);
    let (row, notes) = store.case(3).await.expect("a question").expect("the third");
    assert_eq!(row.closed, Some(("it went away".into(), NOON)));
    assert!(notes.is_empty());
    assert!(store.case(99).await.expect("a question").is_none());
    let open: Vec<_> = store.open_cases().await.expect("cases").iter().map(|c| c.number).collect();
    assert_eq!(open, [1, 2, 4, 6, 7]);
}

#[tokio::test(flavor = "multi_thread")]
async fn approvals_and_actions_are_listed_newest_first() {
    let fixture = Fixture::new();
    let store = fixture.open();
    for n in 1..6 {
        let proposal = Proposal {
            id: id(n),
            kind: "RESOLVE",
            subject: "s".into(),
            value: "{}".into(),
            reason: "r".into(),
            caller: "issuer|one".into(),
            lasts: 3_600_000,
        };
        written(&store, Unit::puts(vec![Put::Propose(proposal)])).await;
        let subject = if n % 2 == 0 { "even" } else { "odd" };
        let act = Put::Action(action(&format!("k-{n}"), subject));
        written(&store, Unit::puts(vec![act])).await;
    }
    for (n, stand) in [(2, ApprovalStatus::Approved), (3, ApprovalStatus::Rejected)] {
        let decide = Put::Decide { id: id(n), stand, caller: "issuer|two".into() };
        written(&store, Unit::puts(vec![decide])).await;
    }
    let list = async |stand, before, limit| -> Vec<Id> {
        let found = store.approvals(stand, before, limit).await.expect("approvals");
        found.iter().map(|approval| approval.id).collect()
    };
    assert_eq!(list(None, None, 100).await, [5, 4, 3, 2, 1].map(id));
    assert_eq!(list(None, Some(id(4)), 2).await, [3, 2].map(id));
    assert_eq!(list(Some(ApprovalStatus::Pending), None, 100).await, [5, 4, 1].map(id));
    assert_eq!(list(Some(ApprovalStatus::Rejected), None, 100).await, [id(3)]);
    let decided = store.approval(id(2)).await.expect("a question").expect("it");
    assert_eq!(
        (decided.stand, decided.decided),
        (ApprovalStatus::Approved, Some(("issuer|two".into(), NOON)))
    );
    let list = async |subject: Option<&str>, before, limit| -> Vec<u64> {
        let subject = subject.map(Into::into);
        let found = store.actions(subject, before, limit).await.expect("actions");
        found.iter().map(|past_action| past_action.number).collect()
    };
    assert_eq!(list(None, None, 100).await, [5, 4, 3, 2, 1]);
    assert_eq!(list(None, Some(5), 2).await, [4, 3]);
    assert_eq!(list(Some("even"), None, 100).await, [4, 2]);
    assert_eq!(list(Some("even' OR 1 --"), None, 100).await, [0; 0]);
}

/// What is due: case, half, tries.
async fn due(store: &Embedded) -> Vec<(u64, Tells, u32)> {
    let due = store.deliveries(LONGEST, 100).await.expect("deliveries");
    due.iter().map(|d| (d.case.opened.number, d.tells, d.attempts)).collect()
}

/// The longest wait between two tries.
const LONGEST: u64 = 1_000;
const OPENED: Tells = Tells::Opened;
const CLOSED: Tells = Tells::Closed;

/// Seen red where the end of an episode does not wait for its beginning, and where a wait begins anew
/// with the process.
#[tokio::test(flavor = "multi_thread")]
async fn each_half_of_an_episode_is_delivered_once() {
    let fixture = Fixture::new();
    let mut store = fixture.open();
    let about = |n| Subject::Transfer(id(n));
    written(&store, Unit::puts(vec![case("STUCK", about(1))])).await;
    fixture.clock.set(NOON + 10);
    written(&store, Unit::puts(vec![case("STUCK", about(2)), case("STUCK", about(2))])).await;
    fixture.clock.set(NOON + 20);
    written(&store, Unit::puts(vec![close("STUCK", about(1)), close("STUCK", about(1))])).await;
    assert_eq!(due(&store).await, [(1, OPENED, 0), (2, OPENED, 0)]);
    assert_eq!(store.undelivered().await, Ok((3, Some(NOON))));
    assert_eq!(store.deliveries(LONGEST, 1).await.expect("deliveries").len(), 1);
    // one fails, one is delivered
    let failed = Some("503".into());
    store.delivered(1, OPENED, Some(NOON + 50), failed).await.expect("a write");
    store.delivered(2, OPENED, None, None).await.expect("a write");
    drop(store);
    store = fixture.open();
    assert_eq!(due(&store).await, [], "it waits, and its end waits for it");
    assert_eq!(store.undelivered().await, Ok((2, Some(NOON))));
    fixture.clock.set(NOON + 50);
    assert_eq!(due(&store).await, [(1, OPENED, 1)]);
    let told = store.deliveries(LONGEST, 100).await.expect("deliveries");
    let last = told.last().expect("the failed one");
    assert_eq!((last.error.as_deref(), last.due_at), (Some("503"), Some(NOON + 50)));
    // a late word of failure does not take back what was delivered
    store.delivered(2, OPENED, Some(NOON), Some("late".into())).await.expect("a write");
    store.delivered(1, OPENED, None, None).await.expect("a write");
    assert_eq!(due(&store).await, [(1, CLOSED, 0)]);
    store.delivered(1, CLOSED, None, None).await.expect("a write");
    store.delivered(77, CLOSED, None, None).await.expect("a write");
    assert_eq!(due(&store).await, []);
    assert_eq!(store.undelivered().await, Ok((0, None)));
}

/// Seen red where only what is due by the clock is given: after a clock that ran ahead and was set
/// right, nothing would be told for as long.
#[tokio::test(flavor = "multi_thread")]
async fn a_time_that_cannot_be_has_come() {
    let fixture = Fixture::new();
    let store = fixture.open();
    written(&store, Unit::puts(vec![case("STUCK", Subject::Service)])).await;
    for (due_at, expected) in [
        (NOON + LONGEST, vec![]),
        (NOON + LONGEST + 1, vec![(1, OPENED, 2)]),
        (u64::MAX, vec![(1, OPENED, 3)]),
    ] {
        store.delivered(1, OPENED, Some(due_at), None).await.expect("a write");
        assert_eq!(due(&store).await, expected, "{due_at}");
    }
}

/// Seen red where a folder that ran without webhooks posts all that ever was, and where a second start
/// drops what is under way.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_over_before_the_first_is_not_sent() {
    let fixture = Fixture::new();
    let mut store = fixture.open();
    let about = |n| Subject::Transfer(id(n));
    for n in [1, 2] {
        written(&store, Unit::puts(vec![case("STUCK", about(n))])).await;
    }
    written(&store, Unit::puts(vec![close("STUCK", about(1))])).await;
    store.tell().await.expect("a write");
    assert_eq!(due(&store).await, [(2, OPENED, 0)], "what stands is told");
    written(&store, Unit::puts(vec![close("STUCK", about(2)), case("STUCK", about(3))])).await;
    written(&store, Unit::puts(vec![close("STUCK", about(3))])).await;
    drop(store);
    store = fixture.open();
    store.tell().await.expect("a write");
    assert_eq!(due(&store).await, [(2, OPENED, 0), (3, OPENED, 0)]);
    assert_eq!(store.undelivered().await, Ok((4, Some(NOON))));
}
