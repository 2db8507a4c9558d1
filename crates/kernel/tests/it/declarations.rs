//! What a flow declares beside its edges, each broken once: `check` says so. Each test turns red in a
//! build whose `check` lacks the rule that its sentence names.

use crate::toy::State;
use kernel::answer::Evidence;
use kernel::flow::check::faults;
use kernel::flow::life::{Audience, ConsumerGroup, Driver, Normal, Outcome, Share};
use kernel::flow::table::{ActRow, S, StateRow, Table};

fn toy(name: &str, change: impl Fn(&mut StateRow)) -> Vec<String> {
    let mut t = Table::of::<State>();
    t.states.iter_mut().filter(|row| row.name == name).for_each(change);
    faults(&t)
}

fn pair(name: &str, change: impl Fn(&mut ActRow)) -> Vec<String> {
    let mut t = crate::pair::table();
    t.acts.iter_mut().filter(|row| row.name == name).for_each(change);
    faults(&t)
}

#[test]
fn an_end_says_what_became_of_the_money() {
    let found = toy("paid", |row| row.outcome = None);
    assert_eq!(found, ["paid: does not say what became of the money"]);
    let found = toy("paid", |row| row.outcome = Some(Outcome::Failed));
    assert_eq!(found, ["paid: what became of the money is Paid"]);
    let found = toy("refunded", |row| row.outcome = Some(Outcome::Failed));
    assert_eq!(found, ["refunded: what became of the money is GivenBack"]);
    let found = toy("ready", |row| row.outcome = Some(Outcome::Paid));
    assert_eq!(found, ["ready: says what became of the money, which is not known yet"]);
    // a hold says so before it ends
    let found = toy("held", |row| row.outcome = None);
    assert_eq!(found, ["held: does not say what became of the money"]);
}

#[test]
fn what_never_left_the_source_is_not_given_back() {
    let mut t = crate::pair::table();
    for row in t.states.iter_mut().filter(|row| row.name == "refused") {
        row.outcome = Some(Outcome::GivenBack);
    }
    assert_eq!(faults(&t), ["refused: what became of the money is Failed"]);
}

#[test]
fn a_call_says_what_is_normal_and_a_claim_does_not() {
    let found = toy("sending", |row| row.normal = Normal::Passing);
    assert_eq!(found, ["sending: calls, and does not say what is normal"]);
    let found = toy("ready", |row| row.normal = Normal::Usual);
    assert_eq!(found, ["ready: makes no call, and says that one takes its usual time"]);
    let found = toy("ready", |row| row.normal = Normal::Seconds(9));
    assert_eq!(found, ["ready: nothing is waited for, and a time is normal"]);
    let found = toy("paid", |row| row.normal = Normal::Seconds(9));
    assert_eq!(found, ["paid: nothing is waited for, and a time is normal"]);
    let found = toy("sending", |row| row.normal = Normal::Seconds(0));
    assert_eq!(found, ["sending: no time at all is normal"]);
    let found = toy("refunding", |row| row.normal = Normal::Configured);
    let what = "refunding: does not call the target, and takes the time that is set for that";
    assert_eq!(found, [what]);
    assert_eq!(toy("found", |row| row.normal = Normal::Seconds(9)), [""; 0], "a rule may wait");
}

#[test]
fn the_time_of_a_state_is_its_own_or_the_one_that_is_set() {
    let times = [Normal::Passing, Normal::Usual, Normal::Configured, Normal::Seconds(7)];
    assert_eq!(times.map(|normal| normal.seconds(60)), [None, None, Some(60), Some(7)]);
}

#[test]
fn an_act_says_how_much_it_moves() {
    assert_eq!(pair("take", |row| row.share = None), ["take: does not say how much it moves"]);
    for (act, share) in [
        ("take", Share::LessRefundFee),
        ("take", Share::Net),
        ("give", Share::Gross),
        // a ledger gives back what it took, to the unit
        ("return", Share::LessRefundFee),
        ("return", Share::OwnCost),
    ] {
        let found = pair(act, |row| row.share = Some(share));
        assert_eq!(found, [format!("{act}: moves another amount than its leg may")], "{share:?}");
    }
    let mut t = Table::of::<State>();
    t.acts[1].share = Some(Share::Net);
    assert_eq!(faults(&t), ["arrived?: is a question, and says how much it moves"]);
    let mut t = Table::of::<State>();
    t.acts[2].share = Some(Share::Net);
    assert_eq!(faults(&t), ["void: moves another amount than its leg may"]);
}

#[test]
fn an_event_begins_a_call_through_a_claim_and_sends_nothing() {
    let mut t = crate::pair::table();
    (t.driver, t.consumers) = (Driver::Events, GROUP);
    let what = "giving: is driven by events, and begins a call without a claim";
    assert_eq!(faults(&t), [what]);
    let mut t = Table::of::<State>();
    t.driver = Driver::Events;
    let what = "voiding: is driven by events, and its attempts are looked at by time".to_owned();
    assert!(faults(&t).contains(&what));
}

const ONE: ConsumerGroup = ConsumerGroup { name: "a group", topic: "a topic" };
const GROUP: &[ConsumerGroup] = &[ONE];
const TWICE: &[ConsumerGroup] = &[ONE, ConsumerGroup { name: "another", topic: "a topic" }];

#[test]
fn events_reach_a_flow_through_one_group_for_each_topic() {
    let found = |driver: Driver, consumers: &'static [ConsumerGroup]| {
        let mut t = crate::pair::table();
        (t.driver, t.consumers) = (driver, consumers);
        faults(&t).pop().unwrap_or_default()
    };
    assert_eq!(found(Driver::Events, &[]), "is driven by events, and no group consumes any");
    let what = "is driven by stations, and has groups of consumers";
    assert_eq!(found(Driver::Stations, GROUP), what);
    assert_eq!(found(Driver::Events, TWICE), "two groups have one name or one topic");
    assert_eq!(found(Driver::Stations, &[]), "");
}

fn silent(_: S, _: Audience, _: Option<&Evidence>) -> String {
    String::new()
}

fn alike(s: S, audience: Audience, _: Option<&Evidence>) -> String {
    let all = audience == Audience::User && s < 2;
    if all { "under way".to_owned() } else { format!("{audience:?} {s}") }
}

#[test]
fn each_state_has_a_sentence_of_its_own_for_each_reader() {
    let mut t = crate::pair::table();
    t.message = alike;
    assert_eq!(faults(&t), ["taking: the sentence of another state for User"]);
    t.message = silent;
    assert_eq!(faults(&t).len(), 2 * t.states.len());
}
