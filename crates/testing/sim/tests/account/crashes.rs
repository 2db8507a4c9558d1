//! The process dies at every event of the log, and again while it recovers.

use sim::generic::account::{
    ACCOUNT_CASES, AccountMatrix, AccountTrial, crash_at_every_event, crash_in_pairs,
};

/// Every place and moment on both paths. Turns red where one of them is not played, or is played and not listed.
#[test]
fn account_crash_matrix() {
    let part = |fuse: bool| {
        let trial = AccountTrial { fuse: vec![fuse], ..AccountTrial::default() };
        crash_at_every_event(&trial)
    };
    let mut all = AccountMatrix::default();
    std::thread::scope(|threads| {
        for part in [threads.spawn(|| part(true)), threads.spawn(|| part(false))] {
            match part.join() {
                Ok(reached) => all.add(reached),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    println!("{} deaths", all.deaths());
    assert_eq!(all.faults(), [""; 0]);
}

#[test]
fn account_crash_in_pairs() {
    let [both_ways, .., parked] = ACCOUNT_CASES;
    crash_in_pairs(&AccountTrial { cases: vec![both_ways], ..AccountTrial::default() }, 3);
    crash_in_pairs(&AccountTrial { cases: vec![parked], ..AccountTrial::default() }, 7);
}
