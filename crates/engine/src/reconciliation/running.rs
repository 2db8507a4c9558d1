//! Compares the running sums with the rows that they stand for. A round adds up no operation rows, since
//! each write updates the sums with its rows. After a break, and where no stored count can be believed, a
//! round counts every row first; after each start and resume, and once a day, a background task does. From
//! then on the rounds take what the rows said, whatever the running sums were.

use crate::reconciliation::EVERY;
use kernel::answer::Cause;
use kernel::ids::{AssetId, LedgerId, Millis};
use kernel::ports::journal::{Snapshot, Sums};
use kernel::reconcile::Break;
use std::collections::{BTreeMap, BTreeSet};

/// The interval at which a background task counts every row again.
const DAY: Millis = 86_400_000;
/// A round counts the rows itself where the background task has not counted them within this interval.
const OVERDUE: Millis = 2 * DAY;

/// The sums of the rows of one asset at one ledger, and the running sums at that instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) rows: Sums,
    pub(super) running: Sums,
}

/// The sums of all rows at one instant.
pub(super) type Counts = BTreeMap<(LedgerId, AssetId), Counted>;

#[derive(Debug, Default)]
pub(super) struct Running {
    /// The last count of all rows, made here or stored; `None` where a break came since.
    counts: Option<Counts>,
    /// When this process counted them.
    counted_at: Option<Millis>,
    /// Since when rounds have believed a count.
    believed_since: Option<Millis>,
    /// The next round counts, and compares the result with the last count.
    due: bool,
}

impl Running {
    /// Begins with a stored count.
    pub(super) fn behind(counts: Option<Counts>) -> Self {
        Self { counts, ..Self::default() }
    }

    /// Has the next round count every row, without belief in an earlier count.
    pub(super) fn invalidate(&mut self) {
        self.counts = None;
    }

    /// Has the next round count every row, beside the last count.
    pub(super) const fn count_all(&mut self) {
        self.due = true;
    }

    /// Has the background task count again without waiting for a day.
    pub(super) const fn count_soon(&mut self) {
        self.counted_at = None;
    }

    pub(super) const fn counts(&self) -> Option<&Counts> {
        self.counts.as_ref()
    }

    /// Whether it is time for the background task to count: this process never did, or did a day ago.
    pub(super) fn wants_count(&self, now: Millis) -> bool {
        self.counts.is_some() && older(self.counted_at, now, DAY)
    }

    /// The ledgers of which the last count found operations.
    pub(super) fn ledgers(&self) -> impl Iterator<Item = LedgerId> {
        self.counts.iter().flatten().map(|((ledger, _), _)| *ledger)
    }

    /// Counts every row where no count can be believed or one is due; true where it did. A difference from
    /// the count before is a break: rows or running sums were changed since.
    pub(super) async fn recount(
        &mut self,
        snapshot: &mut dyn Snapshot,
        ledgers: impl IntoIterator<Item = LedgerId>,
        now: Millis,
    ) -> Result<Option<Vec<Break>>, Cause> {
        let overdue = older(Some(*self.believed_since.get_or_insert(now)), now, OVERDUE);
        if self.counts.is_some() && !self.due && !overdue {
            return Ok(None);
        }
        let rows = snapshot.recount().await?;
        let there = rows.iter().map(|(ledger, ..)| *ledger);
        let believed = self.counts.iter().flat_map(|counts| counts.keys()).map(|(at, _)| *at);
        let ledgers: BTreeSet<LedgerId> =
            ledgers.into_iter().chain(there).chain(believed).collect();
        let mut counted = Counts::new();
        for (ledger, asset, rows) in rows {
            counted.entry((ledger, asset)).or_default().rows = rows;
        }
        for ledger in ledgers {
            for (asset, running) in snapshot.sums(ledger, EVERY).await? {
                counted.entry((ledger, asset)).or_default().running = running;
            }
        }
        for ((ledger, asset), Counted { rows, running }) in &counted {
            if rows != running {
                let ledger = ledger.name();
                tracing::error!(ledger, %asset, ?rows, ?running, "the operation rows are not what the running sums say; the rows count");
            }
        }
        let breaks = self.counts.as_ref().map(|before| differences(before, &counted));
        (self.counts, self.due) = (Some(counted), false);
        (self.counted_at, self.believed_since) = (Some(now), Some(now));
        Ok(Some(breaks.unwrap_or_default()))
    }

    /// The sums of a ledger's rows up to a number, by the last count and the running sums since.
    pub(super) async fn sums(
        &self,
        snapshot: &mut dyn Snapshot,
        ledger: LedgerId,
        upto: u64,
    ) -> Result<Vec<(AssetId, Sums)>, Cause> {
        let mut sums: BTreeMap<_, _> = snapshot.sums(ledger, upto).await?.into_iter().collect();
        let counts = self.counts.iter().flatten().filter(|((at, _), _)| *at == ledger);
        for ((_, asset), counted) in counts.filter(|(_, counted)| counted.rows != counted.running) {
            let sum = sums.entry(*asset).or_default();
            *sum = counted.corrected(sum);
        }
        Ok(sums.into_iter().collect())
    }
}

/// True where `than` milliseconds or more have passed since `since`. A clock that was set back is no reason to wait
/// longer.
fn older(since: Option<Millis>, now: Millis, than: Millis) -> bool {
    since.is_none_or(|since| now < since || now.saturating_sub(since) >= than)
}

/// Compares the rows now with the rows before and the change of the running sums since.
fn differences(before: &Counts, now: &Counts) -> Vec<Break> {
    let places: BTreeSet<_> = before.keys().chain(now.keys()).collect();
    let of = |counts: &Counts, place| counts.get(place).copied().unwrap_or_default();
    let mut breaks = Vec::new();
    for place in places {
        let (expected, found) =
            (of(before, place).corrected(&of(now, place).running), of(now, place).rows);
        let amounts = [
            ("withdraw", found.withdraw, expected.withdraw),
            ("deposit", found.deposit, expected.deposit),
            ("settle", found.settle, expected.settle),
            ("refund", found.refund, expected.refund),
            ("external", found.external, expected.external),
            ("count", i128::from(found.count), i128::from(expected.count)),
        ];
        for (what, found, expected) in amounts.into_iter().filter(|(_, a, b)| a != b) {
            let key = format!("{}/{}/rows/{what}", place.0.name(), place.1);
            let amount = found.saturating_sub(expected);
            let what =
                format!("{key}: all rows say {found}, and the last count of them {expected}");
            breaks.push(Break { key, amount, what });
        }
    }
    breaks
}

impl Counted {
    /// The rows now: `rows + (now - running)`. It wraps, so that the order of the two matters for no value;
    /// the sums of the rows are in range.
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
