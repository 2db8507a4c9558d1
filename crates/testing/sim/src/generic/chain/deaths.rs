//! Kills a process when it reaches a crash point of the flow's table.
//!
//! On a real store, with processes that run at once, writes and calls have no numbers that a second run repeats. So
//! the crash points of the table are the plan, and several processes share it: the first one that reaches the point
//! dies.

use super::places::{Edge, Place, Places, table_of};
use super::rows::is_unreached;
use crate::chain::{ChainCall, ChainTrouble, FaultyChain, LinkedFacts};
use crate::generic::NextDeath;
use crate::world::{Crash, die};
use kernel::flow::table::{S, Table};
use kernel::ports::Fut;
use kernel::ports::journal::Journal;
use kernel::unit::{Unit, Wrote};
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use testkit::wrapper::JournalWrapper;

/// A crash point of a flow's table that cases come to: where and when a process dies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainDeathPoint {
    /// The name of the state.
    pub state: &'static str,
    /// Its row, as [`super::ChainMatrix::page`] prints it, up to the last cell.
    pub row: String,
    place: Place,
}

impl ChainDeathPoint {
    /// Those of a flow, in the sequence of its states.
    ///
    /// # Panics
    /// Where there is no such flow.
    pub fn all(flow: &str) -> Vec<Self> {
        let table = table_of(flow);
        let point = |place: Place| {
            let (state, row) = (table.state(place.0).name, Places(&table).row(place));
            Self { state, row, place }
        };
        let points = Places(&table).all().into_iter().map(point);
        points.filter(|point| !is_unreached(flow, point.state)).collect()
    }
}

/// The next death among processes that share a journal and chains.
pub type NextChainDeath = NextDeath<ChainDeathPoint>;

/// What one process dies of.
#[derive(Clone)]
pub struct ChainDeaths {
    /// Shared with the other processes.
    pub next: NextChainDeath,
    /// Ends the process when it reaches its point.
    pub crash: Crash,
    /// The table of the flow that is played.
    pub table: Table,
}

impl fmt::Debug for ChainDeaths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainDeaths").field("next", &self.next).finish_non_exhaustive()
    }
}

impl ChainDeaths {
    fn strikes(&self, places: &[Place]) -> bool {
        self.next.strikes(|point| places.contains(&point.place))
    }

    /// What goes wrong with a call whose crash points are these before it, and those behind it.
    fn of(&self, [before, behind]: [Vec<Place>; 2]) -> Option<ChainTrouble> {
        if self.strikes(&before) {
            return Some(ChainTrouble::CrashBefore);
        }
        self.strikes(&behind).then_some(ChainTrouble::CrashAfter)
    }

    /// The link of the process to a chain: the process dies there when it reaches the point.
    #[must_use]
    pub fn at_chain(&self, link: FaultyChain) -> FaultyChain {
        let deaths = self.clone();
        link.choosing(move |call: &ChainCall| {
            deaths.of([true, false].map(|before| Places(&deaths.table).called(call, before)))
        })
    }

    /// The link of the process to what its flow learns, likewise.
    #[must_use]
    pub fn at_facts(&self, link: LinkedFacts) -> LinkedFacts {
        let deaths = self.clone();
        link.choosing(move |states: &[S]| {
            deaths.of([true, false].map(|before| Places(&deaths.table).learnt(states, before)))
        })
    }

    /// Around the journal of the process, likewise.
    pub fn at_journal(&self, inner: Arc<dyn Journal>) -> ChainDyingWrites {
        ChainDyingWrites { inner, deaths: self.clone() }
    }
}

/// The journal of a process that dies before, in or behind the write that its point names.
pub struct ChainDyingWrites {
    inner: Arc<dyn Journal>,
    deaths: ChainDeaths,
}

impl fmt::Debug for ChainDyingWrites {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainDyingWrites").field("deaths", &self.deaths).finish_non_exhaustive()
    }
}

/// The edges that these units write.
fn edges<'u>(units: impl Iterator<Item = &'u Unit>) -> Vec<Edge> {
    let events = units.flat_map(|unit| &unit.then.events);
    events.filter_map(|event| Some((event.from?, event.to))).collect()
}

impl JournalWrapper for ChainDyingWrites {
    fn inner(&self) -> &dyn Journal {
        &*self.inner
    }

    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        Box::pin(async move {
            let Self { inner, deaths } = self;
            if deaths.next.struck() {
                return inner.write(units).await;
            }
            let places = Places(&deaths.table);
            let ahead = edges(units.iter());
            if deaths.strikes(&places.unwritten(&ahead)) {
                die(&deaths.crash, "crashed before a write").await;
            }
            if deaths.strikes(&places.torn(&ahead)) {
                // it is begun, and the process does not live to hear what became of it
                let mut write = inner.write(units);
                let begun = poll_fn(|cx| {
                    let _answer = write.as_mut().poll(cx);
                    Poll::Ready(())
                });
                begun.await;
                die(&deaths.crash, "crashed in a write").await;
                return Vec::new();
            }
            let wrote = inner.write(units.clone()).await;
            let written = units.iter().zip(&wrote);
            let written = written.filter(|(_, wrote)| matches!(wrote, Wrote::Written(_)));
            let behind = edges(written.map(|(unit, _)| unit));
            if deaths.strikes(&places.written(&behind)) {
                die(&deaths.crash, "crashed after a write").await;
            }
            wrote
        })
    }
}
