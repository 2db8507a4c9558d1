//! The places and moments at which processes die in an account trial.

use super::Spot;
use crate::bus::{BusCall, BusTrouble};
use crate::event_log::LoggedEvent;
use crate::journal::Fault;
use kernel::flow::table::Table;
use std::collections::{BTreeMap, BTreeSet};

/// The deaths of a trial: place and moment of each, with how often on the plain path and on the fused one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccountMatrix {
    reached: BTreeMap<(String, &'static str), [u64; 2]>,
}

/// A unit is durable and its message comes again.
const NOT_COMMITTED: &str = "written, offset not committed";
/// The broker has it, and the outbox does not know.
const NOT_MARKED: &str = "published, not marked";
const WRITE: &[&str] = &["before the write", NOT_COMMITTED];
const PUBLICATION: &[&str] = &["written, not published", "published in part", NOT_MARKED];

/// Where a process dies, and at which moments: in the writes of each edge, beside them, and in each call of the bus.
pub(super) const PLACES: [(&str, &[&str]); 18] = [
    ("the opening", &["before the write", "written, not answered"]),
    ("PENDING → VALIDATING", WRITE),
    ("VALIDATING → VALIDATED", WRITE),
    ("VALIDATING → FAILED", WRITE),
    ("VALIDATED → EXECUTING", WRITE),
    ("EXECUTING → COMPLETED", WRITE),
    ("EXECUTING → FAILED", WRITE),
    ("a mark, a parked key, a row of the audit", &["before the write", "after the write"]),
    ("a publication on transfer-validation", PUBLICATION),
    ("a publication on transfer-execution", PUBLICATION),
    ("a publication on transfer-completed", PUBLICATION),
    ("a publication on transfer-failed", PUBLICATION),
    ("validation-group polls", &["in hand, not consumed"]),
    ("validation-group commits", &[NOT_COMMITTED, "offset committed"]),
    ("execution-group polls", &["in hand, not consumed"]),
    ("execution-group commits", &[NOT_COMMITTED, "offset committed"]),
    ("audit-group polls", &["in hand, not consumed"]),
    ("audit-group commits", &[NOT_COMMITTED, "offset committed"]),
];

impl AccountMatrix {
    /// How many deaths there were.
    pub fn deaths(&self) -> u64 {
        self.reached.values().flatten().sum()
    }

    /// What another part of the trial reached, too.
    pub fn add(&mut self, other: Self) {
        for (cell, runs) in other.reached {
            let own = self.reached.entry(cell).or_default();
            own.iter_mut().zip(runs).for_each(|(mine, theirs)| *mine += theirs);
        }
    }

    /// A process died there.
    pub(super) fn died(&mut self, fuse: bool, log: &[LoggedEvent], spot: Spot) {
        let event = log.iter().find(|event| match (spot, event) {
            (Spot::Write(at, _), LoggedEvent::Write { n, .. }) => at == *n,
            (Spot::Bus(at, _), LoggedEvent::Bus { n, .. }) => at == *n,
            (Spot::Write(..) | Spot::Bus(..), _) => false,
        });
        for cell in event.map(|event| cells(event, spot)).unwrap_or_default() {
            let slot = usize::from(fuse);
            self.reached.entry(cell).or_default().get_mut(slot).into_iter().for_each(|n| *n += 1);
        }
    }

    /// What is wrong with these deaths as those of every place and moment, on both paths.
    pub fn faults(&self) -> Vec<String> {
        let of_places = PLACES.iter().flat_map(|(place, moments)| {
            moments.iter().map(|moment| ((*place).to_owned(), *moment))
        });
        let all: BTreeSet<(String, &str)> = of_places.collect();
        let not_reached =
            all.iter().filter(|cell| self.reached.get(*cell).is_none_or(|runs| runs.contains(&0)));
        let mut faults: Vec<String> = not_reached
            .map(|(place, moment)| format!("{place}, {moment}: not on both paths"))
            .collect();
        let unknown = self.reached.keys().filter(|cell| !all.contains(*cell));
        faults.extend(unknown.map(|(place, moment)| format!("{place}, {moment}: not listed")));
        faults
    }
}

/// The places and moments of a death there.
pub(super) fn cells(event: &LoggedEvent, spot: Spot) -> Vec<(String, &'static str)> {
    match (event, spot) {
        (LoggedEvent::Write { subject, edges, .. }, Spot::Write(_, fault)) => {
            let after = fault == Fault::CrashAfter;
            let beside = |place: &str, written| {
                vec![(place.to_owned(), if after { written } else { "before the write" })]
            };
            if subject.is_empty() {
                return beside("a mark, a parked key, a row of the audit", "after the write");
            }
            if edges.is_empty() {
                return beside("the opening", "written, not answered");
            }
            let flows = flows::registry();
            let Some(flow) = flows.named("account") else { return Vec::new() };
            let table = flows.table(flow);
            let mut places: Vec<String> = edges
                .iter()
                .filter(|(_, from, to)| from != to)
                .map(|(_, from, to)| format!("{} → {}", name(table, *from), name(table, *to)))
                .collect();
            places.sort();
            places.dedup();
            let moment = if after { NOT_COMMITTED } else { "before the write" };
            places.into_iter().map(|place| (place, moment)).collect()
        }
        (LoggedEvent::Bus { call, .. }, Spot::Bus(_, trouble)) => called(call, trouble),
        (LoggedEvent::Write { .. } | LoggedEvent::Call { .. } | LoggedEvent::Bus { .. }, _) => {
            Vec::new()
        }
    }
}

fn name(table: &Table, code: i16) -> &'static str {
    table.coded(code).map_or("", |state| table.state(state).name)
}

fn called(call: &BusCall, trouble: BusTrouble) -> Vec<(String, &'static str)> {
    let before = trouble == BusTrouble::CrashBefore;
    match call {
        BusCall::Publish { topics, .. } => {
            let in_part = trouble == BusTrouble::CrashHalf;
            let after = if in_part { "published in part" } else { NOT_MARKED };
            let moment = if before { "written, not published" } else { after };
            topics.iter().map(|topic| (format!("a publication on {topic}"), moment)).collect()
        }
        BusCall::Subscribe(group) => {
            let moment = if before { "before it joins" } else { "joined" };
            vec![(format!("{group} joins"), moment)]
        }
        BusCall::Poll(group) => vec![(format!("{group} polls"), "in hand, not consumed")],
        BusCall::Commit(group) => {
            let moment = if before { NOT_COMMITTED } else { "offset committed" };
            vec![(format!("{group} commits"), moment)]
        }
    }
}
