//! What one action does to the state, or why it cannot.

use super::{Call, Run};
use crate::near::{
    chain::state::{Account, Code, State},
    contract::session::{Context, Gas, Returned, Session},
};
use near_primitives::{
    account::{AccessKey, AccessKeyPermission},
    action::{Action, AddKeyAction, FunctionCallAction},
    errors::{ActionErrorKind, CompilationError, FunctionCallError},
    hash::CryptoHash,
    types::AccountId,
};
use std::sync::Arc;

type Done = Result<(), ActionErrorKind>;

pub(super) fn apply(call: &Call<'_>, state: &mut State, run: &mut Run, action: &Action) -> Done {
    let receiver = &call.receipt.receiver;
    if let Action::CreateAccount(_) = action {
        return create_account(call, state, run);
    }
    let Some(account) = state.account_mut(receiver) else {
        return Err(ActionErrorKind::AccountDoesNotExist { account_id: receiver.clone() });
    };
    run.returned = Returned::Value(Vec::new());
    match action {
        Action::Transfer(transfer) => {
            let sum = account.amount.saturating_add(transfer.deposit.as_yoctonear());
            account.amount = sum;
            Ok(())
        }
        Action::FunctionCall(function) => function_call(call, state, run, function),
        Action::DeployContract(deploy) => {
            permitted(run, receiver)?;
            let code =
                Code { hash: CryptoHash::hash_bytes(&deploy.code), bytes: deploy.code.clone() };
            let old = account.code.as_ref().map_or(0, |code| size(code.bytes.len()));
            account.storage_usage =
                account.storage_usage.saturating_sub(old).saturating_add(size(deploy.code.len()));
            account.code = Some(Arc::new(code));
            Ok(())
        }
        Action::AddKey(add) => {
            permitted(run, receiver)?;
            add_key(call, account, add)
        }
        Action::DeleteKey(delete) => {
            permitted(run, receiver)?;
            let bytes = call.head.config.fees.storage_usage_config.num_extra_bytes_record;
            let Some(key) = account.keys.remove(&delete.public_key) else {
                return Err(ActionErrorKind::DeleteKeyDoesNotExist {
                    account_id: receiver.clone(),
                    public_key: Box::new(delete.public_key.clone()),
                });
            };
            let size = key_size(&delete.public_key, &key).saturating_add(bytes);
            account.storage_usage = account.storage_usage.saturating_sub(size);
            Ok(())
        }
        Action::DeleteAccount(delete) => {
            permitted(run, receiver)?;
            let gone = state.remove(receiver).map_or(0, |account| account.amount);
            // As on the network, the rest of an account is burnt if its heir does not exist.
            if let Some(heir) = state.account_mut(&delete.beneficiary_id) {
                heir.amount = heir.amount.saturating_add(gone);
            }
            Ok(())
        }
        // `verify` lets none of these in.
        Action::CreateAccount(_)
        | Action::Stake(_)
        | Action::Delegate(_)
        | Action::DeployGlobalContract(_)
        | Action::UseGlobalContract(_)
        | Action::DeterministicStateInit(_)
        | Action::TransferToGasKey(_)
        | Action::WithdrawFromGasKey(_) => Ok(()),
    }
}

fn create_account(call: &Call<'_>, state: &mut State, run: &mut Run) -> Done {
    let id = &call.receipt.receiver;
    let predecessor = &call.receipt.predecessor;
    if state.account(id).is_some() {
        return Err(ActionErrorKind::AccountAlreadyExists { account_id: id.clone() });
    }
    let top_level = !id.as_str().contains('.');
    if !top_level && !id.is_sub_account_of(predecessor) {
        return Err(ActionErrorKind::CreateAccountNotAllowed {
            account_id: id.clone(),
            predecessor_id: predecessor.clone(),
        });
    }
    let fees = &call.head.config.fees.storage_usage_config;
    state.put(id.clone(), Account { storage_usage: fees.num_bytes_account, ..Account::default() });
    run.actor = id.clone();
    run.returned = Returned::Value(Vec::new());
    Ok(())
}

fn permitted(run: &Run, account: &AccountId) -> Done {
    if run.actor == *account {
        return Ok(());
    }
    Err(ActionErrorKind::ActorNoPermission {
        account_id: account.clone(),
        actor_id: run.actor.clone(),
    })
}

fn add_key(call: &Call<'_>, account: &mut Account, add: &AddKeyAction) -> Done {
    if account.keys.contains_key(&add.public_key) {
        return Err(ActionErrorKind::AddKeyAlreadyExists {
            account_id: call.receipt.receiver.clone(),
            public_key: Box::new(add.public_key.clone()),
        });
    }
    let mut key = add.access_key.clone();
    // So that a deleted key that is added again never accepts an old transaction.
    key.nonce = call
        .head
        .height
        .saturating_sub(1)
        .saturating_mul(AccessKey::ACCESS_KEY_NONCE_RANGE_MULTIPLIER);
    let bytes = call.head.config.fees.storage_usage_config.num_extra_bytes_record;
    let size = key_size(&add.public_key, &key).saturating_add(bytes);
    account.storage_usage = account.storage_usage.saturating_add(size);
    account.keys.insert(add.public_key.clone(), key);
    Ok(())
}

fn function_call(
    call: &Call<'_>,
    state: &mut State,
    run: &mut Run,
    function: &FunctionCallAction,
) -> Done {
    let receiver = &call.receipt.receiver;
    let Some(account) = state.account_mut(receiver) else {
        return Err(ActionErrorKind::AccountDoesNotExist { account_id: receiver.clone() });
    };
    let deposit = function.deposit.as_yoctonear();
    account.amount = account.amount.saturating_add(deposit);
    let Some(code) = account.code.clone() else {
        let missing = CompilationError::CodeDoesNotExist { account_id: receiver.clone() };
        let error = FunctionCallError::CompilationError(missing);
        return Err(ActionErrorKind::FunctionCallError(error));
    };
    let session = Session {
        config: Arc::clone(call.head.config),
        context: Context {
            current: receiver.clone(),
            predecessor: call.receipt.predecessor.clone(),
            signer: call.receipt.signer.clone(),
            signer_key: call.receipt.signer_key.clone(),
            input: function.args.clone(),
            deposit,
            height: call.head.height,
            timestamp: call.head.timestamp,
            view: false,
            results: call.results.clone(),
        },
        storage: account.storage.clone(),
        storage_usage: account.storage_usage,
        balance: account.amount,
        logs: Vec::new(),
        promises: Vec::new(),
        returned: Returned::Value(Vec::new()),
        gas: Gas::new(function.gas.as_gas()),
    };
    let (mut session, done) = call.executor.call(&code, &function.method_name, session);
    let done = done.and_then(|()| session.share_gas().map_err(FunctionCallError::from));
    run.gas_burnt = run.gas_burnt.saturating_add(session.gas.burnt);
    run.gas_used = run.gas_used.saturating_add(session.gas.used);
    run.logs.append(&mut session.logs);
    done.map_err(ActionErrorKind::FunctionCallError)?;
    account.storage = session.storage;
    account.storage_usage = session.storage_usage;
    account.amount = session.balance;
    run.promises.push(session.promises);
    run.returned = session.returned;
    Ok(())
}

fn key_size(public_key: &near_crypto::PublicKey, key: &AccessKey) -> u64 {
    let names = match &key.permission {
        AccessKeyPermission::FunctionCall(permission) => {
            permission.method_names.iter().map(|name| name.len().saturating_add(4)).sum()
        }
        AccessKeyPermission::FullAccess
        | AccessKeyPermission::GasKeyFunctionCall(..)
        | AccessKeyPermission::GasKeyFullAccess(_) => 0_usize,
    };
    size(public_key.len().saturating_add(9).saturating_add(names))
}

fn size(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
