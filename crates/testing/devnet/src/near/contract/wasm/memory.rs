//! Registers, the input, the result, logs and panics.

use super::host::{Host, HostFunction, arguments};
use crate::near::contract::session::{Returned, Stop};
use near_parameters::ExtCosts;

pub(super) fn lookup(name: &str) -> Option<HostFunction> {
    Some(match name {
        "read_register" => read_register,
        "register_len" => register_len,
        "write_register" => write_register,
        "value_return" => value_return,
        "panic" => panic,
        "panic_utf8" => panic_utf8,
        "log_utf8" => log_utf8,
        "sha256" => sha256,
        _ => return None,
    })
}

fn read_register(host: &mut Host, memory: &mut [u8], args: &[u64]) -> Result<u64, Stop> {
    let [id, ptr] = arguments(args)?;
    host.session.charge(ExtCosts::base)?;
    let bytes = host.register(id)?;
    host.write(memory, ptr, &bytes)?;
    Ok(0)
}

fn register_len(host: &mut Host, _: &mut [u8], args: &[u64]) -> Result<u64, Stop> {
    let [id] = arguments(args)?;
    host.session.charge(ExtCosts::base)?;
    Ok(host.register_len(id))
}

fn write_register(host: &mut Host, memory: &mut [u8], args: &[u64]) -> Result<u64, Stop> {
    let [id, len, ptr] = arguments(args)?;
    host.session.charge(ExtCosts::base)?;
    let bytes = host.bytes(memory, len, ptr)?;
    host.set_register(id, bytes)?;
    Ok(0)
}

fn value_return(host: &mut Host, memory: &mut [u8], args: &[u64]) -> Result<u64, Stop> {
    let [len, ptr] = arguments(args)?;
    host.session.charge(ExtCosts::base)?;
    let bytes = host.bytes(memory, len, ptr)?;
    host.session.returned = Returned::Value(bytes);
    Ok(0)
}

fn panic(host: &mut Host, _: &mut [u8], _: &[u64]) -> Result<u64, Stop> {
    host.session.charge(ExtCosts::base)?;
    Err(Stop::Panic("explicit guest panic".to_owned()))
}

fn panic_utf8(host: &mut Host, memory: &mut [u8], args: &[u64]) -> Result<u64, Stop> {
    let [len, ptr] = arguments(args)?;
    host.session.charge(ExtCosts::base)?;
    Err(Stop::Panic(host.text(memory, len, ptr)?))
}

fn log_utf8(host: &mut Host, memory: &mut [u8], args: &[u64]) -> Result<u64, Stop> {
    let [len, ptr] = arguments(args)?;
    host.session.charge(ExtCosts::base)?;
    let line = host.text(memory, len, ptr)?;
    host.session.log(line)?;
    Ok(0)
}

fn sha256(host: &mut Host, memory: &mut [u8], args: &[u64]) -> Result<u64, Stop> {
    let [len, ptr, register] = arguments(args)?;
    host.session.charge(ExtCosts::sha256_base)?;
    let bytes = host.bytes(memory, len, ptr)?;
    host.session.charge_bytes(ExtCosts::sha256_byte, bytes.len())?;
    let hash = near_primitives::hash::CryptoHash::hash_bytes(&bytes);
    host.set_register(register, hash.0.to_vec())?;
    Ok(0)
}
