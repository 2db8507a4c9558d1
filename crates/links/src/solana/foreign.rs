//! Reads what other programs did with the lanes' nonces: transactions under the vault's key for which no attempt is
//! stored.

use super::SolanaLink;
use super::history::{LaneUse, NOT_SHOWN};
use super::lane::UNSPENT;
use super::tx::{Content, SignedTransaction, is_transfer_id, read_form, spelled};
use crate::base58::base58;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kernel::answer::Cause;
use kernel::attempt::{Form, Purpose};
use kernel::money::Amount;
use kernel::ports::chain::{ForeignPayment, ForeignUse, LaneMark, Payment};
use kernel::record::Account;
use std::sync::Arc;

impl SolanaLink {
    /// The transactions that spent a lane's locks beyond its mark, oldest first: none is left out, since the walk begins at
    /// the newest one and ends at the one that spent the mark's lock.
    pub(super) async fn foreign(&self, mark: &LaneMark) -> Result<Vec<ForeignUse>, Cause> {
        let LaneMark { lane, lock, anchor, .. } = mark;
        let snapshots = self.snapshot_with(std::slice::from_ref(lane)).await?;
        let at = self.agreed_lane(lane, &snapshots, anchor.unwrap_or_default())?;
        let walk = self.walk(lane, at.slot, |used| used.lock.on_chain() == lock.on_chain()).await?;
        let mut uses = walk.uses;
        match uses.pop_if(|last| last.lock.on_chain() == lock.on_chain()) {
            Some(_) => {}
            None if walk.begins && lock.on_chain() == UNSPENT => {}
            None => {
                let facts = format!("the transaction that spent {lock} of {lane}");
                return Err(Cause::because(NOT_SHOWN, facts));
            }
        }
        uses.reverse();
        if !self.rpc.proves_by_several() && !uses.is_empty() {
            let each: Vec<String> = uses.iter().take(10).map(|used| base58(&used.name)).collect();
            let facts =
                format!("one provider's word explains nothing: it shows {}", each.join(", "));
            return Err(Cause::because("ONE_PROVIDER", facts));
        }
        Ok(uses.iter().map(|used| self.foreign_use(used)).collect())
    }

    fn foreign_use(&self, used: &LaneUse) -> ForeignUse {
        let LaneUse { lock, name, seen, .. } = used;
        let found = SignedTransaction::read(&seen.bytes, &seen.loaded);
        let acts = seen.error.is_none();
        let texts =
            found.filter(|_| acts).map(|found| found.memos(&seen.inner)).unwrap_or_default();
        let mut names: Vec<_> = texts
            .iter()
            .flat_map(|text| text.split_whitespace())
            .filter_map(is_transfer_id)
            .collect();
        names.sort_unstable();
        names.dedup();
        let outcome = match &seen.error {
            None => "it took place".to_owned(),
            Some(error) => format!("it failed: {error}"),
        };
        let facts = format!("{} under nonce {lock} in slot {}: {outcome}", base58(name), seen.slot);
        ForeignUse {
            lock: lock.clone(),
            form: Form {
                purpose: Purpose::Pay,
                name: name.as_slice().into(),
                bytes: Arc::new([]),
                repeatable: false,
                expires: None,
                anchor: Some(seen.slot),
                reference: Some(STANDARD.encode(&seen.bytes).into()),
            },
            payer: Account::Named(self.settings.vault_account.clone()),
            pays: acts.then(|| self.foreign_payments(&seen.bytes)).flatten(),
            names,
            facts: facts.into(),
        }
    }

    /// The payment of a transaction that is one of this product's own, to the transfer that its memo names. The memo is no
    /// evidence: who is paid, and how much, is in the payment.
    fn foreign_payments(&self, bytes: &[u8]) -> Option<Vec<ForeignPayment>> {
        let Content::Pay(payment) = read_form(&self.vault, bytes).ok()?.content else {
            return None;
        };
        let id = payment.memo.split_whitespace().last().and_then(is_transfer_id)?;
        let account = Account::Named(spelled(&payment.destination).into());
        let amount = Amount(u128::from(payment.amount));
        let payment = Payment { account, asset: self.settings.asset, amount };
        Some(vec![ForeignPayment { id, payment }])
    }
}
