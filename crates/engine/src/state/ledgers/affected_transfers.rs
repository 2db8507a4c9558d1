//! Names the transfers that a wrong ledger affects, in the sentence of its HALT.

use crate::state::ledgers::identity::Ledgers;
use kernel::answer::Cause;
use kernel::ids::{Id, LedgerId, Serial};
use kernel::ports::journal::Snapshot;
use std::fmt;

/// The most transfers that a reason names, since a person has to read it.
const NAMED: usize = 20;
/// The most transfers that are searched for them, so that the HALT comes soon.
const SEARCHED: usize = 10_000;
/// How many transfers are read at once.
const PAGE: usize = 1_000;
/// The highest number that a database takes: no transfer has a higher one.
const EVERY: u64 = u64::MAX >> 1;

/// A list for operators: the first names, and how many more there are.
#[derive(Debug, Default)]
pub(crate) struct Named {
    names: Vec<String>,
    more: usize,
}

impl Named {
    pub(crate) fn add(&mut self, name: impl fmt::Display) {
        if self.names.len() < NAMED {
            self.names.push(name.to_string());
        } else {
            self.more = self.more.saturating_add(1);
        }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names.join(", "))?;
        if self.more > 0 {
            write!(f, " and {} more", self.more)?;
        }
        Ok(())
    }
}

impl Ledgers {
    /// Adds to the sentence about a ledger the transfers that wait for its answer and, where it forgot
    /// operations above a number, those that have receipts of them.
    pub(crate) async fn concerning(
        &self,
        ledger: LedgerId,
        facts: String,
        forgot: Option<u64>,
    ) -> String {
        let mut facts = facts;
        // a reason without names is better than no halt
        if let Some(above) = forgot
            && let Ok(found) = self.received(ledger, above).await
            && !found.is_empty()
        {
            facts.push_str(&format!("; it answered for {found}"));
        }
        if let Ok(found) = self.waiting_at(ledger).await
            && !found.is_empty()
        {
            facts.push_str(&format!("; for it wait {found}"));
        }
        facts
    }

    /// The open transfers that call this ledger, the oldest first.
    async fn waiting_at(&self, ledger: LedgerId) -> Result<Named, Cause> {
        let mut open = self.shared.parts.journal.open_below(Id(u128::MAX)).await?;
        open.truncate(SEARCHED);
        let mut named = Named::default();
        for ids in open.chunks(PAGE) {
            let records = self.shared.parts.journal.get(ids.to_vec()).await?;
            let waits = |id: &&Id| {
                records.iter().any(|r| r.id == **id && self.shared.plan.calls(r) == Some(ledger))
            };
            ids.iter().filter(waits).for_each(|id| named.add(id));
        }
        Ok(named)
    }

    /// The newest transfers with a receipt of this ledger above that number.
    async fn received(&self, ledger: LedgerId, above: u64) -> Result<Named, Cause> {
        let mut snapshot = self.shared.parts.journal.snapshot().await?;
        let last = last(&mut *snapshot).await?;
        let mut after = last.saturating_sub(u64::try_from(SEARCHED).unwrap_or(u64::MAX));
        let mut named = Named::default();
        loop {
            let page = snapshot.lines(Serial(after), PAGE).await?;
            let Some(end) = page.last() else { return Ok(named) };
            after = end.serial.0;
            for line in &page {
                if line.operations.iter().any(|(at, op)| *at == ledger && op.seq > above) {
                    named.add(line.id);
                }
            }
        }
    }
}

/// The number of the newest transfer; 0 where there is none.
async fn last(snapshot: &mut dyn Snapshot) -> Result<u64, Cause> {
    let (mut low, mut high) = (0, EVERY);
    while low < high {
        let middle = low + (high - low) / 2;
        if snapshot.lines(Serial(middle), 1).await?.is_empty() {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Ok(low)
}
