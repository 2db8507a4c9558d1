//! Finds operations that a remote ledger lost. A round lists the new losses, and leaves out those that
//! persons accepted, whose numbers the ledger gives again.

use crate::reconciliation::operation_matcher::Instant;
use crate::reconciliation::{Inquiry, MOST_BREAKS, PAGE};
use kernel::answer::Cause;
use kernel::ids::{AssetId, Id, LedgerId};
use kernel::operation::{Key, Known, Operation};
use kernel::operators::Accepted;
use kernel::ports::journal::{Line, ServiceStatus, Snapshot, Sums};
use kernel::reconcile;
use kernel::reconcile::Break;
use std::collections::{BTreeMap, BTreeSet};

/// The keys of the operations that persons accepted as lost.
type LostKeys = BTreeSet<(LedgerId, Key)>;

fn lost_keys(accepted: &[Accepted]) -> LostKeys {
    accepted.iter().filter_map(reconcile::accepted_loss).collect()
}

/// The receipts of a ledger above a number, except those that persons accepted as lost.
pub(crate) async fn unaccepted(
    snapshot: &mut dyn Snapshot,
    ledger: LedgerId,
    above: u64,
    accepted: &[Accepted],
) -> Result<Vec<Operation>, Cause> {
    above_number(snapshot, ledger, above, &lost_keys(accepted)).await
}

async fn above_number(
    snapshot: &mut dyn Snapshot,
    ledger: LedgerId,
    above: u64,
    lost: &LostKeys,
) -> Result<Vec<Operation>, Cause> {
    let limit = MOST_BREAKS.saturating_add(lost.len()).saturating_add(1);
    let mut found = snapshot.receipts(ledger, above, limit).await?;
    found.retain(|operation| !lost.contains(&(ledger, operation.op.key)));
    Ok(found)
}

/// The losses that a checker knows of.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// The losses that were accepted when the last round began to read the journal.
    keys: Option<LostKeys>,
    /// The receipts of those, once they were read.
    operations: Option<BTreeMap<LedgerId, Vec<Operation>>>,
    /// The number of each ledger in the journal, read before the ledger is asked.
    known: Vec<(LedgerId, Known)>,
}

impl Losses {
    /// Notes what the journal says before the ledgers are asked in the next round.
    pub(super) fn know(&mut self, status: &ServiceStatus) {
        self.known.clone_from(&status.ledgers);
    }

    /// Follows the losses that are accepted now. True where they differ from those of the last round: since
    /// then a ledger may give numbers again.
    pub(super) fn changed(&mut self, accepted: &[Accepted]) -> bool {
        let keys = lost_keys(accepted);
        if self.keys.as_ref() == Some(&keys) {
            return false;
        }
        self.operations = None;
        self.keys.replace(keys).is_some()
    }

    /// The receipts of the accepted losses, by ledger.
    pub(super) async fn read(
        &mut self,
        snapshot: &mut dyn Snapshot,
    ) -> Result<&BTreeMap<LedgerId, Vec<Operation>>, Cause> {
        let read = match self.operations.take() {
            Some(read) => read,
            None => receipts(snapshot, self.keys.iter().flatten()).await?,
        };
        Ok(self.operations.insert(read))
    }

    /// Finds operations that the journal knew before the ledger was asked and that the ledger no longer
    /// has. `status` is what the journal says since.
    pub(super) async fn find(
        &self,
        snapshot: &mut dyn Snapshot,
        instant: &Instant,
        status: &ServiceStatus,
        inquiry: &mut Inquiry<'_>,
    ) -> Result<(), Cause> {
        let (ledger, is) = (instant.ledger, instant.known);
        let before = self.known.iter().find(|(of, _)| *of == ledger).map(|(_, known)| *known);
        // one that was adopted meanwhile is looked at in the next round
        let same = |was: &Known| {
            let now = status.ledger(ledger).map(|now| now.incarnation);
            was.identity == is.identity && now == Some(was.incarnation)
        };
        let Some(was) = before.filter(same).filter(|was| is.highest < was.highest) else {
            return Ok(());
        };
        inquiry.add([reconcile::shortened(ledger, is.highest, was.highest)]);
        let none = LostKeys::new();
        let keys = self.keys.as_ref().unwrap_or(&none);
        let found = above_number(snapshot, ledger, is.highest, keys).await?;
        inquiry.add(found.iter().map(|operation| reconcile::lost(ledger, operation)));
        Ok(())
    }

    /// The accepted losses, as a report lists them.
    pub(super) fn listed(&self) -> Vec<Break> {
        let of = |(ledger, lost): (&LedgerId, &Vec<Operation>)| {
            lost.iter().map(|operation| reconcile::lost(*ledger, operation)).collect::<Vec<_>>()
        };
        self.operations.iter().flatten().flat_map(of).collect()
    }
}

async fn receipts<'k>(
    snapshot: &mut dyn Snapshot,
    keys: impl Iterator<Item = &'k (LedgerId, Key)>,
) -> Result<BTreeMap<LedgerId, Vec<Operation>>, Cause> {
    let keys: Vec<(LedgerId, Key)> = keys.copied().collect();
    let mut found: BTreeMap<LedgerId, Vec<Operation>> = BTreeMap::new();
    for page in keys.chunks(PAGE) {
        let lines = snapshot.lines_of(page.iter().map(|(_, key)| *key).collect()).await?;
        let lines: BTreeMap<Id, Line> = lines.into_iter().map(|line| (line.id, line)).collect();
        for (ledger, key) in page {
            let line = lines.get(&key.id);
            let own = |(at, o): &&(LedgerId, Operation)| at == ledger && o.op.key == *key;
            let stored = line.and_then(|line| line.operations.iter().find(own));
            found.entry(*ledger).or_default().extend(stored.map(|(_, o)| o.clone()));
        }
    }
    Ok(found)
}

/// Subtracts lost operations with a number at or below `upto` from the sums of a ledger's receipts.
pub(super) fn discount(stored: &mut [(AssetId, Sums)], lost: &[Operation], upto: u64) {
    for operation in lost.iter().filter(|operation| operation.seq <= upto) {
        if let Some((_, sums)) = stored.iter_mut().find(|(asset, _)| *asset == operation.op.asset) {
            *sums = reconcile::discounted(*sums, operation).unwrap_or(*sums);
        }
    }
}
