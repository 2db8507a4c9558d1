//! What people read: one sentence for each state of each flow.

use crate::internal::State;
use kernel::answer::Evidence;
use kernel::code::Code;
use kernel::flow::life::{Life, Word};
use kernel::flow::table::{S, Table};

/// The `message` of a transfer in a state: for an API user, and for an operator. `error` is the
/// record's last refusal or cause.
pub fn message(flow: &Table, state: S, error: Option<&Evidence>) -> String {
    let internal = (flow.flow == State::FLOW).then(|| State::ALL.get(usize::from(state)));
    match internal.flatten() {
        Some(state) => internal_transfer(*state, error),
        None => format!("{} in state {}", flow.flow, flow.state(state).name),
    }
}

fn internal_transfer(state: State, error: Option<&Evidence>) -> String {
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

#[cfg(test)]
mod tests {
    use super::message;
    use kernel::answer::Evidence;
    use std::collections::BTreeSet;

    #[test]
    fn every_state_has_a_sentence_of_its_own() {
        let flows = crate::registry();
        for flow in &flows.0 {
            let said: BTreeSet<String> = flow.all().map(|s| message(flow, s, None)).collect();
            assert_eq!(said.len(), flow.states.len(), "{said:#?}");
        }
    }

    #[test]
    fn a_refusal_says_why_and_where_the_money_is() {
        let flow = &crate::registry().0[0];
        let said = |state: &str, code: &'static str| {
            message(flow, flow.named(state).unwrap(), Some(&Evidence::code(code)))
        };
        assert_eq!(
            said("FAILED", "INSUFFICIENT_BALANCE"),
            "Transfer failed, no money has moved: the source account has less available than asked"
        );
        assert_eq!(
            said("ROLLED_BACK", "ACCOUNT_DISABLED"),
            "Transfer rolled back, the money is in the source account again: the account is disabled"
        );
        assert_eq!(said("FAILED", "FENCED"), "Transfer failed, no money has moved: FENCED");
        assert_eq!(said("COMMITTED", "TIMEOUT"), "Transfer successful");
        assert!(said("TARGET_PENDING", "TIMEOUT").contains("TIMEOUT"));
    }
}
