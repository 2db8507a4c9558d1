//! The fees of a receipt and its actions, which a node burns beside what the contract burns.

use crate::receipt::Call;
use near_parameters::{ActionCosts, RuntimeConfig};

/// The gas of a receipt with these calls, of which the contract burns nothing: what the node's runtime
/// charges before each action, as `action_function_call` and `action_receipt_creation` of the protocol say.
pub(crate) fn of_receipt(config: &RuntimeConfig, calls: &[Call]) -> u64 {
    let fee = |cost| config.fees.fee(cost).exec_fee().gas.as_gas();
    let of_call = |call: &Call| {
        let bytes = call.method.len().saturating_add(call.input().len());
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let by_byte = fee(ActionCosts::function_call_byte).saturating_mul(bytes);
        fee(ActionCosts::function_call_base).saturating_add(by_byte)
    };
    calls.iter().map(of_call).fold(fee(ActionCosts::new_action_receipt), u64::saturating_add)
}
