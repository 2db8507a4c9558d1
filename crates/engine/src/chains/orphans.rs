//! Payments whose transfer the journal does not have: it was restored to an earlier time and lost the
//! transfer, and the payment's memo has its id. Each is stored with the transaction that made it. A client
//! that repeats its key opens a transfer with the same [`Id::tag`]; that transfer becomes a member of an
//! attempt with the stored transaction, so that the prover ends it, and no transaction of ours pays it.
//!
//! The unit that stores such payments counts one more stop of the chain, and each claim is guarded by that
//! count. So what this process read at that count is all that there is when it claims.

use crate::chains::ChainPool;
use crate::chains::Chains;
use crate::chains::gather::ClaimOutcome;
use crate::plan::claim::Claim;
use crate::state::case_kinds::FOREIGN_PAYMENT;
use kernel::answer::Cause;
use kernel::attempt::{Attempt, AttemptId};
use kernel::flow::life::Leg;
use kernel::flow::table::{A, S};
use kernel::ids::{AssetId, ChainId, Id};
use kernel::money::Amount;
use kernel::operators::{Case, Severity, Subject};
use kernel::ports::chain::{ForeignPayment, ForeignUse, Payment};
use kernel::ports::journal::Resource;
use kernel::record::{Account, Record};
use kernel::unit::{Guard, Put};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One payment whose transfer the journal does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OrphanPayment {
    /// The hash of the transaction that made it.
    pub transaction: Arc<[u8]>,
    /// The account that it was paid from.
    pub payer: Account,
    pub made: ForeignPayment,
}

/// What this process knows of a chain's orphan payments.
#[derive(Debug, Default)]
pub(crate) struct OrphanPayments(Mutex<KnownOrphans>);

#[derive(Debug, Default)]
struct KnownOrphans {
    /// How often the engine had stopped the chain when they were read; `None`: they were not read yet.
    stops: Option<u32>,
    /// The first payment of each tag.
    by_tag: BTreeMap<u128, OrphanPayment>,
}

/// A chain, and the act and the sending state in which a transfer is paid there.
#[derive(Clone, Copy)]
pub(crate) struct PayingStep<'a> {
    pub pool: &'a Arc<ChainPool>,
    pub act: A,
    pub to: S,
}

/// What became of a transfer that an orphan payment may have paid.
pub(crate) enum OrphanClaim {
    /// The prover ends it.
    Held,
    /// It waits as before.
    Lost(Guard),
    /// It is not claimed: the payment is another one than the transfer's, and persons decide.
    Refused(Cause),
}

impl OrphanPayments {
    fn known(&self) -> MutexGuard<'_, KnownOrphans> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The payment that names the lost transfer of the same client's key.
    pub(crate) fn of(&self, id: Id) -> Option<OrphanPayment> {
        self.known().by_tag.get(&id.tag()).cloned()
    }
}

/// What the names of a chain's rows begin with.
fn prefix(chain: ChainId) -> String {
    format!("orphans:{}:", chain.name())
}

/// The row of a transaction's payments, under the attempt as which it is stored; `None` where each of its
/// payments has a transfer.
pub(crate) fn orphan_row(
    chain: ChainId,
    attempt: AttemptId,
    one: &ForeignUse,
    made: &[ForeignPayment],
) -> Option<Put> {
    if made.is_empty() {
        return None;
    }
    let line = |ForeignPayment { id, payment }: &ForeignPayment| {
        let Payment { account, asset, amount } = payment;
        let amount = amount.0.to_string();
        json!({ "id": id.to_string(), "to": account.key(), "asset": asset.0, "amount": amount })
    };
    let value = json!({
        "transaction": one.form.name.as_ref(),
        "payer": one.payer.key(),
        "pays": made.iter().map(line).collect::<Vec<_>>(),
    });
    let name = format!("{}{}", prefix(chain), Id(attempt.0)).into();
    Some(Put::Resource { name, value: value.to_string().into() })
}

/// The payments of a row.
fn read_row(row: &Resource) -> Option<Vec<OrphanPayment>> {
    let value: Value = serde_json::from_str(&row.value).ok()?;
    let byte = |byte: &Value| u8::try_from(byte.as_u64()?).ok();
    let name: Option<Vec<u8>> = value.get("transaction")?.as_array()?.iter().map(byte).collect();
    let transaction: Arc<[u8]> = name?.into();
    let payer = Account::parse(value.get("payer")?.as_str()?)?;
    let payment = |line: &Value| {
        let text = |name: &str| line.get(name)?.as_str();
        let payment = Payment {
            account: Account::parse(text("to")?)?,
            asset: AssetId(line.get("asset")?.as_u64()?.try_into().ok()?),
            amount: Amount(text("amount")?.parse().ok()?),
        };
        let made = ForeignPayment { id: text("id")?.parse().ok()?, payment };
        Some(OrphanPayment { transaction: transaction.clone(), payer: payer.clone(), made })
    };
    value.get("pays")?.as_array()?.iter().map(payment).collect()
}

impl Chains {
    /// Reads the orphan payments of a chain, where the engine stopped it since they were read last.
    ///
    /// # Errors
    /// The cause for which the journal does not answer; `ORPHANS_UNREADABLE` where a row is none of this
    /// release's: nothing is claimed meanwhile.
    pub(crate) async fn read_orphans(&self, pool: &ChainPool, stops: u32) -> Result<(), Cause> {
        if pool.orphans.known().stops == Some(stops) {
            return Ok(());
        }
        let rows = self.shared.parts.journal.resources(prefix(pool.id()).into()).await?;
        let mut by_tag = BTreeMap::new();
        for row in rows {
            let read = read_row(&row);
            let read = read.ok_or_else(|| Cause::because("ORPHANS_UNREADABLE", row.name))?;
            for orphan in read {
                by_tag.entry(orphan.made.id.tag()).or_insert(orphan);
            }
        }
        *pool.orphans.known() = KnownOrphans { stops: Some(stops), by_tag };
        Ok(())
    }

    /// Makes a transfer a member of an attempt with the transaction that paid it before the journal had it.
    pub(crate) async fn claim_orphan(
        self: &Arc<Self>,
        step: PayingStep<'_>,
        record: &Record,
        orphan: &OrphanPayment,
    ) -> OrphanClaim {
        let PayingStep { pool, to, .. } = step;
        if let Some(why) = self.differs(step, record, orphan) {
            return self.refuse_orphan(record, orphan, &why);
        }
        let found =
            self.shared.parts.journal.attempt_of_form(pool.id(), orphan.transaction.clone());
        let stored = match found.await {
            Ok(Some(stored)) => stored,
            Ok(None) => return self.refuse_orphan(record, orphan, "its transaction is not stored"),
            Err(cause) => return OrphanClaim::Refused(cause),
        };
        let form = stored.forms.iter().find(|form| form.name == orphan.transaction);
        let Some(form) = form.cloned() else {
            return self.refuse_orphan(record, orphan, "its transaction is not stored");
        };
        let claim = Claim {
            id: AttemptId(self.shared.mint().0),
            flow: record.flow,
            chain: pool.id(),
            lane: &stored.lane,
            state: None,
            lock: stored.lock.beside(record.id),
            form,
            to,
            level: Some(pool.lane_check.guard(pool.id())),
        };
        let (attempt, unit) = self.shared.plan.claimed(std::slice::from_ref(record), claim);
        match self.write_claim(&attempt, unit).await {
            ClaimOutcome::Stored(_) => self.hold_orphan(pool, attempt),
            ClaimOutcome::Found(attempt) => self.hold_orphan(pool, attempt),
            ClaimOutcome::Lost(Guard::LockFree { .. }) => {
                self.refuse_orphan(record, orphan, "it was not proven by that transaction before")
            }
            ClaimOutcome::Lost(guard) => OrphanClaim::Lost(guard),
            ClaimOutcome::Contradicted(cause) => {
                self.refuse_orphan(record, orphan, &cause.to_string())
            }
        }
    }

    fn hold_orphan(&self, pool: &ChainPool, attempt: Attempt) -> OrphanClaim {
        let id = Id(attempt.id.0);
        tracing::warn!(attempt = %id, "a transfer was paid before the journal was restored");
        self.hold_found(pool, attempt);
        OrphanClaim::Held
    }

    /// Why a payment is not the one that the transfer waits for.
    fn differs(
        &self,
        step: PayingStep<'_>,
        record: &Record,
        orphan: &OrphanPayment,
    ) -> Option<String> {
        if self.shared.plan.table(record.flow).act(step.act).leg != Some(Leg::Move) {
            return Some("it waits for another step than its payment".to_owned());
        }
        if record.source().account != orphan.payer {
            return Some(format!("it is paid from {}", record.source().account));
        }
        self.shared.plan.underpaid(step.act, record, &orphan.made.payment)
    }

    /// Opens a case: the client's key was paid in another way than it asks for now.
    fn refuse_orphan(&self, record: &Record, orphan: &OrphanPayment, why: &str) -> OrphanClaim {
        let made = orphan.made.id;
        let facts =
            format!("the payment of transfer {made}, which was lost with the journal: {why}");
        self.cases.case(Case {
            kind: FOREIGN_PAYMENT,
            severity: Severity::Critical,
            subject: Subject::Transfer(record.id),
            facts: facts.as_str().into(),
        });
        OrphanClaim::Refused(Cause::because(FOREIGN_PAYMENT, facts))
    }
}

#[cfg(test)]
mod tests {
    use super::{OrphanPayment, orphan_row, read_row};
    use kernel::attempt::{AttemptId, Form, Lock, Purpose};
    use kernel::ids::{AssetId, ChainId, Id};
    use kernel::money::Amount;
    use kernel::ports::chain::{ForeignPayment, ForeignUse, Payment};
    use kernel::ports::journal::Resource;
    use kernel::record::Account;
    use kernel::unit::Put;

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let payment = |id, to: &str| ForeignPayment {
            id: Id(id),
            payment: Payment {
                account: Account::Named(to.into()),
                asset: AssetId(3),
                amount: Amount(u128::MAX),
            },
        };
        let form = Form {
            purpose: Purpose::Pay,
            name: [7; 32].into(),
            bytes: [].into(),
            repeatable: false,
            expires: None,
            anchor: None,
            reference: None,
        };
        let payer = Account::Named("relay.near".into());
        let (lock, facts) = (Lock::from("7"), "".into());
        let one =
            ForeignUse { lock, form, payer: payer.clone(), pays: None, names: Vec::new(), facts };
        let made = [payment(1, "a.near"), payment(2, "b.near")];
        assert!(orphan_row(ChainId(1), AttemptId(9), &one, &[]).is_none());
        let row = orphan_row(ChainId(1), AttemptId(9), &one, &made);
        let Some(Put::Resource { name, value }) = row else { panic!("{row:?}") };
        let read = read_row(&Resource { name, version: 1, value });
        let orphan =
            |made| OrphanPayment { transaction: [7; 32].into(), payer: payer.clone(), made };
        assert_eq!(read, Some(made.map(orphan).to_vec()));
    }
}
