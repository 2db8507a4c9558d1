//! The crash points of a flow's table: a worker dies at each once.

use super::fixture::{ChainPlayed, ChainWorkers, ChainWraps};
use crate::postgres::fixture::quick;
use engine::Settings;
use futures_util::stream::{self, StreamExt as _};
use sim::chain::{ChainRules, SimChain};
use sim::generic::chain::{ChainCase, ChainDeathPoint, ChainTrial, cases_of_rows, unplayed_rows};
use sim::wrong;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// The number of plays at once: most of a play is waiting for blocks and for a lease.
const AT_ONCE: usize = 6;
/// Limits the matrices at once, in all tests together: a pair of workers takes some twenty of the server's connections.
static MATRICES: Semaphore = Semaphore::const_new(2);
/// The maximum number of plays of a row. A row to which no worker came is played in other cases that come to it: the
/// machine's timing decides which transfers go in company.
const PLAYS: usize = 6;

/// The matrix of one flow.
pub(super) struct ChainCrashes<C> {
    flow: &'static str,
    rules: ChainRules,
    cases: PhantomData<C>,
}

/// A wrong build, and where its matrix finds it.
pub(super) struct Wrong {
    pub(super) build: &'static str,
    pub(super) case: &'static str,
    /// The row at which a worker dies, or how it begins.
    pub(super) row: &'static str,
    /// Longer than its transfers take, where they end.
    pub(super) within: Duration,
}

/// A row, and the cases that come to it.
struct Row<'r, C> {
    point: &'r ChainDeathPoint,
    cases: &'r [C],
}

/// Pairs of workers that play no case now.
#[derive(Default)]
struct Pairs(Mutex<Vec<ChainWorkers>>);

impl Pairs {
    fn free(&self) -> MutexGuard<'_, Vec<ChainWorkers>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn end(self) {
        for workers in self.0.into_inner().unwrap_or_else(PoisonError::into_inner) {
            workers.end().await;
        }
    }
}

fn settings(fuse: bool) -> Settings {
    // a worker that waits for blocks asks the database for nothing else
    Settings { lease_ms: 400, scan_interval_ms: 150, ..quick(fuse) }
}

impl<C: ChainCase<Chain = SimChain>> ChainCrashes<C> {
    pub(super) const fn new(flow: &'static str, rules: ChainRules) -> Self {
        Self { flow, rules, cases: PhantomData }
    }

    /// A worker dies at one row, in the first of these cases in which it comes to it.
    async fn dies_at(&self, row: &Row<'_, C>, fuse: bool, pairs: &Pairs) -> ChainPlayed {
        for case in row.cases.iter().cycle().take(PLAYS) {
            let free = pairs.free().pop();
            let mut workers = free.unwrap_or_else(|| ChainWorkers::new(settings(fuse), self.rules));
            let ChainPlayed { reached, faults } = workers.play(case, row.point).await;
            let line = |fault| format!("{}, fuse={fuse}, {}{fault}", case.words(), row.point.row);
            let faults: Vec<String> = faults.into_iter().map(line).collect();
            if faults.is_empty() {
                pairs.free().push(workers);
            } else {
                workers.end().await;
            }
            if reached || !faults.is_empty() {
                return ChainPlayed { reached, faults };
            }
        }
        ChainPlayed { reached: false, faults: Vec::new() }
    }

    /// A worker dies at every crash point of the table.
    pub(super) async fn dies_at_every_row(&self, fuse: bool) {
        let _turn = MATRICES.acquire().await.expect("it is never closed");
        let trial = ChainTrial::<C> { fuse: vec![fuse], ..ChainTrial::new(self.rules) };
        // the simulation runs to its end in one poll: as a task of Tokio it would wait for ever at the lock behind its budget
        let cases: BTreeMap<String, Vec<C>> =
            tokio::task::block_in_place(|| cases_of_rows(&trial, self.flow));
        let (points, pairs) = (ChainDeathPoint::all(self.flow), Pairs::default());
        let row = |point| Row { point, cases: cases.get(&point.row).map_or(&[], Vec::as_slice) };
        let rows: Vec<Row<'_, C>> = points.iter().map(row).collect();
        let plays = stream::iter(&rows).map(|row| self.dies_at(row, fuse, &pairs));
        let plays: Vec<ChainPlayed> = plays.buffered(AT_ONCE).collect().await;
        let died = rows.iter().zip(&plays).filter(|(_, played)| played.reached);
        let died = died.map(|(row, _)| row.point.row.as_str());
        let mut faults = unplayed_rows(self.flow, died);
        faults.extend(plays.into_iter().flat_map(|played| played.faults));
        pairs.end().await;
        assert_eq!(faults, [""; 0]);
    }

    /// What is found where a worker of a wrong build dies there.
    pub(super) async fn found(&self, wrong: &Wrong) -> String {
        let mut wraps = ChainWraps::default();
        match (wrong::chain(wrong.build), wrong::chain_journal(wrong.build)) {
            (Some(around), _) => wraps.chain = around,
            (None, Some(around)) => wraps.journal = around,
            (None, None) => panic!("no wrong build {}", wrong.build),
        }
        let case = C::all()
            .into_iter()
            .find(|case| case.words() == wrong.case && case.flow() == self.flow);
        let mut workers = ChainWorkers::new(settings(true), self.rules).wrong(wraps, wrong.within);
        let row =
            ChainDeathPoint::all(self.flow).into_iter().find(|one| one.row.starts_with(wrong.row));
        let row = row.expect("the row");
        let played = workers.play(&case.expect("the case"), &row).await;
        workers.end().await;
        assert!(played.reached, "no worker came to {}", row.row);
        played.faults.join("; ")
    }
}
