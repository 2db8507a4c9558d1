//! Checks that a lock is taken once for ever, in whatever order two writers come.

use super::super::checks;
use super::super::fixture::{JournalFixture, NOON, plain, together};
use super::{CHAIN, LANE, Next, attempt, claim, claimed};
use kernel::attempt::{Attempt, Lock};
use kernel::ids::ChainId;
use kernel::unit::{Guard, Put, Unit, Wrote};

checks! {
    a_lock_is_taken_once_for_ever,
    one_of_many_takes_a_lock,
    a_claim_under_halt_takes_no_lock,
}

fn free(lock: &str) -> Guard {
    Guard::LockFree { chain: CHAIN, lane: LANE.into(), lock: lock.into() }
}

fn put(attempt: Attempt) -> Unit {
    plain(vec![Put::Attempt(attempt)])
}

async fn a_lock_is_taken_once_for_ever(b: &mut JournalFixture) {
    b.wins("a lock that never was", free("7")).await;
    let made = claimed(b, 1, "7", &[1]).await;
    b.loses("its lock", free("7")).await;
    b.lost("another attempt", put(attempt(b, 2, "7", &[])), free("7")).await;
    let close = Next { closed: Some(NOON), ..Next::carried(2) };
    b.written("its close", plain(vec![close.put(made.id)])).await;
    b.loses("the lock of a closed one", free("7")).await;
    b.lost("another attempt then", put(attempt(b, 2, "7", &[])), free("7")).await;
    b.reopen().await;
    b.lost("after a restart", put(attempt(b, 2, "7", &[])), free("7")).await;
    let twice =
        plain(vec![Put::Attempt(attempt(b, 2, "8", &[])), Put::Attempt(attempt(b, 3, "8", &[]))]);
    b.lost("twice in one unit", twice, free("8")).await;
    b.written("the lock after it", put(attempt(b, 2, "8", &[]))).await;
    for other in [
        Attempt { chain: ChainId(32), ..attempt(b, 3, "7", &[]) },
        Attempt { lane: "key-2".into(), ..attempt(b, 4, "7", &[]) },
        Attempt { lock: Lock::from("07"), ..attempt(b, 5, "7", &[]) },
        Attempt { lock: Lock::from("18446744073709551615"), ..attempt(b, 6, "7", &[]) },
        Attempt { lock: Lock::from("18446744073709551614"), ..attempt(b, 7, "7", &[]) },
    ] {
        b.written("another lock", put(other)).await;
    }
}

async fn one_of_many_takes_a_lock(b: &mut JournalFixture) {
    let mut units = Vec::new();
    for n in 1..=5 {
        let member = b.opened(n).await;
        units.push(claim(b, &attempt(b, u128::from(n), "9", &[member])));
    }
    let wrote = b.all(units.clone()).await;
    let taken = |wrote: &Wrote| matches!(wrote, Wrote::Written(_));
    b.same("of a group", &wrote.iter().filter(|w| taken(w)).count(), &1);
    let lost = Wrote::Lost(free("9"));
    b.same("the others", &wrote.iter().filter(|w| **w == lost).count(), &4);
    let mut units = Vec::new();
    for n in 11..=30 {
        let member = b.opened(n).await;
        units.push(claim(b, &attempt(b, u128::from(n), "10", &[member])));
    }
    let journal = &b.on().journal;
    let writes = units.into_iter().map(|unit| journal.write(vec![unit])).collect();
    let wrote: Vec<_> = together(writes).await.into_iter().flatten().collect();
    b.same("of many at once", &wrote.iter().filter(|w| taken(w)).count(), &1);
    let lost = Wrote::Lost(free("10"));
    b.same("the others", &wrote.iter().filter(|w| **w == lost).count(), &19);
}

async fn a_claim_under_halt_takes_no_lock(b: &mut JournalFixture) {
    let member = b.opened(1).await;
    b.written("a halt", plain(vec![Put::Halt { reason: "a check".into() }])).await;
    let unit = claim(b, &attempt(b, 1, "7", &[member]));
    b.lost("a claim", unit, Guard::NotHalted).await;
    b.wins("its lock is free", free("7")).await;
    b.wins("there is no attempt", Guard::Attempt { id: super::AttemptId(1), version: 0 }).await;
}
