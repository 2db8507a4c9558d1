//! Standing still: nothing goes on meanwhile, nothing is lost afterwards, and what was noted is one
//! instant whatever becomes of the folder.

use crate::fixture::{SpotFixture, deposit, done, open, run};
use crate::memory::Fault;
use kernel::ports::disk::Disk;
use kernel::ports::ledger::{Ledger, Reply};
use ledgers::disk::Folder;
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

fn folder(path: &Path) -> Arc<dyn Disk> {
    Arc::new(Folder::open(path).unwrap())
}

fn opened(path: &Path) -> SpotFixture {
    open(folder(path), 0).unwrap()
}

/// Turns red where a call gets through, or where what is noted is more than what was durable.
#[test]
fn what_is_noted_is_one_instant() {
    let dir = tempfile::tempdir().unwrap();
    let (live, copy) = (dir.path().join("live"), dir.path().join("copy"));
    let fixture = opened(&live);
    assert_eq!(fixture.done(&[deposit(1, 7, 100)]), [done(1)]);
    run(fixture.spot.snapshot()).unwrap();
    assert_eq!(fixture.done(&[deposit(2, 7, 10)]), [done(2)]);
    let before = fixture.all();
    let frozen = run(fixture.spot.quiesce()).unwrap();
    assert_eq!(frozen.known, fixture.known());
    let mut call = pin!(fixture.spot.execute(fixture.known(), [deposit(3, 7, 1)].into()));
    let mut context = Context::from_waker(Waker::noop());
    assert!(call.as_mut().poll(&mut context).is_pending(), "nothing is decided");
    assert_eq!(fixture.all(), before, "questions are answered");
    let held: Vec<_> = frozen
        .parts
        .iter()
        .map(|piece| (piece.clone(), File::open(live.join(&piece.name)).unwrap()))
        .collect();
    drop(frozen);
    let reply = match call.as_mut().poll(&mut context) {
        Poll::Ready(reply) => reply,
        Poll::Pending => run(call),
    };
    assert!(matches!(&reply, Reply::Answered(_, answers) if *answers == [done(3)]), "{reply:?}");
    // new segments, a snapshot, and what was noted is removed: whoever holds it has it
    for n in 4..40 {
        assert_eq!(fixture.done(&[deposit(n, 7, 1)]).len(), 1);
    }
    run(fixture.spot.snapshot()).unwrap();
    fs::create_dir(&copy).unwrap();
    for (piece, mut file) in held {
        assert!(!live.join(&piece.name).exists(), "{}: the test must remove it", piece.name);
        let mut bytes = vec![0; usize::try_from(piece.len).unwrap()];
        file.read_exact(&mut bytes).unwrap();
        File::create(copy.join(&piece.name)).unwrap().write_all(&bytes).unwrap();
    }
    let again = opened(&copy);
    assert_eq!(again.torn, None);
    assert_eq!(again.all(), before);
    assert_eq!(again.known().identity, fixture.known().identity);
}

#[test]
fn a_core_that_broke_is_not_copied() {
    let (disk, fixture) = crate::fixture::fresh();
    fixture.done(&[deposit(1, 7, 100)]);
    disk.fail(Fault::Sync(ErrorKind::Other));
    fixture.execute(&[deposit(2, 7, 100)]);
    assert!(run(fixture.spot.quiesce()).is_err());
}
