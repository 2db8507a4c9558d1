//! Compares transfers with their operations: the new ones, those that were open, and a window that moves
//! over all others.

use crate::reconciliation::{Inquiry, PAGE, lesser};
use kernel::answer::Cause;
use kernel::flow::life::Leg;
use kernel::ids::{Id, LedgerId, Millis, Serial};
use kernel::operation::Key;
use kernel::ports::journal::{Journal, Line, Snapshot};
use kernel::reconcile::Break;
use kernel::record::{Party, System};
use std::collections::{BTreeMap, BTreeSet};

/// The most transfers that were open which a round looks at again; the others wait for the window.
const OPEN: usize = 20_000;
/// The window passes this many old transfers in a second, measured from round to round, and at least
/// [`LEAST`] in a round. A pass over n transfers takes n / 2 000 seconds and one round, however many new
/// ones come meanwhile: less than six days for a thousand million.
const PER_SECOND: u64 = 2_000;
const LEAST: u64 = 20_000;
/// The most that a round passes which comes late.
const MOST: u64 = 2_000_000;
/// How many transfers one read transaction reads: a long one keeps the journal from its cleaning.
const RENEW: usize = 20_000;

/// A transfer that had not ended.
#[derive(Debug, Clone, Copy)]
struct OpenLine {
    serial: Serial,
    /// The systems that it takes money from and brings it to.
    systems: [System; 2],
}

/// How far the checker has looked at transfers.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The checker looked once at every transfer up to this number. It stays below those that are still
    /// being written, since a lower number may be committed after a higher one.
    fresh: u64,
    /// The window has come to this number.
    again: u64,
    /// The window's pass ends at this number: later transfers belong to the next pass.
    upto: u64,
    /// When the window moved last, by the journal's time.
    moved: Option<Millis>,
    /// Transfers that had not ended.
    open: BTreeMap<Id, OpenLine>,
    /// The lowest number of a transfer that was not in order: a proof for a resume begins there.
    broken: Option<u64>,
}

impl Lines {
    /// Looks at the transfers of a snapshot, and of further ones where there are many.
    pub(super) async fn walk(
        &mut self,
        journal: &dyn Journal,
        mut snapshot: Box<dyn Snapshot>,
        inquiry: &mut Inquiry<'_>,
    ) -> Result<(), Cause> {
        let seen = self.fresh;
        inquiry.progress.of(snapshot.complete().await?);
        self.opened(&mut *snapshot, inquiry).await?;
        let mut left = RENEW;
        let mut complete = snapshot.complete().await?;
        // a number that was stored and is beyond what there is proves nothing
        self.fresh = lesser(self.fresh, complete.0);
        loop {
            let mut page = snapshot.lines(Serial(self.fresh), PAGE).await?;
            page.retain(|line| line.serial <= complete);
            let Some(last) = page.last() else { break };
            self.fresh = last.serial.0;
            left = left.saturating_sub(page.len());
            self.check_page(&page, inquiry);
            inquiry.progress.at(Serial(self.fresh));
            if left == 0 {
                left = RENEW;
                drop(snapshot);
                snapshot = journal.snapshot().await?;
                complete = snapshot.complete().await?;
            }
        }
        self.window(journal.now(), &mut *snapshot, seen, inquiry).await
    }

    /// Looks at old transfers again. A pass ends at the number that was set when it began, so it ends also
    /// where more new transfers come than the window passes.
    async fn window(
        &mut self,
        now: Millis,
        snapshot: &mut dyn Snapshot,
        seen: u64,
        inquiry: &mut Inquiry<'_>,
    ) -> Result<(), Cause> {
        let passed = self.moved.map_or(0, |moved| now.saturating_sub(moved));
        self.moved = Some(now);
        let mut left = (passed.saturating_mul(PER_SECOND) / 1_000).clamp(LEAST, MOST);
        if self.again == 0 {
            self.upto = seen;
        }
        while left > 0 && self.again < self.upto {
            let mut page = snapshot.lines(Serial(self.again), PAGE).await?;
            page.retain(|line| line.serial.0 <= self.upto);
            self.again = page.last().map_or(self.upto, |last| last.serial.0);
            left = left.saturating_sub(u64::try_from(page.len()).unwrap_or(u64::MAX));
            self.check_page(&page, inquiry);
        }
        if self.again >= self.upto {
            self.again = 0;
        }
        Ok(())
    }

    /// The number up to which every transfer was looked at, has ended since, and was in order.
    pub(super) fn proven(&self) -> u64 {
        let open = self.open.values().map(|line| line.serial.0).min();
        let least = [open, self.broken].into_iter().flatten().min();
        least.map_or(self.fresh, |least| lesser(self.fresh, least.saturating_sub(1)))
    }

    /// The ledgers of the transfers that had not ended.
    pub(super) fn ledgers(&self) -> impl Iterator<Item = LedgerId> {
        self.open.values().flat_map(|line| line.systems).filter_map(|system| match system {
            System::Ledger(ledger) => Some(ledger),
            System::Chain(_) => None,
        })
    }

    /// Forgets what was not in order, after persons accepted it.
    pub(super) const fn forgive(&mut self) {
        self.broken = None;
    }

    /// Begins behind the number up to which another checker had proven all.
    pub(super) fn behind(proven: u64) -> Self {
        Self { fresh: proven, ..Self::default() }
    }

    /// Looks at the transfers that were open in an earlier round.
    async fn opened(
        &mut self,
        snapshot: &mut dyn Snapshot,
        inquiry: &mut Inquiry<'_>,
    ) -> Result<(), Cause> {
        let open: Vec<Id> = self.open.keys().copied().collect();
        for ids in open.chunks(PAGE) {
            let key = |id: &Id| Key { id: *id, leg: Leg::Withdraw };
            let page = snapshot.lines_of(ids.iter().map(key).collect()).await?;
            let there: BTreeSet<Id> = page.iter().map(|line| line.id).collect();
            for id in ids.iter().filter(|id| !there.contains(id)) {
                let what = format!("{id}: the transfer was there and is gone");
                inquiry.add([Break { key: id.to_string(), amount: 0, what }]);
            }
            self.check_page(&page, inquiry);
        }
        Ok(())
    }

    fn check_page(&mut self, page: &[Line], inquiry: &mut Inquiry<'_>) {
        for line in page {
            let wrong = inquiry.laws.line(line);
            if !wrong.is_empty() {
                let least = self.broken.map_or(line.serial.0, |least| lesser(least, line.serial.0));
                self.broken = Some(least);
            }
            inquiry.add(wrong);
            if inquiry.laws.ended(line) {
                self.open.remove(&line.id);
            } else if self.open.len() < OPEN {
                let systems = [&line.source, &line.target].map(|party: &Party| party.system);
                self.open.insert(line.id, OpenLine { serial: line.serial, systems });
            }
        }
    }
}
