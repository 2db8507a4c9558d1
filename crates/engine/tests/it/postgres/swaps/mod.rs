//! The crash matrix of `swap_out`'s payouts on PostgreSQL: two workers share a database and two chains, and at each
//! row of the page of crashes the first worker to reach it dies. The other worker ends every swap.
//!
//! Wrong builds that turn it red, each in a test here: the edge of a dead payout dropped, and an attempt that
//! is proven again after its close.

mod fixture;

use super::fixture::quick;
use engine::Settings;
use fixture::{SwapPlay, SwapWraps};
use futures_util::stream::{self, StreamExt as _};
use sim::chain::{ChainRules, Locking};
use sim::generic::chain::ChainDeathPoint;
use sim::generic::swaps::{SWAP_CASES, SwapCase};
use sim::wrong;
use std::time::Duration;
use testbed::Database;

/// Computed by the same matrix on the simulated journal: this one has its rows about the payout.
const PAGE: &str = include_str!("../../../../../../docs/proof/swap_out.md");
/// From the acceptance of a swap to the end of its payout.
const PAYOUT: [&str; 4] = ["ready for processing", "accepted", "sending", "payout dead"];
/// No payout comes of it: the receiver cannot be paid.
const REFUSED: &str = "| ready for processing | no → ";
/// The cases whose payouts go every way: a culprit beside an innocent one, and one that never arrives.
const CASES: [&str; 2] = ["one spoils its payout", "no payout arrives"];
/// So many plays at once: most of a play is waiting for blocks and for a lease.
const AT_ONCE: usize = 8;

/// Chains whose blocks are quick, and on which nothing goes wrong.
const RULES: ChainRules = ChainRules { block_ms: 20, ..ChainRules::calm(Locking::Reference) };

fn settings(fuse: bool) -> Settings {
    Settings { lease_ms: 400, ..quick(fuse) }
}

fn case(name: &str) -> SwapCase {
    let mut cases = SWAP_CASES.into_iter().filter(|case| case.flow == "swap_out");
    cases.find(|case| case.name == name).expect("the case")
}

fn rows(fuse: bool) -> Vec<ChainDeathPoint> {
    let flows = flows::registry();
    let table = flows.table(flows.named("swap_out").expect("the flow"));
    let mut rows = ChainDeathPoint::all(table, PAGE);
    rows.retain(|row| PAYOUT.contains(&row.state) && !row.row.starts_with(REFUSED));
    rows.retain(|row| row.paths.get(usize::from(fuse)) == Some(&true));
    assert!(rows.len() > 20, "{} rows", rows.len());
    rows
}

fn play(database: Database, name: &str, fuse: bool) -> SwapPlay {
    SwapPlay::new(database, settings(fuse), &case(name), RULES)
}

/// A worker dies at one row, in the first of the cases that reaches it; what was wrong.
async fn dies_at(row: &ChainDeathPoint, fuse: bool) -> Vec<String> {
    let mut faults = Vec::new();
    for name in CASES {
        let database = Database::given().expect("a database");
        let played = play(database, name, fuse).dies_at(row).await;
        let line = |fault| format!("{name}, fuse={fuse}, {}{fault}", row.row);
        faults.extend(played.faults.into_iter().map(line));
        if played.reached {
            return faults;
        }
    }
    faults.push(format!("no worker came to {}", row.row));
    faults
}

async fn dies_at_every_row(fuse: bool) {
    let rows = rows(fuse);
    let plays = stream::iter(&rows).map(|row| dies_at(row, fuse)).buffer_unordered(AT_ONCE);
    let faults: Vec<Vec<String>> = plays.collect().await;
    assert_eq!(faults.concat(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payout_s_worker_dies_at_every_row_fused() {
    dies_at_every_row(true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payout_s_worker_dies_at_every_row_plain() {
    dies_at_every_row(false).await;
}

/// What is found where a worker of a wrong build dies there, within so long.
async fn found(name: &str, case: &str, row: &str, within: Duration) -> String {
    let mut wraps = SwapWraps::default();
    match (wrong::chain(name), wrong::chain_journal(name)) {
        (Some(around), _) => wraps.chain = around,
        (None, Some(around)) => wraps.journal = around,
        (None, None) => panic!("no wrong build {name}"),
    }
    let database = Database::given().expect("a database");
    let play = play(database, case, true).wrong(wraps, within);
    let row = rows(true).into_iter().find(|one| one.row.starts_with(row)).expect("the row");
    let played = play.dies_at(&row).await;
    assert!(played.reached, "no worker came to {}", row.row);
    played.faults.join("; ")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payout_whose_dead_edge_is_dropped_is_found() {
    let row = "| sending |  | proven, not stored";
    let within = Duration::from_secs(5);
    let faults = found("dead-edge-dropped", "no payout arrives", row, within).await;
    assert!(faults.contains("takes too long"), "{faults}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payout_that_is_proven_after_its_close_is_found() {
    let row = "| sending | done → processed | after the write";
    // where the proof is refused its chain stops, and the swaps do not end
    let within = Duration::from_secs(20);
    let faults = found("attempt-stays-open", "one spoils its payout", row, within).await;
    assert!(faults.contains("open: ") || faults.contains("VERDICT_REFUSED"), "{faults}");
}
