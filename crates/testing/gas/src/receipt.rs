//! What is executed on both sides: one receipt of calls to the token, and what came of it.

use devnet::near::near_primitives::action::{Action, FunctionCallAction};
use devnet::near::near_primitives::types::{Balance, Gas};
use serde_json::Value;

/// One call of a method.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) method: &'static str,
    pub(crate) args: Value,
    pub(crate) gas: u64,
    pub(crate) deposit: u128,
}

impl Call {
    pub(crate) fn input(&self) -> Vec<u8> {
        self.args.to_string().into_bytes()
    }

    pub(crate) fn action(&self) -> Action {
        Action::FunctionCall(Box::new(FunctionCallAction {
            method_name: self.method.to_owned(),
            args: self.input(),
            gas: Gas::from_gas(self.gas),
            deposit: Balance::from_yoctonear(self.deposit),
        }))
    }
}

/// What came of a receipt: everything that the two sides are compared in, but for the gas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Effect {
    /// The value of the last call, or the number of the call that failed and the text of its error.
    pub(crate) end: Result<Vec<u8>, (u64, String)>,
    pub(crate) logs: Vec<String>,
    /// Keys and values of the contract in hexadecimal, in the order of keys.
    pub(crate) stored: Vec<String>,
    /// The bytes that the contract's account pays for.
    pub(crate) storage_usage: u64,
    /// The yoctoNEAR of the contract's account.
    pub(crate) balance: u128,
}

/// An effect, and the gas that the receipt burnt.
#[derive(Debug, Clone)]
pub(crate) struct Executed {
    pub(crate) effect: Effect,
    pub(crate) gas_burnt: u64,
}
