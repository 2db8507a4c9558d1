//! Tests of what the plan makes of records and answers, without a journal.

use crate::plan::planner::{FuseMode, LedgerCapabilities, Plan, Planned};
use kernel::answer::{Answer, Cause, Evidence, Receipt};
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, Id, LedgerId, UserId};
use kernel::money::Amount;
use kernel::record::{Head, Record, Terms};
use kernel::unit::{Guard, Hold, Put, Then};
use std::sync::Arc;

fn plan(reversible: bool) -> Plan {
    let (epoch, simple) = (None, false);
    let funding =
        LedgerCapabilities { enlisted: true, holds: true, reversible, epoch, named: false, simple };
    let spot = LedgerCapabilities {
        enlisted: false,
        holds: false,
        reversible,
        epoch,
        named: true,
        simple,
    };
    let capabilities = [(LedgerId::FUNDING, funding), (LedgerId::SPOT, spot)].into();
    Plan { flows: Arc::new(flows::registry()), capabilities }
}

fn record(plan: &Plan, source: LedgerId, target: LedgerId, state: &str) -> Record {
    let flow = plan.flows.named("internal").unwrap();
    let terms = Terms::between_ledgers(
        "portage|7".into(),
        UserId(7),
        [source, target],
        AssetId(3),
        Amount(100),
    );
    Record::new(Id(1), flow, Head::start(plan.table(flow).named(state).unwrap()), Arc::new(terms))
}

/// The states of a branch, and its last head.
fn trace(plan: &Plan, record: &Record, then: &Then) -> Vec<&'static str> {
    let table = plan.table(record.flow);
    let mut trace: Vec<_> = then.events.iter().map(|event| table.state(event.to).name).collect();
    for put in &then.puts {
        if let Put::Open(Record { head, .. }) | Put::Head { head, .. } = put {
            trace.push(table.state(head.state).name);
        }
    }
    trace
}

fn guarded(planned: &Planned) -> bool {
    planned.unit.guards.contains(&Guard::NotHalted)
}

#[test]
fn a_fused_opening_makes_the_withdraw_and_the_next_claim() {
    let plan = plan(true);
    let record = record(&plan, LedgerId::FUNDING, LedgerId::SPOT, "INIT");
    let planned = plan.open(&record, FuseMode::Fused, None);
    assert_eq!(
        trace(&plan, &record, &planned.unit.then),
        ["INIT", "SOURCE_PENDING", "SOURCE_PENDING"]
    );
    let fork = planned.unit.then.fork.as_ref().unwrap();
    assert_eq!((fork.op.key.leg, fork.op.amount), (Leg::Withdraw, Amount(100)));
    assert_eq!(
        trace(&plan, &record, &fork.done),
        ["SOURCE_DONE", "TARGET_PENDING", "TARGET_PENDING"]
    );
    assert_eq!(trace(&plan, &record, fork.rejected.as_ref().unwrap()), ["FAILED", "FAILED"]);
    assert!(guarded(&planned));
}

#[test]
fn a_plain_opening_stops_before_the_call() {
    let plan = plan(true);
    let record = record(&plan, LedgerId::FUNDING, LedgerId::SPOT, "INIT");
    let planned = plan.open(&record, FuseMode::Plain, None);
    assert_eq!(
        trace(&plan, &record, &planned.unit.then),
        ["INIT", "SOURCE_PENDING", "SOURCE_PENDING"]
    );
    assert!(planned.unit.then.fork.is_none());
}

#[test]
fn the_way_back_deposits_in_the_unit_that_records_the_withdraw() {
    let plan = plan(true);
    let record = record(&plan, LedgerId::SPOT, LedgerId::FUNDING, "SOURCE_PENDING");
    let done = Answer::Done(Receipt::seq(9));
    let planned = plan.answered(&record, &done, FuseMode::Fused).unwrap();
    assert!(planned.unit.then.puts.iter().any(|put| matches!(put, Put::Receipt { .. })));
    let fork = planned.unit.then.fork.as_ref().unwrap();
    assert_eq!(fork.op.key.leg, Leg::Deposit);
    assert_eq!(trace(&plan, &record, &fork.done), ["COMMITTED", "COMMITTED"]);
    let refused = fork.rejected.as_ref().unwrap();
    assert_eq!(trace(&plan, &record, refused), ["COMPENSATING", "COMPENSATING"]);
    // under HALT the same answer is recorded without its next claim
    let planned = plan.answered(&record, &done, FuseMode::NoClaim).unwrap();
    assert_eq!(trace(&plan, &record, &planned.unit.then), ["SOURCE_DONE", "SOURCE_DONE"]);
    assert!(!guarded(&planned));
}

#[test]
fn the_move_to_the_target_settles_a_hold_and_only_a_hold() {
    let plan = plan(true);
    for (source, target, settles) in
        [(LedgerId::FUNDING, LedgerId::SPOT, true), (LedgerId::SPOT, LedgerId::FUNDING, false)]
    {
        let record = record(&plan, source, target, "TARGET_PENDING");
        let done = Answer::Done(Receipt::seq(9));
        let planned = plan.answered(&record, &done, FuseMode::Plain).unwrap();
        let legs: Vec<_> = planned.unit.then.ops.iter().map(|(_, op)| op.key.leg).collect();
        assert_eq!(legs == [Leg::Settle], settles);
        assert!(!guarded(&planned), "an end is written under HALT too");
    }
}

#[test]
fn a_refused_target_is_given_back_with_its_reason() {
    let plan = plan(true);
    let record = record(&plan, LedgerId::FUNDING, LedgerId::SPOT, "TARGET_PENDING");
    let no = Answer::Rejected(Evidence::code("ACCOUNT_DISABLED"), Receipt::seq(4));
    let planned = plan.answered(&record, &no, FuseMode::Fused).unwrap();
    let fork = planned.unit.then.fork.as_ref().unwrap();
    assert_eq!(fork.op.key.leg, Leg::Refund);
    assert!(fork.rejected.is_none());
    let kept = fork.done.puts.iter().any(
        |put| matches!(put, Put::Head { error: Some(why), .. } if why.code == "ACCOUNT_DISABLED"),
    );
    assert!(kept);
    assert!(!plan.irreversible(&record, &no));
    assert!(self::plan(false).irreversible(&record, &no));
}

#[test]
fn an_unknown_answer_moves_nothing() {
    let plan = plan(true);
    for state in ["SOURCE_PENDING", "TARGET_PENDING", "COMPENSATING"] {
        let record = record(&plan, LedgerId::FUNDING, LedgerId::SPOT, state);
        let unknown = Answer::Unknown(Cause::of("TIMEOUT"));
        assert!(plan.answered(&record, &unknown, FuseMode::Fused).is_none());
        let planned = plan.later(&record, &Cause::of("TIMEOUT"), 500, Hold::Mine);
        assert_eq!(planned.next.otherwise.state, record.head.state);
        assert_eq!(planned.next.otherwise.due_at, Some(500));
        assert!(planned.unit.then.events.is_empty() && planned.unit.then.ops.is_empty());
    }
}

#[test]
fn answers_that_no_step_spells_are_contradictions() {
    let plan = plan(true);
    let no = Answer::Rejected(Evidence::code("NO"), Receipt::seq(4));
    let dead = Answer::Dead(Evidence::code("DEAD"));
    let pushed = record(&plan, LedgerId::FUNDING, LedgerId::SPOT, "COMPENSATING");
    let called = record(&plan, LedgerId::FUNDING, LedgerId::SPOT, "TARGET_PENDING");
    assert!(plan.contradicts(&pushed, &no).is_some());
    assert!(plan.contradicts(&called, &dead).is_some());
    assert!(plan.contradicts(&called, &no).is_none());
    let held = Answer::Unknown(Cause::of("CONTRADICTION"));
    assert!(plan.contradicts(&called, &held).is_some());
    assert!(plan.answered(&pushed, &no, FuseMode::Plain).is_none());
}

/// The ledgers that a unit depends on: those at which it claims or of which it stores a receipt, on every
/// branch of its fork, except those in the journal's own transaction.
#[test]
fn a_unit_depends_on_ledgers_outside_the_journal() {
    let plan = plan(true);
    let forward = record(&plan, LedgerId::FUNDING, LedgerId::SPOT, "INIT");
    let opened = plan.open(&forward, FuseMode::Fused, None);
    assert_eq!(opened.depends_on, [LedgerId::SPOT], "its fork claims there");
    let parked = plan.open(&forward, FuseMode::NoClaim, None);
    assert_eq!(parked.depends_on, []);
    let pending = record(&plan, LedgerId::FUNDING, LedgerId::SPOT, "TARGET_PENDING");
    let done = Answer::Done(Receipt::seq(1));
    let answered = plan.answered(&pending, &done, FuseMode::Fused).unwrap();
    assert_eq!(answered.depends_on, [LedgerId::SPOT], "it stores a receipt");
    assert_eq!(plan.later(&pending, &Cause::of("TIMEOUT"), 500, Hold::Mine).depends_on, []);
}
