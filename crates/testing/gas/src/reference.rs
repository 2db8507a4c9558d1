//! The token on NEAR's own virtual machine, with the protocol's own prices.
//!
//! The machine executes one call. Around it stands what a node does: a receipt's calls one after the other,
//! all or none of them kept.

use crate::external::Account;
use crate::fees;
use crate::receipt::{Call, Effect, Executed};
use devnet::near::near_primitives::account::AccountContract;
use devnet::near::near_primitives::types::{AccountId, Balance, Gas};
use devnet::near::near_primitives::version::PROTOCOL_VERSION;
use devnet::near::{TOKEN_WASM, Wallet};
use near_parameters::{RuntimeConfig, RuntimeConfigStore};
use near_primitives_core::config::ViewConfig;
use near_vm_runner::logic::types::ReturnData;
use near_vm_runner::logic::{VMContext, VMOutcome};
use near_vm_runner::{Contract, MockContractRuntimeCache};
use std::sync::Arc;

/// What one call burnt in the machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Burnt {
    pub(crate) gas: u64,
    /// Keys that were written or removed: for each, a node walks from the root of its trie.
    pub(crate) writes: u64,
}

/// The contract's account on the reference.
#[derive(Clone)]
pub(crate) struct Reference {
    pub(crate) config: Arc<RuntimeConfig>,
    token: AccountId,
    account: Account,
    compiled: MockContractRuntimeCache,
    storage_usage: u64,
    balance: u128,
}

impl Reference {
    /// The token before its first call, in an account with this number of bytes and this balance.
    pub(crate) fn new(token: &AccountId, storage_usage: u64, balance: u128) -> Self {
        let config = Arc::clone(RuntimeConfigStore::new(None).get_config(PROTOCOL_VERSION));
        let account = Account::new(token, TOKEN_WASM);
        let compiled = MockContractRuntimeCache::default();
        Self { config, token: token.clone(), account, compiled, storage_usage, balance }
    }

    /// Applies one receipt, and says what each call burnt.
    pub(crate) fn apply(
        &mut self,
        caller: &Wallet,
        calls: &[Call],
    ) -> Result<(Executed, Vec<Burnt>), String> {
        let before = self.clone();
        let (mut logs, mut burnt) = (Vec::new(), Vec::new());
        let mut end = Ok(Vec::new());
        for (index, call) in (0..).zip(calls) {
            let mut outcome = self.run(caller, call, None)?;
            logs.append(&mut outcome.logs);
            let gas = outcome.burnt_gas.as_gas();
            burnt.push(Burnt { gas, writes: self.account.writes });
            if let Some(error) = outcome.aborted {
                end = Err((index, error.to_string()));
                break;
            }
            self.balance = outcome.balance.as_yoctonear();
            self.storage_usage = outcome.storage_usage;
            end = Ok(value(outcome.return_data)?);
        }
        if end.is_err() {
            *self = before;
        }
        let begun = calls.get(..burnt.len()).unwrap_or(calls);
        let gas_burnt = burnt
            .iter()
            .map(|call| call.gas)
            .fold(fees::of_receipt(&self.config, begun), u64::saturating_add);
        Ok((Executed { effect: self.effect(end, logs), gas_burnt }, burnt))
    }

    /// Runs a view method: its value, or the text of its error.
    pub(crate) fn view(&self, call: &Call) -> Result<Result<Vec<u8>, String>, String> {
        let caller = Wallet::derived(self.token.clone(), "");
        let max_gas_burnt = self.config.wasm_config.limit_config.max_gas_burnt;
        let mut copy = self.clone();
        let outcome = copy.run(&caller, call, Some(ViewConfig { max_gas_burnt }))?;
        match outcome.aborted {
            Some(error) => Ok(Err(error.to_string())),
            None => value(outcome.return_data).map(Ok),
        }
    }

    fn run(
        &mut self,
        caller: &Wallet,
        call: &Call,
        view: Option<ViewConfig>,
    ) -> Result<VMOutcome, String> {
        let key = devnet::near::near_primitives::borsh::to_vec(&caller.public_key());
        let context = VMContext {
            current_account_id: self.token.clone(),
            signer_account_id: caller.account.clone(),
            signer_account_pk: key.map_err(|error| error.to_string())?,
            predecessor_account_id: caller.account.clone(),
            refund_to_account_id: caller.account.clone(),
            input: call.input().into(),
            promise_results: Vec::new().into(),
            block_height: 1_000,
            block_timestamp: 1_000_000_000,
            epoch_height: 1,
            account_balance: Balance::from_yoctonear(self.balance),
            account_locked_balance: Balance::ZERO,
            storage_usage: self.storage_usage,
            account_contract: AccountContract::Local(self.account.hash()),
            attached_deposit: Balance::from_yoctonear(call.deposit),
            prepaid_gas: Gas::from_gas(call.gas),
            random_seed: vec![0; 32],
            view_config: view,
            output_data_receivers: Vec::new(),
        };
        self.account.begin();
        let wasm = Arc::clone(&self.config.wasm_config);
        let counter = context.make_gas_counter(&wasm);
        let prepared = near_vm_runner::prepare(
            &self.account,
            wasm,
            Some(&self.compiled),
            counter,
            call.method,
        );
        let fees = Arc::clone(&self.config.fees);
        let outcome = near_vm_runner::run(prepared, &mut self.account, &context, fees);
        if self.account.foreign {
            return Err(format!(
                "{} makes a receipt that this campaign does not know",
                call.method
            ));
        }
        outcome.map_err(|error| format!("{}: {error}", call.method))
    }

    fn effect(&self, end: Result<Vec<u8>, (u64, String)>, logs: Vec<String>) -> Effect {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let row = |(key, value): (&Vec<u8>, &Vec<u8>)| format!("{}={}", hex(key), hex(value));
        let stored = self.account.stored.iter().map(row).collect();
        Effect { end, logs, stored, storage_usage: self.storage_usage, balance: self.balance }
    }
}

fn value(returned: ReturnData) -> Result<Vec<u8>, String> {
    match returned {
        ReturnData::Value(value) => Ok(value),
        ReturnData::None => Ok(Vec::new()),
        ReturnData::ReceiptIndex(_) => Err("a promise was returned: no call here does".to_owned()),
    }
}
