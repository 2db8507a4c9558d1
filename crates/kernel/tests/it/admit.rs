//! The law of attempts: one answer for each member, one outcome for all.

use crate::table::record;
use kernel::answer::{Answer, Cause, Evidence, Receipt};
use kernel::attempt::{Attempt, AttemptId, Form, MemberVerdict, Purpose};
use kernel::ids::{ChainId, FlowId};

fn attempt(members: u128) -> Attempt {
    Attempt {
        id: AttemptId(1),
        chain: ChainId(31),
        flow: FlowId(0),
        state: 2,
        version: 1,
        lane: "key-1".into(),
        lock: "7".into(),
        members: (1..=members).map(record).collect(),
        forms: vec![Form {
            purpose: Purpose::Pay,
            name: [0; 32].into(),
            bytes: vec![1].into(),
            repeatable: true,
            expires: Some(100),
            anchor: None,
            reference: None,
        }],
        sent: false,
        due_at: None,
        closed: None,
    }
}

fn done() -> Answer {
    Answer::Done(Receipt::seq(9))
}

fn dead() -> Answer {
    Answer::Dead(Evidence::code("EXPIRED"))
}

fn rejected() -> Answer {
    Answer::Rejected(Evidence::code("BAD_RECEIVER"), Receipt::seq(9))
}

fn unknown() -> Answer {
    Answer::Unknown(Cause::of("TIMEOUT"))
}

fn admit(members: u128, answers: &[Answer]) -> Result<(), &'static str> {
    let verdicts: Vec<MemberVerdict> =
        answers.iter().map(|a| MemberVerdict { answer: a.clone(), alone: false }).collect();
    attempt(members).admit(&verdicts).map_err(|cause| cause.class)
}

#[test]
fn all_members_share_one_outcome() {
    assert_eq!(admit(3, &[done(), done(), done()]), Ok(()));
    assert_eq!(admit(3, &[dead(), dead(), dead()]), Ok(()));
    assert_eq!(admit(3, &[done(), dead(), done()]), Err("TORN_ATTEMPT"));
    assert_eq!(admit(2, &[dead(), done()]), Err("TORN_ATTEMPT"));
}

#[test]
fn a_refusal_comes_from_an_attempt_of_one() {
    assert_eq!(admit(1, &[rejected()]), Ok(()));
    assert_eq!(admit(2, &[rejected(), dead()]), Err("REJECTED_IN_COMPANY"));
    assert_eq!(admit(2, &[rejected(), rejected()]), Err("REJECTED_IN_COMPANY"));
    assert_eq!(admit(2, &[rejected(), done()]), Err("REJECTED_IN_COMPANY"));
}

#[test]
fn an_unknown_member_makes_all_unknown() {
    assert_eq!(admit(1, &[unknown()]), Err("VERDICT_UNKNOWN"));
    assert_eq!(admit(3, &[done(), done(), unknown()]), Err("VERDICT_UNKNOWN"));
    assert_eq!(admit(2, &[rejected(), unknown()]), Err("VERDICT_UNKNOWN"));
}

#[test]
fn every_member_gets_one_verdict() {
    assert_eq!(admit(2, &[done()]), Err("VERDICT_COUNT"));
    assert_eq!(admit(1, &[done(), done()]), Err("VERDICT_COUNT"));
    assert_eq!(admit(0, &[]), Err("VERDICT_COUNT"));
}

#[test]
fn the_culprit_of_a_dead_attempt_goes_on_alone() {
    let verdicts = [
        MemberVerdict { answer: dead(), alone: false },
        MemberVerdict { answer: dead(), alone: true },
    ];
    assert_eq!(attempt(2).admit(&verdicts), Ok(()));
}
