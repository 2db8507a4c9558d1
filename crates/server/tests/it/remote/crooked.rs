//! FUNDING and FUTURE, both ways, over a way that spoils what it can: nothing is lost or doubled.
//!
//! Seen red with builds that: follow redirects; take a result of another id by its place; take the last
//! of two equal keys.

use super::home::USERS;
use super::proxy::Fault;
use super::scene::Scene;
use super::served::Served;
use kernel::ids::{Id, LedgerId};

/// Each fault in turn, on every call that may have an effect, for so long that each transfer met it.
fn each_fault(fuse: bool) {
    let scene = Scene::open(LedgerId::FUTURE, fuse);
    let there = scene.there();
    let (mut future, mut operations) = (0, 0);
    for (n, fault) in (1..).zip(Fault::ALL) {
        for (way, amount) in [(there, 100 + n), (scene.back(), 10 + n)] {
            scene.way.always("POST /operations", fault);
            let met = scene.way.met().len();
            let ids = scene.send(way, amount);
            let hindered = scene.home.until(|_| scene.way.met().len() > met + 1);
            // what comes twice hinders nobody
            assert!(hindered || fault == Fault::Twice, "{fault:?} was never met");
            if fault != Fault::Twice {
                let open = scene.home.states(&ids);
                assert!(open.values().all(|state| *state != "FAILED"), "{fault:?}: {open:?}");
                assert!(open.values().any(|state| *state != "COMMITTED"), "{fault:?}: {open:?}");
            }
            scene.way.fair();
            let states = scene.home.ended(&ids);
            assert!(states.iter().all(|state| *state == "COMMITTED"), "{fault:?}: {states:?}");
            let moved = u128::from(USERS.end - USERS.start) * amount;
            future = if way == there { future + moved } else { future - moved };
            operations += ids.len();
            scene.exact(future);
            assert_eq!(scene.books(scene.spot()).2.len(), operations, "{fault:?}");
        }
    }
}

#[test]
fn no_fault_loses_or_doubles_anything() {
    each_fault(true);
}

#[test]
fn no_fault_loses_or_doubles_anything_step_by_step() {
    each_fault(false);
}

/// Everything at once, with the ledger and ourselves dying in between.
fn rough(seed: u64) {
    let mut scene = Scene::open(LedgerId::FUTURE, seed.is_multiple_of(2));
    let (mut there, mut back) = (Vec::new(), Vec::new());
    scene.way.rough(3, seed);
    for round in 0..6_u128 {
        there.extend(scene.send(scene.there(), 500 + round));
        back.extend(scene.send(scene.back(), 40 + round));
        match round {
            1 | 4 => {
                // the ledger dies and comes back: another incarnation at another port
                scene.way.lead(None);
                scene.served = None;
                let served = scene.outside.block_on(Served::folder(scene.folder.path()));
                scene.way.lead(Some(served.at));
                scene.served = Some(served);
            }
            3 => {
                scene.home.stop();
                scene.home.start();
            }
            _ => {}
        }
    }
    scene.way.fair();
    let there: Vec<_> = there.iter().copied().zip(scene.home.ended(&there)).collect();
    let back: Vec<_> = back.iter().copied().zip(scene.home.ended(&back)).collect();
    let users = u128::from(USERS.end - USERS.start);
    let moved = |all: &[(Id, &str)], first: u128| -> u128 {
        let amount = |n: usize| first + u128::try_from(n).unwrap_or_default() / users;
        let done = all.iter().enumerate().filter(|(_, (_, state))| *state == "COMMITTED");
        done.map(|(n, _)| amount(n)).sum()
    };
    assert!(there.iter().all(|(_, state)| *state == "COMMITTED"), "{there:?}");
    let met = scene.way.met();
    assert!(met.len() > 20, "the way was rough: {}", met.len());
    scene.exact(moved(&there, 500) - moved(&back, 40));
}

#[test]
fn a_rough_way_and_deaths_on_both_sides() {
    for seed in 1..4 {
        rough(seed);
    }
}
