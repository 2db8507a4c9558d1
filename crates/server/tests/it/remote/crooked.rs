//! FUNDING and FUTURE, both ways, over a network that spoils what it can: nothing is lost or doubled.
//!
//! Seen red with builds that: follow redirects; take a result of another id by its place; take the last
//! of two equal keys.

use super::fixture::Fixture;
use super::home::USERS;
use super::proxy::Fault;
use super::served::Served;
use kernel::ids::{Id, LedgerId};

/// Each fault in turn, on every call that may have an effect, until at least two calls met it.
fn each_fault(fuse: bool) {
    let fixture = Fixture::open(LedgerId::FUTURE, fuse);
    let there = fixture.there();
    let (mut future, mut operations) = (0, 0);
    for (n, fault) in (1..).zip(Fault::ALL) {
        for (way, amount) in [(there, 100 + n), (fixture.back(), 10 + n)] {
            fixture.way.always("POST /operations", fault);
            let met = fixture.way.met().len();
            let ids = fixture.send(way, amount);
            let hindered = fixture.home.until(|_| fixture.way.met().len() > met + 1);
            // what comes twice hinders nobody
            assert!(hindered || fault == Fault::Twice, "{fault:?} was never met");
            if fault != Fault::Twice {
                let open = fixture.home.states(&ids);
                assert!(open.values().all(|state| *state != "FAILED"), "{fault:?}: {open:?}");
                assert!(open.values().any(|state| *state != "COMMITTED"), "{fault:?}: {open:?}");
            }
            fixture.way.fair();
            let states = fixture.home.ended(&ids);
            assert!(states.iter().all(|state| *state == "COMMITTED"), "{fault:?}: {states:?}");
            let moved = u128::from(USERS.end - USERS.start) * amount;
            future = if way == there { future + moved } else { future - moved };
            operations += ids.len();
            fixture.exact(future);
            assert_eq!(fixture.books(fixture.spot()).2.len(), operations, "{fault:?}");
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
    let mut fixture = Fixture::open(LedgerId::FUTURE, seed.is_multiple_of(2));
    let (mut there, mut back) = (Vec::new(), Vec::new());
    fixture.way.rough(3, seed);
    for round in 0..6_u128 {
        there.extend(fixture.send(fixture.there(), 500 + round));
        back.extend(fixture.send(fixture.back(), 40 + round));
        match round {
            1 | 4 => {
                // the ledger dies and comes back: another incarnation at another port
                fixture.way.lead(None);
                fixture.served = None;
                let served = fixture.outside.block_on(Served::folder(fixture.folder.path()));
                fixture.way.lead(Some(served.at));
                fixture.served = Some(served);
            }
            3 => {
                fixture.home.stop();
                fixture.home.start();
            }
            _ => {}
        }
    }
    fixture.way.fair();
    let there: Vec<_> = there.iter().copied().zip(fixture.home.ended(&there)).collect();
    let back: Vec<_> = back.iter().copied().zip(fixture.home.ended(&back)).collect();
    let users = u128::from(USERS.end - USERS.start);
    let moved = |all: &[(Id, &str)], first: u128| -> u128 {
        let amount = |n: usize| first + u128::try_from(n).unwrap_or_default() / users;
        let done = all.iter().enumerate().filter(|(_, (_, state))| *state == "COMMITTED");
        done.map(|(n, _)| amount(n)).sum()
    };
    assert!(there.iter().all(|(_, state)| *state == "COMMITTED"), "{there:?}");
    let met = fixture.way.met();
    assert!(met.len() > 20, "the way was rough: {}", met.len());
    fixture.exact(moved(&there, 500) - moved(&back, 40));
}

#[test]
fn a_rough_way_and_deaths_on_both_sides() {
    for seed in 1..4 {
        rough(seed);
    }
}
