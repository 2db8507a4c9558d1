//! Adds what each write inserts into `operations` and `externals` to running sums, in rows of its own
//! lane and in its transaction. So no reader has to read all rows for a sum.

use super::statement::{Statements, params};
use super::workspace::BatchChanges;
use crate::postgres::columns::{self, int, small};
use kernel::ids::{AssetId, LedgerId};
use kernel::operation::{Operation, StoredOutcome};
use std::collections::BTreeMap;

const RUNNING: &str = include_str!("sql/running.sql");

/// What is added up together: ledger, asset, leg (of a movement its direction) and result, as they
/// are spelt in a row.
type SumKey = (LedgerId, AssetId, &'static str, &'static str);

/// How many rows, and what the DONE ones among them moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sum {
    count: u64,
    amount: u128,
}

impl Sum {
    /// Adds one row. A sum beyond 128 bits is larger than any reader of the sums accepts.
    const fn add(&mut self, amount: u128) {
        self.count = self.count.saturating_add(1);
        self.amount = self.amount.saturating_add(amount);
    }
}

/// Sums up the rows that a write inserts.
fn sums(changes: &BatchChanges) -> BTreeMap<SumKey, Sum> {
    let mut sums: BTreeMap<SumKey, Sum> = BTreeMap::new();
    for (ledger, Operation { op, outcome, .. }) in &changes.operations {
        let place = (*ledger, op.asset, op.key.leg.name(), columns::outcome(outcome).0);
        let amount = if *outcome == StoredOutcome::Done { op.amount.0 } else { 0 };
        sums.entry(place).or_default().add(amount);
    }
    for moved in &changes.externals {
        let place = (moved.ledger, moved.asset, columns::direction(moved.direction), "DONE");
        sums.entry(place).or_default().add(moved.amount.0);
    }
    sums
}

impl Statements {
    /// Counts what the write inserts.
    pub(crate) fn running(&mut self, changes: &BatchChanges, lane: i32) {
        let sums = sums(changes);
        if sums.is_empty() {
            return;
        }
        let place = |of: fn(&SumKey) -> &'static str| sums.keys().map(of).collect::<Vec<_>>();
        let ledger: Vec<_> = sums.keys().map(|(ledger, ..)| i16::from(ledger.0)).collect();
        let asset: Vec<_> = sums.keys().map(|(_, asset, ..)| small(asset.0)).collect();
        let (leg, result) = (place(|(_, _, leg, _)| *leg), place(|(.., result)| *result));
        let count: Vec<_> = sums.values().map(|sum| int(sum.count)).collect();
        let amount: Vec<_> = sums.values().map(|sum| sum.amount.to_string()).collect();
        self.add(RUNNING, params![lane, ledger, asset, leg, result, count, amount]);
    }
}
