//! Transfers beside their operations: the new ones, those that were open, and a window that moves
//! over all the others.

use super::{Inquiry, PAGE};
use kernel::answer::Cause;
use kernel::conserve::Break;
use kernel::ids::{Id, Serial};
use kernel::life::Leg;
use kernel::ports::journal::{Journal, Line, Snapshot};
use kernel::unit::Key;
use std::collections::BTreeSet;

/// So many transfers that were open are looked at again in a round; the others wait for the window.
const OPEN: usize = 20_000;
/// So many old transfers are looked at again in a round.
const WINDOW: usize = 20_000;
/// So many transfers are read in one read transaction: a long one keeps the journal from tidying.
const RENEW: usize = 20_000;

/// How far the transfers were looked at.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// Every transfer up to this number was looked at once.
    fresh: u64,
    /// The window has come to this number.
    again: u64,
    /// Transfers that had not ended.
    open: BTreeSet<Id>,
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
        self.opened(&mut *snapshot, inquiry).await?;
        let mut left = RENEW;
        loop {
            let page = snapshot.lines(Serial(self.fresh), PAGE).await?;
            let Some(last) = page.last() else { break };
            self.fresh = last.serial.0;
            left = left.saturating_sub(page.len());
            self.look(&page, inquiry);
            if left == 0 {
                left = RENEW;
                drop(snapshot);
                snapshot = journal.snapshot().await?;
            }
        }
        let mut left = WINDOW;
        while left > 0 && self.again < seen {
            let mut page = snapshot.lines(Serial(self.again), PAGE).await?;
            page.retain(|line| line.serial.0 <= seen);
            self.again = page.last().map_or(seen, |last| last.serial.0);
            left = left.saturating_sub(page.len());
            self.look(&page, inquiry);
        }
        if self.again >= seen {
            self.again = 0;
        }
        Ok(())
    }

    /// The transfers that were open in an earlier round.
    async fn opened(
        &mut self,
        snapshot: &mut dyn Snapshot,
        inquiry: &mut Inquiry<'_>,
    ) -> Result<(), Cause> {
        let open: Vec<Id> = self.open.iter().copied().collect();
        for ids in open.chunks(PAGE) {
            let key = |id: &Id| Key { id: *id, leg: Leg::Withdraw };
            let page = snapshot.lines_of(ids.iter().map(key).collect()).await?;
            let there: BTreeSet<Id> = page.iter().map(|line| line.id).collect();
            for id in ids.iter().filter(|id| !there.contains(id)) {
                let what = format!("{id}: the transfer was there and is gone");
                inquiry.add([Break { key: id.to_string(), amount: 0, what }]);
            }
            self.look(&page, inquiry);
        }
        Ok(())
    }

    fn look(&mut self, page: &[Line], inquiry: &mut Inquiry<'_>) {
        for line in page {
            inquiry.add(inquiry.laws.line(line));
            if inquiry.laws.ended(line) {
                self.open.remove(&line.id);
            } else if self.open.len() < OPEN {
                self.open.insert(line.id);
            }
        }
    }
}
