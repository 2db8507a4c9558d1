//! What people read of an account transfer: one sentence for each state, the same for its owner and for
//! an operator.

use super::State;
use kernel::answer::Evidence;

/// The sentence of a state. `error` is the record's last refusal or cause.
pub(super) fn message(state: State, error: Option<&Evidence>) -> String {
    match state {
        State::Pending => "Transfer accepted; nothing has moved yet".to_owned(),
        State::Validating => pending("Checking both accounts and the balance", error),
        State::Validated => "Both accounts and the balance were checked".to_owned(),
        State::Executing => pending("Moving the money between the accounts", error),
        State::Completed => "Transfer successful".to_owned(),
        State::Failed => {
            let why = error.map_or("refused", |error| &*error.code);
            format!("Transfer failed, no money has moved: {why}")
        }
    }
}

/// A call that goes on until it is answered.
fn pending(what: &str, error: Option<&Evidence>) -> String {
    match error {
        None => what.to_owned(),
        Some(error) => {
            format!("{what}; the last try got no clear answer ({}) and is repeated", error.code)
        }
    }
}
