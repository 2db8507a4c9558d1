//! Fund anomalies (§10.8): the ways in which money would be lost or made, and that it is not.

use super::cra::{CrashCase, crash_cases};
use super::{USER, after, with};
use crate::fixture::points::{At, Fault, When, point};
use crate::fixture::{Direction, Fixture, Money, Setup, TransferRequest};
use kernel::flow::life::Leg;
use kernel::ids::{Id, LedgerId};

/// Every reply of a leg is lost a few times after the effect.
fn lossy(id: &str, setup: &Setup, leg: Leg, exact: &str) {
    let fixture = with(*setup, 100, 50);
    for way in [Direction::ToFunding, Direction::ToSpot] {
        let before = fixture.money(USER);
        let ledger = if leg == Leg::Deposit { way.target() } else { way.source() };
        fixture.control().hinder(ledger, leg, Fault::LoseReply, 3);
        let reply = fixture.post(&TransferRequest::new(USER, way, 5));
        let story = fixture.reaches(USER, reply.id(), "COMMITTED");
        fixture.control().heal();
        assert_eq!(fixture.money(USER), after(before, way, 5), "{id}: {exact}, {way:?}");
        assert_eq!(story.state, "COMMITTED", "{id}: it ends");
    }
    fixture.sound(id);
}

/// Double spend: the source is asked to deduct twice.
pub(super) fn fnd_001(setup: Setup) {
    lossy("FND-001", &setup, Leg::Withdraw, "the source is deducted once");
}

/// Fund disappearance: the source paid and the target refuses.
pub(super) fn fnd_002(setup: Setup) {
    let fixture = with(setup, 100, 50);
    for way in [Direction::ToFunding, Direction::ToSpot] {
        let before = fixture.money(USER);
        fixture.set_status(USER, way.target(), "DISABLED");
        // the first refund does not come through either
        fixture.control().hinder(way.source(), Leg::Refund, Fault::LoseRequest, 2);
        let reply = fixture.post(&TransferRequest::new(USER, way, 6));
        fixture.reaches(USER, reply.id(), "ROLLED_BACK");
        assert_eq!(
            fixture.money(USER),
            before,
            "FND-002: what the target refuses comes back, {way:?}"
        );
        let story = fixture.story(USER, reply.id());
        assert_eq!(story.state, "ROLLED_BACK", "FND-002: it is compensated");
        fixture.set_status(USER, way.target(), "ACTIVE");
    }
    fixture.sound("FND-002");
}

/// Money from nothing: the target is asked to credit twice.
pub(super) fn fnd_003(setup: Setup) {
    lossy("FND-003", &setup, Leg::Deposit, "the target is credited once");
}

/// Lost in transit: a crash at any point, of either kind of transfer, either way.
pub(super) fn fnd_004(setup: Setup) {
    for mut crash_case in crash_cases("FND-004", &setup) {
        for when in [When::Before, When::Torn(50), When::After] {
            for step in 0.. {
                let (before, ask) = (crash_case.fixture.money(USER), crash_case.ask());
                let Ok(crash) =
                    crash_case.fixture.crash_or_answer(point(At::Step(step), when), &ask)
                else {
                    assert!(step >= 3, "FND-004: every step of the way was a crash point");
                    break;
                };
                let at = format!("{:?} step {step} {when:?}", crash_case.way);
                if crash.state.is_some() {
                    let story = crash_case.fixture.reaches(USER, crash.id, crash_case.end());
                    assert_eq!(
                        story.state,
                        crash_case.end(),
                        "FND-004: nothing stays on its way, {at}"
                    );
                }
                crash_case.ended(&ask, before, &at);
            }
        }
    }
}

/// What each ledger did is what the journal says.
fn agrees(id: &str, fixture: &Fixture, way: Direction, of: Id) {
    let did = |ledger, leg| fixture.did(ledger, leg, of);
    let (source, target) = (way.source(), way.target());
    let legs = (
        did(source, Leg::Withdraw),
        did(target, Leg::Deposit),
        did(source, Leg::Settle),
        did(source, Leg::Refund),
    );
    let holds = source == LedgerId::FUNDING;
    let state = fixture.story(USER, of).state;
    let should = match state.as_str() {
        "COMMITTED" => (true, true, holds, false),
        "ROLLED_BACK" => (true, false, false, true),
        _ => (false, false, false, false),
    };
    assert_eq!(legs, should, "{id}: what the ledgers did is what the journal says: {state}");
}

/// State inconsistency: the source did its part and the journal was not told.
pub(super) fn fnd_005(setup: Setup) {
    for way in [Direction::ToFunding, Direction::ToSpot] {
        let mut crash_case = CrashCase::new("FND-005", &setup, way, false);
        let mut each = Vec::new();
        for leg in [Leg::Withdraw, Leg::Deposit] {
            let ledger = if leg == Leg::Deposit { way.target() } else { way.source() };
            let (before, ask) = (crash_case.fixture.money(USER), crash_case.ask());
            crash_case.fixture.control().hinder(ledger, leg, Fault::LoseReply, 2);
            let reply = crash_case.fixture.post(&ask);
            let id = reply.id();
            crash_case.fixture.until(|| {
                reply.status == 200 || crash_case.fixture.story(USER, id).state == "COMMITTED"
            });
            agrees("FND-005", &crash_case.fixture, way, id);
            crash_case.fixture.control().heal();
            crash_case.ended(&ask, before, "the reply was lost");
            each.push(id);
        }
        for when in [When::Before, When::Torn(50)] {
            for what in ["SOURCE_OK", "TARGET_OK"] {
                let (before, ask) = (crash_case.fixture.money(USER), crash_case.ask());
                let crash = crash_case.fixture.crash_at(point(At::Write(what), when), &ask);
                crash_case.ended(&ask, before, "the journal was not told");
                if crash.state.is_some() {
                    each.push(crash.id);
                }
            }
        }
        for id in each {
            agrees("FND-005", &crash_case.fixture, way, id);
        }
    }
}

/// Partial commit: of what the journal writes together, all is there or nothing.
pub(super) fn fnd_006(setup: Setup) {
    let shares = [1, 20, 50, 80, 99].map(When::Torn);
    let whens = [When::After, When::Before].into_iter().chain(shares);
    let mut crash_case = CrashCase::new("FND-006", &setup, Direction::ToSpot, false);
    for when in whens {
        let (before, ask) = (crash_case.fixture.money(USER), crash_case.ask());
        let crash = crash_case.fixture.crash_at(point(At::Commit("TARGET_OK"), when), &ask);
        let row =
            super::road::row(&setup, Direction::ToSpot, false, point(At::Write("TARGET_OK"), when));
        assert_eq!(crash.state, row, "FND-006: half a write is no write, {when:?}");
        crash_case.fixture.reaches(USER, crash.id, "COMMITTED");
        let Money { frozen, .. } = crash_case.fixture.money(USER);
        assert_eq!(frozen, 0, "FND-006: the transfer ends and the hold is settled in one");
        agrees("FND-006", &crash_case.fixture, Direction::ToSpot, crash.id);
        crash_case.ended(&ask, before, "torn");
    }
    // the same for what opens a transfer, and for what carries a deposit
    for what in ["SOURCE_CALL", "SOURCE_OK"] {
        for way in Direction::BOTH {
            let mut crash_case = CrashCase::new("FND-006", &setup, way, false);
            for when in shares {
                let (before, ask) = (crash_case.fixture.money(USER), crash_case.ask());
                let crash = crash_case.fixture.crash_at(point(At::Commit(what), when), &ask);
                let row = super::road::row(&setup, way, false, point(At::Write(what), when));
                assert_eq!(crash.state, row, "FND-006: half a write is no write, {when:?}");
                crash_case.ended(&ask, before, "torn");
            }
        }
    }
}
