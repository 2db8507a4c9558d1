//! Every cut and every changed byte of a small log: the tail is dropped or the folder refused, and
//! the books are never wrong.

use crate::fixture::{SpotFixture, deposit, freeze, fresh, open, run, withdraw};
use crate::memory::{Files, Memory};
use kernel::ports::ledger::Ledger;
use ledgers::SpotOpenError;
use std::sync::Arc;

/// A folder, and the books after each number of operations.
fn written() -> (Files, Vec<String>) {
    let (disk, fixture) = fresh();
    let mut states = vec![fixture.all()];
    for batch in [
        vec![deposit(1, 7, 100)],
        vec![withdraw(2, 7, 30), withdraw(3, 7, 300)],
        vec![deposit(4, 8, 1)],
    ] {
        fixture.done(&batch);
        states.push(fixture.all());
    }
    run(fixture.spot.status(fixture.known(), freeze(9, "no reason")));
    (disk.files(), states)
}

fn reopen(files: &Files, acknowledged: u64) -> Result<(Arc<Memory>, SpotFixture), SpotOpenError> {
    let disk = Arc::new(Memory::of(files.clone()));
    Ok((disk.clone(), open(disk, acknowledged)?))
}

/// What may be found in a damaged folder: books that were there once, which stay.
fn sane(files: &Files, states: &[String], acknowledged: u64, how: &str) {
    match reopen(files, acknowledged) {
        Ok((disk, fixture)) => {
            assert!(states.contains(&fixture.all()), "{how}: {}", fixture.all());
            if fixture.torn.is_some() {
                assert!(fixture.known().highest >= acknowledged, "{how}");
            }
            fixture.done(&[deposit(99, 9, 9)]);
            let again = reopen(&disk.files(), fixture.known().highest).expect(how);
            assert_eq!(again.1.torn, None, "{how}");
            assert_eq!(again.1.all(), fixture.all(), "{how}");
        }
        Err(SpotOpenError::Damaged { .. } | SpotOpenError::Acknowledged { .. }) => (),
        Err(other) => panic!("{how}: {other}"),
    }
}

fn changes(files: &Files, run: impl Fn(&Files, &str)) {
    for (file, bytes) in files {
        for at in 0..bytes.len() {
            let mut cut = files.clone();
            cut.get_mut(file).unwrap().truncate(at);
            run(&cut, &format!("{file} cut at {at}"));
            for flip in [1, 0x80, 0xff] {
                let mut flipped = files.clone();
                flipped.get_mut(file).unwrap()[at] ^= flip;
                run(&flipped, &format!("{file} ^ {flip:#x} at {at}"));
            }
        }
    }
}

#[test]
fn no_damage_makes_wrong_books() {
    let (files, states) = written();
    changes(&files, |changed, how| {
        for acknowledged in [0, 1, 3, 4] {
            sane(changed, &states, acknowledged, how);
        }
    });
}

#[test]
fn only_the_last_batch_is_ever_dropped() {
    let (files, states) = written();
    let (name, bytes) = files.first_key_value().unwrap();
    let starts: Vec<_> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(b"SPOT")).collect();
    let last = *starts.last().unwrap();
    for at in 0..bytes.len() {
        let mut flipped = files.clone();
        flipped.get_mut(name).unwrap()[at] ^= 0x10;
        match reopen(&flipped, 3) {
            Ok((_, fixture)) => {
                assert!(at >= last);
                let torn = fixture.torn.clone().unwrap();
                assert_eq!(torn.offset, u64::try_from(last).unwrap());
                assert_eq!(torn.bytes, u64::try_from(bytes.len() - last).unwrap());
                assert!(torn.count <= 1);
                assert_eq!(fixture.all(), states[2]);
            }
            Err(error) => {
                assert!(at < last, "{at}: {error}");
                let before = starts.iter().rev().find(|start| **start <= at).unwrap();
                let place = format!("damaged at offset {before}:");
                assert!(error.to_string().contains(&place), "{at}: {error}");
            }
        }
        // Its operation was acknowledged: then not even that one.
        let refused = reopen(&flipped, 4).err().unwrap();
        let acknowledged = matches!(refused, SpotOpenError::Acknowledged { offset, .. }
            if offset == u64::try_from(last).unwrap());
        assert_eq!(acknowledged, at >= last, "{refused}");
    }
}

#[test]
fn reserved_room_is_the_end_of_the_log() {
    let (mut files, states) = written();
    let bytes = files.values_mut().next().unwrap();
    bytes.resize(bytes.len() + 5_000, 0);
    let (_, fixture) = reopen(&files, 4).unwrap();
    assert_eq!((fixture.all(), &fixture.torn), (states[3].clone(), &None));
    changes(&files_tail(&files), |changed, how| sane(changed, &states, 4, how));
}

/// The same files, with less room, so that every place of it can be changed.
fn files_tail(files: &Files) -> Files {
    files.iter().map(|(n, b)| (n.clone(), b[..b.len() - 4_900].to_vec())).collect()
}

#[test]
fn a_damaged_snapshot_is_refused() {
    let (disk, fixture) = fresh();
    fixture.done(&[deposit(1, 7, 100), withdraw(2, 7, 30)]);
    run(fixture.spot.status(fixture.known(), freeze(7, "k")));
    run(fixture.spot.snapshot()).unwrap();
    let states = [fixture.all()];
    let files = disk.files();
    assert!(files.keys().all(|file| file.ends_with(".snap")));
    changes(&files, |changed, how| {
        assert!(matches!(reopen(changed, 0), Err(SpotOpenError::Damaged { .. })), "{how}");
    });
    fixture.done(&[deposit(3, 7, 1)]);
    let states = [states[0].clone(), fixture.all()];
    changes(&disk.files(), |changed, how| sane(changed, &states, 2, how));
}

#[test]
fn a_missing_file_is_refused() {
    let (disk, fixture) = fresh();
    fixture.done(&[deposit(1, 7, 100)]);
    run(fixture.spot.snapshot()).unwrap();
    fixture.done(&[deposit(2, 7, 100)]);
    let mut files = disk.files();
    files.retain(|file, _| file.ends_with(".log"));
    assert!(matches!(reopen(&files, 0), Err(SpotOpenError::Damaged { .. })));
}

#[test]
fn killed_after_any_change_of_the_disk_nothing_answered_is_gone() {
    let (disk, fixture) = fresh();
    *disk.history.lock().unwrap() = Some(vec![disk.files()]);
    let (mut states, mut answered) = (vec![fixture.all()], Vec::new());
    for id in 1..=12 {
        fixture.done(&[deposit(id, 7, 10), withdraw(id, 7, 3)]);
        states.push(fixture.all());
        answered
            .push((disk.history.lock().unwrap().as_ref().unwrap().len(), fixture.known().highest));
        if id % 3 == 0 {
            run(fixture.spot.snapshot()).unwrap();
        }
    }
    let history = disk.history.lock().unwrap().take().unwrap();
    assert!(history.len() > 40, "{}", history.len());
    for (changes, files) in (1..).zip(&history) {
        let before = answered.iter().rev().find(|(length, _)| *length <= changes);
        let acknowledged = before.map_or(0, |(_, highest)| *highest);
        let (_, again) = reopen(files, acknowledged).unwrap();
        assert!(again.known().highest >= acknowledged, "after change {changes}");
        assert!(states.contains(&again.all()), "after change {changes}: {}", again.all());
        run(again.spot.snapshot()).unwrap();
        again.done(&[deposit(99, 9, 9)]);
    }
}
