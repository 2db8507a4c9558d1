//! Idempotency (§10.7): whatever is called twice has the effect of one call.

use super::cra::CrashCase;
use super::{USER, with};
use crate::fixture::points::{At, Fault, When, point};
use crate::fixture::{Direction, Fixture, Setup, TransferRequest};
use kernel::answer::Answer;
use kernel::flow::life::Leg;
use kernel::ids::{Id, LedgerId};

/// Calls a leg of a transfer again at its ledger's port, twice.
fn again(
    id: &str,
    fixture: &Fixture,
    ledger: LedgerId,
    leg: Leg,
    (of, ask): (Id, &TransferRequest),
) {
    let before = fixture.money(USER);
    let mut answers = Vec::new();
    for _ in 0..2 {
        answers.push(fixture.call(ledger, leg, of, ask));
        let what = leg.name();
        assert_eq!(fixture.money(USER), before, "{id}: a {what} that is called twice is made once");
    }
    let done = answers.iter().all(|answer| matches!(answer, Answer::Done(_)));
    assert!(done, "{id}: the second call says that it is done: {answers:?}");
    assert_eq!(answers[0], answers[1], "{id}: it says the same every time");
}

/// A transfer that ends, and then its leg once more.
fn twice(id: &str, setup: &Setup, leg: Leg, back: bool) {
    let fixture = with(*setup, 100, 50);
    for way in [Direction::ToFunding, Direction::ToSpot] {
        if back {
            fixture.set_status(USER, way.target(), "DISABLED");
        }
        let ask = TransferRequest::new(USER, way, 5);
        let of = fixture.post(&ask).id();
        let end = if back { "ROLLED_BACK" } else { "COMMITTED" };
        assert_eq!(fixture.reaches(USER, of, end).state, end, "{id}: it ends");
        let ledger = if leg == Leg::Deposit { way.target() } else { way.source() };
        again(id, &fixture, ledger, leg, (of, &ask));
        fixture.set_status(USER, way.target(), "ACTIVE");
    }
    fixture.sound(id);
}

/// The same withdraw is called twice.
pub(super) fn idp_001(setup: Setup) {
    twice("IDP-001", &setup, Leg::Withdraw, false);
}

/// The same deposit is called twice.
pub(super) fn idp_002(setup: Setup) {
    twice("IDP-002", &setup, Leg::Deposit, false);
}

/// The same refund is called twice.
pub(super) fn idp_003(setup: Setup) {
    twice("IDP-003", &setup, Leg::Refund, true);
}

/// Recovery retries many times, through lost replies and crashes of the recovery itself.
pub(super) fn idp_004(setup: Setup) {
    for way in Direction::BOTH {
        for back in [false, true] {
            let mut crash_case = CrashCase::new("IDP-004", &setup, way, back);
            let legs = [
                (way.source(), Leg::Withdraw),
                (way.target(), Leg::Deposit),
                (way.source(), Leg::Refund),
            ];
            let (before, ask) = (crash_case.fixture.money(USER), crash_case.ask());
            for (ledger, leg) in legs {
                crash_case.fixture.control().hinder(ledger, leg, Fault::LoseReply, 5);
            }
            let reply = crash_case.fixture.post(&ask);
            let story = crash_case.fixture.reaches(USER, reply.id(), crash_case.end());
            assert_eq!(story.state, crash_case.end(), "IDP-004: many retries end as one would");
            crash_case.fixture.control().heal();
            crash_case.ended(&ask, before, "replies lost");
            // stopped again and again after the effect and before anybody heard of it
            let (ledger, leg) = if back { legs[2] } else { legs[1] };
            let effect = point(At::Call(ledger, leg), When::After);
            let (before, ask) = (crash_case.fixture.money(USER), crash_case.ask());
            let called = super::called(&setup, ledger);
            let ahead = if called { vec![effect, effect] } else { Vec::new() };
            crash_case.fixture.crash_again_at(&ahead);
            let crash = crash_case.fixture.crash_at(effect, &ask);
            if called {
                crash_case.fixture.crashed("the first recovery");
                crash_case.fixture.crashed("the second recovery");
            }
            let story = crash_case.fixture.reaches(USER, crash.id, crash_case.end());
            assert_eq!(story.state, crash_case.end(), "IDP-004: many recoveries end as one would");
            crash_case.ended(&ask, before, "recoveries stopped");
        }
    }
}
