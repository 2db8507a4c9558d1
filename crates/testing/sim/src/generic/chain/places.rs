//! Maps what a process of a flow that sends is about to do to a crash point: a write, a call of a chain, a fact.

use crate::chain::{ChainCall, Moment as CallMoment};
use kernel::flow::life::{Step, Via};
use kernel::flow::table::{S, Table};
use std::collections::BTreeSet;
use tables::crash_points::{self, Moment, Point};

/// A crash point: its state, its edge by the state that it leads to, its moment.
pub(super) type Place = (S, Option<S>, Moment);
/// From where to where a transfer goes in a write.
pub(super) type Edge = (S, S);

/// The table of a flow.
///
/// # Panics
/// Where there is no such flow.
pub(super) fn table_of(flow: &str) -> Table {
    let flows = flows::registry();
    let Some(id) = flows.named(flow) else { panic!("{flow}: no such flow") };
    flows.table(id).clone()
}

/// The crash points of the flow of this table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places<'t>(pub &'t Table);

/// Those edges on which a transfer moves.
fn moves(edges: &[Edge]) -> impl Iterator<Item = Edge> {
    edges.iter().copied().filter(|(from, to)| from != to)
}

impl Places<'_> {
    /// Every crash point, in the sequence of the states. Two answers on one edge are one.
    pub(super) fn all(self) -> BTreeSet<Place> {
        let place = |Point { state, via, moment }| {
            let edges = self.0.edges(state);
            let to = via.and_then(|via| Some(edges.iter().find(|(edge, _)| *edge == via)?.1));
            (state, to, moment)
        };
        crash_points::of(self.0).into_iter().map(place).collect()
    }

    /// A death in the write of these edges, which is kept whole or not at all.
    pub(super) fn torn(self, edges: &[Edge]) -> Vec<Place> {
        moves(edges).map(|(from, to)| (from, Some(to), Moment::TornWrite)).collect()
    }

    /// A death before the write of these edges.
    pub(super) fn unwritten(self, edges: &[Edge]) -> Vec<Place> {
        moves(edges).filter_map(|edge| self.before(edge)).collect()
    }

    fn before(self, (from, to): Edge) -> Option<Place> {
        Some(match self.0.step(from) {
            Step::Claim { to: sends } if self.0.sends(sends) => {
                (from, Some(to), Moment::SignedNotStored)
            }
            Step::Claim { .. } => (from, Some(to), Moment::BeforeWrite),
            Step::Decide { .. } => (from, None, Moment::BeforeWrite),
            Step::Call { .. } | Step::Push { .. } => (from, None, Moment::ReplyNotStored),
            Step::Send { .. } => (from, None, Moment::ProofNotStored),
            Step::End => return None,
        })
    }

    /// A death after the write of these edges.
    pub(super) fn written(self, edges: &[Edge]) -> Vec<Place> {
        moves(edges).map(|(from, to)| (from, Some(to), Moment::AfterWrite)).collect()
    }

    /// A death before or behind a call of a chain, of the transfers that it was about.
    pub(super) fn called(self, call: &ChainCall, before: bool) -> Vec<Place> {
        let states = call.states.iter();
        states.filter_map(|state| self.called_of(*state, call.moment, before)).collect()
    }

    fn called_of(self, state: S, moment: CallMoment, before: bool) -> Option<Place> {
        let claims = match self.0.step(state) {
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
                claims.map(|to| (state, Some(to), Moment::BeforeWrite))
            }
            (CallMoment::Sign, false) => {
                claims.map(|to| (state, Some(to), Moment::SignedNotStored))
            }
            (CallMoment::Broadcast, true) => Some((state, None, Moment::BeforeSend)),
            (CallMoment::Broadcast, false) => Some((state, None, Moment::ReplyLost)),
            // the broadcast was answered, and nothing of that is written yet
            (CallMoment::Prove, true) => Some((state, None, Moment::ReplyNotStored)),
            (CallMoment::Prove, false) => Some((state, None, Moment::ProofNotStored)),
        }
    }

    /// A death before or behind a question about transfers that stand there.
    pub(super) fn learnt(self, states: &[S], before: bool) -> Vec<Place> {
        let asks = states.iter().filter(|state| self.0.asks(**state).is_some());
        let moment = if before { Moment::BeforeSend } else { Moment::ReplyLost };
        asks.map(|state| (*state, None, moment)).collect()
    }

    /// The row of a page, up to its last cell.
    pub(super) fn row(self, (state, to, moment): Place) -> String {
        let name = self.0.state(state).name;
        let edge = to.map_or_else(String::new, |to| self.edge(state, to));
        format!("| {name} | {edge} | {} | ", words(moment))
    }

    /// The answers that lead along an edge, and where to.
    fn edge(self, from: S, to: S) -> String {
        let vias = self.0.edges(from).into_iter().filter(|(_, next)| *next == to);
        let vias: Vec<&str> = vias.filter_map(|(via, _)| via_word(via)).collect();
        format!("{} → {}", vias.join(", "), self.0.state(to).name)
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
