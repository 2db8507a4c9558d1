//! Where the transfers stand that this process wrote last: to move one of them again, nothing is read.
//!
//! It is only believed. A write that moves a transfer changes its row only at the version that was
//! believed, or nothing at all ([`Fault::Believed`]); and a belief that moves nothing is not used.

use super::board::{Board, Seat};
use super::fault::Fault;
use super::needs::Needs;
use crate::rules::{Changed, Standing};
use kernel::ids::{Id, LedgerId};
use kernel::table::Flows;
use kernel::unit::Operation;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// More are not remembered: those that wait long are read again.
const MOST: usize = 65_536;

/// A transfer's row and its operations.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    standing: Standing,
    legs: Vec<(LedgerId, Operation)>,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Recall(Mutex<HashMap<Id, Known>>);

impl Recall {
    fn all(&self) -> MutexGuard<'_, HashMap<Id, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what is known out of what is to be read.
    pub(crate) fn take(&self, needs: &mut Needs) -> Vec<(Id, Known)> {
        let all = self.all();
        let known: Vec<_> = needs
            .seats
            .iter()
            .filter_map(|id| all.get(id).map(|known| (*id, known.clone())))
            .collect();
        drop(all);
        for (id, _) in &known {
            needs.seats.remove(id);
            needs.legs.remove(id);
        }
        known
    }

    /// What stands there counts no more.
    pub(crate) fn forget<'i>(&self, ids: impl IntoIterator<Item = &'i Id>) {
        let mut all = self.all();
        for id in ids {
            all.remove(id);
        }
    }

    /// Keeps what a write left of its transfers.
    pub(crate) fn keep(&self, flows: &Flows, board: &mut Board) {
        let mut all = self.all();
        if all.len() > MOST {
            all.clear();
        }
        for row in &board.changes.opened {
            let record = &row.record;
            let table = flows.table(record.flow);
            if table.ends(record.head.state) {
                continue;
            }
            let standing = Standing {
                transfer: row.transfer,
                flow: record.flow,
                code: table.state(record.head.state).code,
                version: record.head.version,
                batch: board.numbers.batch,
                events: row.added.events,
                chain: row.added.chain,
                due: record.head.due_at.is_some(),
            };
            let legs = board.legs.remove(&record.id).unwrap_or_default();
            all.insert(record.id, Known { standing, legs });
        }
        for row in &board.changes.changed {
            if row.ends {
                all.remove(&row.id);
            } else {
                let legs = board.legs.remove(&row.id).unwrap_or_default();
                all.insert(row.id, Known { standing: moved(flows, row), legs });
            }
        }
    }
}

fn moved(flows: &Flows, row: &Changed) -> Standing {
    let was = Standing { events: row.added.events, chain: row.added.chain, ..row.was };
    match row.head {
        Some((head, _)) => Standing {
            code: flows.table(was.flow).state(head.state).code,
            version: head.version,
            due: was.due || head.due_at.is_some(),
            ..was
        },
        None => was,
    }
}

impl Board {
    /// Sets what is believed beside what was read.
    pub(crate) fn believe(&mut self, known: Vec<(Id, Known)>) -> BTreeSet<Id> {
        let believed = known.iter().map(|(id, _)| *id).collect();
        for (id, Known { standing, legs }) in known {
            self.seats.insert(id, Seat::Taken(standing));
            self.legs.insert(id, legs);
        }
        believed
    }

    /// # Errors
    /// [`Fault::Believed`]: a transfer that was believed is not moved, so that nothing would check it.
    pub(crate) fn checks(&self, mut believed: BTreeSet<Id>) -> Result<(), Fault> {
        for row in self.changes.changed.iter().filter(|row| row.head.is_some()) {
            believed.remove(&row.id);
        }
        if believed.is_empty() { Ok(()) } else { Err(Fault::Believed) }
    }
}
