//! The crash points at which processes died in a trial of a flow that sends.

use super::places::{Place, Places, table_of};
use super::{Calm, Spot};
use crate::chain::ChainTrouble;
use crate::event_log::LoggedEvent;
use crate::journal::Fault;
use kernel::flow::table::Table;
use std::collections::BTreeMap;

/// The deaths of a trial: each crash point of a table, with how often on the plain path and on the fused one.
#[derive(Debug, Clone)]
pub struct ChainMatrix {
    table: Table,
    deaths: u64,
    reached: BTreeMap<Place, [u64; 2]>,
}

impl ChainMatrix {
    /// None yet, of the flow of that name.
    ///
    /// # Panics
    /// Where there is no such flow.
    pub fn of(flow: &str) -> Self {
        Self { table: table_of(flow), deaths: 0, reached: BTreeMap::new() }
    }

    /// How many deaths there were.
    pub fn deaths(&self) -> u64 {
        self.deaths
    }

    /// What another part of the trial reached, too.
    pub fn add(&mut self, other: Self) {
        self.deaths += other.deaths;
        for (place, runs) in other.reached {
            let own = self.reached.entry(place).or_default();
            own.iter_mut().zip(runs).for_each(|(mine, theirs)| *mine += theirs);
        }
    }

    /// A process died there.
    pub(super) fn died(&mut self, fuse: bool, calm: &Calm, spot: Spot) {
        self.deaths += 1;
        for place in self.places(calm, spot) {
            let slot = usize::from(fuse);
            self.reached.entry(place).or_default().get_mut(slot).into_iter().for_each(|n| *n += 1);
        }
    }

    /// No process died yet at one of the rows that this death is at.
    pub(super) fn is_new(&self, fuse: bool, calm: &Calm, spot: Spot) -> bool {
        let died = |place: &Place| {
            let runs = self.reached.get(place).and_then(|runs| runs.get(usize::from(fuse)));
            runs.is_some_and(|runs| *runs > 0)
        };
        self.places(calm, spot).iter().any(|place| !died(place))
    }

    /// The rows at which some process died, up to their last cell.
    pub fn reached(&self) -> Vec<String> {
        self.reached.keys().map(|place| Places(&self.table).row(*place)).collect()
    }

    fn places(&self, calm: &Calm, spot: Spot) -> Vec<Place> {
        let places = Places(&self.table);
        match spot {
            Spot::Write(n, fault) => {
                let edges = calm.log.iter().find_map(|event| match event {
                    LoggedEvent::Write { n: at, edges, .. } if *at == n => Some(edges),
                    LoggedEvent::Write { .. }
                    | LoggedEvent::Call { .. }
                    | LoggedEvent::Bus { .. } => None,
                });
                let coded = |(_, from, to): &(_, i16, i16)| {
                    Some((self.table.coded(*from)?, self.table.coded(*to)?))
                };
                let edges: Vec<_> = edges.into_iter().flatten().filter_map(coded).collect();
                let torn = places.torn(&edges).into_iter();
                if fault == Fault::CrashAfter {
                    return torn.chain(places.written(&edges)).collect();
                }
                torn.chain(places.unwritten(&edges)).collect()
            }
            Spot::Call(chain, n, trouble) => {
                let calls = calm.chains.get(chain).map(|(_, calls)| calls);
                let n = usize::try_from(n).unwrap_or(usize::MAX);
                let call = calls.and_then(|calls| calls.get(n));
                let before = trouble == ChainTrouble::CrashBefore;
                call.map(|call| places.called(call, before)).unwrap_or_default()
            }
            Spot::Learn(n, trouble) => {
                let n = usize::try_from(n).unwrap_or(usize::MAX);
                let states = calm.learns.get(n).map(Vec::as_slice).unwrap_or_default();
                places.learnt(states, trouble == ChainTrouble::CrashBefore)
            }
        }
    }

    /// The page: each crash point of the table, and on which path a process died there and everything ended
    /// all the same.
    pub fn page(&self) -> String {
        let all = Places(&self.table).all().into_iter();
        let row = |place| (place, self.reached.get(&place).copied().unwrap_or_default());
        let rows: BTreeMap<Place, [u64; 2]> = all.map(row).collect();
        let mut page =
            "| state | edge | the process dies | paths |\n|---|---|---|---|\n".to_owned();
        for ((state, to, moment), runs) in rows {
            let paths = match runs {
                [0, 0] => "–",
                [0, _] => "fused",
                [_, 0] => "plain",
                _ => "both",
            };
            let row = Places(&self.table).row((state, to, moment));
            page.push_str(&format!("{row}{paths} |\n"));
        }
        page
    }
}
