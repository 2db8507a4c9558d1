//! Running sums beside the rows that they stand for. A round adds up no operation rows: their sums
//! are written with them. At start, once a day and after a break every row is counted again, and from
//! then on what the rows said counts, whatever the running sums were.

use crate::reconciliation::EVERY;
use kernel::answer::Cause;
use kernel::ids::{AssetId, LedgerId, Millis};
use kernel::ports::journal::{Snapshot, Sums};
use std::collections::{BTreeMap, BTreeSet};

/// Every row is counted again after so long.
const DAY: Millis = 86_400_000;

/// What the rows of one asset at one ledger said, and what the running sums said at that instant.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    rows: Sums,
    running: Sums,
}

#[derive(Debug, Default)]
pub(super) struct Running {
    /// When every row was counted last.
    at: Option<Millis>,
    /// Where the two differed then.
    off: BTreeMap<(LedgerId, AssetId), Counted>,
}

impl Running {
    /// The next round counts every row.
    pub(super) fn invalidate(&mut self) {
        self.at = None;
    }

    /// Counts every row where it is time to; true where it did.
    pub(super) async fn recount(
        &mut self,
        snapshot: &mut dyn Snapshot,
        ledgers: impl IntoIterator<Item = LedgerId>,
        now: Millis,
    ) -> Result<bool, Cause> {
        // a clock that was set back is no reason to wait longer
        if self.at.is_some_and(|at| at <= now && now.saturating_sub(at) < DAY) {
            return Ok(false);
        }
        let rows = snapshot.recount().await?;
        let there = rows.iter().map(|(ledger, ..)| *ledger);
        let ledgers: BTreeSet<LedgerId> = ledgers.into_iter().chain(there).collect();
        let mut counted: BTreeMap<(LedgerId, AssetId), Counted> = BTreeMap::new();
        for (ledger, asset, rows) in rows {
            counted.entry((ledger, asset)).or_default().rows = rows;
        }
        for ledger in ledgers {
            for (asset, running) in snapshot.sums(ledger, EVERY).await? {
                counted.entry((ledger, asset)).or_default().running = running;
            }
        }
        counted.retain(|_, counted| counted.rows != counted.running);
        for ((ledger, asset), Counted { rows, running }) in &counted {
            let ledger = ledger.name();
            tracing::error!(ledger, %asset, ?rows, ?running, "the operation rows are not what the running sums say; the rows count");
        }
        (self.at, self.off) = (Some(now), counted);
        Ok(true)
    }

    /// What the rows of a ledger up to a number add up to, as far as they were counted.
    pub(super) async fn sums(
        &self,
        snapshot: &mut dyn Snapshot,
        ledger: LedgerId,
        upto: u64,
    ) -> Result<Vec<(AssetId, Sums)>, Cause> {
        let mut sums: BTreeMap<_, _> = snapshot.sums(ledger, upto).await?.into_iter().collect();
        for ((_, asset), off) in self.off.iter().filter(|((at, _), _)| *at == ledger) {
            let sum = sums.entry(*asset).or_default();
            *sum = off.corrected(sum);
        }
        Ok(sums.into_iter().collect())
    }
}

impl Counted {
    /// The rows by now: `rows + (now - running)`. It wraps, so that the order of the two matters for
    /// no value; what the rows add up to is in range.
    const fn corrected(&self, now: &Sums) -> Sums {
        const fn of(rows: i128, running: i128, now: i128) -> i128 {
            rows.wrapping_add(now.wrapping_sub(running))
        }
        let Self { rows, running } = self;
        Sums {
            withdraw: of(rows.withdraw, running.withdraw, now.withdraw),
            deposit: of(rows.deposit, running.deposit, now.deposit),
            settle: of(rows.settle, running.settle, now.settle),
            refund: of(rows.refund, running.refund, now.refund),
            external: of(rows.external, running.external, now.external),
            count: rows.count.wrapping_add(now.count.wrapping_sub(running.count)),
        }
    }
}
