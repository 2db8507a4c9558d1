//! What people read of a relayed transfer: one sentence for each state, the same for its sender and for
//! an operator.

use super::State;
use kernel::answer::Evidence;
use kernel::flow::life::Word as _;

/// What is known of a transfer besides its state, where its status is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusBasis {
    /// Its state alone: nothing was sent.
    State,
    /// A form of the attempt that carries it may be on the wire: that is stored with the attempt, not with
    /// each member.
    Sent,
}

/// The source's status of a state; the states between its own show the one that they lead to. A transfer
/// whose attempt was sent waits for its proof.
pub fn status(state: State, shown: StatusBasis) -> &'static str {
    let state = match (state, shown) {
        (State::NeedsRegistration | State::Registering, _) => State::QueuedRegistration,
        (State::Submitted, StatusBasis::Sent) => State::QueuedVerification,
        (
            State::Received
            | State::QueuedRegistration
            | State::Registered
            | State::QueuedTransfer
            | State::Submitted
            | State::QueuedVerification
            | State::Completed
            | State::Failed,
            _,
        ) => state,
    };
    state.name()
}

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
