//! The rules of `check`, each with a table that breaks it and the sentence that says so.

use crate::toy::State;
use kernel::flow::check::faults;
use kernel::flow::life::{Manner, Place, Step};
use kernel::flow::table::{S, StateRow, Table};

fn table() -> Table {
    Table::of::<State>()
}

fn at(t: &Table, name: &str) -> S {
    t.named(name).unwrap_or(S::MAX)
}

/// The faults of the toy after a change of one state.
fn after(name: &str, change: impl Fn(&Table, &mut StateRow)) -> Vec<String> {
    let before = table();
    let mut t = before.clone();
    t.states.iter_mut().filter(|row| row.name == name).for_each(|row| change(&before, row));
    faults(&t)
}

#[test]
fn a_state_that_is_never_reached_and_one_that_never_ends() {
    let found = after("voiding", |t, row| {
        row.step = Step::Claim { to: at(t, "expired") };
    });
    assert!(found.contains(&"expired: leads to no end".to_owned()), "{found:#?}");
    assert!(found.contains(&"voiding: leads to no end".to_owned()), "{found:#?}");
    assert!(found.contains(&"void: no state makes it".to_owned()), "{found:#?}");
    let found = after("payout dead", |t, row| {
        row.step = Step::Decide { rule: 1, yes: at(t, "to refund"), no: at(t, "to refund") };
    });
    assert_eq!(found, ["payout dead: Yes and No lead to the same state"]);
}

#[test]
fn names_and_numbers_are_unique() {
    let found = after("sent", |_, row| row.code = 10);
    assert_eq!(found, ["sent: a second state of number 10"]);
    let found = after("moving out", |_, row| row.name = "move_ready");
    assert_eq!(found, ["move_ready: a second state of that name"], "drawn alike");
    let mut t = table();
    t.acts[0].name = "try again";
    assert_eq!(faults(&t), ["try again: a second act or rule of that name"]);
}

#[test]
fn nothing_points_outside() {
    let found = after("ready", |_, row| row.step = Step::Claim { to: 99 });
    assert_eq!(found, ["ready: points outside the table"]);
    let many = S::try_from(table().states.len()).unwrap_or(S::MAX);
    let found = after("ready", |_, row| row.step = Step::Claim { to: many });
    assert_eq!(found, ["ready: points outside the table"], "one beyond the last");
    let found = after("held", |t, row| {
        row.step = Step::Decide { rule: 4, yes: at(t, "move ready"), no: at(t, "to refund") };
    });
    assert_eq!(found, ["held: points outside the table"], "of four rules there is no fifth");
    let mut t = table();
    t.start = 99;
    t.acts[1].about = Some(99);
    assert_eq!(faults(&t), ["the start is no state", "arrived?: points outside the table"]);
    let mut t = table();
    t.acts[1].about = Some(5);
    assert_eq!(faults(&t), ["arrived?: points outside the table"], "nor of five acts a sixth");
}

#[test]
fn money_is_not_stranded() {
    let found = after("payout dead", |_, row| row.step = Step::End);
    assert!(found.contains(&"payout dead: ends with money in flight".to_owned()), "{found:#?}");
    let found = after("held", |_, row| row.step = Step::End);
    let what = "held: money that is held for a person is not final before it was moved out";
    assert!(found.contains(&what.to_owned()), "{found:#?}");
}

#[test]
fn an_unknown_answer_moves_nothing() {
    let found = after("refunding", |t, row| {
        let (done, other) = (at(t, "refunded"), at(t, "to refund"));
        row.step = Step::Send { act: 3, done, rejected: other, dead: other, unknown: other };
    });
    let what = "refunding: after an unknown answer the same call is asked for or repeated";
    assert!(found.contains(&what.to_owned()), "{found:#?}");
    let found = after("to refund", |_, row| row.money = Place::AtSource);
    let what = "refunding: Rejected leads from InFlight to AtSource";
    assert!(found.contains(&what.to_owned()), "{found:#?}");
}

/// Turns red where a leg of two phases moves money with its first: no check has seen it arrive yet.
#[test]
fn a_leg_of_two_phases_moves_money_with_its_second() {
    let found = after("sent", |_, row| row.money = Place::AtTarget);
    let what = "sending: Done leads from InFlight to AtTarget";
    assert!(found.contains(&what.to_owned()), "{found:#?}");
    let found = after("sending", |t, row| {
        let (done, dead, unknown) = (at(t, "found"), at(t, "payout dead"), at(t, "sending"));
        row.step = Step::Send { act: 0, done, rejected: at(t, "to refund"), dead, unknown };
    });
    let what = "sending: Done leads from InFlight to InFlight";
    assert!(found.contains(&what.to_owned()), "{found:#?}");
    // a question about nothing moves nothing
    let mut t = table();
    t.acts[1].about = None;
    let what = "sent: Done leads from InFlight to AtTarget";
    assert!(faults(&t).contains(&what.to_owned()));
}

#[test]
fn an_answer_leads_to_no_send_of_the_same_act() {
    let found = after("sending", |t, row| {
        let (done, dead, unknown) = (at(t, "sent"), at(t, "sent, not seen"), at(t, "sending"));
        row.step = Step::Send { act: 0, done, rejected: at(t, "to refund"), dead, unknown };
    });
    let what = "sending: Dead leads to sent, not seen, which needs a claim before it";
    assert!(found.contains(&what.to_owned()), "{found:#?}");
}

#[test]
fn a_send_is_claimed_and_only_while_none_stands() {
    let found = after("payout dead", |t, row| {
        row.step = Step::Decide { rule: 1, yes: at(t, "sending"), no: at(t, "to refund") };
    });
    let what = "payout dead: Yes leads to sending, which needs a claim before it";
    assert!(found.contains(&what.to_owned()), "{found:#?}");
    let found = after("sent", |t, row| {
        let (done, rejected) = (at(t, "paid"), at(t, "ready"));
        row.step = Step::Call { act: 1, done, rejected, unknown: at(t, "sent") };
    });
    let what = "ready: claims sending again while the first may stand";
    assert!(found.contains(&what.to_owned()), "{found:#?}");
}

#[test]
fn a_payout_excludes_a_refund() {
    let found = after("sent", |t, row| {
        let (done, rejected) = (at(t, "paid"), at(t, "to refund"));
        row.step = Step::Call { act: 1, done, rejected, unknown: at(t, "sent") };
    });
    assert!(found.contains(&"refunding: refund while pay may have happened".to_owned()));
    let mut t = table();
    t.acts[2].undoes.clear();
    let found = faults(&t);
    assert!(found.contains(&"refunding: refund while pay may have happened".to_owned()));
}

#[test]
fn an_act_fits_its_step() {
    let mut t = table();
    t.acts[0].manner = Manner::Repeatable;
    assert_eq!(
        faults(&t),
        [
            "sending: pay gets other answers than these",
            "sent, not seen: pay gets other answers than these"
        ]
    );
}
