//! The crash matrix of `account` on PostgreSQL: two workers share a database and a broker, and at each place
//! and moment of the matrix the one that comes there first dies. The other goes on with everything,
//! a third one takes the place of the dead one, and the next row is played.
//!
//! Wrong builds that turn it red, each in a test here: the inbox row in a unit of its own after its effect, and
//! the offset committed before it.

mod fixture;

use super::fixture::quick;
use super::shared::SharedDatabase;
use engine::Settings;
use fixture::Pipeline;
use futures_util::future::join_all;
use kernel::ids::Millis;
use kernel::retry::Backoff;
use sim::generic::account::DeathPoint;
use sim::service::PortWraps;
use sim::wrong;
use std::time::Duration;
use testbed::Database;

/// The maximum number of plays of a row. A row whose moment did not come is played again on other accounts: the
/// machine's timing decides which messages come together.
const PLAYS: usize = 30;
/// The longest that a transfer may take.
const TIMEOUT: Millis = 60_000;

fn settings(fuse: bool) -> Settings {
    // a claim that is a unit of its own has consumed its message: the scanner sends another
    let resend = match fuse {
        true => Settings::default().resend,
        false => Backoff { base: 200, cap: 800 },
    };
    Settings { lease_ms: 400, resend, ..quick(fuse) }
}

/// Two workers die at some of the rows, one after the other; then everything is judged.
async fn dies_at(database: Database, rows: &[DeathPoint], fuse: bool) {
    let wraps = PortWraps::default();
    let database = SharedDatabase::new(database, settings(fuse));
    let mut pipeline = Pipeline::open(database, wraps, TIMEOUT).await;
    for row in rows {
        let mut plays = 0;
        while !pipeline.play(row).await {
            plays += 1;
            assert!(plays < PLAYS, "no process came to {row:?}");
        }
    }
    assert_eq!(pipeline.faults().await, [""; 0], "fuse={fuse}");
    pipeline.end().await;
}

/// Most of a play is waiting for leases and for what is sent again: several are played at once.
async fn dies_at_every_row(fuse: bool) {
    let rows = DeathPoint::all();
    // a database is made with a program that is waited for, and no pipeline goes on meanwhile
    let some = rows.chunks(8).map(|some| (Database::given().expect("a database"), some));
    let parts: Vec<_> = some.collect();
    join_all(parts.into_iter().map(|(database, some)| dies_at(database, some, fuse))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_death_at_every_row_fused() {
    dies_at_every_row(true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_death_at_every_row_plain() {
    dies_at_every_row(false).await;
}

/// What is found where a wrong build dies there.
async fn found(name: &str, row: (&str, &str), timeout: Millis) -> String {
    let wraps = wrong::messages(name).expect("a wrong build");
    let database = Database::given().expect("a database");
    let database = SharedDatabase::new(database, settings(true));
    let mut pipeline = Pipeline::open(database, wraps, timeout).await;
    let is = |one: &DeathPoint| (one.place, one.moment) == row;
    let row = DeathPoint::all().into_iter().find(is).expect("a row of the matrix");
    assert!(pipeline.play(&row).await, "{row:?}");
    let faults = pipeline.faults().await.join("; ");
    pipeline.end().await;
    faults
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_inbox_row_after_its_effect_is_found() {
    let row = ("EXECUTING → COMPLETED", "written, offset not committed");
    let faults = found("inbox-after-effect", row, TIMEOUT).await;
    assert!(faults.contains("no inbox row"), "{faults}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_offset_before_its_effect_is_found() {
    let row = ("PENDING → VALIDATING", "before the write");
    let mut faults = String::new();
    // a commit while the group deals its partitions is refused, and this build is right by chance
    for _ in 0..5 {
        faults = found("offset-before-effect", row, 2_000).await;
        if faults.contains("does not end") {
            return;
        }
    }
    panic!("it was not found: {faults}");
}

/// The store waits longer for a row than a transfer may take: what waits with it does not end.
async fn plays_locked(fuse: bool) {
    let database = SharedDatabase {
        lock: Duration::from_secs(600),
        ..SharedDatabase::new(Database::given().expect("a database"), settings(fuse))
    };
    let mut pipeline = Pipeline::open(database, PortWraps::default(), TIMEOUT).await;
    pipeline.play_locked().await;
    pipeline.end().await;
}

/// Turns red where a consumer waits for a write that waits for a row (the release before).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_account_delays_its_own_transfers_only() {
    plays_locked(true).await;
}

/// Turns red where a consumer waits for a leg that waits for a row (`execute` in the place of `begin`).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_account_delays_its_own_transfers_only_plain() {
    plays_locked(false).await;
}
