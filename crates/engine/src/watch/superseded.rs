//! Watches transfers that another worker moved while this one had them in its workers. This worker releases
//! them and looks at them again from time to time.
//!
//! The journal brings the transfers of a dead worker. But a unit of this process whose outcome is not known
//! may have moved them: then the journal takes them for ours, and no scanner brings them. So a transfer
//! that stands still for longer than any lease lasts is taken up again.
//!
//! The same holds for a transfer that may have been opened, and for one that an operator's action may have
//! given to this process: the COMMIT may succeed after the journal was asked, and then the journal takes the
//! transfer for ours.

use crate::watch::Recovery;
use kernel::answer::Cause;
use kernel::ids::{Id, Millis};
use kernel::ports::clock::TICKS;
use std::collections::BTreeSet;

/// The milliseconds that the journal adds to a lease for a worker that forgot it.
const LONGER: Millis = 5_000;
/// After this many times that wait, a transfer that was not found was never opened.
const NEVER: u64 = 10;
/// How many transfers are read at once.
const PAGE: usize = 1_000;

impl Recovery {
    /// Looks at all of them; those that no worker moved for long go on here.
    pub(crate) async fn review_superseded(&self) -> Result<(), Cause> {
        let ids: Vec<Id> = self.in_flight.superseded.all().keys().copied().collect();
        let long = self.shared.parts.settings.lease_ms.saturating_add(LONGER).saturating_mul(TICKS);
        for page in ids.chunks(PAGE) {
            let found = self.shared.parts.journal.get(page.to_vec()).await?;
            let now = self.shared.parts.clock.ticks();
            let there: BTreeSet<Id> = found.iter().map(|record| record.id).collect();
            let unknown = page.iter().filter(|id| !there.contains(id)).copied();
            self.in_flight.superseded.never_came(unknown, |since| {
                now.saturating_sub(since) > long.saturating_mul(NEVER)
            });
            let mut back = Vec::new();
            for record in found {
                if self.shared.plan.table(record.flow).ends(record.head.state) {
                    self.in_flight.superseded.forget(record.id);
                    self.shared.waiters.tell(record);
                    continue;
                }
                let mut all = self.in_flight.superseded.all();
                let Some((version, since)) = all.get_mut(&record.id) else { continue };
                if *version != record.head.version {
                    (*version, *since) = (record.head.version, now);
                } else if now.saturating_sub(*since) > long {
                    all.remove(&record.id);
                    back.push(record);
                }
            }
            if !back.is_empty() {
                self.pipeline.reassign(back).await;
            }
        }
        Ok(())
    }
}
