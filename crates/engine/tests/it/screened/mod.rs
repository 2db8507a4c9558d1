//! Decisions by facts, and questions: what is stored, what is counted, and what leaves no trace.
//!
//! Wrong builds that were run, each of which turns one of these red: a decision that stores no facts; a
//! *not yet* that is counted as an unknown answer; an orphan that waits and keeps the mark of its trial; a
//! batch of facts that panicked and is not split.

mod agreed;
mod source;
mod table;

use crate::fixture::crash_points::Side;
use crate::fixture::defaults::{COIN, FUNDING, NEVER, terms};
use crate::fixture::test_service::TestService;
use crate::postgres::fixture::{Fixture, quick};
use engine::Engine;
use kernel::audit::link;
use kernel::flow::check;
use kernel::flow::table::{Flows, Table};
use kernel::ids::Id;
use kernel::ports::journal::{Journal, Linked};
use kernel::retry::Backoff;
use source::{Screening, Source, SourceFault};
use std::sync::Arc;
use std::time::Duration;
use table::State;

const RELEASE: &str = r#"{"facts":{"released":{"flag":true}},"rule":"released","version":1}"#;
const ROOM: &str = r#"{"facts":{"room":{"number":"340282366920938463463374607431768211455"}},"rule":"room","version":1}"#;

/// The registry with one flow more.
fn flows() -> Flows {
    let mut flows = flows::registry();
    flows.0.push(Table::of::<State>());
    flows
}

/// A service that offers the flow too.
async fn service(fuse: bool) -> (TestService, Arc<Source>) {
    let mut service = TestService::open(fuse, NEVER).await;
    let source = Source::new();
    service.flows = flows();
    service.facts.insert("screened", source.clone());
    service.restart().await;
    (service, source)
}

/// The same for workers on PostgreSQL.
async fn on_postgres(fuse: bool) -> (Fixture, Arc<Source>) {
    let mut fixture = Fixture::open(quick(fuse)).await;
    let source = Source::new();
    fixture.flows = flows();
    fixture.facts.insert("screened", source.clone());
    (fixture, source)
}

async fn open(engine: &Arc<Engine>, user: u64, amount: u128) -> Id {
    let flow = engine.flows().named("screened").expect("the flow");
    engine
        .intake
        .create(flow, terms(FUNDING, user, amount, COIN))
        .await
        .expect("it is opened")
        .record
        .id
}

async fn opened(service: &TestService, many: u64) -> Vec<Id> {
    let mut ids = Vec::new();
    for n in 0..many {
        ids.push(open(&service.engine, 1 + n % 9, 100).await);
    }
    ids
}

/// Words and details of a history, whose chain is whole.
async fn history(journal: &dyn Journal, id: Id) -> Vec<(String, Option<String>)> {
    let history = journal.history(id).await.expect("the journal answers");
    for Linked { entry, prev, hash } in &history {
        assert_eq!(link(*prev, entry), *hash, "{entry:?}");
    }
    history.into_iter().map(|linked| (linked.entry.event, linked.entry.detail)).collect()
}

/// What the history says of a transfer that was paid.
fn paid() -> Vec<(String, Option<String>)> {
    let entries = [
        ("CREATED", None),
        ("YES", Some(RELEASE)),
        ("YES", None),
        ("CLAIMED", None),
        ("DONE", None),
        ("DONE", Some("list 7: clear")),
        ("YES", Some(ROOM)),
        ("CLAIMED", None),
        ("DONE", None),
    ];
    entries.map(|(word, detail)| (word.to_owned(), detail.map(str::to_owned))).into()
}

#[test]
fn the_table_holds() {
    assert_eq!(check::faults(&Table::of::<State>()), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_facts_of_a_decision_are_stored_with_it() {
    for fuse in [true, false] {
        let (service, _) = service(fuse).await;
        let id = open(&service.engine, 1, 100).await;
        service.wait_for_state(id, "PAID").await;
        assert_eq!(history(&**service.store(), id).await, paid(), "fused: {fuse}");
        service.assert_in_order().await;
    }
}

/// A rule that reads the record alone is decided in the unit that leads to it, and stores no document.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_no_is_stored_too_and_takes_its_edge() {
    let (service, source) = service(true).await;
    let large = open(&service.engine, 1, 2_000).await;
    service.wait_for_state(large, "REFUSED").await;
    source.state().released = Some(false);
    let refused = open(&service.engine, 1, 100).await;
    service.wait_for_state(refused, "REFUSED").await;
    let entries = history(&**service.store(), refused).await;
    let detail = r#"{"facts":{"released":{"flag":false}},"rule":"released","version":1}"#;
    assert_eq!(entries.last(), Some(&("NO".to_owned(), Some(detail.to_owned()))));
    source.state().released = Some(true);
    source.state().room = Some(1);
    let returned = open(&service.engine, 2, 100).await;
    service.wait_for_state(returned, "RETURNED").await;
    service.assert_in_order().await;
}

/// Every version, and how often a unit was written.
async fn written(service: &TestService, ids: &[Id]) -> (Vec<u32>, usize) {
    let mut records = service.records(ids).await;
    records.sort_by_key(|record| record.id);
    let retries: u32 = records.iter().map(|record| record.head.retries).sum();
    assert_eq!(retries, 0);
    let versions = records.iter().map(|record| record.head.version).collect();
    (versions, service.crash_point.units())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn not_yet_writes_nothing_and_is_no_retry() {
    for fuse in [true, false] {
        let (mut service, source) = service(fuse).await;
        source.state().released = None;
        service.settings.alerts.after_retries = 2;
        service.restart().await;
        let ids = opened(&service, 30).await;
        source.looked(&ids, 1).await;
        let before = written(&service, &ids).await;
        source.looked(&ids, 6).await;
        assert_eq!(written(&service, &ids).await, before);
        assert_eq!(service.episodes(), [], "nothing is stuck by its count");
        source.state().released = Some(true);
        for id in &ids {
            service.wait_for_state(*id, "PAID").await;
            assert_eq!(history(&**service.store(), *id).await, paid());
        }
        service.assert_in_order().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn not_yet_is_stuck_by_its_age() {
    let (service, source) = service(true).await;
    source.state().released = None;
    let id = open(&service.engine, 1, 100).await;
    source.looked(&[id], 2).await;
    service.clock.forward(500_000);
    source.looked(&[id], 2).await;
    assert_eq!(service.episodes(), [], "its state says 600 s");
    service.clock.forward(101_000);
    service.wait_for_episodes(&[("STUCK", format!("transfer/{id}"), true)]).await;
    source.state().released = Some(true);
    service.wait_for_state(id, "PAID").await;
    service.wait_for_episodes(&[("STUCK", format!("transfer/{id}"), false)]).await;
}

/// A wait may outlive many processes: those that end while it waits did not die of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_is_found_again_after_each_restart_and_never_poison() {
    let (mut service, source) = service(true).await;
    source.state().released = None;
    let ids = opened(&service, 5).await;
    for _ in 0..5 {
        source.looked(&ids, 3).await;
        service.restart().await;
    }
    source.looked(&ids, 3).await;
    for record in service.records(&ids).await {
        assert_eq!((record.head.deaths, record.head.alone), (0, false), "{record:?}");
    }
    assert_eq!(service.episodes(), []);
    source.state().released = Some(true);
    for id in &ids {
        service.wait_for_state(*id, "PAID").await;
    }
    service.assert_in_order().await;
}

/// A gathering and a question that learn nothing count, and leave a line only with their case.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_counts_and_writes_no_event_but_with_its_case() {
    for (fault, state) in [
        (SourceFault::Silent, "OPENED"),
        (SourceFault::Short, "OPENED"),
        (SourceFault::Silent, "SCREENING"),
    ] {
        let (mut service, source) = service(true).await;
        service.settings.alerts.after_retries = 4;
        service.restart().await;
        if state == "OPENED" {
            source.state().fault = fault;
        } else {
            service.crash_point.set_event(Side::After, "CLAIMED");
        }
        let id = open(&service.engine, 1, 100).await;
        if state == "SCREENING" {
            service.crash_point.fell().await;
            service.stop().await;
            source.state().fault = fault;
            service.start().await;
        }
        service.wait_for_episodes(&[("STUCK", format!("transfer/{id}"), true)]).await;
        let [record] = service.records(&[id]).await.try_into().expect("one");
        assert!(record.head.retries >= 4, "{record:?}");
        assert_eq!(service.states(&[id]).await.get(&id), Some(&state));
        source.state().fault = SourceFault::None;
        service.wait_for_state(id, "PAID").await;
        service.wait_for_episodes(&[("STUCK", format!("transfer/{id}"), false)]).await;
        let mut entries = history(&**service.store(), id).await;
        let retry = |word: &str| ("RETRY".to_owned(), Some(format!("STUCK {word}")));
        assert_eq!(entries.pop(), Some(retry("closed")));
        let at = entries.iter().position(|line| *line == retry("opened")).expect("it was opened");
        entries.remove(at);
        assert_eq!(entries, paid(), "{fault:?} in {state}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_bad_item_fails_no_neighbour() {
    let (mut service, source) = service(true).await;
    // all of them come when the clock is moved, in one batch
    service.settings.backoff = Backoff { base: 20_000, cap: 20_000 };
    // on a slow machine the clock is moved far
    service.settings.alerts.after_seconds = 1_000_000;
    service.restart().await;
    source.state().released = None;
    let ids = opened(&service, 12).await;
    source.looked(&ids, 1).await;
    let bad = ids[5];
    {
        let mut state = source.state();
        (state.poison, state.released, state.longest) = (Some(bad), Some(true), 0);
    }
    service.clock.forward(30_000);
    source.looked(&[bad], 1).await;
    assert_eq!(source.state().longest, 12, "they came together");
    let good: Vec<Id> = ids.iter().copied().filter(|id| *id != bad).collect();
    while service.states(&good).await.values().any(|state| *state != "PAID") {
        service.clock.forward(30_000);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let states = service.states(&ids).await;
    for id in &ids {
        assert_eq!(states.get(id), Some(if *id == bad { &"OPENED" } else { &"PAID" }));
    }
    source.state().poison = None;
    while service.states(&[bad]).await.get(&bad) != Some(&"PAID") {
        service.clock.forward(30_000);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // on a slow machine the clock was moved so far that it was a case
    let report = service.engine.reconciler.check_now().await.expect("a proof");
    assert!(report.ok && service.engine.halted().is_none(), "{:?}", report.breaks);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_question_takes_its_edge_and_a_dead_one_is_a_contradiction() {
    for fuse in [true, false] {
        let (service, source) = service(fuse).await;
        source.state().screening = Screening::Hit;
        let hit = open(&service.engine, 1, 100).await;
        service.wait_for_state(hit, "RETURNED").await;
        let entries = history(&**service.store(), hit).await;
        assert!(
            entries.contains(&("REJECTED".to_owned(), Some("SANCTIONED".to_owned()))),
            "{entries:?}"
        );
        let [record] = service.records(&[hit]).await.try_into().expect("one");
        let doc = record.error.and_then(|error| error.doc);
        assert_eq!(doc.as_deref(), Some("list 7, line 3"));
        service.assert_in_order().await;
        source.state().screening = Screening::Dead;
        let dead = open(&service.engine, 2, 100).await;
        service.wait_for_episodes(&[("CONTRADICTION", format!("transfer/{dead}"), true)]).await;
        assert_eq!(service.states(&[dead]).await.get(&dead), Some(&"SCREENING"));
    }
}

/// The decision is durable, and its process dies before anything else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_at_a_decision_decides_once() {
    for fuse in [true, false] {
        for side in [Side::Before, Side::After] {
            let (mut service, source) = service(fuse).await;
            service.crash_point.set_event(side, "YES");
            let id = open(&service.engine, 1, 100).await;
            service.crash_point.fell().await;
            service.stop().await;
            // what was decided stays decided
            source.state().released = Some(false);
            let end = if side == Side::After { "PAID" } else { "REFUSED" };
            service.start().await;
            service.wait_for_state(id, end).await;
            if side == Side::After {
                assert_eq!(history(&**service.store(), id).await, paid());
            }
            service.assert_in_order().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flow_that_learns_is_not_offered_without_its_port() {
    let (mut service, _) = service(true).await;
    service.stop().await;
    let refused = service.refused_offering(&["screened"]).await;
    assert_eq!(refused.class, "NO_FACT_SOURCE");
}

/// Two workers on PostgreSQL: what one of them holds back goes on at the other when it dies.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_dead_worker_held_back_is_decided_by_another() {
    for fuse in [true, false] {
        let (fixture, source) = on_postgres(fuse).await;
        let dying = fixture.worker().await;
        let first = open(&dying.engine, 1, 100).await;
        dying.wait_for_state(first, "PAID").await;
        assert_eq!(history(&*dying.store, first).await, paid());
        source.state().released = None;
        let mut ids = Vec::new();
        for n in 0..10 {
            ids.push(open(&dying.engine, 1 + n % 9, 100).await);
        }
        source.looked(&ids, 1).await;
        let versions = "SELECT sum(version), sum(retry_count) FROM transfers WHERE state = 0";
        let before = fixture.sql(versions);
        source.looked(&ids, 5).await;
        assert_eq!(fixture.sql(versions), before, "not yet writes nothing");
        dying.kill().await;
        let heir = fixture.worker().await;
        source.looked(&ids, 3).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(fixture.sql("SELECT sum(deaths) FROM transfers"), "0");
        source.state().released = Some(true);
        for id in &ids {
            heir.wait_for_state(*id, "PAID").await;
            assert_eq!(history(&*heir.store, *id).await, paid());
        }
        let report = heir.engine.reconciler.check_now().await.expect("a proof");
        assert!(report.ok, "{:?}", report.breaks);
        heir.kill().await;
    }
}

/// Turns red where a worker is given rows of a flow that it does not carry: it gives them back, a write
/// for each at every backoff. What a dead worker held stays for one that carries the flow.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_without_the_flow_writes_nothing_for_it() {
    let mut fixture = Fixture::open(quick(true)).await;
    let source = Source::new();
    fixture.flows = flows();
    fixture.facts.insert("screened", source.clone());
    let dying = fixture.worker().await;
    source.state().released = None;
    let mut ids = Vec::new();
    for user in 1..6 {
        ids.push(open(&dying.engine, user, 100).await);
    }
    source.looked(&ids, 1).await;
    dying.kill().await;
    fixture.facts.clear();
    let other = fixture.worker().await;
    fixture.wait_for_sql("SELECT count(*) FROM due WHERE orphan", "5").await;
    let rows = "SELECT string_agg(d.xmin || '/' || t.xmin, ' ' ORDER BY t.transfer_id) \
         FROM due d JOIN transfers t USING (transfer_id) WHERE t.flow = 'screened'";
    let before = fixture.sql(rows);
    for n in 0..5 {
        other.complete_transfer(FUNDING, 1, &format!("own-{n}"), 5).await;
        // some rounds of the scanner, and more than the longest backoff
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
    assert_eq!(fixture.sql(rows), before, "the rows were written");
    fixture.facts.insert("screened", source.clone());
    let heir = fixture.worker().await;
    source.state().released = Some(true);
    for id in &ids {
        heir.wait_for_state(*id, "PAID").await;
    }
    for worker in [other, heir] {
        worker.kill().await;
    }
}
