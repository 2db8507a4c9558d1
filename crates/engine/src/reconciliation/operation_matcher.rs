//! Matches the operations of a ledger outside the journal's database with transfers: each once when the
//! ledger lists it, then until its receipt is stored, and again in a window that moves over all of them.

use crate::reconciliation::losses::discount;
use crate::reconciliation::{Inquiry, PAGE, lesser};
use kernel::answer::Cause;
use kernel::ids::{AssetId, Id, LedgerId};
use kernel::operation::{Identity, Key, Known, Operation};
use kernel::ports::journal::{Journal, Line, Snapshot, Sums};
use kernel::ports::ledger::{Ledger, Reply, Totals};
use kernel::reconcile;
use kernel::reconcile::{Break, Matched};
use std::collections::BTreeMap;

/// The most operations in memory: with more of them, a round first catches up.
const CHUNK: usize = 10_000;
/// How many old operations a round matches again.
const AGAIN: usize = 5_000;

/// Matches one ledger's operations with the journal's receipts, and notes up to which number all is in
/// order.
#[derive(Debug, Default)]
pub(super) struct OperationMatcher {
    /// Operations up to this number were listed and matched.
    cursor: u64,
    /// How many of them there were.
    listed: u64,
    /// How many numbers were passed over since the last count: another worker let the ledger forget
    /// operations that this one had not listed.
    unseen: u64,
    /// How many receipts there are of operations that the ledger no longer lists; the same in each round,
    /// except for the numbers passed over.
    forgotten: Option<i128>,
    /// The operations that wait for a receipt or contradict theirs.
    carried: BTreeMap<Key, Carried>,
    /// Operations up to this number were matched again.
    again: u64,
    /// The identity of their ledger, as it answered last.
    identity: Option<Identity>,
    /// Another checker has proven the operations up to this number, of a ledger of this identity: where the
    /// ledger is this one, they are not listed again.
    behind: Option<(Identity, u64)>,
    /// The lowest number of an operation that was not in order when it was matched again.
    broken: Option<u64>,
}

#[derive(Debug)]
struct Carried {
    operation: Operation,
    receipt: bool,
}

/// The ledger at one instant, read before the journal's.
#[derive(Debug)]
pub(super) struct Instant {
    pub(super) ledger: LedgerId,
    pub(super) totals: Vec<(AssetId, Totals)>,
    /// True where the external movements in the totals are the ledger's own word.
    pub(super) own_world: bool,
    /// The ledger's identity, and its highest operation.
    pub(super) known: Known,
    new: Vec<Operation>,
    old: Vec<Operation>,
}

impl OperationMatcher {
    /// Begins behind the number up to which another checker had proven all, of a ledger of this identity.
    pub(super) fn behind(identity: Identity, proven: u64) -> Self {
        Self { behind: Some((identity, proven)), ..Self::default() }
    }

    /// The number up to which every operation was matched with its receipt and was in order, and the
    /// ledger's identity.
    pub(super) fn proven(&self) -> Option<(Identity, u64)> {
        let carried = self.carried.values().map(|carried| carried.operation.seq).min();
        let least = [carried, self.broken].into_iter().flatten().min();
        let cursor =
            least.map_or(self.cursor, |least| lesser(self.cursor, least.saturating_sub(1)));
        self.identity.map(|identity| (identity, cursor))
    }

    /// Forgets what was not in order, after persons accepted it.
    pub(super) const fn forgive(&mut self) {
        self.broken = None;
    }

    /// Notes the ledger's identity, and leaves out the operations that were proven before this checker
    /// began.
    fn meets(&mut self, known: Known) {
        self.identity = Some(known.identity);
        if let Some((identity, proven)) = self.behind.take()
            && identity == known.identity
            && self.cursor == 0
            && proven <= known.highest
        {
            // as if the ledger had forgotten them: their number is not counted
            self.cursor = proven;
        }
    }

    /// How many operations wait for their receipt.
    pub(super) fn waiting(&self) -> usize {
        self.without_receipt().count()
    }

    /// The operations that wait for their receipt.
    pub(super) fn without_receipt(&self) -> impl Iterator<Item = &Operation> {
        let waiting = self.carried.values().filter(|carried| !carried.receipt);
        waiting.map(|carried| &carried.operation)
    }

    /// Reads the ledger. Where more operations wait than a chunk holds, it matches them on the way, each
    /// part with an instant of the journal of its own.
    pub(super) async fn read_ledger(
        &mut self,
        journal: &dyn Journal,
        ledger: &dyn Ledger,
        inquiry: &mut Inquiry<'_>,
    ) -> Result<Instant, Cause> {
        let id = ledger.id();
        loop {
            let (known, ()) = known_answer(ledger.hello().await)?;
            self.meets(known);
            let chunk = u64::try_from(CHUNK).unwrap_or(u64::MAX);
            if known.highest.saturating_sub(self.cursor) < chunk {
                break;
            }
            let operations = list(ledger, self.cursor, known.highest, CHUNK).await?;
            if operations.is_empty() {
                break;
            }
            let mut snapshot = journal.snapshot().await?;
            self.take(&mut *snapshot, id, operations, inquiry).await?;
        }
        let old = list(ledger, self.again, self.cursor, AGAIN).await?;
        let (known, totals) = known_answer(ledger.totals().await)?;
        let new = list(ledger, self.cursor, known.highest, usize::MAX).await?;
        let own_world = ledger.own_world();
        Ok(Instant { ledger: id, totals, own_world, known, new, old })
    }

    /// Compares the instant with a later one of the journal, without the receipts of accepted losses.
    pub(super) async fn prove(
        &mut self,
        snapshot: &mut dyn Snapshot,
        instant: &mut Instant,
        lost: &[Operation],
        inquiry: &mut Inquiry<'_>,
    ) -> Result<(), Cause> {
        let Instant { ledger, totals, own_world, known, new, old } = instant;
        let (ledger, own_world, highest) = (*ledger, *own_world, known.highest);
        let (new, old) = (std::mem::take(new), std::mem::take(old));
        if highest < self.cursor {
            inquiry.add([forgot(ledger, self.cursor, highest)]);
            return Ok(());
        }
        for page in old.chunks(PAGE) {
            let found = matched(snapshot, ledger, page, inquiry).await?;
            let wrong = page.iter().zip(&found).filter(|(_, m)| m.fault.is_some());
            self.broken = wrong.map(|(operation, _)| operation.seq).chain(self.broken).min();
            inquiry.add(found.into_iter().filter_map(|m| m.fault));
        }
        // begins anew once it has been over all of them
        let full = old.len() >= AGAIN;
        self.again = old.last().filter(|_| full).map_or(0, |last| last.seq);
        let waited: Vec<Operation> =
            self.carried.values().map(|carried| carried.operation.clone()).collect();
        self.carry(snapshot, ledger, &waited, inquiry).await?;
        self.take(snapshot, ledger, new, inquiry).await?;
        self.passes(highest, 0);
        let mut stored = inquiry.running.sums(snapshot, ledger, highest).await?;
        discount(&mut stored, lost, highest);
        self.count(ledger, &stored, inquiry);
        if own_world {
            worldly(totals, &mut stored);
        }
        self.books(ledger, totals, stored, inquiry);
        Ok(())
    }

    /// Matches operations that the ledger lists for the first time.
    async fn take(
        &mut self,
        snapshot: &mut dyn Snapshot,
        ledger: LedgerId,
        operations: Vec<Operation>,
        inquiry: &mut Inquiry<'_>,
    ) -> Result<(), Cause> {
        self.carry(snapshot, ledger, &operations, inquiry).await?;
        // only now: after an error the same ones are listed again
        if let Some(last) = operations.last() {
            let more = u64::try_from(operations.len()).unwrap_or(u64::MAX);
            self.listed = self.listed.saturating_add(more);
            self.passes(last.seq, more);
        }
        Ok(())
    }

    /// Notes that all operations up to this number are listed, and how many of them there are.
    const fn passes(&mut self, number: u64, there: u64) {
        let passed = number.saturating_sub(self.cursor).saturating_sub(there);
        self.unseen = self.unseen.saturating_add(passed);
        self.cursor = number;
    }

    /// Matches operations, and keeps those that are not settled.
    async fn carry(
        &mut self,
        snapshot: &mut dyn Snapshot,
        ledger: LedgerId,
        operations: &[Operation],
        inquiry: &mut Inquiry<'_>,
    ) -> Result<(), Cause> {
        for page in operations.chunks(PAGE) {
            let found = matched(snapshot, ledger, page, inquiry).await?;
            for (operation, Matched { receipt, fault }) in page.iter().zip(found) {
                if receipt && fault.is_none() {
                    self.carried.remove(&operation.op.key);
                } else {
                    let carried = Carried { operation: operation.clone(), receipt };
                    self.carried.insert(operation.op.key, carried);
                }
                inquiry.add(fault);
            }
        }
        Ok(())
    }

    /// Compares the number of receipts with that of operations. Each operation has one receipt or waits for
    /// it, so the rest is the number of those that the ledger no longer lists. That never changes, except
    /// by operations that the ledger forgot before they were listed here, which the worker that raised the
    /// horizon had proven. So a receipt that appears or vanishes anywhere is seen at once, whatever its
    /// outcome.
    fn count(&mut self, ledger: LedgerId, stored: &[(AssetId, Sums)], inquiry: &mut Inquiry<'_>) {
        let waiting = i128::try_from(self.waiting()).unwrap_or(i128::MAX);
        let receipts: i128 = stored.iter().map(|(_, sums)| i128::from(sums.count)).sum();
        let rest = receipts.saturating_add(waiting).saturating_sub(i128::from(self.listed));
        let unseen = i128::from(std::mem::take(&mut self.unseen));
        let before = *self.forgotten.get_or_insert(rest);
        if (0..=unseen).contains(&rest.saturating_sub(before)) {
            self.forgotten = Some(rest);
        } else {
            let key = format!("{}/receipts", ledger.name());
            let amount = rest.saturating_sub(before);
            let what = format!("{key}: {amount} more than operations of the ledger");
            inquiry.add([Break { key, amount, what }]);
        }
    }

    /// Compares the books with the receipts and with the operations that wait for one.
    fn books(
        &self,
        ledger: LedgerId,
        totals: &[(AssetId, Totals)],
        stored: Vec<(AssetId, Sums)>,
        inquiry: &mut Inquiry<'_>,
    ) {
        let mut sums: BTreeMap<AssetId, Sums> = stored.into_iter().collect();
        for carried in self.carried.values().filter(|carried| !carried.receipt) {
            let asset = carried.operation.op.asset;
            let sum = sums.entry(asset).or_default();
            match reconcile::counted(*sum, &carried.operation) {
                Some(more) => *sum = more,
                None => {
                    let key = format!("{}/{asset}/sum", ledger.name());
                    let what = format!("{key}: the operations leave the range of amounts");
                    inquiry.add([Break { key, amount: i128::MAX, what }]);
                }
            }
        }
        let totals: BTreeMap<AssetId, Totals> = totals.iter().copied().collect();
        for asset in totals.keys().chain(sums.keys()) {
            let totals = totals.get(asset).copied().unwrap_or_default();
            let sums = sums.get(asset).copied().unwrap_or_default();
            inquiry.add(reconcile::books(ledger, false, *asset, &totals, &sums));
        }
    }
}

/// Takes the ledger's word for its external movements. The total and the clearing still bind it: what it
/// takes from users without an operation shows in one of them, or in its own external movements.
fn worldly(totals: &[(AssetId, Totals)], stored: &mut Vec<(AssetId, Sums)>) {
    for (asset, totals) in totals {
        let external = totals.world.saturating_neg();
        match stored.iter_mut().find(|(of, _)| of == asset) {
            Some((_, sums)) => sums.external = external,
            None => stored.push((*asset, Sums { external, ..Sums::default() })),
        }
    }
}

fn forgot(ledger: LedgerId, cursor: u64, highest: u64) -> Break {
    let key = format!("{}/highest", ledger.name());
    let what = format!("{key}: the ledger knows {highest} operations and had listed {cursor}");
    Break { key, amount: i128::from(highest).saturating_sub(i128::from(cursor)), what }
}

/// The operations, each with its transfer.
async fn matched(
    snapshot: &mut dyn Snapshot,
    ledger: LedgerId,
    operations: &[Operation],
    inquiry: &Inquiry<'_>,
) -> Result<Vec<Matched>, Cause> {
    let keys = operations.iter().map(|operation| operation.op.key).collect();
    let lines = snapshot.lines_of(keys).await?;
    let lines: BTreeMap<Id, Line> = lines.into_iter().map(|line| (line.id, line)).collect();
    let one = |operation: &Operation| {
        inquiry.laws.effect(ledger, operation, lines.get(&operation.op.key.id))
    };
    Ok(operations.iter().map(one).collect())
}

/// Lists operations in (after, upto], about `most` of them.
pub(super) async fn list(
    ledger: &dyn Ledger,
    after: u64,
    upto: u64,
    most: usize,
) -> Result<Vec<Operation>, Cause> {
    let (mut found, mut after) = (Vec::new(), after);
    while after < upto && found.len() < most {
        let (_, page) = known_answer(ledger.operations(after, PAGE).await)?;
        let Some(last) = page.last().map(|operation| operation.seq) else { break };
        if last <= after {
            return Err(Cause::because("OPERATIONS_UNORDERED", format!("{last} after {after}")));
        }
        after = last;
        found.extend(page.into_iter().filter(|operation| operation.seq <= upto));
    }
    Ok(found)
}

pub(super) fn known_answer<T>(reply: Reply<T>) -> Result<(Known, T), Cause> {
    match reply {
        Reply::Answered(known, answer) => Ok((known, answer)),
        Reply::OtherLedger(_) => Err(Cause::of("WRONG_LEDGER")),
        Reply::NoAnswer(cause) => Err(cause),
    }
}
