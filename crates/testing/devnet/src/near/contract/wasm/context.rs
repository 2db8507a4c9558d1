//! Who calls, with what, and when.

use super::host::{Host, HostFunction, arguments};
use crate::near::contract::session::Stop;
use near_parameters::ExtCosts;

pub(super) fn lookup(name: &str) -> Option<HostFunction> {
    Some(match name {
        "current_account_id" => {
            |host, _, args| account(host, args, |host| &host.session.context.current)
        }
        "predecessor_account_id" => predecessor_account_id,
        "signer_account_id" => signer_account_id,
        "signer_account_pk" => signer_account_pk,
        "input" => input,
        "block_index" => |host, _, _| number(host, |host| host.session.context.height),
        "block_timestamp" => |host, _, _| number(host, |host| host.session.context.timestamp),
        "storage_usage" => |host, _, _| number(host, |host| host.session.storage_usage),
        "prepaid_gas" => |host, _, _| number(host, |host| host.session.gas.limit),
        "used_gas" => |host, _, _| number(host, |host| host.session.gas.used),
        "account_balance" => |host, memory, args| {
            let balance = host.session.balance;
            amount(host, memory, args, balance)
        },
        "attached_deposit" => attached_deposit,
        _ => return None,
    })
}

fn predecessor_account_id(host: &mut Host, _: &mut [u8], args: &[u64]) -> Result<u64, Stop> {
    host.session.not_in_view("predecessor_account_id")?;
    account(host, args, |host| &host.session.context.predecessor)
}

fn signer_account_id(host: &mut Host, _: &mut [u8], args: &[u64]) -> Result<u64, Stop> {
    host.session.not_in_view("signer_account_id")?;
    account(host, args, |host| &host.session.context.signer)
}

fn signer_account_pk(host: &mut Host, _: &mut [u8], args: &[u64]) -> Result<u64, Stop> {
    let [register] = arguments(args)?;
    host.session.not_in_view("signer_account_pk")?;
    host.session.charge(ExtCosts::base)?;
    let key = borsh::to_vec(&host.session.context.signer_key)
        .map_err(|error| Stop::Host(error.to_string()))?;
    host.set_register(register, key)?;
    Ok(0)
}

fn input(host: &mut Host, _: &mut [u8], args: &[u64]) -> Result<u64, Stop> {
    let [register] = arguments(args)?;
    host.session.charge(ExtCosts::base)?;
    host.input(register)?;
    Ok(0)
}

fn attached_deposit(host: &mut Host, memory: &mut [u8], args: &[u64]) -> Result<u64, Stop> {
    let deposit = host.session.context.deposit;
    amount(host, memory, args, deposit)
}

fn account(
    host: &mut Host,
    args: &[u64],
    which: fn(&Host) -> &near_primitives::types::AccountId,
) -> Result<u64, Stop> {
    let [register] = arguments(args)?;
    host.session.charge(ExtCosts::base)?;
    let name = which(host).as_bytes().to_vec();
    host.set_register(register, name)?;
    Ok(0)
}

fn number(host: &mut Host, which: fn(&Host) -> u64) -> Result<u64, Stop> {
    host.session.charge(ExtCosts::base)?;
    Ok(which(host))
}

fn amount(host: &mut Host, memory: &mut [u8], args: &[u64], amount: u128) -> Result<u64, Stop> {
    let [ptr] = arguments(args)?;
    host.session.charge(ExtCosts::base)?;
    host.write(memory, ptr, &amount.to_le_bytes())?;
    Ok(0)
}
