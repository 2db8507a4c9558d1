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

/// So many operations are kept in memory at once: with more, a round first catches up.
const CHUNK: usize = 10_000;
/// So many old operations are matched again in a round.
const AGAIN: usize = 5_000;

/// Matches one ledger's operations with the journal's receipts, and notes up to where all is in order.
#[derive(Debug, Default)]
pub(super) struct OperationMatcher {
    /// Operations up to this number were listed and matched.
    cursor: u64,
    /// So many of them.
    listed: u64,
    /// Numbers that were passed over since the last count: another worker let the ledger forget what
    /// this one had not listed.
    unseen: u64,
    /// Receipts of operations that the ledger no longer lists; the same in each round, but for those.
    forgotten: Option<i128>,
    /// Operations that wait for a receipt or contradict theirs.
    carried: BTreeMap<Key, Carried>,
    /// Operations up to this number were matched again.
    again: u64,
    /// The ledger that they are of, as it was heard last.
    identity: Option<Identity>,
    /// Operations up to this number were proven by another checker, of a ledger of this identity: they
    /// are not listed again, where it is this one.
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
    /// What they say of the world is the ledger's own word.
    pub(super) own_world: bool,
    /// Who it is, and up to which operation.
    pub(super) known: Known,
    new: Vec<Operation>,
    old: Vec<Operation>,
}

impl OperationMatcher {
    /// Goes on behind a number up to which another one had proven, of a ledger of this identity.
    pub(super) fn behind(identity: Identity, proven: u64) -> Self {
        Self { behind: Some((identity, proven)), ..Self::default() }
    }

    /// Up to which number every operation was matched with its receipt and was in order, and of which
    /// ledger.
    pub(super) fn proven(&self) -> Option<(Identity, u64)> {
        let carried = self.carried.values().map(|carried| carried.operation.seq).min();
        let least = [carried, self.broken].into_iter().flatten().min();
        let cursor =
            least.map_or(self.cursor, |least| lesser(self.cursor, least.saturating_sub(1)));
        self.identity.map(|identity| (identity, cursor))
    }

    /// What was not in order is accepted.
    pub(super) const fn forgive(&mut self) {
        self.broken = None;
    }

    /// Notes who the ledger is, and leaves out what was proven of it before this checker began.
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

    /// Reads the ledger. What has gathered above a chunk is matched on the way, each part against an
    /// instant of the journal of its own.
    pub(super) async fn look(
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

    /// Holds the instant against a later one of the journal, without the receipts of what was accepted
    /// as lost.
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

    /// Matches operations that were listed for the first time.
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

    /// All up to this number are listed now, and so many of them are there.
    const fn passes(&mut self, number: u64, there: u64) {
        let passed = number.saturating_sub(self.cursor).saturating_sub(there);
        self.unseen = self.unseen.saturating_add(passed);
        self.cursor = number;
    }

    /// Matches operations, and carries those that are not done with.
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

    /// Each operation has one receipt or waits for it, so what is left over is the number of those
    /// that the ledger no longer lists: it never changes, but by those that the ledger forgot before
    /// they were listed here, which the worker that raised the horizon had proven. A receipt that appears or
    /// vanishes anywhere is seen at once, whatever its outcome.
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

    /// The books against the receipts and what waits for one.
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

/// Takes the ledger's word for what it has with the world. The total and the clearing still bind it:
/// what it takes from users without an operation shows in one of them, or in its own world.
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

/// Operations, each beside its transfer.
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

/// Operations in (after, upto], about `most` of them.
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
