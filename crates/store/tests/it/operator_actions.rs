//! What operators did stays, whichever process opens the folder next.

use crate::fixture::{Fixture, id, one, word, written};
use kernel::ids::{AssetId, Id, LedgerId, UserId};
use kernel::money::{Amount, Asset, AssetStatus};
use kernel::operators::{
    Accepted, Action, ApprovalStatus, Case, Note, Proposal, Scope, Severity, Subject,
};
use kernel::ports::journal::{OperatorQueries as _, ServiceQueries as _, TransferQueries as _};
use kernel::unit::{Guard, Put, Unit, Wrote};
use std::sync::Arc;
use store::sqlite::Embedded;

pub(crate) fn action(key: &str, subject: &str) -> Action {
    Action {
        caller: "issuer|ops".into(),
        key: key.into(),
        kind: "PAUSE",
        subject: subject.into(),
        value: r#"{"a":1}"#.into(),
        reason: "it's \"late\"".into(),
        result: "{}".into(),
    }
}

pub(crate) fn case(kind: &'static str, subject: Subject) -> Put {
    let facts = format!("{kind} of {subject}").into();
    Put::Case(Case { kind, severity: Severity::Warning, subject, facts })
}

pub(crate) fn close(kind: &str, subject: Subject) -> Put {
    Put::Close { kind: kind.into(), subject, fact: "it went away".into() }
}

fn proposal(n: u128) -> Proposal {
    Proposal {
        id: Id(n),
        kind: "RESUME",
        subject: "service".into(),
        value: "{}".into(),
        reason: "it is safe".into(),
        caller: "issuer|one".into(),
        lasts: 3_600_000,
    }
}

fn pause(scope: Scope, caller: &str) -> Put {
    Put::Pause { scope, reason: format!("by {caller}").into(), caller: caller.into() }
}

/// Everything that a reader may ask, as text.
async fn everything(store: &Embedded) -> Vec<String> {
    let status = store.service_status().await.expect("status");
    let past_action =
        store.past_action("issuer|ops".into(), "k-2".into()).await.expect("past action");
    vec![
        format!("{status:#?}"),
        format!("{:#?}", store.open_cases().await.expect("cases")),
        format!("{past_action:#?}"),
        format!("{:#?}", store.approval(Id(1)).await.expect("approval")),
        format!("{:#?}", store.approval(Id(2)).await.expect("approval")),
        format!("{:#?}", store.history(Id(0)).await.expect("history")),
    ]
}

fn scopes(fixture: &Fixture) -> Vec<Scope> {
    vec![
        Scope::Flow(fixture.flows.named("internal").expect("the flow")),
        Scope::Ledger(LedgerId::SPOT),
        Scope::Chain(kernel::ids::ChainId(30)),
        Scope::Asset(AssetId(3)),
        Scope::Account(UserId(4_001), LedgerId::FUNDING),
        Scope::Transfer(id(5)),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_keeps_all_of_it() {
    let fixture = Fixture::new();
    let mut store = fixture.open();
    let mut puts: Vec<_> = scopes(&fixture).into_iter().map(|s| pause(s, "issuer|ops")).collect();
    let accepted = |key: &str, amount| Accepted { key: key.into(), amount };
    puts.extend([
        case("STUCK", Subject::Transfer(id(5))),
        case("LEDGER", Subject::Ledger(LedgerId::SPOT)),
        case("LOUD", Subject::User(UserId(7))),
        case("SERVICE", Subject::Service),
        Put::Halt { reason: "a break".into() },
        Put::Resume { accepted: vec![accepted("a", -5), accepted("b", i128::MAX)] },
        Put::Halt { reason: "another break".into() },
        Put::Resume { accepted: vec![accepted("a", -5), accepted("a", 6)] },
        Put::Halt { reason: "a third break".into() },
    ]);
    let mut coin = Asset::plain(3, "USDT", 6);
    coin.status = AssetStatus::Suspended;
    (coin.max, coin.daily) = (Some(Amount(5)), Some(Amount(u128::MAX)));
    puts.extend([Put::Asset(coin.clone()), Put::Asset(Asset::plain(9, "NEW", 24))]);
    written(&store, Unit::puts(puts)).await;
    let proposals = vec![Put::Propose(proposal(1)), Put::Propose(proposal(2))];
    written(&store, Unit::puts(proposals)).await;
    for n in 0..4 {
        let unit = Unit::puts(vec![Put::Action(action(&format!("k-{n}"), "service"))]);
        written(&store, unit).await;
    }
    let decide =
        Put::Decide { id: Id(2), stand: ApprovalStatus::Approved, caller: "issuer|two".into() };
    written(&store, Unit::puts(vec![decide])).await;
    let before = everything(&store).await;
    drop(store);
    store = fixture.open();
    assert_eq!(everything(&store).await, before);
    let status = store.service_status().await.expect("status");
    assert_eq!(status.halted.as_deref(), Some("a third break"));
    let found: Vec<_> = status.paused.iter().map(|paused| paused.scope).collect();
    assert_eq!(found, scopes(&fixture));
    assert_eq!(status.accepted.len(), 3);
    assert_eq!(status.assets_version, 2);
    let find = |number| status.assets.iter().find(|asset| asset.id == AssetId(number)).cloned();
    assert_eq!((find(3), find(9)), (Some(coin), Some(Asset::plain(9, "NEW", 24))));
    // the flag works, and not only in memory
    let stopped = || Unit { guards: vec![Guard::NotHalted], ..Unit::puts(vec![]) };
    assert_eq!(one(&store, stopped()).await, Wrote::Lost(Guard::NotHalted));
    written(&store, Unit::puts(vec![Put::Resume { accepted: vec![] }])).await;
    written(&store, stopped()).await;
    drop(store);
    written(&fixture.open(), stopped()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operators_chain_goes_on_after_a_restart() {
    let fixture = Fixture::new();
    let mut last: Option<kernel::audit::Hash> = None;
    for n in 0..3_u32 {
        let store = fixture.open();
        written(&store, Unit::puts(vec![Put::Action(action(&format!("k-{n}"), "a"))])).await;
        let chain = store.history(Id(0)).await.expect("a history");
        let newest = chain.last().expect("an entry");
        assert_eq!(newest.entry.seq, n);
        assert_eq!(newest.prev, last.unwrap_or_else(|| kernel::audit::genesis(Id(0))));
        assert_eq!(newest.hash, kernel::audit::link(newest.prev, &newest.entry));
        last = Some(newest.hash);
        // whoever repeats it gets the first answer, also after a restart
        let again = Unit::puts(vec![Put::Action(action("k-0", "b"))]);
        assert_eq!(word(&one(&store, again).await), "lost");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_that_was_ended_never_gives_its_number_away() {
    let fixture = Fixture::new();
    let scope = Scope::Asset(AssetId(3));
    let number = async |store: &Arc<Embedded>| {
        let status = store.service_status().await.expect("status");
        status.paused.first().expect("a pause").number
    };
    let store = fixture.open();
    written(&store, Unit::puts(vec![pause(scope, "issuer|one")])).await;
    let first = number(&store).await;
    written(&store, Unit::puts(vec![Put::Unpause(first)])).await;
    drop(store);
    let store = fixture.open();
    written(&store, Unit::puts(vec![pause(scope, "issuer|two")])).await;
    assert!(number(&store).await > first);
    written(&store, Unit::puts(vec![Put::Unpause(first)])).await;
    assert_eq!(store.service_status().await.expect("status").paused.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unit_that_contradicts_itself_is_not_written() {
    let fixture = Fixture::new();
    let store = fixture.open();
    let decide = |stand| Put::Decide { id: Id(1), stand, caller: "issuer|two".into() };
    let twice = vec![
        Put::Propose(proposal(1)),
        decide(ApprovalStatus::Approved),
        decide(ApprovalStatus::Rejected),
    ];
    assert_eq!(one(&store, Unit::puts(twice)).await, Wrote::Lost(Guard::Pending(Id(1))));
    let twice = vec![Put::Action(action("k", "a")), Put::Action(action("k", "a"))];
    assert_eq!(word(&one(&store, Unit::puts(twice)).await), "lost");
    assert_eq!(store.history(Id(0)).await.expect("a history"), []);
    written(&store, Unit::puts(vec![Put::Propose(proposal(1))])).await;
    let again = one(&store, Unit::puts(vec![Put::Propose(proposal(1))])).await;
    assert_eq!(word(&again), "CONTRADICTION");
    let note = Put::Note { case: 1, caller: "x".into(), note: Note::Comment("early".into()) };
    written(&store, Unit::puts(vec![note, case("STUCK", Subject::Service)])).await;
    let notes: i64 = fixture
        .tool()
        .query_row("SELECT count(*) FROM case_notes", [], |row| row.get(0))
        .expect("a count");
    assert_eq!(notes, 0, "a note of a case that is not there");
}
