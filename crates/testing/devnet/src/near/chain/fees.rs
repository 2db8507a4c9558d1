//! What actions cost in gas: the protocol's own figures, from `near-parameters`.

use near_parameters::{ActionCosts, RuntimeConfig};
use near_primitives::{account::AccessKeyPermission, action::Action};

/// Which half of an action's fee.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Half {
    Send { to_self: bool },
    Execute,
}

/// The gas of a new receipt with these actions; without what its function calls burn.
pub(crate) fn of_receipt(config: &RuntimeConfig, actions: &[Action], half: Half) -> u64 {
    actions.iter().fold(cost(config, ActionCosts::new_action_receipt, half), |sum, action| {
        sum.saturating_add(of_action(config, action, half))
    })
}

pub(crate) fn of_action(config: &RuntimeConfig, action: &Action, half: Half) -> u64 {
    let one = |what| cost(config, what, half);
    let bytes =
        |what, count: usize| one(what).saturating_mul(u64::try_from(count).unwrap_or(u64::MAX));
    match action {
        Action::CreateAccount(_) => one(ActionCosts::create_account),
        Action::DeployContract(deploy) => one(ActionCosts::deploy_contract_base)
            .saturating_add(bytes(ActionCosts::deploy_contract_byte, deploy.code.len())),
        Action::FunctionCall(call) => one(ActionCosts::function_call_base).saturating_add(bytes(
            ActionCosts::function_call_byte,
            call.method_name.len().saturating_add(call.args.len()),
        )),
        Action::Transfer(_) => one(ActionCosts::transfer),
        Action::AddKey(add) => match &add.access_key.permission {
            AccessKeyPermission::FunctionCall(permission) => {
                let names = permission.method_names.iter().map(|name| name.len().saturating_add(1));
                one(ActionCosts::add_function_call_key_base)
                    .saturating_add(bytes(ActionCosts::add_function_call_key_byte, names.sum()))
            }
            AccessKeyPermission::FullAccess
            | AccessKeyPermission::GasKeyFunctionCall(..)
            | AccessKeyPermission::GasKeyFullAccess(_) => one(ActionCosts::add_full_access_key),
        },
        Action::DeleteKey(_) => one(ActionCosts::delete_key),
        Action::DeleteAccount(_) => one(ActionCosts::delete_account),
        // Refused before they cost anything: see `verify::executable`.
        Action::Stake(_)
        | Action::Delegate(_)
        | Action::DeployGlobalContract(_)
        | Action::UseGlobalContract(_)
        | Action::DeterministicStateInit(_)
        | Action::TransferToGasKey(_)
        | Action::WithdrawFromGasKey(_) => 0,
    }
}

fn cost(config: &RuntimeConfig, what: ActionCosts, half: Half) -> u64 {
    let fee = config.fees.fee(what);
    match half {
        Half::Send { to_self } => fee.send_fee(to_self).gas.as_gas(),
        Half::Execute => fee.exec_fee().gas.as_gas(),
    }
}

/// The gas that the actions' function calls may burn.
pub(crate) fn prepaid(actions: &[Action]) -> Option<u64> {
    actions.iter().try_fold(0_u64, |sum, action| sum.checked_add(action.get_prepaid_gas().as_gas()))
}

pub(crate) fn deposits(actions: &[Action]) -> Option<u128> {
    actions.iter().try_fold(0_u128, |sum, action| {
        sum.checked_add(action.get_deposit_balance().as_yoctonear())
    })
}
