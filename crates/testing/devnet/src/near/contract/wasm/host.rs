//! What host functions share: the session, registers, the memory of the contract, the gas.

use crate::near::contract::session::{Session, Stop};
use near_parameters::ExtCosts;
use std::{collections::BTreeMap, fmt};

/// A host function: the contract's memory and its arguments, all of them 64-bit numbers.
pub(super) type HostFunction = fn(&mut Host, &mut [u8], &[u64]) -> Result<u64, Stop>;

#[derive(Debug)]
pub(super) struct Host {
    pub(super) session: Session,
    registers: BTreeMap<u64, Vec<u8>>,
    /// The interpreter's fuel when it was last entered.
    fuel: u64,
}

/// What one unit of fuel burns, in parts of the network's `wasm_regular_op_cost`: seven sixteenths.
///
/// The network (nearcore, `near-vm-runner/src/prepare/prepare_v3.rs` and `instrument_v3.rs`) counts each
/// operator that runs, and the frame of each function. The interpreter takes the fuel of a function, of an arm
/// and of a loop's round when it is entered, with the operators that a branch then skips, and none for frames.
/// The quotient is measured: with it a call of the token burns what NEAR's own virtual machine burns, within
/// 1.5 % (`cargo xtask campaign gas`).
const FUEL: (u64, u64) = (7, 16);

/// Why the interpreter was left from inside a host function.
#[derive(Debug)]
pub(super) struct Stopped(pub(super) Stop);

impl fmt::Display for Stopped {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}", self.0)
    }
}

impl wasmi::errors::HostError for Stopped {}

impl Host {
    pub(super) fn new(session: Session) -> Self {
        Self { session, registers: BTreeMap::new(), fuel: 0 }
    }

    /// The fuel that the gas which is left amounts to.
    pub(super) fn fuel(&mut self) -> u64 {
        self.fuel = self.session.gas.left().checked_div(self.per_fuel()).unwrap_or(0);
        self.fuel
    }

    /// Burns the gas of the instructions since the interpreter was last entered.
    pub(super) fn count(&mut self, fuel: u64) -> Result<(), Stop> {
        let spent = self.fuel.saturating_sub(fuel);
        self.fuel = fuel;
        self.session.gas.burn(spent.saturating_mul(self.per_fuel()))
    }

    /// All the gas is gone.
    pub(super) fn exhaust(&mut self) -> Result<(), Stop> {
        let left = self.session.gas.left();
        self.session.gas.burn(left)?;
        Err(Stop::GasExceeded)
    }

    fn per_fuel(&self) -> u64 {
        let (parts, whole) = FUEL;
        let cost = u64::from(self.session.config.wasm_config.regular_op_cost);
        cost.saturating_mul(parts).checked_div(whole).unwrap_or(cost)
    }

    /// Bytes of the contract, or of a register if the length says so.
    pub(super) fn bytes(&mut self, memory: &[u8], len: u64, ptr: u64) -> Result<Vec<u8>, Stop> {
        if len == u64::MAX {
            return self.register(ptr);
        }
        let bytes = slice(memory, len, ptr)?.to_vec();
        self.session.charge(ExtCosts::read_memory_base)?;
        self.session.charge_bytes(ExtCosts::read_memory_byte, bytes.len())?;
        Ok(bytes)
    }

    pub(super) fn text(&mut self, memory: &[u8], len: u64, ptr: u64) -> Result<String, Stop> {
        let bytes = self.bytes(memory, len, ptr)?;
        self.session.charge(ExtCosts::utf8_decoding_base)?;
        self.session.charge_bytes(ExtCosts::utf8_decoding_byte, bytes.len())?;
        String::from_utf8(bytes).map_err(|_| Stop::Host("Bad UTF8 encoding".to_owned()))
    }

    pub(super) fn write(&mut self, memory: &mut [u8], ptr: u64, bytes: &[u8]) -> Result<(), Stop> {
        self.session.charge(ExtCosts::write_memory_base)?;
        self.session.charge_bytes(ExtCosts::write_memory_byte, bytes.len())?;
        let start = usize::try_from(ptr).map_err(|_| out_of_bounds())?;
        let end = start.checked_add(bytes.len()).ok_or_else(out_of_bounds)?;
        memory.get_mut(start..end).ok_or_else(out_of_bounds)?.copy_from_slice(bytes);
        Ok(())
    }

    pub(super) fn register(&mut self, id: u64) -> Result<Vec<u8>, Stop> {
        let found = self.registers.get(&id).cloned();
        let bytes =
            found.ok_or_else(|| Stop::Host(format!("Accessed invalid register id: {id}")))?;
        self.session.charge(ExtCosts::read_register_base)?;
        self.session.charge_bytes(ExtCosts::read_register_byte, bytes.len())?;
        Ok(bytes)
    }

    pub(super) fn register_len(&self, id: u64) -> u64 {
        let len = self.registers.get(&id).map(Vec::len);
        len.and_then(|len| u64::try_from(len).ok()).unwrap_or(u64::MAX)
    }

    pub(super) fn set_register(&mut self, id: u64, bytes: Vec<u8>) -> Result<(), Stop> {
        self.session.charge(ExtCosts::write_register_base)?;
        self.session.charge_bytes(ExtCosts::write_register_byte, bytes.len())?;
        self.registers.insert(id, bytes);
        Ok(())
    }

    /// The input is in a register already: from protocol 82 on its bytes are not charged.
    pub(super) fn input(&mut self, register: u64) -> Result<(), Stop> {
        self.session.charge(ExtCosts::write_register_base)?;
        let input = self.session.context.input.clone();
        self.registers.insert(register, input);
        Ok(())
    }
}

fn slice(memory: &[u8], len: u64, ptr: u64) -> Result<&[u8], Stop> {
    let start = usize::try_from(ptr).map_err(|_| out_of_bounds())?;
    let len = usize::try_from(len).map_err(|_| out_of_bounds())?;
    let end = start.checked_add(len).ok_or_else(out_of_bounds)?;
    memory.get(start..end).ok_or_else(out_of_bounds)
}

fn out_of_bounds() -> Stop {
    Stop::Host("Accessed memory outside the bounds".to_owned())
}

/// A host function was declared with fewer arguments than it has.
pub(super) fn arguments<const N: usize>(args: &[u64]) -> Result<[u64; N], Stop> {
    <[u64; N]>::try_from(args).map_err(|_| Stop::Host("wrong number of arguments".to_owned()))
}
