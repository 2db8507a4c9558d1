//! Transactions that a node has accepted and no block holds yet.

use near_crypto::PublicKey;
use near_primitives::{hash::CryptoHash, transaction::SignedTransaction, types::AccountId};
use std::collections::{BTreeMap, HashSet};

#[derive(Debug)]
struct Entry {
    signed: SignedTransaction,
    not_before: u64,
}

/// By key, since a block takes those of one key in the order of their nonces.
#[derive(Debug, Default)]
pub(super) struct Pool {
    groups: BTreeMap<(AccountId, PublicKey), Vec<Entry>>,
    known: HashSet<CryptoHash>,
}

impl Pool {
    pub(super) fn insert(&mut self, signed: SignedTransaction, not_before: u64) {
        if !self.known.insert(signed.get_hash()) {
            return;
        }
        let transaction = &signed.transaction;
        let key = (transaction.signer_id().clone(), transaction.public_key().clone());
        self.groups.entry(key).or_default().push(Entry { signed, not_before });
    }

    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// Takes what may go into the block of this height.
    pub(super) fn take(&mut self, height: u64) -> Vec<SignedTransaction> {
        let mut taken = Vec::new();
        for group in self.groups.values_mut() {
            let (mut ready, later): (Vec<_>, Vec<_>) =
                std::mem::take(group).into_iter().partition(|entry| entry.not_before <= height);
            ready.sort_by_key(|entry| entry.signed.transaction.nonce().nonce());
            taken.extend(ready.into_iter().map(|entry| entry.signed));
            *group = later;
        }
        self.groups.retain(|_, group| !group.is_empty());
        for signed in &taken {
            self.known.remove(signed.hash());
        }
        taken
    }
}
