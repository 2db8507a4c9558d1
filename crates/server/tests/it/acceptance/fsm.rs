//! State transitions (§10.4): the path of a transfer through its states.

use super::{USER, after, called, with};
use crate::fixture::points::Fault;
use crate::fixture::{Direction, Fixture, Setup, TransferRequest};
use kernel::flow::life::Leg;
use kernel::ids::Id;

const HAPPY: [&str; 5] = ["INIT", "SOURCE_PENDING", "SOURCE_DONE", "TARGET_PENDING", "COMMITTED"];
const FAILED: [&str; 3] = ["INIT", "SOURCE_PENDING", "FAILED"];
const ROLLED_BACK: [&str; 6] =
    ["INIT", "SOURCE_PENDING", "SOURCE_DONE", "TARGET_PENDING", "COMPENSATING", "ROLLED_BACK"];
/// The number of times that a fault strikes before a test takes the fault as permanent.
const OFTEN: usize = 8;

/// Only the flow of states: these two tell a wrong build apart from one that does not work at all.
fn normal(id: &str, setup: Setup, way: Direction) {
    let fixture = with(setup, 100, 20);
    let reply = fixture.post(&TransferRequest::new(USER, way, 10));
    let story = fixture.reaches(USER, reply.id(), "COMMITTED");
    assert_eq!(story.path, HAPPY, "{id}: the path of a normal transfer");
}

/// Normal Funding → Spot.
pub(super) fn fsm_001(setup: Setup) {
    normal("FSM-001", setup, Direction::ToSpot);
}

/// Normal Spot → Funding.
pub(super) fn fsm_002(setup: Setup) {
    normal("FSM-002", setup, Direction::ToFunding);
}

/// The source refuses the withdraw.
pub(super) fn fsm_003(setup: Setup) {
    let fixture = with(setup, 100, 20);
    for way in [Direction::ToFunding, Direction::ToSpot] {
        let reply = fixture.post(&TransferRequest::new(USER, way, 1_000));
        let story = fixture.reaches(USER, reply.id(), "FAILED");
        assert_eq!(story.path, FAILED, "FSM-003: a refusal of the source leads to FAILED");
        assert!(story.is_legal(), "FSM-003: each step follows from the one before");
    }
    fixture.sound("FSM-003");
}

/// The target refuses with an explicit answer.
pub(super) fn fsm_004(setup: Setup) {
    let fixture = with(setup, 100, 20);
    for way in Direction::BOTH {
        fixture.set_status(USER, way.target(), "DISABLED");
        let reply = fixture.post(&TransferRequest::new(USER, way, 5));
        let story = fixture.reaches(USER, reply.id(), "ROLLED_BACK");
        assert_eq!(story.path, ROLLED_BACK, "FSM-004: a refusal of the target is compensated");
        assert!(story.is_legal(), "FSM-004: each step follows from the one before");
        fixture.set_status(USER, way.target(), "ACTIVE");
    }
    fixture.sound("FSM-004");
}

/// Waits until a fault struck often enough, or the transfer ended in spite of it; true where it is
/// tried again and again.
fn struck(fixture: &Fixture, (before, often): (usize, usize), id: Id) -> bool {
    let enough = || fixture.control().strikes() >= before + often;
    fixture.until(|| {
        enough() || ["COMMITTED", "ROLLED_BACK"].contains(&&*fixture.story(USER, id).state)
    });
    enough()
}

/// The target does not answer: it stays, whether or not the money arrived, and is asked for ever.
pub(super) fn fsm_005(setup: Setup) {
    let fixture = with(Setup { timeout_ms: 20, ..setup }, 100, 20);
    for way in Direction::BOTH {
        let mut faults = vec![(Fault::LoseRequest, OFTEN), (Fault::HangBefore, 1)];
        if called(&setup, way.target()) {
            faults.extend([(Fault::LoseReply, OFTEN), (Fault::HangAfter, 1)]);
        }
        for (fault, often) in faults {
            let (before, strikes) = (fixture.money(USER), fixture.control().strikes());
            fixture.control().hinder(way.target(), Leg::Deposit, fault, usize::MAX);
            let reply = fixture.post(&TransferRequest::new(USER, way, 5));
            let again = struck(&fixture, (strikes, often), reply.id());
            // a unit that carries the deposit holds up the states before it too, while it hangs
            let hangs = !called(&setup, way.target()) && fault == Fault::HangBefore;
            let state = if hangs { "SOURCE_PENDING" } else { "TARGET_PENDING" };
            let stays = fixture.reaches(USER, reply.id(), state);
            assert_eq!(stays.state, state, "FSM-005: a timeout leaves it where it is ({fault:?})");
            assert_eq!(reply.text("state"), "PENDING", "FSM-005: unknown: {reply:?}");
            assert!(again, "FSM-005: it is tried again and again");
            fixture.control().heal();
            let story = fixture.reaches(USER, reply.id(), "COMMITTED");
            assert_eq!(story.path, HAPPY, "FSM-005: it goes on once the target answers");
            assert_eq!(fixture.money(USER), after(before, way, 5), "FSM-005: it arrived once");
        }
    }
    fixture.sound("FSM-005");
}

/// The refund is hindered: it stays and is tried for ever.
pub(super) fn fsm_006(setup: Setup) {
    let fixture = with(Setup { timeout_ms: 20, ..setup }, 100, 20);
    for way in Direction::BOTH {
        fixture.set_status(USER, way.target(), "DISABLED");
        for fault in [Fault::LoseRequest, Fault::LoseReply] {
            if fault == Fault::LoseReply && !called(&setup, way.source()) {
                continue;
            }
            let (before, strikes) = (fixture.money(USER), fixture.control().strikes());
            fixture.control().hinder(way.source(), Leg::Refund, fault, usize::MAX);
            let reply = fixture.post(&TransferRequest::new(USER, way, 5));
            let again = struck(&fixture, (strikes, OFTEN), reply.id());
            let stays = fixture.story(USER, reply.id());
            assert_eq!(stays.state, "COMPENSATING", "FSM-006: a hindered refund is not a refund");
            assert_eq!(reply.text("state"), "PENDING", "FSM-006: it is open: {reply:?}");
            assert!(again, "FSM-006: it is tried again and again");
            fixture.control().heal();
            let story = fixture.reaches(USER, reply.id(), "ROLLED_BACK");
            assert_eq!(story.path, ROLLED_BACK, "FSM-006: it ends once the refund is made");
            assert_eq!(fixture.money(USER), before, "FSM-006: it came back once");
        }
        fixture.set_status(USER, way.target(), "ACTIVE");
    }
    fixture.sound("FSM-006");
}
