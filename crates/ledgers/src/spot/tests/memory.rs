//! Keeps one transfer open while a million others come and go, and checks that memory stays bounded.

use super::*;

#[test]
fn one_open_id_against_a_million_others_costs_nothing() {
    let mut core = born();
    assert_eq!(core.one(op(1, Leg::Deposit, 7, 1_000)), done(1));
    let stuck = op(2, Leg::Withdraw, 7, 10);
    assert_eq!(core.one(stuck.clone()), done(2));
    let (rounds, each) = (500_u128, 2_000_u128);
    for round in 0..rounds {
        let first = 3 + round * each;
        let ops: Vec<_> = (first..first + each).map(|id| op(id, Leg::Deposit, 8, 1)).collect();
        core.run(vec![Command::Execute(ops.into())]);
        let (id, open) = (Id(first + each - 1), [Id(2)].into());
        core.run(vec![Command::Horizon { id, open }]);
        assert_eq!(core.results.len(), 1);
        assert_eq!(core.open.len(), 1);
    }
    assert_eq!(core.sequence, 2 + u64::try_from(rounds * each).unwrap());
    // Its key is alive: a repeat is one, and it can still be refunded.
    assert_eq!(core.one(stuck), done(2));
    let refund = core.one(op(2, Leg::Refund, 7, 10));
    assert_eq!(refund, done(core.sequence));
    assert_eq!((core.balance(7), core.balance(8)), (1_000, rounds * each));
    core.whole();
}

#[test]
fn a_result_is_small() {
    assert_eq!(size_of::<crate::spot::core::entry::Entry>(), 48);
}
