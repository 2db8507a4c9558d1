//! What people read of an internal transfer: one sentence for each state, the same for its owner and
//! for an operator.

use super::State;
use kernel::answer::Evidence;
use kernel::code::Code;

/// The sentence of a state. `error` is the record's last refusal or cause.
pub(super) fn message(state: State, error: Option<&Evidence>) -> String {
    let why = error.map_or_else(|| "refused".to_owned(), why);
    match state {
        State::Init => "Transfer accepted; nothing has moved yet".to_owned(),
        State::SourcePending => pending("Taking the money from the source account", error),
        State::SourceDone => "The money has left the source account and is on its way".to_owned(),
        State::TargetPending => pending("Bringing the money to the target account", error),
        State::Committed => "Transfer successful".to_owned(),
        State::Failed => format!("Transfer failed, no money has moved: {why}"),
        State::Compensating => {
            format!("The target account refused the money, it is being given back: {why}")
        }
        State::RolledBack => {
            format!("Transfer rolled back, the money is in the source account again: {why}")
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

/// A ledger's refusal as a clause; a code that is none of ours speaks for itself.
fn why(error: &Evidence) -> String {
    let known = [
        (Code::AccountFrozen, "the source account is frozen"),
        (Code::AccountDisabled, "the account is disabled"),
        (Code::SourceAccountNotFound, "there is no such source account"),
        (Code::TargetAccountNotFound, "there is no such target account"),
        (Code::InsufficientBalance, "the source account has less available than asked"),
    ];
    let clause = known.iter().find(|(code, _)| code.name() == error.code);
    clause.map_or_else(|| error.code.to_string(), |(_, clause)| (*clause).to_owned())
}
