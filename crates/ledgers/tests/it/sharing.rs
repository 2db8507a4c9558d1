//! Several callers at once, and callers that go away.

use crate::hand::{deposit, done, fresh, run};
use crate::memory::Fault;
use kernel::ports::ledger::{Heard, Ledger};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

#[test]
fn callers_of_one_moment_share_a_sync() {
    let (disk, hand) = fresh();
    let known = hand.known();
    disk.fail(Fault::Hang);
    let mut context = Context::from_waker(Waker::noop());
    // The first one writes and hangs; the others queue behind it.
    let mut calls: Vec<_> =
        (1..=20).map(|id| hand.spot.execute(known, [deposit(id, 7, 5)].into())).collect();
    for call in &mut calls {
        assert!(call.as_mut().poll(&mut context).is_pending());
    }
    let before = *disk.syncs.lock().unwrap();
    drop(calls.remove(0));
    for (seq, call) in (2..).zip(calls) {
        assert_eq!(run(call), Heard::Said(hand.known(), vec![done(seq)]));
    }
    // What the first one left behind, and one batch of all the others.
    assert_eq!(*disk.syncs.lock().unwrap() - before, 2);
    assert_eq!(hand.available(7), Some(100));
}

#[test]
fn a_caller_that_goes_away_leaves_nothing_half_done() {
    let (disk, hand) = fresh();
    let known = hand.known();
    disk.fail(Fault::Hang);
    let mut gone = hand.spot.execute(known, [deposit(1, 7, 5)].into());
    let mut context = Context::from_waker(Waker::noop());
    assert_eq!(gone.as_mut().poll(&mut context), Poll::Pending);
    assert_eq!(hand.available(7), None);
    drop(gone);
    // Its request is still decided, before the next one and once.
    assert_eq!(hand.done(&[deposit(2, 7, 7), deposit(1, 7, 5)]), [done(2), done(1)]);
    let all = hand.all();
    let again = crate::hand::open(Arc::new(crate::memory::Memory::of(disk.files())), 2).unwrap();
    assert_eq!(again.all(), all);
}

#[test]
fn a_snapshot_that_is_given_up_leaves_a_whole_log() {
    let (disk, hand) = fresh();
    hand.done(&[deposit(1, 7, 5)]);
    disk.fail(Fault::Hang);
    let mut context = Context::from_waker(Waker::noop());
    let mut gone = Box::pin(hand.spot.snapshot());
    assert!(gone.as_mut().poll(&mut context).is_pending());
    drop(gone);
    hand.done(&[deposit(2, 7, 5)]);
    let again = crate::hand::open(Arc::new(crate::memory::Memory::of(disk.files())), 2).unwrap();
    assert_eq!(again.all(), hand.all());
    run(hand.spot.snapshot()).unwrap();
    assert_eq!(disk.files().len(), 1);
}
