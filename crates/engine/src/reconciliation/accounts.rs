//! Compares each account with its operations: a fault that moves money between two users keeps every sum.
//! It reads every operation row, so it runs together with the count of all rows: at start, once a day,
//! after a break and on command. Its memory is one page of accounts, and what a remote ledger does
//! meanwhile.

use crate::reconciliation::operation_matcher::{known_answer, list};
use crate::reconciliation::{EVERY, Inquiry, PAGE};
use kernel::answer::Cause;
use kernel::ids::{AssetId, LedgerId, UserId};
use kernel::money::Amount;
use kernel::operation::{Operation, StoredOutcome};
use kernel::ports::journal::{AccountSums, Snapshot, Sums};
use kernel::ports::ledger::{Holding, Ledger, Whose};
use kernel::reconcile;
use kernel::reconcile::Break;
use kernel::record::Account;
use std::collections::BTreeMap;

/// The class of the cause for which accounts could not be compared: their ledger forgot operations meanwhile.
const FORGOTTEN: &str = "FORGOTTEN";

/// One asset of one account.
type AccountKey = (Account, AssetId);

/// Compares the accounts of a ledger in the journal's database, whose balances and operations are of one
/// instant. Returns how many rows there were.
pub(super) async fn enlisted(
    snapshot: &mut dyn Snapshot,
    ledger: LedgerId,
    holds: bool,
    inquiry: &mut Inquiry<'_>,
) -> Result<u64, Cause> {
    let mut proven = 0_u64;
    loop {
        let page = snapshot.account_sums(ledger, EVERY, PAGE).await?;
        if page.is_empty() {
            return Ok(proven);
        }
        proven = proven.saturating_add(u64::try_from(page.len()).unwrap_or(u64::MAX));
        page.iter().for_each(|row| inquiry.add(reconcile::account(ledger, holds, row)));
    }
}

/// The operations that a ledger listed and of which this instant of the journal has no receipts.
#[derive(Debug, Default)]
struct Beside {
    /// The operations up to the number at which the receipts end.
    waiting: BTreeMap<AccountKey, Vec<Operation>>,
    /// The operations above it, as far as the ledger listed them.
    later: BTreeMap<AccountKey, Vec<Operation>>,
    /// The last number of those.
    listed: u64,
    /// The ledger did not list every number up to that one: another worker raised the horizon meanwhile, and
    /// the ledger forgot operations of this time.
    forgotten: bool,
    /// Receipts of operations that persons accepted as lost, up to the number at which the receipts end.
    lost: BTreeMap<AccountKey, Vec<Operation>>,
}

impl Beside {
    fn of(receipts: &Receipts) -> Self {
        let mut beside = Self { listed: receipts.upto, ..Self::default() };
        receipts.waiting.iter().for_each(|operation| put(&mut beside.waiting, operation.clone()));
        receipts.lost.iter().for_each(|operation| put(&mut beside.lost, operation.clone()));
        beside
    }

    /// Lists the ledger's operations up to now.
    async fn list_new_operations(&mut self, ledger: &dyn Ledger) -> Result<(), Cause> {
        let (known, ()) = known_answer(ledger.hello().await)?;
        let operations = list(ledger, self.listed, known.highest, usize::MAX).await?;
        let there = u64::try_from(operations.len()).unwrap_or(u64::MAX);
        self.forgotten |= there < known.highest.saturating_sub(self.listed);
        operations.into_iter().for_each(|operation| put(&mut self.later, operation));
        self.listed = known.highest;
        Ok(())
    }

    /// Adds the breaks of an account.
    ///
    /// # Errors
    /// As [`wrong`](Self::wrong); the background counts again soon.
    fn judge(
        &self,
        ledger: LedgerId,
        row: AccountSums,
        inquiry: &mut Inquiry<'_>,
    ) -> Result<(), Cause> {
        let wrong = self.wrong(ledger, row).inspect_err(|_| inquiry.running.count_soon())?;
        inquiry.add(wrong);
        Ok(())
    }

    /// The break of an account, where there is one. The account was read at some moment after the receipts
    /// end, so it is in order where it agrees with its operations up to one of the later numbers.
    ///
    /// # Errors
    /// `FORGOTTEN`: it agrees with none, and some of them are not listed any more. A later count says.
    fn wrong(&self, ledger: LedgerId, mut row: AccountSums) -> Result<Vec<Break>, Cause> {
        let place = (row.account.clone(), row.asset);
        let of = |all: &BTreeMap<AccountKey, Vec<Operation>>| {
            all.get(&place).cloned().unwrap_or_default()
        };
        for operation in of(&self.lost) {
            row.sums = reconcile::discounted(row.sums, &operation).unwrap_or(row.sums);
        }
        for operation in of(&self.waiting) {
            row.sums = reconcile::counted(row.sums, &operation).unwrap_or(row.sums);
        }
        let mut wrong = reconcile::account(ledger, false, &row);
        for operation in of(&self.later) {
            if wrong.is_empty() {
                break;
            }
            row.sums = reconcile::counted(row.sums, &operation).unwrap_or(row.sums);
            wrong = reconcile::account(ledger, false, &row);
        }
        if self.forgotten && !wrong.is_empty() {
            return Err(Cause::of(FORGOTTEN));
        }
        Ok(wrong)
    }
}

fn put(all: &mut BTreeMap<AccountKey, Vec<Operation>>, operation: Operation) {
    if operation.outcome == StoredOutcome::Done {
        let place = (operation.op.account.clone(), operation.op.asset);
        all.entry(place).or_default().push(operation);
    }
}

/// The receipts that belong to an instant of a ledger.
#[derive(Debug)]
pub(super) struct Receipts {
    /// The highest number of that instant.
    upto: u64,
    /// Operations that had no receipt then.
    waiting: Vec<Operation>,
    /// Receipts of operations that persons accepted as lost.
    lost: Vec<Operation>,
}

impl Receipts {
    pub(super) fn of<'o>(
        upto: u64,
        waiting: impl Iterator<Item = &'o Operation>,
        lost: &[Operation],
    ) -> Self {
        let lost = lost.iter().filter(|operation| operation.seq <= upto).cloned().collect();
        Self { upto, waiting: waiting.cloned().collect(), lost }
    }
}

/// The sums of the journal's receipts, account by account in their order.
struct ReceiptSums<'s> {
    snapshot: &'s mut dyn Snapshot,
    ledger: LedgerId,
    upto: u64,
    page: std::vec::IntoIter<AccountSums>,
    next: Option<AccountSums>,
    ended: bool,
}

impl ReceiptSums<'_> {
    /// The next sums, where they are of an account at or before this; any where there is no bound.
    async fn next(&mut self, bound: Option<&Account>) -> Result<Option<AccountSums>, Cause> {
        if self.next.is_none() {
            self.next = self.page.next();
        }
        if self.next.is_none() && !self.ended {
            self.page = self.snapshot.account_sums(self.ledger, self.upto, PAGE).await?.into_iter();
            self.next = self.page.next();
            self.ended = self.next.is_none();
        }
        let due = |row: &mut AccountSums| bound.is_none_or(|bound| row.account <= *bound);
        Ok(self.next.take_if(due))
    }
}

/// Compares the accounts of a remote ledger with the receipts of an instant of the ledger that came before
/// the journal's. Returns how many rows there were.
///
/// # Errors
/// The cause for which the ledger did not answer, or [`FORGOTTEN`]; a later count compares the accounts.
pub(super) async fn elsewhere(
    snapshot: &mut dyn Snapshot,
    ledger: &dyn Ledger,
    receipts: Receipts,
    inquiry: &mut Inquiry<'_>,
) -> Result<u64, Cause> {
    let (id, upto) = (ledger.id(), receipts.upto);
    let mut beside = Beside::of(&receipts);
    let page = Vec::new().into_iter();
    let mut receipts = ReceiptSums { snapshot, ledger: id, upto, page, next: None, ended: false };
    let (mut after, mut proven) = (0_u64, 0_u64);
    loop {
        let holdings = holdings(ledger, after).await?;
        beside.list_new_operations(ledger).await?;
        let last = holdings.last().map(|holding| holding.user);
        let bound = last.map(Account::User);
        let row = |holding: Holding| {
            let place = (Account::User(holding.user), holding.asset);
            (place, holding)
        };
        let mut left: BTreeMap<AccountKey, Holding> = holdings.into_iter().map(row).collect();
        while let Some(sums) = receipts.next(bound.as_ref()).await? {
            let held = left.remove(&(sums.account.clone(), sums.asset));
            let (available, frozen) = held.map_or_else(Default::default, amounts);
            beside.judge(id, AccountSums { available, frozen, ..sums }, inquiry)?;
            proven = proven.saturating_add(1);
        }
        for ((account, asset), holding) in left {
            let (available, frozen) = amounts(holding);
            let row = AccountSums { account, asset, available, frozen, sums: Sums::default() };
            beside.judge(id, row, inquiry)?;
            proven = proven.saturating_add(1);
        }
        let Some(last) = last else { return Ok(proven) };
        after = last.0;
        // those that were read are not asked for again
        beside.later.retain(|(account, _), _| *account > Account::User(last));
    }
}

const fn amounts(holding: Holding) -> (Amount, Amount) {
    (holding.available, holding.frozen)
}

/// All holdings of the next users.
async fn holdings(ledger: &dyn Ledger, after: u64) -> Result<Vec<Holding>, Cause> {
    let (_, mut page) = known_answer(ledger.accounts(Whose::After(after, PAGE)).await)?;
    let (Some(first), Some(last)) = (page.first(), page.last()) else { return Ok(page) };
    let (first, last): (UserId, UserId) = (first.user, last.user);
    if page.len() < PAGE {
        return Ok(page);
    }
    if first == last {
        let (_, whole) = known_answer(ledger.accounts(Whose::User(last)).await)?;
        return Ok(whole);
    }
    // the page may end within the last one
    page.retain(|holding| holding.user != last);
    Ok(page)
}
