//! Accounts beside their operations: a fault that moves money between two users keeps every sum. It
//! reads every operation row, so it goes with the count of all rows: at start, once a day, after a
//! break and on command. Its memory is a page of accounts, and what a ledger elsewhere does meanwhile.

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

/// One asset of one account.
type Place = (Account, AssetId);

/// The accounts of a ledger in the journal's database: balances and operations are of one instant.
/// How many rows there were.
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

/// What is known of operations that the instant of the journal has no receipts of.
#[derive(Debug, Default)]
struct Beside {
    /// Up to the number at which the receipts end.
    waiting: BTreeMap<Place, Vec<Operation>>,
    /// Above it, as far as the ledger listed them.
    later: BTreeMap<Place, Vec<Operation>>,
    /// The last number of those.
    listed: u64,
}

impl Beside {
    fn of<'o>(upto: u64, waiting: impl Iterator<Item = &'o Operation>) -> Self {
        let mut beside = Self { listed: upto, ..Self::default() };
        waiting.for_each(|operation| put(&mut beside.waiting, operation.clone()));
        beside
    }

    /// Lists what the ledger did up to now.
    async fn goes_on(&mut self, ledger: &dyn Ledger) -> Result<(), Cause> {
        let (known, ()) = known_answer(ledger.hello().await)?;
        for operation in list(ledger, self.listed, known.highest, usize::MAX).await? {
            put(&mut self.later, operation);
        }
        self.listed = known.highest;
        Ok(())
    }

    /// What is wrong with an account. It was read at some moment since the receipts end, so it is in
    /// order where it agrees with its operations up to one of the later ones.
    fn wrong(&self, ledger: LedgerId, mut row: AccountSums) -> Vec<Break> {
        let place = (row.account.clone(), row.asset);
        let of =
            |all: &BTreeMap<Place, Vec<Operation>>| all.get(&place).cloned().unwrap_or_default();
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
        wrong
    }
}

fn put(all: &mut BTreeMap<Place, Vec<Operation>>, operation: Operation) {
    if operation.outcome == StoredOutcome::Done {
        let place = (operation.op.account.clone(), operation.op.asset);
        all.entry(place).or_default().push(operation);
    }
}

/// What the journal's receipts say, account by account in their order.
struct Receipts<'s> {
    snapshot: &'s mut dyn Snapshot,
    ledger: LedgerId,
    upto: u64,
    page: std::vec::IntoIter<AccountSums>,
    next: Option<AccountSums>,
    ended: bool,
}

impl Receipts<'_> {
    /// The next one, where it is of an account at or before this; any where there is no bound.
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

/// The accounts of a ledger elsewhere against the receipts up to a number, which is the highest of an
/// instant of the ledger before the journal's, and those that `waiting` had no receipt then. How
/// many rows there were.
pub(super) async fn elsewhere(
    snapshot: &mut dyn Snapshot,
    ledger: &dyn Ledger,
    (upto, waiting): (u64, impl Iterator<Item = &Operation>),
    inquiry: &mut Inquiry<'_>,
) -> Result<u64, Cause> {
    let id = ledger.id();
    let mut beside = Beside::of(upto, waiting);
    let page = Vec::new().into_iter();
    let mut receipts = Receipts { snapshot, ledger: id, upto, page, next: None, ended: false };
    let (mut after, mut proven) = (0_u64, 0_u64);
    loop {
        let holdings = holdings(ledger, after).await?;
        beside.goes_on(ledger).await?;
        let last = holdings.last().map(|holding| holding.user);
        let bound = last.map(Account::User);
        let row = |holding: Holding| {
            let place = (Account::User(holding.user), holding.asset);
            (place, holding)
        };
        let mut left: BTreeMap<Place, Holding> = holdings.into_iter().map(row).collect();
        while let Some(sums) = receipts.next(bound.as_ref()).await? {
            let held = left.remove(&(sums.account.clone(), sums.asset));
            let (available, frozen) = held.map_or_else(Default::default, amounts);
            inquiry.add(beside.wrong(id, AccountSums { available, frozen, ..sums }));
            proven = proven.saturating_add(1);
        }
        for ((account, asset), holding) in left {
            let (available, frozen) = amounts(holding);
            let row = AccountSums { account, asset, available, frozen, sums: Sums::default() };
            inquiry.add(beside.wrong(id, row));
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

/// The holdings of the next users, each with all of its own.
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
