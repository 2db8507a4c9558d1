//! A disk that is full, and a disk that is broken.

use crate::fixture::{deposit, done, fresh, open, run};
use crate::memory::{Fault, Memory};
use kernel::ports::ledger::{Ledger, Reply};
use std::io::ErrorKind;
use std::sync::Arc;

#[test]
fn a_full_disk_executes_nothing_and_goes_on_when_there_is_room() {
    for kind in [ErrorKind::StorageFull, ErrorKind::QuotaExceeded] {
        for fault in [Fault::Append(kind), Fault::Sync(kind)] {
            let (disk, fixture) = fresh();
            fixture.done(&[deposit(1, 7, 5)]);
            let all = fixture.all();
            for _ in 0..2 {
                disk.fail(fault);
                let reply = fixture.execute(&[deposit(2, 7, 5)]);
                assert!(matches!(reply, Reply::NoAnswer(cause) if cause.class == "DISK_FULL"));
                assert_eq!(fixture.all(), all);
            }
            assert_eq!(fixture.done(&[deposit(3, 8, 5), deposit(2, 7, 5)]), [done(2), done(3)]);
            assert!(fixture.fatal.lock().unwrap().is_empty());
            let again = open(Arc::new(Memory::of(disk.files())), 3).unwrap();
            assert_eq!(again.all(), fixture.all());
            assert_eq!(again.torn, None);
        }
    }
}

#[test]
fn a_broken_disk_ends_everything_before_an_answer() {
    for fault in [Fault::Append(ErrorKind::Other), Fault::Sync(ErrorKind::Other)] {
        let (disk, fixture) = fresh();
        fixture.done(&[deposit(1, 7, 5)]);
        let known = fixture.known();
        disk.fail(fault);
        for _ in 0..2 {
            let reply = fixture.execute(&[deposit(2, 7, 5)]);
            assert!(matches!(reply, Reply::NoAnswer(cause) if cause.class == "DISK_BROKEN"));
        }
        assert!(matches!(run(fixture.spot.hello()), Reply::NoAnswer(_)));
        assert!(matches!(run(fixture.spot.totals()), Reply::NoAnswer(_)));
        assert!(matches!(run(fixture.spot.operations(0, 9)), Reply::NoAnswer(_)));
        let key = deposit(1, 7, 5).key;
        assert!(matches!(run(fixture.spot.query(known, key)), Reply::NoAnswer(_)));
        assert_eq!(fixture.fatal.lock().unwrap().len(), 1);
        assert!(run(fixture.spot.snapshot()).is_err());
        // Whatever part was written, a start finds the books before it, or after all of it.
        let again = open(Arc::new(Memory::of(disk.files())), 1).unwrap();
        assert!(matches!(again.available(7), Some(5 | 10)));
        assert_eq!(again.totals().users, -again.totals().clearing);
    }
}

#[test]
fn a_snapshot_without_room_leaves_the_log_as_it_is() {
    let (disk, fixture) = fresh();
    fixture.done(&[deposit(1, 7, 5)]);
    for fault in [Fault::Append(ErrorKind::StorageFull), Fault::Sync(ErrorKind::StorageFull)] {
        disk.fail(fault);
        assert!(run(fixture.spot.snapshot()).is_err());
        assert!(disk.files().keys().all(|file| file.ends_with(".log")));
    }
    fixture.done(&[deposit(2, 7, 5)]);
    let again = open(Arc::new(Memory::of(disk.files())), 2).unwrap();
    assert_eq!(again.all(), fixture.all());
    run(fixture.spot.snapshot()).unwrap();
    assert_eq!(disk.files().len(), 1);
}
