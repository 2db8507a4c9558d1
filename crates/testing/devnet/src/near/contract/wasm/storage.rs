//! The contract's keys and values.

use super::host::{Host, HostFunction, arguments};
use crate::near::contract::session::Stop;
use near_parameters::ExtCosts;

pub(super) fn lookup(name: &str) -> Option<HostFunction> {
    Some(match name {
        "storage_read" => storage_read,
        "storage_write" => storage_write,
        "storage_remove" => storage_remove,
        "storage_has_key" => storage_has_key,
        _ => return None,
    })
}

fn storage_read(host: &mut Host, memory: &mut [u8], args: &[u64]) -> Result<u64, Stop> {
    let [key_len, key_ptr, register] = arguments(args)?;
    host.session.charge(ExtCosts::base)?;
    let key = host.bytes(memory, key_len, key_ptr)?;
    let found = host.session.read(&key)?;
    evicted(host, register, found)
}

fn storage_write(host: &mut Host, memory: &mut [u8], args: &[u64]) -> Result<u64, Stop> {
    let [key_len, key_ptr, len, ptr, register] = arguments(args)?;
    host.session.charge(ExtCosts::base)?;
    let key = host.bytes(memory, key_len, key_ptr)?;
    let value = host.bytes(memory, len, ptr)?;
    let before = host.session.write(&key, &value)?;
    evicted(host, register, before)
}

fn storage_remove(host: &mut Host, memory: &mut [u8], args: &[u64]) -> Result<u64, Stop> {
    let [key_len, key_ptr, register] = arguments(args)?;
    host.session.charge(ExtCosts::base)?;
    let key = host.bytes(memory, key_len, key_ptr)?;
    let before = host.session.remove(&key)?;
    evicted(host, register, before)
}

fn storage_has_key(host: &mut Host, memory: &mut [u8], args: &[u64]) -> Result<u64, Stop> {
    let [key_len, key_ptr] = arguments(args)?;
    host.session.charge(ExtCosts::base)?;
    let key = host.bytes(memory, key_len, key_ptr)?;
    host.session.has(&key).map(u64::from)
}

/// 1 and the value in the register, or 0.
fn evicted(
    host: &mut Host,
    register: u64,
    value: Option<std::sync::Arc<[u8]>>,
) -> Result<u64, Stop> {
    match value {
        Some(value) => {
            host.set_register(register, value.to_vec())?;
            Ok(1)
        }
        None => Ok(0),
    }
}
