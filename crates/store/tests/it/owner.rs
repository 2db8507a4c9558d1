//! Whose folder it is, and what is in it after its owner is gone.

use crate::fixture::{COIN, Fixture, balance, id, one, word, written};
use crate::folder_store::{fund, open_unlocked};
use kernel::ids::WorkerId;
use kernel::money::Amount;
use kernel::ports::journal::{Due, TransferQueries as _, WorkerLeases as _};
use store::sqlite::{FILE, OpenError};

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_has_one_owner() {
    let fixture = Fixture::new();
    let store = fixture.open();
    assert!(matches!(fixture.try_open(None), Err(OpenError::Locked(_))));
    // the owner goes on undisturbed
    fund(&*store.funding(), 1, COIN, Amount(10)).await;
    drop(store);
    assert_eq!(balance(&fixture.open(), 1).await, (10, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_folder_is_made() {
    let mut fixture = Fixture::new();
    let deep = fixture.dir.path().join("a/b");
    let store = fixture.open_at(&deep);
    fund(&*store.funding(), 1, COIN, Amount(10)).await;
    assert!(deep.join(FILE).is_file());
    drop(store);
    fixture.clock.set(0);
    fixture.flows = std::sync::Arc::new(flows::registry());
    assert_eq!(balance(&fixture.open_at(&deep), 1).await, (10, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_ours_is_left_alone() {
    let fixture = Fixture::new();
    drop(fixture.open());
    let opened = || open_unlocked(|| fixture.try_open(None)).map(drop);
    let tool = fixture.tool();
    let shape: i64 =
        tool.query_row("PRAGMA user_version", [], |row| row.get(0)).expect("our shape");
    tool.pragma_update(None, "user_version", 9_000).expect("a newer shape");
    drop(tool);
    assert!(matches!(opened(), Err(OpenError::Newer(9_000))));
    let tool = fixture.tool();
    tool.pragma_update(None, "user_version", 1).expect("a shape before the first release");
    drop(tool);
    let Err(refused) = opened() else { panic!("opened") };
    assert_eq!(
        refused.to_string(),
        format!(
            "a build before the first release wrote it (shape 1, this one keeps shape {shape}), \
             and nothing converts it: move the folder away and start with a new one"
        )
    );
    let tool = fixture.tool();
    tool.pragma_update(None, "user_version", shape).expect("our shape");
    tool.pragma_update(None, "application_id", 7).expect("another's file");
    drop(tool);
    assert!(matches!(opened(), Err(OpenError::Damaged(_))));
    std::fs::write(fixture.dir.path().join(FILE), [7; 20_000]).expect("garbage");
    assert!(matches!(opened(), Err(OpenError::Damaged(_))));
}

/// The files as a crash leaves them: copied while the store has them open.
fn crashed(fixture: &Fixture) -> Fixture {
    let left =
        Fixture { flows: fixture.flows.clone(), clock: fixture.clock.clone(), ..Fixture::new() };
    for entry in std::fs::read_dir(fixture.dir.path()).expect("the folder") {
        let from = entry.expect("a file").path();
        let name = from.file_name().expect("a name");
        if name.to_string_lossy().ends_with("-shm") {
            continue;
        }
        std::fs::copy(&from, left.dir.path().join(name)).expect("a copy");
    }
    left
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_answered_survives_a_crash_without_a_close() {
    let fixture = Fixture::new();
    let store = fixture.open();
    fund(&*store.funding(), 1, COIN, Amount(1_000)).await;
    for n in 0..5 {
        written(&store, fixture.opening(n, 1, 10)).await;
    }
    written(&store, fixture.ending(0, 1, 10)).await;
    let left = crashed(&fixture);
    let again = left.open();
    assert_eq!(balance(&again, 1).await, (950, 40));
    let mut orphans = Vec::new();
    for due in again.due(WorkerId(9), fixture.every_flow(100)).await.expect("due") {
        match &due {
            Due::Orphan(record) => orphans.push(record.id),
            Due::Transfer(_) | Due::Attempt(_) => panic!("{due:?}"),
        }
    }
    orphans.sort_unstable();
    assert_eq!(orphans, (1..5).map(id).collect::<Vec<_>>());
    // it is the same transfer for a client that repeats, and it goes on
    assert_eq!(word(&one(&again, fixture.opening(0, 1, 10)).await), "lost");
    for n in 1..5 {
        written(&again, fixture.ending(n, 1, 10)).await;
    }
    assert_eq!(balance(&again, 1).await, (950, 0));
    assert!(again.counts().await.expect("counts").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_go_on_after_a_restart() {
    let fixture = Fixture::new();
    let mut last = (0, 0);
    for n in 0..4 {
        let store = fixture.open();
        fund(&*store.funding(), n + 1, COIN, Amount(10)).await;
        let wrote = written(&store, fixture.opening(n, n + 1, 1)).await;
        let seq = match &wrote.fork {
            Some(kernel::answer::Answer::Done(receipt)) => receipt.seq,
            other => panic!("{other:?}"),
        };
        let next = (wrote.serial.expect("a number").0, seq);
        assert!(next.0 > last.0 && next.1 > last.1, "{last:?} {next:?}");
        last = next;
    }
}
