//! What people read of the transfers of each flow.

use flows::registry;
use kernel::answer::Evidence;
use kernel::flow::life::Audience;

/// Turns red where a sentence of the contract changes, for either reader.
#[test]
fn an_internal_refusal_says_why_and_where_the_money_is() {
    let flow = &registry().0[0];
    for audience in Audience::ALL {
        let said = |state: &str, code: &'static str| {
            let error = Evidence::code(code);
            (flow.message)(flow.named(state).unwrap(), *audience, Some(&error))
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
