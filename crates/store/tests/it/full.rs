//! No room: nothing is written, it is said, and it goes on when there is room again.

use crate::fixture::{COIN, Fixture, balance, one, word, written};
use crate::folder_store::{fund, open_unlocked};
use kernel::money::Amount;
use kernel::ports::journal::UnitWriter as _;
use kernel::unit::Wrote;
use std::sync::Arc;
use store::sqlite::{Embedded, FILE};

fn reopened(fixture: &Fixture, bytes: Option<u64>) -> Arc<Embedded> {
    open_unlocked(|| fixture.try_open(bytes)).unwrap_or_else(|error| panic!("{error}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_store_says_so_and_goes_on_when_there_is_room() {
    let fixture = Fixture::new();
    let store = reopened(&fixture, Some(600_000));
    fund(&*store.funding(), 1, COIN, Amount(1_000_000)).await;
    let (mut done, mut n) = (0_u64, 0);
    loop {
        let group: Vec<_> = (n..n + 50).map(|n| fixture.opening(n, 1, 1)).collect();
        let wrote = store.write(group).await;
        match wrote.first() {
            Some(Wrote::Written(_)) => done += 50,
            Some(Wrote::Full) => {
                assert!(wrote.iter().all(|w| *w == Wrote::Full), "{wrote:?}");
                break;
            }
            other => panic!("{other:?}"),
        }
        n += 50;
        assert!(n < 20_000, "it is never full");
    }
    assert!(done > 0, "nothing fitted");
    // all of it or nothing; what is there can be read, and the refusal repeats itself
    assert_eq!(balance(&store, 1).await, (1_000_000 - u128::from(done), u128::from(done)));
    let group = (n..n + 50).map(|n| fixture.opening(n, 1, 1)).collect();
    assert_eq!(store.write(group).await.first(), Some(&Wrote::Full));
    drop(store);
    let store = reopened(&fixture, None);
    assert_eq!(word(&one(&store, fixture.opening(n, 1, 1)).await), "done");
    for n in 0..done {
        written(&store, fixture.ending(n, 1, 1)).await;
    }
    assert_eq!(balance(&store, 1).await, (1_000_000 - u128::from(done) - 1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn room_that_is_made_is_used_without_a_restart() {
    let fixture = Fixture::new();
    let store = reopened(&fixture, Some(400_000));
    fund(&*store.funding(), 1, COIN, Amount(1_000_000)).await;
    let tool = fixture.tool();
    let mut n = 0;
    let fill = "INSERT INTO case_notes (case_id, at, caller, kind, text) \
                VALUES (0, 0, 'FILL', 'COMMENT', hex(zeroblob(20000)))";
    let full = loop {
        // an operator's own rows take the room
        tool.execute(fill, []).expect("a row");
        n += 1;
        let wrote = one(&store, fixture.opening(n, 1, 1)).await;
        match &wrote {
            Wrote::Written(_) => assert!(n < 100, "it is never full"),
            Wrote::Full => break n,
            Wrote::Lost(_) | Wrote::Refused(_) | Wrote::Unknown(_) => panic!("{wrote:?}"),
        }
    };
    assert_eq!(balance(&store, 1).await.1, u128::from(full) - 1);
    tool.execute("DELETE FROM case_notes WHERE caller = 'FILL'", []).expect("room");
    assert_eq!(word(&one(&store, fixture.opening(full, 1, 1)).await), "done");
    assert_eq!(balance(&store, 1).await.1, u128::from(full));
}

/// Turns red where a store whose every write waits is taken for one that writes (run: the release before, in which
/// `/readyz` said so for as long as another transaction stood open).
#[tokio::test(flavor = "multi_thread")]
async fn a_lock_of_another_program_is_said_while_it_lasts() {
    let fixture = Fixture::new();
    let store = fixture.open();
    fund(&*store.funding(), 1, COIN, Amount(1_000)).await;
    assert_eq!(store.writes(), Ok(()));
    let other =
        rusqlite::Connection::open(fixture.dir.path().join(store::sqlite::FILE)).expect("the file");
    other.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    let held = store.write(vec![fixture.opening(1, 1, 10)]);
    let released = async {
        let mut waits = store.writes();
        while waits.is_ok() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            fixture.clock.forward(100);
            waits = store.writes();
        }
        assert_eq!(waits.expect_err("it waits").class, "STORE_BUSY");
        other.execute_batch("ROLLBACK").expect("the lock is given back");
    };
    let (wrote, ()) = tokio::join!(held, released);
    assert!(matches!(wrote.first(), Some(Wrote::Written(_))), "{wrote:?}");
    assert_eq!(store.writes(), Ok(()));
}

/// A person reads for long while much is written: the log grows, since nothing of it may be moved away. It is small
/// again soon after the reader has gone.
///
/// Turns red where the log keeps its largest size for ever (run: the release before).
#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_a_reader_held_up_is_small_again() {
    let fixture = Fixture::new();
    let store = reopened(&fixture, None);
    fund(&*store.funding(), 1, COIN, Amount(1_000_000)).await;
    let file = fixture.dir.path().join(format!("{FILE}-wal"));
    let log = || std::fs::metadata(&file).expect("a log").len();
    let (reader, tool) = (fixture.tool(), fixture.tool());
    reader.execute_batch("BEGIN; SELECT count(*) FROM transfers").expect("it reads");
    let fill = "INSERT INTO case_notes (case_id, at, caller, kind, text) \
                VALUES (0, 0, 'FILL', 'COMMENT', hex(zeroblob(50000000)))";
    tool.execute(fill, []).expect("a row");
    written(&store, fixture.opening(1, 1, 1)).await;
    let limit = 64 * 1024 * 1024;
    assert!(log() > limit, "{} bytes", log());
    reader.execute_batch("COMMIT").expect("it has read");
    for n in 2..6 {
        written(&store, fixture.opening(n, 1, 1)).await;
    }
    assert!(log() <= limit, "{} bytes", log());
}
