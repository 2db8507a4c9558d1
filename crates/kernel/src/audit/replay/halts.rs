//! Compares the rows of HALTs with the HALTs that operators and the engine raised, and with the resumes.

use super::performed::Performed;
use super::{ActionTable, ReplayFindings, StoredRow, first_from, shown};
use crate::ids::Millis;
use serde_json::Value;
use std::collections::BTreeSet;

/// The most rows that one sentence names.
const NAMED: usize = 20;
/// The most HALTs that one action raises.
const AT_ONCE: usize = 10_000;
/// The places of the columns.
const REASON: usize = 0;
const AT: usize = 1;
const ENDED: usize = 2;

/// The HALTs and resumes of the chain.
#[derive(Debug, Default)]
pub(super) struct HaltReplay {
    /// When each was raised, and its reason.
    raised: Vec<(Millis, String)>,
    resumed: BTreeSet<Millis>,
}

impl HaltReplay {
    pub(super) fn take(&mut self, performed: &Performed) {
        if performed.kind == "HALT" {
            // the engine passes over numbers that a ledger was told of: with one HALT each, in one unit
            let halts = performed.value.get("halts").and_then(Value::as_u64).unwrap_or(1);
            let raised = std::iter::repeat_n((performed.at, performed.reason.clone()), AT_ONCE);
            self.raised.extend(raised.zip(0..halts).map(|(raised, _)| raised));
        }
        if performed.resumes() {
            self.resumed.insert(performed.at);
        }
    }

    /// Compares both tables. Returns when a HALT was raised or ended: each supersedes proposals of a resume.
    pub(super) fn compare(
        mut self,
        rows: &[StoredRow],
        halted: &[StoredRow],
        found: &mut ReplayFindings,
    ) -> BTreeSet<Millis> {
        let mut numbered: Vec<(u64, &StoredRow)> =
            rows.iter().filter_map(|row| Some((row.key.parse().ok()?, row))).collect();
        numbered.sort_by_key(|(number, _)| *number);
        gaps(&numbered, found);
        let mut stops = self.resumed.clone();
        let mut unnamed = Vec::new();
        for (number, row) in &numbered {
            stops.extend(time(row, AT));
            if !self.claims(row) {
                unnamed.push((*number, *row));
            }
            self.ends(row, found);
        }
        self.left(&mut unnamed, found);
        without_action(&unnamed, found);
        compare_halted_flag(&numbered, halted, found);
        stops
    }

    /// Takes the action's HALT that wrote exactly this row, where there is one.
    fn claims(&mut self, row: &StoredRow) -> bool {
        let same = |(at, reason): &(Millis, String)| {
            time(row, AT) == Some(*at) && row.field(REASON) == Some(reason)
        };
        let place = self.raised.iter().position(same);
        place.map(|place| self.raised.remove(place)).is_some()
    }

    /// The first resume behind a HALT ends it, and nothing else does.
    fn ends(&self, row: &StoredRow, found: &mut ReplayFindings) {
        let Some(at) = time(row, AT) else { return };
        let ended = time(row, ENDED);
        let behind = first_from(&self.resumed, at.saturating_add(1));
        // the clock of the process that resumed may have been behind
        let resumed = ended.is_some_and(|ended| self.resumed.contains(&ended));
        let proven = ended == behind || resumed;
        if !proven || row.field(ENDED).is_some() != ended.is_some() {
            let proven = behind.map(|at| at.to_string());
            found.column(ActionTable::Halts, row, ENDED, shown(proven.as_deref()));
        }
    }

    /// The actions' HALTs that wrote none of the rows as they are.
    fn left(self, unnamed: &mut Vec<(u64, &StoredRow)>, found: &mut ReplayFindings) {
        for (at, reason) in self.raised {
            let at_of = |(_, row): &(u64, &StoredRow)| time(row, AT) == Some(at);
            let reason_of =
                |(_, row): &(u64, &StoredRow)| row.field(REASON) == Some(reason.as_str());
            let place = unnamed.iter().position(at_of);
            let place = place.or_else(|| unnamed.iter().position(reason_of));
            match place.map(|place| unnamed.remove(place).1) {
                Some(row) => {
                    found.differs(ActionTable::Halts, row, REASON, Some(&reason));
                    found.differs(ActionTable::Halts, row, AT, Some(&at.to_string()));
                }
                None => {
                    let proven = format!("that one was raised at {at}: `{reason}`");
                    found.row(ActionTable::Halts, "?", "there is no such row", proven);
                }
            }
        }
    }
}

/// Numbers begin with 1 and have no gap.
fn gaps(numbered: &[(u64, &StoredRow)], found: &mut ReplayFindings) {
    let mut next = 1;
    for (number, _) in numbered {
        for missing in (next..*number).take(NAMED) {
            let proven = "that a later one was raised".to_owned();
            found.row(ActionTable::Halts, &missing.to_string(), "it was removed", proven);
        }
        next = number.saturating_add(1);
    }
}

/// A restore, and the engine of earlier releases, raise HALTs without an action: their reason and time are only what the
/// rows say.
fn without_action(unnamed: &[(u64, &StoredRow)], found: &mut ReplayFindings) {
    let numbers: Vec<String> =
        unnamed.iter().take(NAMED).map(|(number, _)| number.to_string()).collect();
    if !numbers.is_empty() {
        let more = unnamed.len().saturating_sub(numbers.len());
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let numbers = numbers.join(", ");
        found.unproven.push(format!(
            "halts {numbers}{more}: no action raised them, so none says their reason and time"
        ));
    }
}

/// The flag that stops the processes has the reason of the first HALT that has not ended.
fn compare_halted_flag(
    numbered: &[(u64, &StoredRow)],
    halted: &[StoredRow],
    found: &mut ReplayFindings,
) {
    let in_force = numbered.iter().find(|(_, row)| row.field(ENDED).is_none());
    match (in_force, halted) {
        (None, []) => {}
        (None, [flag, ..]) => {
            let proven = "that every HALT has ended".to_owned();
            found.row(ActionTable::Halted, &flag.key, "it stops the service", proven);
        }
        (Some((number, _)), []) => {
            let proven = format!("that HALT {number} is in force");
            found.row(ActionTable::Halted, "halted", "it was removed", proven);
        }
        (Some((_, row)), [flag, ..]) => {
            found.differs(ActionTable::Halted, flag, 0, row.field(REASON));
        }
    }
}

fn time(row: &StoredRow, place: usize) -> Option<Millis> {
    row.field(place)?.parse().ok()
}
