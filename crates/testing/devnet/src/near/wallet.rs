//! An account with one of its keys, for those who sign: tests, the setup, the demo.

use near_crypto::{KeyType, PublicKey, SecretKey};
use near_primitives::{
    action::Action,
    hash::CryptoHash,
    transaction::{SignedTransaction, Transaction, TransactionV0},
    types::AccountId,
};

#[derive(Debug, Clone)]
pub struct Wallet {
    pub account: AccountId,
    pub key: SecretKey,
}

impl Wallet {
    /// The wallet whose key is derived from a text: the same text gives the same key.
    pub fn derived(account: AccountId, text: &str) -> Self {
        // The crate takes the first 32 bytes only: hashed, so that every byte of the text counts.
        let seed = CryptoHash::hash_bytes(text.as_bytes()).to_string();
        Self { account, key: SecretKey::from_seed(KeyType::ED25519, &seed) }
    }

    /// The wallet of an account's key of this number, as the setup makes them; 0 is its first.
    pub fn nth(account: AccountId, n: usize) -> Self {
        let seed = format!("key {n} of {account}");
        Self::derived(account, &seed)
    }

    pub fn public_key(&self) -> PublicKey {
        self.key.public_key()
    }

    /// Signs the actions under this nonce, valid from this block on.
    pub fn sign(
        &self,
        nonce: u64,
        block_hash: CryptoHash,
        receiver: &AccountId,
        actions: Vec<Action>,
    ) -> SignedTransaction {
        let transaction = Transaction::V0(TransactionV0 {
            signer_id: self.account.clone(),
            public_key: self.public_key(),
            nonce,
            receiver_id: receiver.clone(),
            block_hash,
            actions,
        });
        let (hash, _) = transaction.get_hash_and_size();
        SignedTransaction::new(self.key.sign(hash.as_ref()), transaction)
    }
}
