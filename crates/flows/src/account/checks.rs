//! The check before a transfer is carried out: the source belongs to the owner, is in use and has the money,
//! and the target can receive its asset.
//!
//! It holds no money. `VALIDATED` says that the transfer could have been carried out
//! at that moment; the ledger looks again, under the locks of both accounts, when it moves the money.

use kernel::accounts::{AccountsOf, NumberedAccount};
use kernel::answer::{Answer, Cause, Evidence, Receipt};
use kernel::code::Code;
use kernel::ports::Fut;
use kernel::ports::facts::{FactSource, Gathered};
use kernel::ports::journal::Journal;
use kernel::record::{Account, Party, Record};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The accounts of the journal, as the flow reads them: one read for a whole batch.
#[expect(missing_debug_implementations, reason = "a port has none")]
pub struct AccountChecks {
    journal: Arc<dyn Journal>,
}

type AccountsByNumber = BTreeMap<Arc<str>, NumberedAccount>;

impl AccountChecks {
    /// Checks of the accounts that lie in this journal.
    pub fn new(journal: Arc<dyn Journal>) -> Self {
        Self { journal }
    }

    async fn found(&self, records: &[Record]) -> Result<AccountsByNumber, Cause> {
        let parties = records.iter().flat_map(|record| record.terms.parties());
        let mut numbers: Vec<Arc<str>> = parties.filter_map(number).cloned().collect();
        numbers.sort();
        numbers.dedup();
        let accounts = self.journal.numbered_accounts(AccountsOf::Numbers(numbers)).await?;
        Ok(accounts.into_iter().map(|account| (account.number.clone(), account)).collect())
    }
}

impl FactSource for AccountChecks {
    /// The flow decides nothing by facts.
    fn facts<'a>(&'a self, _: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Gathered>> {
        Box::pin(async move {
            records.iter().map(|_| Gathered::Unknown(Cause::of("NO_SUCH_RULE"))).collect()
        })
    }

    fn ask<'a>(&'a self, _: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Answer>> {
        Box::pin(async move {
            match self.found(records).await {
                Ok(found) => records.iter().map(|record| checked(record, &found)).collect(),
                Err(cause) => records.iter().map(|_| Answer::Unknown(cause.clone())).collect(),
            }
        })
    }
}

fn number(party: &Party) -> Option<&Arc<str>> {
    match &party.account {
        Account::Named(number) => Some(number),
        Account::User(_) | Account::Unnamed => None,
    }
}

fn checked(record: &Record, found: &AccountsByNumber) -> Answer {
    match objection(record, found) {
        Ok(()) => Answer::Done(Receipt::default()),
        Err(why) => Answer::Rejected(why, Receipt::default()),
    }
}

/// In this order: the payer's account exists, is the owner's and may pay; then the target may receive. So a
/// payer that cannot pay learns nothing about a target.
fn objection(record: &Record, found: &AccountsByNumber) -> Result<(), Evidence> {
    let of = |party: &Party| number(party).and_then(|number| found.get(number));
    let (source, target) = (&record.terms.source, &record.terms.target);
    let Some(from) = of(source) else { return Err(Evidence::code(Code::SourceAccountNotFound)) };
    if record.terms.owner.user() != Some(from.owner) {
        return Err(Evidence::code(Code::TransferNotAllowed));
    }
    from.balance_after_payment(source.asset, source.amount).map_err(Evidence::code)?;
    from.check_payee(of(target), target.asset).map(|_| ())
}
