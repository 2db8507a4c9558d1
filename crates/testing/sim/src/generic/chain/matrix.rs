//! Where processes died in a trial of a flow that sends: the crash points of its table, as a page.

use super::{Calm, Spot};
use crate::chain::{ChainTrouble, Moment as CallMoment};
use crate::event_log::LoggedEvent;
use crate::journal::Fault;
use kernel::flow::crash_points::{self, Moment, Point};
use kernel::flow::life::{Step, Via};
use kernel::flow::table::{S, Table};
use std::collections::BTreeMap;

/// A crash point: its state, its edge by the state that it leads to, its moment.
type Place = (S, Option<S>, Moment);

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
        let flows = flows::registry();
        let Some(id) = flows.named(flow) else { panic!("{flow}: no such flow") };
        Self { table: flows.table(id).clone(), deaths: 0, reached: BTreeMap::new() }
    }

    /// So many deaths there were.
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

    fn places(&self, calm: &Calm, spot: Spot) -> Vec<Place> {
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
                let edges = edges.into_iter().flatten().filter_map(coded);
                let edges = edges.filter(|(from, to)| from != to);
                edges.flat_map(|(from, to)| self.written(from, to, fault)).collect()
            }
            Spot::Call(chain, n, trouble) => {
                let calls = calm.chains.get(chain).map(|(_, calls)| calls);
                let n = usize::try_from(n).unwrap_or(usize::MAX);
                let Some(call) = calls.and_then(|calls| calls.get(n)) else { return Vec::new() };
                let before = trouble == ChainTrouble::CrashBefore;
                call.states
                    .iter()
                    .flat_map(|state| self.called(*state, call.moment, before))
                    .collect()
            }
            Spot::Learn(n, trouble) => {
                let n = usize::try_from(n).unwrap_or(usize::MAX);
                let states = calm.learns.get(n).map(Vec::as_slice).unwrap_or_default();
                let asks = states.iter().filter(|state| self.table.asks(**state).is_some());
                let before = trouble == ChainTrouble::CrashBefore;
                let moment = if before { Moment::BeforeSend } else { Moment::ReplyLost };
                asks.map(|state| (*state, None, moment)).collect()
            }
        }
    }

    /// A death at the write of an edge. A torn write is kept whole or not at all.
    fn written(&self, from: S, to: S, fault: Fault) -> Vec<Place> {
        let torn = (from, Some(to), Moment::TornWrite);
        if fault == Fault::CrashAfter {
            return vec![torn, (from, Some(to), Moment::AfterWrite)];
        }
        let before = match self.table.step(from) {
            Step::Claim { to: sends } if self.table.sends(sends) => {
                (from, Some(to), Moment::SignedNotStored)
            }
            Step::Claim { .. } => (from, Some(to), Moment::BeforeWrite),
            Step::Decide { .. } => (from, None, Moment::BeforeWrite),
            Step::Call { .. } | Step::Push { .. } => (from, None, Moment::ReplyNotStored),
            Step::Send { .. } => (from, None, Moment::ProofNotStored),
            Step::End => return vec![torn],
        };
        vec![torn, before]
    }

    /// A death at a call of a chain, of a transfer that stood there.
    fn called(&self, state: S, moment: CallMoment, before: bool) -> Vec<Place> {
        let claims = match self.table.step(state) {
            Step::Claim { to } => Some(to),
            Step::Decide { .. }
            | Step::Call { .. }
            | Step::Send { .. }
            | Step::Push { .. }
            | Step::End => None,
        };
        match (moment, before) {
            // nothing of the write exists until a form is signed
            (CallMoment::Lock, _) | (CallMoment::Sign, true) => {
                claims.map(|to| (state, Some(to), Moment::BeforeWrite)).into_iter().collect()
            }
            (CallMoment::Sign, false) => {
                claims.map(|to| (state, Some(to), Moment::SignedNotStored)).into_iter().collect()
            }
            (CallMoment::Broadcast, true) => vec![(state, None, Moment::BeforeSend)],
            (CallMoment::Broadcast, false) => vec![(state, None, Moment::ReplyLost)],
            // the broadcast was answered, and nothing of that is written yet
            (CallMoment::Prove, true) => vec![(state, None, Moment::ReplyNotStored)],
            (CallMoment::Prove, false) => vec![(state, None, Moment::ProofNotStored)],
        }
    }

    /// The page: each crash point of the table, and on which path a process died there and everything ended
    /// all the same.
    pub fn page(&self) -> String {
        let mut rows: BTreeMap<Place, [u64; 2]> = BTreeMap::new();
        for Point { state, via, moment } in crash_points::of(&self.table) {
            let edges = self.table.edges(state);
            let to = via.and_then(|via| Some(edges.iter().find(|(edge, _)| *edge == via)?.1));
            let place = (state, to, moment);
            rows.insert(place, self.reached.get(&place).copied().unwrap_or_default());
        }
        let mut page =
            "| state | edge | the process dies | paths |\n|---|---|---|---|\n".to_owned();
        for ((state, to, moment), runs) in rows {
            let paths = match runs {
                [0, 0] => "–",
                [0, _] => "fused",
                [_, 0] => "plain",
                _ => "both",
            };
            let name = self.table.state(state).name;
            let edge = to.map_or_else(String::new, |to| self.edge(state, to));
            page.push_str(&format!("| {name} | {edge} | {} | {paths} |\n", words(moment)));
        }
        page
    }

    /// The answers that lead along an edge, and where to.
    fn edge(&self, from: S, to: S) -> String {
        let vias = self.table.edges(from).into_iter().filter(|(_, next)| *next == to);
        let vias: Vec<&str> = vias.filter_map(|(via, _)| via_word(via)).collect();
        format!("{} → {}", vias.join(", "), self.table.state(to).name)
    }
}

const fn via_word(via: Via) -> Option<&'static str> {
    match via {
        Via::Claim => Some("claim"),
        Via::Yes => Some("yes"),
        Via::No => Some("no"),
        Via::Done => Some("done"),
        Via::Rejected => Some("rejected"),
        Via::Dead => Some("dead"),
        Via::Unknown => None,
    }
}

const fn words(moment: Moment) -> &'static str {
    match moment {
        Moment::BeforeWrite => "before the write",
        Moment::TornWrite => "in the write",
        Moment::AfterWrite => "after the write",
        Moment::SignedNotStored => "signed, not stored",
        Moment::BeforeSend => "before it is sent, or asked",
        Moment::ReplyLost => "done, its reply lost",
        Moment::ReplyNotStored => "answered, not stored",
        Moment::ProofNotStored => "proven, not stored",
    }
}
