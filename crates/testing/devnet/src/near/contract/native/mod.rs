//! The token without its wasm: the same stored bytes, events, refunds and texts as `contract/src`.
//!
//! `tests/it/token.rs` holds both to each other. `ft_transfer_call` is not here.

mod call;
mod inputs;
mod owner;
mod registration;
mod stored;
mod transfers;

use super::session::{Session, Stop};
use call::Call;
use near_primitives::errors::FunctionCallError;

pub(super) fn call(method: &str, session: Session) -> (Session, Result<(), FunctionCallError>) {
    let mut call = Call { session };
    let done = run(method, &mut call);
    (call.session, done.map_err(FunctionCallError::from))
}

fn run(method: &str, call: &mut Call) -> Result<(), Stop> {
    match method {
        "new" => call.initialize(),
        "mint" => call.mint(),
        "set_paused" => call.set_paused(),
        "ft_transfer" => call.ft_transfer(),
        "ft_balance_of" => call.ft_balance_of(),
        "ft_total_supply" => call.ft_total_supply(),
        "ft_metadata" => call.ft_metadata(),
        "storage_deposit" => call.storage_deposit(),
        "storage_unregister" => call.storage_unregister(),
        "storage_balance_bounds" => call.storage_balance_bounds(),
        "storage_balance_of" => call.storage_balance_of(),
        _ => Err(Stop::MethodNotFound),
    }
}
