//! What is agreed with a decision: who is paid, how much, and that it is said once.
//!
//! Wrong builds that were run, each of which turns one of these red: the agreement written by a unit
//! behind the acceptance; a hash that leaves it out; a second acceptance that overwrites it; a
//! conservation check that reads the target side of the opening.

use super::source::Source;
use super::table::State;
use super::{history, on_postgres, paid, service};
use crate::fixture::defaults::{COIN, FUNDING, terms};
use crate::fixture::faulty_ledger::CallFault;
use crate::fixture::test_service::TestService;
use engine::Engine;
use engine::audit::prove;
use kernel::audit::proof::Findings;
use kernel::flow::table::Table;
use kernel::ids::{Id, UserId};
use kernel::money::Amount;
use kernel::ports::audit::Audit as _;
use kernel::ports::journal::Journal;
use kernel::ports::ledger::{Ledger as _, Reply, Whose};
use kernel::record::{Account, Record};
use std::sync::Arc;
use testkit::seal_key;

/// Who gets the money, and for which fee.
const PAYEE: u64 = 7;
const FEE: u128 = 10;

/// A transfer of user 1 whose target account is agreed later.
async fn open_unnamed(engine: &Arc<Engine>) -> Id {
    let flow = engine.flows().named("screened").expect("the flow");
    let mut terms = terms(FUNDING, 1, 100, COIN);
    terms.target.account = Account::Unnamed;
    engine.intake.create(flow, terms).await.expect("it is opened").record.id
}

fn named(source: &Source) {
    let mut state = source.state();
    (state.payee, state.fee) = (Some(u128::from(PAYEE)), Some(FEE));
}

async fn record(journal: &dyn Journal, id: Id) -> Record {
    journal.get(vec![id]).await.expect("the journal answers").pop().expect("it is there")
}

/// The record says what was agreed, beside its terms, and its history has the hash of it in one entry.
async fn agreed(journal: &dyn Journal, id: Id) {
    let record = record(journal, id).await;
    assert_eq!(record.terms.target.account, Account::Unnamed);
    let target = record.target();
    assert_eq!((&target.account, target.amount), (&Account::User(UserId(PAYEE)), Amount(90)));
    assert_eq!(record.fee(), Amount(FEE));
    let hash = record.agreed.expect("it was agreed").hash();
    let history = journal.history(id).await.expect("the journal answers");
    let said = history.iter().filter(|linked| linked.entry.agreed.is_some());
    let said: Vec<_> = said.map(|l| (l.entry.event.as_str(), l.entry.agreed)).collect();
    assert_eq!(said, [("YES", Some(hash))]);
}

/// What a user has at Spot.
async fn holds(service: &TestService, user: u64) -> Amount {
    let spot = service.faulty_spot.spot();
    let Reply::Answered(_, holdings) = spot.accounts(Whose::User(UserId(user))).await else {
        panic!("Spot does not answer")
    };
    let of = holdings.iter().filter(|holding| holding.asset == COIN);
    of.map(|holding| holding.available).next().unwrap_or_default()
}

async fn proven(service: &TestService) -> Findings {
    let mut trail = service.store().trail().await.expect("a trail");
    prove(&mut *trail, seal_key(), None).await.expect("a proof")
}

#[test]
fn what_accepts_is_agreed_once() {
    let table = Table::of::<State>();
    assert_eq!(kernel::flow::check::faults(&table), [""; 0]);
    let mut twice = table;
    twice.agrees = twice.agrees.iter().map(|_| true).collect();
    let faults = kernel::flow::check::faults(&twice);
    assert!(faults.iter().any(|fault| fault == "OPENED: accepts, and may be accepted again"));
    assert!(faults.iter().any(|fault| fault == "SMALL: accepts, and gathers no facts"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_agreed_party_gets_the_agreed_amount() {
    for fuse in [true, false] {
        let (mut service, source) = service(fuse).await;
        let before = holds(&service, PAYEE).await;
        let id = open_unnamed(&service.engine).await;
        source.looked(&[id], 3).await;
        service.wait_for_state(id, "CLEARED").await;
        assert_eq!(record(&**service.store(), id).await.agreed, None, "no account is named yet");
        // and what was accepted is paid by a process that did not accept it
        service.faulty_spot.set_fault(CallFault::LoseRequests);
        named(&source);
        service.wait_for_state(id, "DELIVERING").await;
        source.state().payee = Some(5);
        service.restart().await;
        service.faulty_spot.set_fault(CallFault::None);
        service.wait_for_state(id, "PAID").await;
        agreed(&**service.store(), id).await;
        assert_eq!(holds(&service, PAYEE).await.0 - before.0, 90);
        assert_eq!(proven(&service).await.faults, []);
        service.assert_in_order().await;
    }
}

/// What was agreed is changed, taken away, or its hash taken out of the history: the proof names it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_agreed_cannot_be_changed_behind_its_history() {
    let (service, source) = service(true).await;
    named(&source);
    let id = open_unnamed(&service.engine).await;
    service.wait_for_state(id, "PAID").await;
    agreed(&**service.store(), id).await;
    let plain = super::open(&service.engine, 2, 50).await;
    service.wait_for_state(plain, "PAID").await;
    assert_eq!(proven(&service).await.faults, []);
    service.assert_in_order().await;
    let hash = record(&**service.store(), id).await.agreed.expect("it was agreed").hash();
    let entry = format!(
        "UPDATE transfers SET history = replace(history, ',\"{}\"]', ']') WHERE req_id = '{id}'",
        kernel::audit::hex(&hash)
    );
    let set = |value: &str| format!("UPDATE transfers SET agreed = {value} WHERE req_id = '{id}'");
    let differs = "its agreement is not that of its history's end";
    for (sql, said) in [
        (set("replace(agreed, '\"90\"', '\"91\"')"), differs),
        (set("replace(agreed, '\"7\"', '\"8\"')"), differs),
        (set("NULL"), differs),
        (set("'{}'"), "cannot be read"),
        (entry, "was changed"),
    ] {
        let tool = service.tool();
        let read = "SELECT agreed, history FROM transfers WHERE req_id = ?";
        let before: (String, String) = tool
            .query_row(read, [id.to_string()], |row| Ok((row.get(0)?, row.get(1)?)))
            .expect("a row");
        assert_eq!(tool.execute(&sql, []).expect(&sql), 1);
        let words: Vec<_> = proven(&service).await.faults.iter().map(ToString::to_string).collect();
        assert!(words.iter().any(|word| word.contains(said)), "{sql}: {words:#?}");
        let back = "UPDATE transfers SET agreed = ?1, history = ?2 WHERE req_id = ?3";
        tool.execute(back, [before.0, before.1, id.to_string()]).expect("as it was");
    }
    assert_eq!(proven(&service).await.faults, []);
    service.assert_in_order().await;
    // the books are held to it too
    service.tool().execute(&set("replace(agreed, '\"90\"', '\"91\"')"), []).expect("a change");
    let report = service.engine.reconciler.check_now().await.expect("a proof");
    assert!(!report.ok, "{report:?}");
}

/// The row is put back by hand to where it is decided: what was agreed stays, nothing moves, an operator is asked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_acceptance_is_refused() {
    let (mut service, source) = service(false).await;
    service.faulty_spot.set_fault(CallFault::LoseRequests);
    named(&source);
    let id = open_unnamed(&service.engine).await;
    service.wait_for_state(id, "DELIVERING").await;
    service.stop().await;
    let back = format!("UPDATE transfers SET state = 40 WHERE req_id = '{id}'");
    assert_eq!(service.tool().execute(&back, []).expect("a change"), 1);
    source.state().payee = Some(5);
    service.start().await;
    service.wait_for_open_case("CONTRADICTION").await;
    agreed(&**service.store(), id).await;
    assert_eq!(service.states(&[id]).await.get(&id), Some(&"CLEARED"));
}

/// On PostgreSQL, with a worker that dies between acceptance and payment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_worker_pays_what_a_dead_one_agreed() {
    for fuse in [true, false] {
        let (fixture, source) = on_postgres(fuse).await;
        let dying = fixture.worker().await;
        named(&source);
        source.state().room = None;
        let id = open_unnamed(&dying.engine).await;
        let plain = super::open(&dying.engine, 2, 50).await;
        source.looked(&[id, plain], 3).await;
        source.state().room = Some(u128::MAX);
        fixture.wait_for_sql("SELECT count(*) FROM transfers WHERE agreed IS NOT NULL", "2").await;
        dying.kill().await;
        source.state().payee = Some(5);
        let heir = fixture.worker().await;
        for id in [id, plain] {
            heir.wait_for_state(id, "PAID").await;
        }
        agreed(&*heir.store, id).await;
        assert_eq!(history(&*heir.store, plain).await.len(), paid().len());
        let report = heir.engine.reconciler.check_now().await.expect("a proof");
        assert!(report.ok, "{:?}", report.breaks);
        heir.kill().await;
    }
}
