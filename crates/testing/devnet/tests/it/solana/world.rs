//! A chain with a mint, a vault with a lane, and a customer; and the calls of an adapter.

use crate::client::{HttpAnswer, raw, rpc};
use base64::Engine;
use devnet::{
    Outcome,
    solana::{Address, Devnet, Hash, Options, Rule, Signature, Wallet, sign_message},
};
use serde_json::{Value, json};
use solana_instruction::Instruction;
use solana_system_interface::instruction::advance_nonce_account;
use solana_transaction::versioned::VersionedTransaction;

pub(super) struct World {
    pub(super) devnet: Devnet,
    pub(super) url: String,
    pub(super) mint: Address,
    pub(super) vault: Wallet,
    /// USDC of the vault.
    pub(super) account: Address,
    pub(super) lane: Address,
    pub(super) alice: Wallet,
    /// The USDC account of alice.
    pub(super) alices: Address,
}

/// What the vault and alice have at the start.
pub(super) const SUPPLY: u64 = 1_000_000;

impl World {
    pub(super) fn new(options: Options) -> Outcome<Self> {
        let devnet = Devnet::start(options)?;
        let mint = devnet.create_mint()?;
        let vault = devnet.create_wallet("vault")?;
        let alice = devnet.create_wallet("alice")?;
        let account = devnet.create_token_account(&vault.address())?;
        let alices = devnet.create_token_account(&alice.address())?;
        devnet.mint_to(&[(account, SUPPLY), (alices, SUPPLY)])?;
        let lane = devnet.create_lanes(&vault, 1)?.pop().ok_or("no lane")?;
        devnet.settle();
        let url = devnet.urls().first().cloned().ok_or("no endpoint")?;
        Ok(Self { devnet, url, mint, vault, account, lane, alice, alices })
    }

    pub(super) fn manual() -> Self {
        Self::new(Options::manual()).unwrap()
    }

    pub(super) fn two() -> Self {
        Self::new(Options { endpoints: 2, ..Options::manual() }).unwrap()
    }

    /// The url of the second endpoint.
    pub(super) fn second(&self) -> String {
        self.devnet.endpoint(1).unwrap().url()
    }

    pub(super) fn script(&self, endpoint: usize, rule: Rule) {
        self.devnet.endpoint(endpoint).unwrap().add(rule);
    }

    /// The lane's lock at the head.
    pub(super) fn lock(&self) -> Hash {
        self.devnet.nonce(&self.lane).unwrap()
    }

    /// The vault's instructions behind the advance of its lane, under this lock.
    pub(super) fn form(&self, lock: Hash, instructions: &[Instruction]) -> VersionedTransaction {
        let vault = self.vault.address();
        let advance = advance_nonce_account(&self.lane, &vault);
        let all: Vec<_> = std::iter::once(advance).chain(instructions.iter().cloned()).collect();
        sign_message(&all, &[&self.vault], lock).unwrap()
    }

    /// A payment of the vault to alice under this lock.
    pub(super) fn payout(&self, lock: Hash, amount: u64) -> VersionedTransaction {
        let pays = self.devnet.payment(&self.vault, &self.alices, amount).unwrap();
        self.form(lock, &[pays])
    }

    /// A deposit of alice in the newest block.
    pub(super) fn deposited(&self, amount: u64, memos: &[&str]) -> Signature {
        let deposit = self.devnet.deposit(&self.alice, &self.account, amount, memos).unwrap();
        let signature = signature(&deposit);
        self.devnet.submit(deposit);
        self.devnet.advance(1);
        assert_eq!(self.devnet.result(&signature), Some(Ok(())));
        signature
    }

    /// Sends it as an adapter does, with a preflight on the newest block unless `skip`.
    pub(super) fn send(
        &self,
        transaction: &VersionedTransaction,
        skip: bool,
    ) -> Outcome<HttpAnswer> {
        send_to(&self.url, transaction, skip)
    }
}

pub(super) fn send_to(
    url: &str,
    transaction: &VersionedTransaction,
    skip: bool,
) -> Outcome<HttpAnswer> {
    let config = json!({
        "encoding": "base64", "skipPreflight": skip, "preflightCommitment": "processed",
    });
    raw(url, "sendTransaction", &json!([base64(transaction), config]))
}

pub(super) fn signature(transaction: &VersionedTransaction) -> Signature {
    *transaction.signatures.first().unwrap()
}

pub(super) fn base64(transaction: &VersionedTransaction) -> String {
    base64::engine::general_purpose::STANDARD.encode(bincode::serialize(transaction).unwrap())
}

/// The code and the words of an error.
pub(super) fn refused(answer: &HttpAnswer) -> (i64, String) {
    assert_eq!(answer.status, 200, "a node says its errors under HTTP 200");
    let error = answer.body.get("error").unwrap_or_else(|| panic!("{}", answer.body));
    let message = error.get("message").and_then(Value::as_str).unwrap().to_owned();
    (error.get("code").and_then(Value::as_i64).unwrap(), message)
}

/// The value of a status at this endpoint, `null` where it knows none.
pub(super) fn status(url: &str, signature: &Signature) -> Value {
    let params = json!([[signature.to_string()], {"searchTransactionHistory": true}]);
    rpc(url, "getSignatureStatuses", &params).unwrap().pointer("/value/0").cloned().unwrap()
}

/// A transaction of either version at this commitment, `null` where the endpoint knows none.
pub(super) fn transaction(url: &str, signature: &Signature, commitment: &str) -> Value {
    let config = json!({
        "encoding": "json", "commitment": commitment, "maxSupportedTransactionVersion": 0,
    });
    rpc(url, "getTransaction", &json!([signature.to_string(), config])).unwrap()
}

/// The signatures of an address, newest first.
pub(super) fn history(url: &str, address: &Address, config: &Value) -> Vec<String> {
    let page = rpc(url, "getSignaturesForAddress", &json!([address.to_string(), config])).unwrap();
    let page = page.as_array().unwrap().iter();
    page.map(|entry| entry["signature"].as_str().unwrap().to_owned()).collect()
}
