//! Several callers at once, and callers that go away.

use crate::fixture::{deposit, done, fresh, run};
use crate::memory::Fault;
use kernel::ports::ledger::{Ledger, Reply};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

#[test]
fn callers_of_one_moment_share_a_sync() {
    let (disk, fixture) = fresh();
    let known = fixture.known();
    disk.fail(Fault::Hang);
    let mut context = Context::from_waker(Waker::noop());
    // The first one writes and hangs; the others queue behind it.
    let mut calls: Vec<_> =
        (1..=20).map(|id| fixture.spot.execute(known, [deposit(id, 7, 5)].into())).collect();
    for call in &mut calls {
        assert!(call.as_mut().poll(&mut context).is_pending());
    }
    let before = *disk.syncs.lock().unwrap();
    drop(calls.remove(0));
    for (seq, call) in (2..).zip(calls) {
        assert_eq!(run(call), Reply::Answered(fixture.known(), vec![done(seq)]));
    }
    // What the first one left behind, and one batch of all the others.
    assert_eq!(*disk.syncs.lock().unwrap() - before, 2);
    assert_eq!(fixture.available(7), Some(100));
}

#[test]
fn a_caller_that_goes_away_leaves_nothing_half_done() {
    let (disk, fixture) = fresh();
    let known = fixture.known();
    disk.fail(Fault::Hang);
    let mut gone = fixture.spot.execute(known, [deposit(1, 7, 5)].into());
    let mut context = Context::from_waker(Waker::noop());
    assert_eq!(gone.as_mut().poll(&mut context), Poll::Pending);
    assert_eq!(fixture.available(7), None);
    drop(gone);
    // Its request is still decided, before the next one and once.
    assert_eq!(fixture.done(&[deposit(2, 7, 7), deposit(1, 7, 5)]), [done(2), done(1)]);
    let all = fixture.all();
    let again = crate::fixture::open(Arc::new(crate::memory::Memory::of(disk.files())), 2).unwrap();
    assert_eq!(again.all(), all);
}

#[test]
fn a_snapshot_that_is_given_up_leaves_a_whole_log() {
    let (disk, fixture) = fresh();
    fixture.done(&[deposit(1, 7, 5)]);
    disk.fail(Fault::Hang);
    let mut context = Context::from_waker(Waker::noop());
    let mut gone = Box::pin(fixture.spot.snapshot());
    assert!(gone.as_mut().poll(&mut context).is_pending());
    drop(gone);
    fixture.done(&[deposit(2, 7, 5)]);
    let again = crate::fixture::open(Arc::new(crate::memory::Memory::of(disk.files())), 2).unwrap();
    assert_eq!(again.all(), fixture.all());
    run(fixture.spot.snapshot()).unwrap();
    assert_eq!(disk.files().len(), 1);
}
