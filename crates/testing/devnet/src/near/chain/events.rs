//! Token events of executed receipts, for oracles: what the chain really did, whatever an endpoint says.

use super::Chain;
use near_primitives::{hash::CryptoHash, types::AccountId};
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    Transfer,
    Mint,
    Burn,
}

/// One entry of a NEP-141 event, from a receipt that succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenEvent {
    pub kind: EventKind,
    pub height: u64,
    pub receipt: CryptoHash,
    /// The account whose key signed the transaction.
    pub signer: AccountId,
    pub contract: AccountId,
    /// The account that lost the amount; a mint has none.
    pub from: Option<AccountId>,
    /// The account that got the amount; a burn has none.
    pub to: Option<AccountId>,
    pub amount: u128,
    pub memo: Option<String>,
}

#[derive(Deserialize)]
struct Line {
    standard: String,
    event: String,
    data: Vec<Value>,
}

#[derive(Deserialize)]
struct Entry {
    old_owner_id: Option<AccountId>,
    new_owner_id: Option<AccountId>,
    owner_id: Option<AccountId>,
    amount: String,
    memo: Option<String>,
}

impl Chain {
    /// Events of one contract up to a height, in the order of execution.
    pub(crate) fn events(&self, contract: &AccountId, up_to: u64) -> Vec<TokenEvent> {
        let blocks = self.blocks.iter().take_while(|block| block.height <= up_to);
        let ids = blocks.flat_map(|block| &block.executed);
        let records = ids.filter_map(|id| self.receipts.get(id));
        let own = records.filter(|record| record.receipt.receiver == *contract);
        own.filter_map(|record| Some((&record.receipt, record.executed.as_ref()?)))
            .filter(|(_, executed)| executed.failure().is_none())
            .flat_map(|(receipt, executed)| {
                executed.logs.iter().flat_map(|line| parse(line)).map(|(kind, entry)| TokenEvent {
                    kind,
                    height: executed.height,
                    receipt: receipt.id,
                    signer: receipt.signer.clone(),
                    contract: contract.clone(),
                    from: match kind {
                        EventKind::Transfer => entry.old_owner_id,
                        EventKind::Burn => entry.owner_id.clone(),
                        EventKind::Mint => None,
                    },
                    to: match kind {
                        EventKind::Transfer => entry.new_owner_id,
                        EventKind::Mint => entry.owner_id,
                        EventKind::Burn => None,
                    },
                    amount: entry.amount.parse().unwrap_or(0),
                    memo: entry.memo,
                })
            })
            .collect()
    }
}

fn parse(line: &str) -> Vec<(EventKind, Entry)> {
    let Some(line) = line.strip_prefix("EVENT_JSON:") else { return Vec::new() };
    let Ok(line) = serde_json::from_str::<Line>(line) else { return Vec::new() };
    let kind = match (line.standard.as_str(), line.event.as_str()) {
        ("nep141", "ft_transfer") => EventKind::Transfer,
        ("nep141", "ft_mint") => EventKind::Mint,
        ("nep141", "ft_burn") => EventKind::Burn,
        _ => return Vec::new(),
    };
    let entries = line.data.into_iter().filter_map(|entry| serde_json::from_value(entry).ok());
    entries.map(|entry| (kind, entry)).collect()
}
