//! Setting a chain up: accounts, keys, tokens and money, all by real transactions of the root account.

use super::{contract::TOKEN_WASM, devnet::Devnet, wallet::Wallet};
use crate::Outcome;
use near_crypto::PublicKey;
use near_primitives::{
    account::AccessKey,
    action::{
        Action, AddKeyAction, CreateAccountAction, DeleteAccountAction, DeleteKeyAction,
        DeployContractAction, FunctionCallAction, TransferAction,
    },
    hash::CryptoHash,
    types::{AccountId, Balance, Gas},
    views::FinalExecutionStatus,
};
use serde_json::{Value, json};

/// The description of a token; its owner is the root account.
#[derive(Debug, Clone)]
pub struct TokenOptions {
    pub name: String,
    pub symbol: String,
    pub decimals: u8,
}

impl Default for TokenOptions {
    fn default() -> Self {
        Self { name: "Devnet Dollar".to_owned(), symbol: "USDC".to_owned(), decimals: 6 }
    }
}

/// Maximum number of calls in one transaction.
const BATCH: usize = 100;
const CALL_GAS: u64 = 10_000_000_000_000;
/// Enough gas for the one call that needs more, the contract's initialization.
const LONG_GAS: u64 = 100_000_000_000_000;
const ONE_NEAR: u128 = 1_000_000_000_000_000_000_000_000;

impl Devnet {
    /// Creates an account with a full-access key, such as `relay.devnet` or `alice.devnet`.
    ///
    /// # Errors
    ///
    /// If the name is no account id, or is taken, or is neither under `devnet` nor top-level.
    pub fn create_account(&self, name: &str, near: u64) -> Outcome<Wallet> {
        let account: AccountId = name.parse().map_err(|error| format!("{name}: {error}"))?;
        let wallet = Wallet::nth(account, 0);
        let deposit = Balance::from_yoctonear(u128::from(near).saturating_mul(ONE_NEAR));
        let actions = vec![
            Action::CreateAccount(CreateAccountAction {}),
            Action::Transfer(TransferAction { deposit }),
            add_key(wallet.public_key()),
        ];
        self.run(&self.root, &wallet.account, actions)?;
        Ok(wallet)
    }

    /// Adds this number of full-access keys to an account, and gives a wallet for each.
    ///
    /// # Errors
    ///
    /// If the account lacks the money for its bytes, or has one of the keys.
    pub fn add_keys(&self, wallet: &Wallet, count: usize) -> Outcome<Vec<Wallet>> {
        let name = &wallet.account;
        let new: Vec<Wallet> = (1..=count).map(|n| Wallet::nth(name.clone(), n)).collect();
        for part in new.chunks(BATCH) {
            let actions = part.iter().map(|wallet| add_key(wallet.public_key())).collect();
            self.run(wallet, name, actions)?;
        }
        Ok(new)
    }

    /// Deletes a key of an account, by a transaction that another of its keys signs.
    ///
    /// # Errors
    ///
    /// If the account has neither of them.
    pub fn delete_key(&self, wallet: &Wallet, public_key: PublicKey) -> Outcome {
        let delete = Action::DeleteKey(Box::new(DeleteKeyAction { public_key }));
        self.run(wallet, &wallet.account, vec![delete]).map(drop)
    }

    /// Deletes an account that was created here with everything on it, such as a token's contract.
    ///
    /// # Errors
    ///
    /// If there is no such account.
    pub fn delete_account(&self, account: &AccountId) -> Outcome {
        let wallet = Wallet::nth(account.clone(), 0);
        let beneficiary_id = self.root.account.clone();
        let delete = Action::DeleteAccount(DeleteAccountAction { beneficiary_id });
        self.run(&wallet, account, vec![delete]).map(drop)
    }

    /// Deploys the token to a new account and initializes it.
    ///
    /// # Errors
    ///
    /// As [`Self::create_account`].
    pub fn deploy_token(&self, name: &str, options: &TokenOptions) -> Outcome<AccountId> {
        let wallet = self.create_account(name, 1_000)?;
        let args = json!({
            "owner_id": self.root.account,
            "name": options.name,
            "symbol": options.symbol,
            "decimals": options.decimals,
        });
        let deploy = Action::DeployContract(DeployContractAction { code: TOKEN_WASM.to_vec() });
        let actions = vec![deploy, call("new", &args, LONG_GAS, 0)];
        self.run(&wallet, &wallet.account, actions)?;
        Ok(wallet.account)
    }

    /// Creates tokens for accounts, and registers those that are not.
    ///
    /// # Errors
    ///
    /// If the contract refuses.
    pub fn mint(&self, token: &AccountId, to: &[(AccountId, u128)]) -> Outcome {
        let calls = to.iter().map(|(account, amount)| {
            let args = json!({"account_id": account, "amount": amount.to_string()});
            call("mint", &args, CALL_GAS, 0)
        });
        self.run_batches(token, calls.collect())
    }

    /// Registers accounts with the token; those that are registered get their deposit back.
    ///
    /// # Errors
    ///
    /// If the contract refuses.
    pub fn register(&self, token: &AccountId, accounts: &[AccountId]) -> Outcome {
        let least = self.storage_price(token)?;
        let calls = accounts.iter().map(|account| {
            call("storage_deposit", &json!({"account_id": account}), CALL_GAS, least)
        });
        self.run_batches(token, calls.collect())
    }

    /// What registering an account costs, in yoctos.
    ///
    /// # Errors
    ///
    /// If there is no such contract.
    pub fn storage_price(&self, token: &AccountId) -> Outcome<u128> {
        let bounds = self.view_json(token, "storage_balance_bounds", &json!({}))?;
        number(bounds.get("min"))
    }

    /// Removes an account of this wallet from the token, with what it holds.
    ///
    /// # Errors
    ///
    /// If the contract refuses.
    pub fn unregister(&self, token: &AccountId, wallet: &Wallet) -> Outcome {
        let action = call("storage_unregister", &json!({"force": true}), CALL_GAS, 1);
        self.run(wallet, token, vec![action]).map(drop)
    }

    /// Pauses the token, so that every transfer fails, or lets it go on.
    ///
    /// # Errors
    ///
    /// If the contract refuses.
    pub fn set_paused(&self, token: &AccountId, paused: bool) -> Outcome {
        let action = call("set_paused", &json!({"paused": paused}), CALL_GAS, 0);
        self.run(&self.root, token, vec![action]).map(drop)
    }

    /// From now on each `ft_transfer` calls an account behind it that is not there: what it paid stays paid, and the whole
    /// transaction's status is a failure.
    pub fn fail_behind_transfers(&self) {
        self.node.chain().executor.fails_behind.store(true, std::sync::atomic::Ordering::SeqCst);
    }

    /// From now on every token refuses an account as one with a blocklist does: each transfer to it fails, and each
    /// registration of it.
    pub fn block_account(&self, account: &AccountId) {
        self.node.chain().executor.blocklist.add(account.clone());
    }

    /// From now on every token refuses each transfer and each registration with these words; `None`: no more.
    pub fn refuse_every_account(&self, words: Option<&str>) {
        self.node.chain().executor.blocklist.every_account(words);
    }

    /// The balance at the last final block; 0 for an account that is not registered.
    ///
    /// # Errors
    ///
    /// If there is no such contract.
    pub fn balance(&self, token: &AccountId, account: &AccountId) -> Outcome<u128> {
        number(Some(&self.view_json(token, "ft_balance_of", &json!({"account_id": account}))?))
    }

    /// Whether the account is registered at the last final block.
    ///
    /// # Errors
    ///
    /// If there is no such contract.
    pub fn is_registered(&self, token: &AccountId, account: &AccountId) -> Outcome<bool> {
        let args = json!({"account_id": account});
        Ok(!self.view_json(token, "storage_balance_of", &args)?.is_null())
    }

    /// Calls a view method with JSON at the last final block.
    ///
    /// # Errors
    ///
    /// If there is no such contract, or the method fails.
    pub fn view_json(&self, token: &AccountId, method: &str, args: &Value) -> Outcome<Value> {
        let bytes = self.view(token, method, args.to_string().into_bytes())?;
        serde_json::from_slice(&bytes).map_err(|error| format!("{method}: {error}"))
    }

    /// Signs with the wallet's next nonce, makes blocks until all is final, and says what it returned.
    ///
    /// # Errors
    ///
    /// If it was not included, or failed.
    pub fn run(
        &self,
        wallet: &Wallet,
        receiver: &AccountId,
        actions: Vec<Action>,
    ) -> Outcome<Vec<u8>> {
        let hash = self.sign_and_submit(wallet, receiver, actions)?;
        self.settle();
        self.result(hash)
    }

    fn run_batches(&self, token: &AccountId, calls: Vec<Action>) -> Outcome {
        let mut sent = Vec::new();
        let mut nonce = self.next_nonce(&self.root)?;
        for part in calls.chunks(BATCH) {
            let signed = self.root.sign(nonce, self.final_hash(), token, part.to_vec());
            sent.push(signed.get_hash());
            self.submit(signed);
            nonce = nonce.saturating_add(1);
        }
        self.settle();
        sent.into_iter().try_for_each(|hash| self.result(hash).map(drop))
    }

    fn sign_and_submit(
        &self,
        wallet: &Wallet,
        receiver: &AccountId,
        actions: Vec<Action>,
    ) -> Outcome<CryptoHash> {
        let nonce = self.next_nonce(wallet)?;
        let signed = wallet.sign(nonce, self.final_hash(), receiver, actions);
        let hash = signed.get_hash();
        self.submit(signed);
        Ok(hash)
    }

    fn next_nonce(&self, wallet: &Wallet) -> Outcome<u64> {
        let key = wallet.public_key();
        let nonce = self.nonce(&wallet.account, &key);
        let nonce = nonce.ok_or_else(|| format!("{} has no key {key}", wallet.account))?;
        Ok(nonce.saturating_add(1))
    }

    fn result(&self, hash: CryptoHash) -> Outcome<Vec<u8>> {
        let seen = self.observe(hash).ok_or_else(|| format!("{hash} entered no block"))?;
        match seen.outcome.status {
            FinalExecutionStatus::SuccessValue(value) => Ok(value),
            FinalExecutionStatus::Failure(error) => Err(format!("{hash}: {error:?}")),
            FinalExecutionStatus::NotStarted | FinalExecutionStatus::Started => {
                Err(format!("{hash} has no result yet"))
            }
        }
    }
}

fn number(value: Option<&Value>) -> Outcome<u128> {
    let text = value.and_then(Value::as_str).ok_or("no amount")?;
    text.parse().map_err(|error| format!("{text}: {error}"))
}

fn add_key(public_key: PublicKey) -> Action {
    Action::AddKey(Box::new(AddKeyAction { public_key, access_key: AccessKey::full_access() }))
}

fn call(method: &str, args: &Value, gas: u64, deposit: u128) -> Action {
    Action::FunctionCall(Box::new(FunctionCallAction {
        method_name: method.to_owned(),
        args: args.to_string().into_bytes(),
        gas: Gas::from_gas(gas),
        deposit: Balance::from_yoctonear(deposit),
    }))
}
