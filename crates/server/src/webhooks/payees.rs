//! Finds the owners of the numbered accounts that transfers paid, for filters that name an owner.

use kernel::accounts::AccountsOf;
use kernel::answer::Cause;
use kernel::flow::life::Outcome;
use kernel::ids::LedgerId;
use kernel::owner::TransferOwner;
use kernel::ports::journal::Journal;
use kernel::record::{Account, Record, System};
use kernel::webhooks::StoredWebhook;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The owners by the numbers of their accounts.
#[derive(Debug, Default)]
pub(super) struct Payees(BTreeMap<Arc<str>, TransferOwner>);

impl Payees {
    /// Those of these transfers; none where no endpoint asks for an owner.
    ///
    /// # Errors
    /// The journal's.
    pub(super) async fn read<'r>(
        journal: &dyn Journal,
        mut endpoints: impl Iterator<Item = &StoredWebhook>,
        records: impl Iterator<Item = &'r Record>,
    ) -> Result<Self, Cause> {
        if endpoints.all(|one| one.endpoint.filter.owner.is_none()) {
            return Ok(Self::default());
        }
        let numbers: BTreeSet<Arc<str>> = records.filter_map(paid_account).cloned().collect();
        if numbers.is_empty() {
            return Ok(Self::default());
        }
        let asked = AccountsOf::Numbers(numbers.into_iter().collect());
        let found = journal.numbered_accounts(asked).await?;
        let owner =
            |one: kernel::accounts::NumberedAccount| (one.number, TransferOwner::User(one.owner));
        Ok(Self(found.into_iter().map(owner).collect()))
    }

    /// The owner of the account that a transfer paid. One that failed is none of the payee's.
    pub(super) fn of(&self, record: &Record, outcome: Outcome) -> Option<&TransferOwner> {
        let number = paid_account(record).filter(|_| outcome == Outcome::Paid)?;
        self.0.get(number)
    }
}

fn paid_account(record: &Record) -> Option<&Arc<str>> {
    let target = &record.terms.target;
    match &target.account {
        Account::Named(number) if target.system == System::Ledger(LedgerId::ACCOUNT) => {
            Some(number)
        }
        Account::Named(_) | Account::User(_) | Account::Unnamed => None,
    }
}
