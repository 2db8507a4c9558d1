//! Idempotency (§10.7): whatever is called twice has the effect of one call.

use super::cra::Scene;
use super::{USER, with};
use crate::rig::points::{At, Fault, When, point};
use crate::rig::{Ask, Rig, Setup, Way};
use kernel::answer::Answer;
use kernel::ids::{Id, LedgerId};
use kernel::life::Leg;

/// Calls a leg of a transfer again at its ledger's port, twice.
fn again(id: &str, rig: &Rig, ledger: LedgerId, leg: Leg, (of, ask): (Id, &Ask)) {
    let before = rig.money(USER);
    let mut answers = Vec::new();
    for _ in 0..2 {
        answers.push(rig.call(ledger, leg, of, ask));
        let what = leg.name();
        assert_eq!(rig.money(USER), before, "{id}: a {what} that is called twice is made once");
    }
    let done = answers.iter().all(|answer| matches!(answer, Answer::Done(_)));
    assert!(done, "{id}: the second call says that it is done: {answers:?}");
    assert_eq!(answers[0], answers[1], "{id}: it says the same every time");
}

/// A transfer that ends, and then its leg once more.
fn twice(id: &str, setup: &Setup, leg: Leg, back: bool) {
    let rig = with(*setup, 100, 50);
    for way in [Way::ToFunding, Way::ToSpot] {
        if back {
            rig.set_status(USER, way.target(), "DISABLED");
        }
        let ask = Ask::new(USER, way, 5);
        let of = rig.post(&ask).id();
        let end = if back { "ROLLED_BACK" } else { "COMMITTED" };
        assert_eq!(rig.reaches(USER, of, end).state, end, "{id}: it ends");
        let ledger = if leg == Leg::Deposit { way.target() } else { way.source() };
        again(id, &rig, ledger, leg, (of, &ask));
        rig.set_status(USER, way.target(), "ACTIVE");
    }
    rig.sound(id);
}

/// Call withdraw twice.
pub(super) fn idp_001(setup: Setup) {
    twice("IDP-001", &setup, Leg::Withdraw, false);
}

/// Call deposit twice.
pub(super) fn idp_002(setup: Setup) {
    twice("IDP-002", &setup, Leg::Deposit, false);
}

/// Call refund twice.
pub(super) fn idp_003(setup: Setup) {
    twice("IDP-003", &setup, Leg::Refund, true);
}

/// Recovery retries many times, through lost replies and crashes of the recovery itself.
pub(super) fn idp_004(setup: Setup) {
    for way in Way::BOTH {
        for back in [false, true] {
            let mut scene = Scene::new("IDP-004", &setup, way, back);
            let legs = [
                (way.source(), Leg::Withdraw),
                (way.target(), Leg::Deposit),
                (way.source(), Leg::Refund),
            ];
            let (before, ask) = (scene.rig.money(USER), scene.ask());
            for (ledger, leg) in legs {
                scene.rig.control().hinder(ledger, leg, Fault::LoseReply, 5);
            }
            let reply = scene.rig.post(&ask);
            let story = scene.rig.reaches(USER, reply.id(), scene.end());
            assert_eq!(story.state, scene.end(), "IDP-004: many retries end as one would");
            scene.rig.control().heal();
            scene.ended(&ask, before, "replies lost");
            // stopped again and again after the effect and before anybody heard of it
            let (ledger, leg) = if back { legs[2] } else { legs[1] };
            let effect = point(At::Call(ledger, leg), When::After);
            let (before, ask) = (scene.rig.money(USER), scene.ask());
            let called = super::called(&setup, ledger);
            let ahead = if called { vec![effect, effect] } else { Vec::new() };
            scene.rig.crash_again_at(&ahead);
            let crash = scene.rig.crash_at(effect, &ask);
            if called {
                scene.rig.crashed("the first recovery");
                scene.rig.crashed("the second recovery");
            }
            let story = scene.rig.reaches(USER, crash.id, scene.end());
            assert_eq!(story.state, scene.end(), "IDP-004: many recoveries end as one would");
            scene.ended(&ask, before, "recoveries stopped");
        }
    }
}
