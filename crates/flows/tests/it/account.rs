//! The account flow to the letter: diagram, stored numbers, words of the history, crash points.

use crate::golden;
use expect_test::expect;
use flows::account::State;
use kernel::flow::table::Table;
use kernel::flow::{check, mermaid};

fn table() -> Table {
    Table::of::<State>()
}

#[test]
fn the_table_holds() {
    assert_eq!(check::check::<State>(), [""; 0]);
}

#[test]
fn the_diagram() {
    expect![[r#"
        stateDiagram-v2
            [*] --> PENDING
            PENDING --> FAILED: cancelled
            PENDING --> VALIDATING: claim
            VALIDATING --> VALIDATED: validate done
            VALIDATING --> FAILED: validate rejected
            VALIDATING --> VALIDATING: validate unknown
            VALIDATED --> FAILED: cancelled
            VALIDATED --> EXECUTING: claim
            EXECUTING --> COMPLETED: execute done
            EXECUTING --> FAILED: execute rejected
            EXECUTING --> EXECUTING: execute unknown
            COMPLETED --> [*]
            FAILED --> [*]
    "#]]
    .assert_eq(&mermaid::draw(&table()));
    golden::is_shown(&table(), golden::PAGE);
}

/// Numbers are stored: none is ever changed or used again.
#[test]
fn the_states_and_acts() {
    expect![[r#"
        0 PENDING: AtSource, Passing
        10 VALIDATING: AtSource, Seconds(60)
        20 VALIDATED: AtSource, Passing
        30 EXECUTING: AtSource, Seconds(60)
        40 COMPLETED: AtTarget, Passing, Paid
        -10 FAILED: AtSource, Passing, Failed
        act 0 validate: None at Source, nothing
        act 1 execute: Some(Move) at Source, Gross
    "#]]
    .assert_eq(&golden::states(&table()));
}

#[test]
fn the_words_of_the_history() {
    expect![[r#"
        PENDING -> VALIDATING: VALIDATION_CALL (Claim)
        VALIDATING -> VALIDATED: VALIDATION_OK (Done)
        VALIDATING -> FAILED: VALIDATION_FAIL (Rejected)
        VALIDATING -> VALIDATING: RETRY (Unknown)
        VALIDATED -> EXECUTING: EXECUTION_CALL (Claim)
        EXECUTING -> COMPLETED: EXECUTION_OK (Done)
        EXECUTING -> FAILED: EXECUTION_FAIL (Rejected)
        EXECUTING -> EXECUTING: RETRY (Unknown)
    "#]]
    .assert_eq(&golden::history(&table()));
}

#[test]
fn the_sentences() {
    expect![[r#"
        Transfer accepted; nothing has moved yet
        Checking both accounts and the balance
        Both accounts and the balance were checked
        Moving the money between the accounts
        Transfer successful
        Transfer failed, no money has moved: refused
    "#]]
    .assert_eq(&golden::sentences(&table()));
}

#[test]
fn the_crash_points() {
    expect![[r#"
        {
            "AfterWrite": 6,
            "BeforeSend": 2,
            "BeforeWrite": 2,
            "ReplyLost": 2,
            "ReplyNotStored": 2,
            "TornWrite": 6,
        }
    "#]]
    .assert_debug_eq(&golden::crash_points(&table()));
}
