//! Receipts that a contract makes: transfers, calls, and callbacks that see their results.

use super::host::{Host, HostFunction, arguments};
use crate::near::contract::session::{PromiseResult, Returned, Stop};
use near_parameters::ExtCosts;
use near_primitives::{
    action::{Action, FunctionCallAction, TransferAction},
    types::{AccountId, Balance, Gas},
};

pub(super) fn lookup(name: &str) -> Option<HostFunction> {
    Some(match name {
        "promise_batch_create" => promise_batch_create,
        "promise_batch_then" => promise_batch_then,
        "promise_batch_action_transfer" => transfer,
        "promise_batch_action_function_call" => function_call,
        "promise_batch_action_function_call_weight" => function_call_weight,
        "promise_return" => promise_return,
        "promise_results_count" => promise_results_count,
        "promise_result" => promise_result,
        "promise_and"
        | "promise_batch_action_create_account"
        | "promise_batch_action_deploy_contract"
        | "promise_batch_action_stake"
        | "promise_batch_action_add_key_with_full_access"
        | "promise_batch_action_add_key_with_function_call"
        | "promise_batch_action_delete_key"
        | "promise_batch_action_delete_account" => refused,
        _ => return None,
    })
}

/// Imported by every contract of the SDK and called by none that this chain is for.
fn refused(_: &mut Host, _: &mut [u8], _: &[u64]) -> Result<u64, Stop> {
    Err(Stop::Host("this chain does not execute this kind of promise".to_owned()))
}

fn promise_batch_create(host: &mut Host, memory: &mut [u8], args: &[u64]) -> Result<u64, Stop> {
    let [len, ptr] = arguments(args)?;
    host.session.not_in_view("promise_batch_create")?;
    host.session.charge(ExtCosts::base)?;
    let receiver = account(host, memory, len, ptr)?;
    Ok(number(host.session.promise(receiver, None)))
}

fn promise_batch_then(host: &mut Host, memory: &mut [u8], args: &[u64]) -> Result<u64, Stop> {
    let [after, len, ptr] = arguments(args)?;
    host.session.not_in_view("promise_batch_then")?;
    host.session.charge(ExtCosts::base)?;
    let receiver = account(host, memory, len, ptr)?;
    let after = index(after)?;
    if after >= host.session.promises.len() {
        return Err(Stop::Host(format!("{after} does not correspond to existing promises")));
    }
    Ok(number(host.session.promise(receiver, Some(after))))
}

fn transfer(host: &mut Host, memory: &mut [u8], args: &[u64]) -> Result<u64, Stop> {
    let [promise, ptr] = arguments(args)?;
    host.session.not_in_view("promise_batch_action_transfer")?;
    host.session.charge(ExtCosts::base)?;
    let deposit = amount(host, memory, ptr)?;
    let deposit = Balance::from_yoctonear(deposit);
    host.session.act(index(promise)?, TransferAction { deposit })?;
    Ok(0)
}

fn function_call(host: &mut Host, memory: &mut [u8], args: &[u64]) -> Result<u64, Stop> {
    let [promise, name_len, name_ptr, len, ptr, deposit, gas] = arguments(args)?;
    let with_weight = [promise, name_len, name_ptr, len, ptr, deposit, gas, 0];
    function_call_weight(host, memory, &with_weight)
}

fn function_call_weight(host: &mut Host, memory: &mut [u8], args: &[u64]) -> Result<u64, Stop> {
    let [promise, name_len, name_ptr, len, ptr, deposit, gas, weight] = arguments(args)?;
    host.session.not_in_view("promise_batch_action_function_call")?;
    host.session.charge(ExtCosts::base)?;
    let method_name = host.text(memory, name_len, name_ptr)?;
    let args = host.bytes(memory, len, ptr)?;
    let deposit = Balance::from_yoctonear(amount(host, memory, deposit)?);
    let promise = index(promise)?;
    let call = FunctionCallAction { method_name, args, gas: Gas::from_gas(gas), deposit };
    host.session.act(promise, Action::FunctionCall(Box::new(call)))?;
    if let Some(promise) = host.session.promises.get_mut(promise) {
        let last = promise.actions.len().saturating_sub(1);
        if weight > 0 {
            promise.weights.push((last, weight));
        }
    }
    Ok(0)
}

fn promise_return(host: &mut Host, _: &mut [u8], args: &[u64]) -> Result<u64, Stop> {
    let [promise] = arguments(args)?;
    host.session.not_in_view("promise_return")?;
    host.session.charge(ExtCosts::promise_return)?;
    host.session.returned = Returned::Promise(index(promise)?);
    Ok(0)
}

fn promise_results_count(host: &mut Host, _: &mut [u8], _: &[u64]) -> Result<u64, Stop> {
    host.session.not_in_view("promise_results_count")?;
    host.session.charge(ExtCosts::base)?;
    Ok(number(host.session.context.results.len()))
}

/// 1 and the value in the register, or 2 for a promise that failed.
fn promise_result(host: &mut Host, _: &mut [u8], args: &[u64]) -> Result<u64, Stop> {
    let [result, register] = arguments(args)?;
    host.session.not_in_view("promise_result")?;
    host.session.charge(ExtCosts::base)?;
    match host.session.context.results.get(index(result)?).cloned() {
        Some(PromiseResult::Value(value)) => {
            host.set_register(register, value)?;
            Ok(1)
        }
        Some(PromiseResult::Failed) => Ok(2),
        None => Err(Stop::Host(format!("Accessed invalid promise result index: {result}"))),
    }
}

fn account(host: &mut Host, memory: &[u8], len: u64, ptr: u64) -> Result<AccountId, Stop> {
    let name = host.text(memory, len, ptr)?;
    name.parse().map_err(|_| Stop::Host("VM Logic provided an invalid account id".to_owned()))
}

fn amount(host: &mut Host, memory: &[u8], ptr: u64) -> Result<u128, Stop> {
    let bytes = host.bytes(memory, 16, ptr)?;
    let bytes = <[u8; 16]>::try_from(bytes).map_err(|_| Stop::Host("amount".to_owned()))?;
    Ok(u128::from_le_bytes(bytes))
}

fn index(number: u64) -> Result<usize, Stop> {
    usize::try_from(number).map_err(|_| Stop::Host("promise index".to_owned()))
}

fn number(index: usize) -> u64 {
    u64::try_from(index).unwrap_or(u64::MAX)
}
