//! What really became of a token account's balance, for oracles: read from the blocks, whatever an endpoint says.

use super::{Chain, record::Record};
use solana_address::Address;
use solana_signature::Signature;
use solana_transaction_error::TransactionError;
use solana_transaction_status_client_types::TransactionTokenBalance;

/// One transaction that names a token account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Movement {
    pub signature: Signature,
    pub slot: u64,
    /// Base units before and after; a failed transaction leaves them as they were.
    pub before: u64,
    pub after: u64,
    pub error: Option<TransactionError>,
    pub memos: Vec<String>,
}

impl Chain {
    /// The transactions that name an account, up to this height, in their order.
    pub(crate) fn movements(&self, account: &Address, height: u64) -> Vec<Movement> {
        let signatures = self.addresses.get(account).into_iter().flatten();
        let records = signatures.filter_map(|signature| self.record(signature, height));
        records.filter_map(|record| movement(record, account)).collect()
    }
}

fn movement(record: &Record, account: &Address) -> Option<Movement> {
    let index = record.keys.iter().position(|key| key == account)?;
    let amount = |balances: &Option<Vec<TransactionTokenBalance>>| {
        let balances = balances.iter().flatten();
        let mut own = balances.filter(|balance| usize::from(balance.account_index) == index);
        own.next().and_then(|balance| balance.ui_token_amount.amount.parse().ok()).unwrap_or(0)
    };
    Some(Movement {
        signature: *record.transaction.signatures.first()?,
        slot: record.slot,
        before: amount(&record.meta.pre_token_balances),
        after: amount(&record.meta.post_token_balances),
        error: record.meta.status.clone().err(),
        memos: record.memos.clone(),
    })
}
