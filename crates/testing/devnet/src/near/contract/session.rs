//! One call of a contract: what it reads and writes, what it burns, and what it leaves behind.

use crate::near::chain::state::Storage;
use near_crypto::PublicKey;
use near_parameters::{ExtCosts, RuntimeConfig};
use near_primitives::{
    action::Action,
    errors::{FunctionCallError, MethodResolveError},
    types::AccountId,
};
use std::sync::Arc;

/// Why a call stops early; each becomes the text that a node gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    Panic(String),
    GasExceeded,
    BalanceExceeded,
    ProhibitedInView(&'static str),
    MethodNotFound,
    Trap(String),
    Host(String),
}

impl From<Stop> for FunctionCallError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::MethodNotFound => Self::MethodResolveError(MethodResolveError::MethodNotFound),
            Stop::Panic(message) => {
                Self::ExecutionError(format!("Smart contract panicked: {message}"))
            }
            Stop::GasExceeded => Self::ExecutionError("Exceeded the prepaid gas.".to_owned()),
            Stop::BalanceExceeded => {
                Self::ExecutionError("Exceeded the account balance.".to_owned())
            }
            Stop::ProhibitedInView(method) => {
                Self::ExecutionError(format!("{method} is not allowed in view calls"))
            }
            Stop::Trap(what) => Self::ExecutionError(format!("WebAssembly trap: {what}")),
            Stop::Host(what) => Self::ExecutionError(what),
        }
    }
}

/// What a receipt that this one waited for came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PromiseResult {
    Value(Vec<u8>),
    Failed,
}

#[derive(Debug, Clone)]
pub(crate) struct Context {
    pub(crate) current: AccountId,
    pub(crate) predecessor: AccountId,
    pub(crate) signer: AccountId,
    pub(crate) signer_key: PublicKey,
    pub(crate) input: Vec<u8>,
    pub(crate) deposit: u128,
    pub(crate) height: u64,
    pub(crate) timestamp: u64,
    pub(crate) view: bool,
    pub(crate) results: Vec<PromiseResult>,
}

/// A receipt that the contract asked for.
#[derive(Debug, Clone)]
pub(crate) struct Promise {
    pub(crate) receiver: AccountId,
    pub(crate) after: Option<usize>,
    pub(crate) actions: Vec<Action>,
    /// By action: its share of the gas that is left at the end.
    pub(crate) weights: Vec<(usize, u64)>,
}

#[derive(Debug, Clone)]
pub(crate) enum Returned {
    Value(Vec<u8>),
    Promise(usize),
}

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) config: Arc<RuntimeConfig>,
    pub(crate) context: Context,
    pub(crate) storage: Storage,
    pub(crate) storage_usage: u64,
    pub(crate) balance: u128,
    pub(crate) logs: Vec<String>,
    pub(crate) promises: Vec<Promise>,
    pub(crate) returned: Returned,
    pub(crate) gas: Gas,
}

/// Gas of one call: `burnt` is gone, `used` also counts what was given to promises.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gas {
    pub(crate) limit: u64,
    pub(crate) burnt: u64,
    pub(crate) used: u64,
}

impl Gas {
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, burnt: 0, used: 0 }
    }

    pub(crate) fn left(&self) -> u64 {
        self.limit.saturating_sub(self.used)
    }

    pub(crate) fn burn(&mut self, amount: u64) -> Result<(), Stop> {
        let over = amount > self.left();
        let amount = if over { self.left() } else { amount };
        self.burnt = self.burnt.saturating_add(amount);
        self.used = self.used.saturating_add(amount);
        if over { Err(Stop::GasExceeded) } else { Ok(()) }
    }

    pub(crate) fn give(&mut self, amount: u64) -> Result<(), Stop> {
        if amount > self.left() {
            return Err(Stop::GasExceeded);
        }
        self.used = self.used.saturating_add(amount);
        Ok(())
    }
}

impl Session {
    pub(crate) fn charge(&mut self, what: ExtCosts) -> Result<(), Stop> {
        let cost = what.gas(&self.config.wasm_config.ext_costs).as_gas();
        self.gas.burn(cost)
    }

    pub(crate) fn charge_bytes(&mut self, each: ExtCosts, count: usize) -> Result<(), Stop> {
        let cost = each.gas(&self.config.wasm_config.ext_costs).as_gas();
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        self.gas.burn(cost.saturating_mul(count))
    }

    pub(crate) fn load(&mut self, bytes: usize) -> Result<(), Stop> {
        self.charge(ExtCosts::contract_loading_base)?;
        self.charge_bytes(ExtCosts::contract_loading_bytes, bytes)
    }

    pub(crate) fn not_in_view(&self, method: &'static str) -> Result<(), Stop> {
        if self.context.view { Err(Stop::ProhibitedInView(method)) } else { Ok(()) }
    }

    pub(crate) fn log(&mut self, line: String) -> Result<(), Stop> {
        self.charge(ExtCosts::log_base)?;
        self.charge_bytes(ExtCosts::log_byte, line.len())?;
        let limits = &self.config.wasm_config.limit_config;
        let total = self.logs.iter().map(String::len).sum::<usize>().saturating_add(line.len());
        if u64::try_from(total).unwrap_or(u64::MAX) > limits.max_total_log_length {
            let limit = limits.max_total_log_length;
            return Err(Stop::Host(format!(
                "The length of a log message {total} exceeds the limit {limit}"
            )));
        }
        if u64::try_from(self.logs.len()).unwrap_or(u64::MAX) >= limits.max_number_logs {
            let limit = limits.max_number_logs;
            return Err(Stop::Host(format!("The number of logs will exceed the limit {limit}")));
        }
        self.logs.push(line);
        Ok(())
    }

    pub(crate) fn read(&mut self, key: &[u8]) -> Result<Option<Arc<[u8]>>, Stop> {
        self.charge(ExtCosts::storage_read_base)?;
        self.charge_bytes(ExtCosts::storage_read_key_byte, key.len())?;
        let found = self.storage.get(key).cloned();
        let length = found.as_ref().map_or(0, |value| value.len());
        self.charge_bytes(ExtCosts::storage_read_value_byte, length)?;
        Ok(found)
    }

    pub(crate) fn has(&mut self, key: &[u8]) -> Result<bool, Stop> {
        self.charge(ExtCosts::storage_has_key_base)?;
        self.charge_bytes(ExtCosts::storage_has_key_byte, key.len())?;
        Ok(self.storage.contains_key(key))
    }

    /// Writes, keeps the account's size true, and gives what was there before.
    pub(crate) fn write(&mut self, key: &[u8], value: &[u8]) -> Result<Option<Arc<[u8]>>, Stop> {
        self.not_in_view("storage_write")?;
        self.charge(ExtCosts::storage_write_base)?;
        self.charge_bytes(ExtCosts::storage_write_key_byte, key.len())?;
        self.charge_bytes(ExtCosts::storage_write_value_byte, value.len())?;
        let before = self.storage.insert(key.to_vec(), Arc::from(value));
        match &before {
            Some(old) => {
                self.charge_bytes(ExtCosts::storage_write_evicted_byte, old.len())?;
                self.storage_usage =
                    self.storage_usage.saturating_sub(size(&[old])).saturating_add(size(&[value]));
            }
            None => {
                let added = size(&[key, value]).saturating_add(self.record_bytes());
                self.storage_usage = self.storage_usage.saturating_add(added);
            }
        }
        Ok(before)
    }

    pub(crate) fn remove(&mut self, key: &[u8]) -> Result<Option<Arc<[u8]>>, Stop> {
        self.not_in_view("storage_remove")?;
        self.charge(ExtCosts::storage_remove_base)?;
        self.charge_bytes(ExtCosts::storage_remove_key_byte, key.len())?;
        let before = self.storage.remove(key);
        if let Some(old) = &before {
            self.charge_bytes(ExtCosts::storage_remove_ret_value_byte, old.len())?;
            let gone = size(&[key, old]).saturating_add(self.record_bytes());
            self.storage_usage = self.storage_usage.saturating_sub(gone);
        }
        Ok(before)
    }

    /// A new receipt to this account, behind another one if it is to see its result.
    pub(crate) fn promise(&mut self, receiver: AccountId, after: Option<usize>) -> usize {
        let promise = Promise { receiver, after, actions: Vec::new(), weights: Vec::new() };
        self.promises.push(promise);
        self.promises.len().saturating_sub(1)
    }

    pub(crate) fn transfer(&mut self, receiver: AccountId, amount: u128) -> Result<(), Stop> {
        let promise = self.promise(receiver, None);
        self.act(
            promise,
            near_primitives::action::TransferAction {
                deposit: near_primitives::types::Balance::from_yoctonear(amount),
            },
        )
    }

    /// Adds an action to a promise: its deposit leaves the balance, its gas the call's.
    pub(crate) fn act(&mut self, promise: usize, action: impl Into<Action>) -> Result<(), Stop> {
        use crate::near::chain::fees::{Half, of_action, of_receipt};
        let action = action.into();
        let config = Arc::clone(&self.config);
        let Some(target) = self.promises.get_mut(promise) else {
            return Err(Stop::Host(format!("{promise} does not correspond to existing promises")));
        };
        let to_self = target.receiver == self.context.current;
        let first = target.actions.is_empty();
        let opening = |half| if first { of_receipt(&config, &[], half) } else { 0 };
        let send = Half::Send { to_self };
        self.gas.burn(opening(send).saturating_add(of_action(&config, &action, send)))?;
        let later =
            opening(Half::Execute).saturating_add(of_action(&config, &action, Half::Execute));
        self.gas.give(later.saturating_add(action.get_prepaid_gas().as_gas()))?;
        let deposit = action.get_deposit_balance().as_yoctonear();
        self.balance = self.balance.checked_sub(deposit).ok_or(Stop::BalanceExceeded)?;
        target.actions.push(action);
        Ok(())
    }

    /// Gives the gas that is left to the promises, by their weights.
    pub(crate) fn share_gas(&mut self) -> Result<(), Stop> {
        let weights = self.promises.iter().flat_map(|promise| &promise.weights);
        let total: u128 = weights.map(|(_, weight)| u128::from(*weight)).sum();
        let left = u128::from(self.gas.left());
        for promise in &mut self.promises {
            for (index, weight) in &promise.weights {
                let share = left.saturating_mul(u128::from(*weight)).checked_div(total);
                let share = share.and_then(|gas| u64::try_from(gas).ok()).unwrap_or(0);
                if let Some(Action::FunctionCall(call)) = promise.actions.get_mut(*index) {
                    let sum = call.gas.as_gas().saturating_add(share);
                    call.gas = near_primitives::types::Gas::from_gas(sum);
                    self.gas.give(share)?;
                }
            }
        }
        Ok(())
    }

    fn record_bytes(&self) -> u64 {
        self.config.fees.storage_usage_config.num_extra_bytes_record
    }
}

fn size(parts: &[&[u8]]) -> u64 {
    u64::try_from(parts.iter().map(|part| part.len()).sum::<usize>()).unwrap_or(u64::MAX)
}
