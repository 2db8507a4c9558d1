//! The exhaustive crash matrix: every crash point of a table, alone and in pairs, times every
//! answer of every call, on the fused and on the plain path.
//!
//! Nothing is drawn. A case is played undisturbed and what happened is written down; then it is
//! played again once for each thing that happened, with the process dying just before or just after
//! it, or with its answer lost; and what happens after that is disturbed in turn. At most two deaths
//! and one lost answer in a run, in every order: a death while recovering from a death is one of
//! them. Each run ends under the oracles of [`crate::service`].

pub mod cells;
pub mod page;

use crate::event_log::LoggedEvent;
use crate::generic::play::play;
use crate::generic::{Spot, TestTransfer, Trial};
use crate::journal::Fault;
use crate::ledger::Trouble;
use cells::{CallAnswer, Cell};
use kernel::flow::life::{Leg, Side, Via};
use kernel::flow::table::{A, S, Table};
use kernel::ids::LedgerId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use tables::crash_points::{Moment, Point};

/// What was played, and what it reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MatrixStats {
    /// Runs on the plain path, and on the fused one.
    pub runs: [u64; 2],
    /// How many of them died once, and twice.
    pub deaths: [u64; 2],
    /// How many runs reached a cell, on either path.
    pub reached: BTreeMap<Cell, [u64; 2]>,
}

impl MatrixStats {
    /// The runs that reached a cell, on the plain path and on the fused one.
    pub fn of(&self, cell: &Cell) -> [u64; 2] {
        self.reached.get(cell).copied().unwrap_or_default()
    }

    fn add(&mut self, other: &Self) {
        let sum = |mine: &mut [u64; 2], theirs: [u64; 2]| {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        };
        sum(&mut self.runs, other.runs);
        sum(&mut self.deaths, other.deaths);
        for (cell, runs) in &other.reached {
            sum(self.reached.entry(*cell).or_default(), *runs);
        }
    }
}

/// Plays the whole matrix of a trial, on two threads.
///
/// # Panics
/// Where a run does not end as its case must, with the line that repeats it.
pub fn all(trial: &Trial) -> MatrixStats {
    let mut parts = Vec::new();
    for case in &trial.cases {
        parts.extend([false, true].map(|fuse| (*case, fuse)));
    }
    let (parts, whole) = (Mutex::new(parts), Mutex::new(MatrixStats::default()));
    let next = || parts.lock().ok().and_then(|mut parts| parts.pop());
    let work = || {
        while let Some((case, fuse)) = next() {
            let mut part = Part::new(trial, case, fuse);
            part.explore(Plan::default());
            if let Ok(mut whole) = whole.lock() {
                whole.add(&part.stats);
            }
        }
    };
    std::thread::scope(|threads| {
        let workers = [threads.spawn(work), threads.spawn(work)];
        for worker in workers {
            if let Err(panic) = worker.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
    whole.into_inner().unwrap_or_default()
}

/// What is done to a run, in order, and what it means.
#[derive(Debug, Clone, Default)]
struct Plan {
    spots: Vec<Spot>,
    deaths: usize,
    unknown: usize,
    /// Nothing after it is disturbed.
    last: bool,
    points: Vec<Point>,
    said: Vec<(A, CallAnswer)>,
}

/// One scene on one path.
struct Part<'a> {
    trial: &'a Trial,
    case: TestTransfer,
    fuse: bool,
    table: Table,
    stats: MatrixStats,
}

impl<'a> Part<'a> {
    fn new(trial: &'a Trial, case: TestTransfer, fuse: bool) -> Self {
        let flows = flows::registry();
        let Some(flow) = flows.named(trial.flow) else { panic!("{}: no such flow", trial.flow) };
        let table = flows.table(flow).clone();
        Self { trial, case, fuse, table, stats: MatrixStats::default() }
    }

    /// Plays a plan, and then every plan that disturbs one thing more.
    fn explore(&mut self, plan: Plan) {
        let log = play(self.trial, &self.case, self.fuse, 0, &plan.spots).log;
        self.count(&plan, &log);
        if plan.last {
            return;
        }
        let after = plan.spots.last().map_or(0, |last| {
            let at = log.iter().position(|event| hits(*last, event));
            at.map_or(log.len(), |at| at + 1)
        });
        for event in log.iter().skip(after) {
            for longer in self.longer(&plan, event) {
                self.explore(longer);
            }
        }
    }

    fn count(&mut self, plan: &Plan, log: &[LoggedEvent]) {
        let path = usize::from(self.fuse);
        let bump = |slots: &mut [u64; 2], at: usize| {
            slots.get_mut(at).into_iter().for_each(|slot| *slot += 1);
        };
        bump(&mut self.stats.runs, path);
        if let Some(at) = plan.deaths.checked_sub(1) {
            bump(&mut self.stats.deaths, at);
        }
        let mut said: BTreeSet<(A, CallAnswer)> = plan.said.iter().copied().collect();
        for (state, via) in self.edges(log) {
            let last = match via {
                Via::Done => CallAnswer::Done,
                Via::Rejected => CallAnswer::Rejected,
                Via::Claim | Via::Yes | Via::No | Via::Dead | Via::Unknown => continue,
            };
            said.extend(self.table.makes(state).map(|act| (act, last)));
        }
        let cells: BTreeSet<Cell> = plan
            .points
            .iter()
            .flat_map(|point| said.iter().map(move |(act, said)| Cell::of(point, *act, *said)))
            .collect();
        for cell in cells {
            bump(self.stats.reached.entry(cell).or_default(), path);
        }
    }

    /// The edges that these happenings took.
    fn edges(&self, log: &[LoggedEvent]) -> Vec<(S, Via)> {
        let mut edges = Vec::new();
        for event in log {
            if let LoggedEvent::Write { edges: taken, .. } = event {
                edges.extend(taken.iter().filter_map(|(_, from, to)| self.edge(*from, *to)));
            }
        }
        edges
    }

    fn edge(&self, from: i16, to: i16) -> Option<(S, Via)> {
        let (from, to) = (self.table.coded(from)?, self.table.coded(to)?);
        let edges = self.table.edges(from);
        edges.iter().find(|(_, next)| *next == to && from != to).map(|(via, _)| (from, *via))
    }

    /// The plans that disturb this happening too.
    fn longer(&self, plan: &Plan, event: &LoggedEvent) -> Vec<Plan> {
        let mut plan = plan.clone();
        // a write that takes no edge is the engine's own note: it is disturbed last in its run
        plan.last = matches!(event, LoggedEvent::Write { edges, .. } if edges.is_empty());
        let mut plans = Vec::new();
        if plan.deaths < 2 {
            plans.extend([true, false].map(|before| self.dies(&plan, event, before)));
        }
        if plan.unknown < 1 {
            plans.extend(CallAnswer::UNKNOWN.iter().filter_map(|u| self.loses(&plan, event, *u)));
        }
        plans
    }

    /// The process dies just before it, or just after.
    fn dies(&self, plan: &Plan, event: &LoggedEvent, before: bool) -> Plan {
        let mut longer = plan.clone();
        longer.deaths += 1;
        match event {
            LoggedEvent::Write { n, .. } => {
                let fault = if before { Fault::CrashBefore } else { Fault::CrashAfter };
                longer.spots.push(Spot::Write(*n, fault));
                for (state, via) in self.edges(std::slice::from_ref(event)) {
                    longer.points.extend(self.written(state, via, before));
                }
            }
            LoggedEvent::Call { ledger, n, keys } => {
                let trouble = if before { Trouble::CrashBefore } else { Trouble::CrashAfter };
                longer.spots.push(Spot::Call(*ledger, *n, trouble));
                let moment = if before { Moment::BeforeSend } else { Moment::ReplyLost };
                let states = keys.iter().filter_map(|key| self.calling(key.leg));
                longer.points.extend(states.map(|state| Point { state, via: None, moment }));
            }
            // this flow has no bus
            LoggedEvent::Bus { .. } => {}
        }
        longer
    }

    /// The points of a death at the write of an edge. A torn write is kept whole or not at all.
    fn written(&self, state: S, via: Via, before: bool) -> Vec<Point> {
        let at = |via, moment| Point { state, via, moment };
        let mut points = vec![at(Some(via), Moment::TornWrite)];
        if !before {
            points.push(at(Some(via), Moment::AfterWrite));
        } else if via == Via::Claim {
            points.push(at(Some(via), Moment::BeforeWrite));
        } else if self.called(state) {
            points.push(at(None, Moment::ReplyNotStored));
        }
        points
    }

    /// Its answer is lost in that way; none where it has no such answer.
    fn loses(&self, plan: &Plan, event: &LoggedEvent, said: CallAnswer) -> Option<Plan> {
        let mut longer = plan.clone();
        longer.unknown += 1;
        match event {
            LoggedEvent::Write { n, .. } => {
                let fault = match said {
                    CallAnswer::Unheard => Fault::LostBefore,
                    CallAnswer::Unread => Fault::LostAfter,
                    CallAnswer::Done | CallAnswer::Rejected | CallAnswer::Garbled => return None,
                };
                longer.spots.push(Spot::Write(*n, fault));
                // a call that is part of the write is answered with it
                for (state, _) in self.edges(std::slice::from_ref(event)) {
                    let act = self.table.makes(state).filter(|_| !self.called(state));
                    longer.said.extend(act.map(|act| (act, said)));
                }
            }
            LoggedEvent::Call { ledger, n, keys } => {
                let trouble = match said {
                    CallAnswer::Unheard => Trouble::LoseRequest,
                    CallAnswer::Unread => Trouble::LoseReply,
                    CallAnswer::Garbled => Trouble::Garbage,
                    CallAnswer::Done | CallAnswer::Rejected => return None,
                };
                longer.spots.push(Spot::Call(*ledger, *n, trouble));
                let states = keys.iter().filter_map(|key| self.calling(key.leg));
                let acts = states.filter_map(|state| self.table.makes(state));
                longer.said.extend(acts.map(|act| (act, said)));
            }
            LoggedEvent::Bus { .. } => return None,
        }
        Some(longer)
    }

    /// Whether a state's call is made by itself, and not as part of a write.
    fn called(&self, state: S) -> bool {
        let side = self.table.makes(state).map(|act| self.table.act(act).side);
        let ledger = match side {
            Some(Side::Source) => self.case.from,
            Some(Side::Target) => self.case.to,
            None => return false,
        };
        !(self.fuse && ledger == LedgerId::FUNDING)
    }

    /// The state that calls for that leg.
    fn calling(&self, leg: Leg) -> Option<S> {
        let makes = |state: &S| {
            self.table.makes(*state).is_some_and(|act| self.table.act(act).leg == Some(leg))
        };
        self.table.all().find(makes)
    }
}

/// Whether a disturbance is of this happening.
fn hits(spot: Spot, event: &LoggedEvent) -> bool {
    match (spot, event) {
        (Spot::Write(at, _), LoggedEvent::Write { n, .. }) => at == *n,
        (Spot::Call(which, at, _), LoggedEvent::Call { ledger, n, .. }) => {
            which == *ledger && at == *n
        }
        (Spot::Write(..) | Spot::Call(..) | Spot::Disk(..) | Spot::Twice, _) => false,
    }
}
