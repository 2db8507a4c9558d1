//! Whether a transaction may enter a block, and what it costs: the node's checks in the node's order.

use super::{
    Head,
    fees::{self, Half},
    state::State,
};
use near_parameters::RuntimeConfig;
use near_primitives::{
    account::{AccessKey, AccessKeyPermission, FunctionCallPermission},
    action::Action,
    errors::{ActionsValidationError, InvalidAccessKeyError, InvalidTxError},
    transaction::{SignedTransaction, Transaction, ValidatedTransaction},
    types::{AccountId, Balance},
    version::PROTOCOL_VERSION,
};

/// Gas and money of an accepted transaction.
#[derive(Debug, Clone)]
pub(crate) struct Charge {
    /// Burnt by turning the transaction into a receipt.
    pub(crate) gas_burnt: u64,
    pub(crate) tokens_burnt: u128,
    /// What the receipt's gas was bought for.
    pub(crate) receipt_gas_price: u128,
}

/// What does not depend on the chain: size, signature, limits.
pub(crate) fn statically(
    config: &RuntimeConfig,
    signed: &SignedTransaction,
) -> Result<(), InvalidTxError> {
    ValidatedTransaction::new(config, signed.clone(), PROTOCOL_VERSION).map_err(|(e, _)| e)?;
    let strict = signed.transaction.nonce().nonce_index().is_some();
    if strict || matches!(signed.transaction, Transaction::V1(_)) {
        return Err(InvalidTxError::InvalidTransactionVersion);
    }
    actions(config, signed.transaction.actions()).map_err(InvalidTxError::ActionsValidation)
}

fn actions(config: &RuntimeConfig, actions: &[Action]) -> Result<(), ActionsValidationError> {
    let limits = &config.wasm_config.limit_config;
    let count = u64::try_from(actions.len()).unwrap_or(u64::MAX);
    if count > limits.max_actions_per_receipt {
        return Err(ActionsValidationError::TotalNumberOfActionsExceeded {
            total_number_of_actions: count,
            limit: limits.max_actions_per_receipt,
        });
    }
    let last = actions.len().saturating_sub(1);
    for (index, action) in actions.iter().enumerate() {
        match action {
            Action::DeleteAccount(_) if index != last => {
                return Err(ActionsValidationError::DeleteActionMustBeFinal);
            }
            Action::FunctionCall(call) => function_call(config, call)?,
            Action::DeployContract(deploy) => {
                let size = u64::try_from(deploy.code.len()).unwrap_or(u64::MAX);
                if size > limits.max_contract_size {
                    let limit = limits.max_contract_size;
                    return Err(ActionsValidationError::ContractSizeExceeded { size, limit });
                }
            }
            Action::CreateAccount(_)
            | Action::Transfer(_)
            | Action::AddKey(_)
            | Action::DeleteKey(_)
            | Action::DeleteAccount(_) => {}
            Action::Stake(_) => return Err(unsupported("Stake")),
            Action::Delegate(_) => return Err(unsupported("Delegate")),
            Action::DeployGlobalContract(_) => return Err(unsupported("DeployGlobalContract")),
            Action::UseGlobalContract(_) => return Err(unsupported("UseGlobalContract")),
            Action::DeterministicStateInit(_) => return Err(unsupported("DeterministicStateInit")),
            Action::TransferToGasKey(_) => return Err(unsupported("TransferToGasKey")),
            Action::WithdrawFromGasKey(_) => return Err(unsupported("WithdrawFromGasKey")),
        }
    }
    let total = fees::prepaid(actions).ok_or(ActionsValidationError::IntegerOverflow)?;
    if total > limits.max_total_prepaid_gas.as_gas() {
        return Err(ActionsValidationError::TotalPrepaidGasExceeded {
            total_prepaid_gas: near_primitives::types::Gas::from_gas(total),
            limit: limits.max_total_prepaid_gas,
        });
    }
    Ok(())
}

fn function_call(
    config: &RuntimeConfig,
    call: &near_primitives::action::FunctionCallAction,
) -> Result<(), ActionsValidationError> {
    let limits = &config.wasm_config.limit_config;
    let length = u64::try_from(call.method_name.len()).unwrap_or(u64::MAX);
    if length > limits.max_length_method_name {
        let limit = limits.max_length_method_name;
        return Err(ActionsValidationError::FunctionCallMethodNameLengthExceeded { length, limit });
    }
    let length = u64::try_from(call.args.len()).unwrap_or(u64::MAX);
    if length > limits.max_arguments_length {
        let limit = limits.max_arguments_length;
        return Err(ActionsValidationError::FunctionCallArgumentsLengthExceeded { length, limit });
    }
    if call.gas.as_gas() == 0 {
        return Err(ActionsValidationError::FunctionCallZeroAttachedGas);
    }
    Ok(())
}

/// Actions that this chain does not execute are refused, never half done.
fn unsupported(name: &str) -> ActionsValidationError {
    ActionsValidationError::UnsupportedProtocolFeature {
        protocol_feature: name.to_owned(),
        version: PROTOCOL_VERSION,
    }
}

/// What depends on the signer's account: charges it and writes the nonce, or changes nothing.
pub(crate) fn against_state(
    head: &Head<'_>,
    state: &mut State,
    signed: &SignedTransaction,
) -> Result<Charge, InvalidTxError> {
    let transaction = &signed.transaction;
    let signer_id = transaction.signer_id().clone();
    let Some(mut account) = state.account(&signer_id).cloned() else {
        return Err(InvalidTxError::SignerDoesNotExist { signer_id });
    };
    let Some(mut key) = account.keys.get(transaction.public_key()).cloned() else {
        let public_key = Box::new(transaction.public_key().clone());
        let missing =
            InvalidAccessKeyError::AccessKeyNotFound { account_id: signer_id, public_key };
        return Err(InvalidTxError::InvalidAccessKeyError(missing));
    };
    nonce(&key, transaction.nonce().nonce(), head.height)?;
    let (charge, cost) = price(head, transaction)?;
    let Some(left) = account.amount.checked_sub(cost) else {
        return Err(InvalidTxError::NotEnoughBalance {
            signer_id,
            balance: Balance::from_yoctonear(account.amount),
            cost: Balance::from_yoctonear(cost),
        });
    };
    if let AccessKeyPermission::FunctionCall(permission) = &mut key.permission {
        restricted(permission, transaction, cost).map_err(InvalidTxError::InvalidAccessKeyError)?;
    }
    account.amount = left;
    if let Some(amount) = missing_for_state(head.config, &account) {
        let amount = Balance::from_yoctonear(amount);
        return Err(InvalidTxError::LackBalanceForState { signer_id, amount });
    }
    // Last, so that a refused transaction consumes no nonce.
    key.nonce = transaction.nonce().nonce();
    account.keys.insert(transaction.public_key().clone(), key);
    state.put(signer_id, account);
    Ok(charge)
}

fn nonce(key: &AccessKey, tx_nonce: u64, height: u64) -> Result<(), InvalidTxError> {
    if tx_nonce <= key.nonce {
        return Err(InvalidTxError::InvalidNonce { tx_nonce, ak_nonce: key.nonce });
    }
    let upper_bound = height.saturating_mul(AccessKey::ACCESS_KEY_NONCE_RANGE_MULTIPLIER);
    if tx_nonce >= upper_bound {
        return Err(InvalidTxError::NonceTooLarge { tx_nonce, upper_bound });
    }
    Ok(())
}

/// What the signer pays: burnt at once, bought for the receipt, deposited.
fn price(head: &Head<'_>, transaction: &Transaction) -> Result<(Charge, u128), InvalidTxError> {
    let actions = transaction.actions();
    let to_self = transaction.signer_id() == transaction.receiver_id();
    let gas_burnt = fees::of_receipt(head.config, actions, Half::Send { to_self });
    let execution = fees::of_receipt(head.config, actions, Half::Execute);
    let prepaid = fees::prepaid(actions).and_then(|gas| gas.checked_add(execution));
    let receipt_gas_price = if head.gas_purchase_price > head.gas_price {
        head.gas_purchase_price
    } else {
        head.gas_price
    };
    let sum = || {
        let burnt = u128::from(gas_burnt).checked_mul(head.gas_price)?;
        let bought = u128::from(prepaid?).checked_mul(receipt_gas_price)?;
        let cost = burnt.checked_add(bought)?.checked_add(fees::deposits(actions)?)?;
        Some((Charge { gas_burnt, tokens_burnt: burnt, receipt_gas_price }, cost))
    };
    sum().ok_or(InvalidTxError::CostOverflow)
}

/// A key that may only call: one call, no deposit, its own contract and methods, its allowance.
fn restricted(
    permission: &mut FunctionCallPermission,
    transaction: &Transaction,
    cost: u128,
) -> Result<(), InvalidAccessKeyError> {
    let [Action::FunctionCall(call)] = transaction.actions() else {
        return Err(InvalidAccessKeyError::RequiresFullAccess);
    };
    if !call.deposit.is_zero() {
        return Err(InvalidAccessKeyError::DepositWithFunctionCall);
    }
    if transaction.receiver_id().as_str() != permission.receiver_id {
        return Err(InvalidAccessKeyError::ReceiverMismatch {
            tx_receiver: transaction.receiver_id().clone(),
            ak_receiver: permission.receiver_id.clone(),
        });
    }
    let named = permission.method_names.contains(&call.method_name);
    if !permission.method_names.is_empty() && !named {
        let method_name = call.method_name.clone();
        return Err(InvalidAccessKeyError::MethodNameMismatch { method_name });
    }
    if let Some(allowance) = permission.allowance {
        let left = allowance.checked_sub(Balance::from_yoctonear(cost));
        permission.allowance =
            Some(left.ok_or_else(|| InvalidAccessKeyError::NotEnoughAllowance {
                account_id: transaction.signer_id().clone(),
                public_key: Box::new(transaction.public_key().clone()),
                allowance,
                cost: Balance::from_yoctonear(cost),
            })?);
    }
    Ok(())
}

/// What the account lacks to pay for its bytes; small accounts need no balance.
pub(crate) fn missing_for_state(
    config: &RuntimeConfig,
    account: &super::state::Account,
) -> Option<u128> {
    const FREE_BYTES: u64 = 770;
    if account.storage_usage <= FREE_BYTES {
        return None;
    }
    let price = config.storage_amount_per_byte().as_yoctonear();
    let needed = u128::from(account.storage_usage).saturating_mul(price);
    needed.checked_sub(account.amount).filter(|missing| *missing > 0)
}

/// The account that refunds come from.
pub(crate) fn is_system(id: &AccountId) -> bool {
    id.as_str() == "system"
}
