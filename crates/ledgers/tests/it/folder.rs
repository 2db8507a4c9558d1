//! On the real disk: one owner, and a folder that is not the one the journal knows shows it.

use crate::fixture::{deposit, done, open, refund, withdraw};
use kernel::ports::disk::Disk;
use kernel::ports::ledger::Reply;
use ledgers::SpotOpenError;
use ledgers::disk::Folder;
use std::fs;
use std::path::Path;
use std::sync::Arc;

fn folder(path: &Path) -> Arc<dyn Disk> {
    Arc::new(Folder::open(path).unwrap())
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn what_was_answered_is_there_after_a_start() {
    let dir = tempfile::tempdir().unwrap();
    let fixture = open(folder(dir.path()), 0).unwrap();
    assert_eq!(fixture.done(&[deposit(1, 7, 100), withdraw(2, 7, 30)]), [done(1), done(2)]);
    assert_eq!(fixture.done(&[refund(2, 7, 30)]), [done(3)]);
    let (all, first) = (fixture.all(), fixture.known());
    drop(fixture);
    for _ in 0..3 {
        let fixture = open(folder(dir.path()), 3).unwrap();
        assert_eq!(fixture.torn, None);
        assert_eq!(fixture.all(), all);
        assert_eq!(fixture.known().identity, first.identity);
        assert_ne!(fixture.known().incarnation, first.incarnation);
        run_snapshot(&fixture);
        assert_eq!(fixture.all(), all);
    }
    let mut files: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort_unstable();
    // Two batches, four starts; each snapshot took the place of everything before it.
    assert_eq!(files, ["lock", "spot-0000000000000007.snap"]);
}

fn run_snapshot(fixture: &crate::fixture::SpotFixture) {
    crate::fixture::run(fixture.spot.snapshot()).unwrap();
}

#[test]
fn a_folder_has_one_owner() {
    let dir = tempfile::tempdir().unwrap();
    let first = Folder::open(dir.path()).unwrap();
    assert!(matches!(Folder::open(dir.path()), Err(SpotOpenError::Locked)));
    drop(first);
    Folder::open(dir.path()).unwrap();
}

#[test]
fn another_folder_shows_that_it_is_another_and_executes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (own, older, clone) =
        (dir.path().join("own"), dir.path().join("older"), dir.path().join("clone"));
    let fixture = open(folder(&own), 0).unwrap();
    fixture.done(&[deposit(1, 7, 100)]);
    drop(fixture);
    copy(&own, &older);
    let fixture = open(folder(&own), 0).unwrap();
    fixture.done(&[deposit(2, 7, 100)]);
    let known = fixture.known();
    drop(fixture);
    copy(&own, &clone);
    let check = |path: &Path, same_identity: bool, highest: u64| {
        let fixture = open(folder(path), 0).unwrap();
        let actual = fixture.known();
        assert_eq!(actual.identity == known.identity, same_identity);
        assert_ne!(actual.incarnation, known.incarnation);
        assert_eq!(actual.highest, highest);
        let before = fixture.all();
        let reply = crate::fixture::run(kernel::ports::ledger::Ledger::execute(
            &*fixture.spot,
            known,
            [deposit(3, 7, 5)].into(),
        ));
        assert_eq!(reply, Reply::OtherLedger(actual));
        assert_eq!(fixture.all(), before);
    };
    check(&older, true, 1);
    check(&clone, true, 2);
    check(&dir.path().join("empty"), false, 0);
}
