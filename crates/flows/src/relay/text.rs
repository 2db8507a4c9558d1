//! What people read of a relayed transfer: one sentence for each state, the same for its sender and for
//! an operator.

use super::State;
use kernel::answer::Evidence;

/// The sentence of a state. `error` is the record's last refusal or cause.
pub(super) fn message(state: State, error: Option<&Evidence>) -> String {
    match state {
        State::Received => "Transfer accepted; whether the receiver holds the token is being asked",
        State::NeedsRegistration => "The receiver is not registered for the token",
        State::QueuedRegistration => "The registration of the receiver is waiting to be sent",
        State::Registering => return pending("The receiver is being registered", error),
        State::Registered => "The receiver is registered for the token",
        State::QueuedTransfer => "The transfer is waiting for a transaction",
        State::Submitted => return pending("The transaction was signed and sent", error),
        State::QueuedVerification => {
            return pending("Whether the transaction is final is being proven", error);
        }
        State::Completed => "Transfer successful: the transaction is final",
        State::Failed => {
            let why = error.map_or("refused", |error| &*error.code);
            return format!("Transfer failed, no money has moved: {why}");
        }
    }
    .to_owned()
}

/// An attempt that goes on until it is proven.
fn pending(what: &str, error: Option<&Evidence>) -> String {
    match error {
        None => what.to_owned(),
        Some(error) => {
            format!("{what}; the last look got no clear answer ({}) and is repeated", error.code)
        }
    }
}
