//! The relay flow to the letter: diagram, stored numbers, words of the history, crash points.

use crate::golden;
use expect_test::expect;
use flows::relay::State;
use kernel::flow::life::Step;
use kernel::flow::table::{S, Table};
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
            [*] --> RECEIVED
            RECEIVED --> FAILED: cancelled
            RECEIVED --> REGISTERED: known receiver yes
            RECEIVED --> NEEDS_REGISTRATION: known receiver no
            NEEDS_REGISTRATION --> FAILED: cancelled
            NEEDS_REGISTRATION --> QUEUED_REGISTRATION: may register yes
            NEEDS_REGISTRATION --> FAILED: may register no
            QUEUED_REGISTRATION --> FAILED: cancelled
            QUEUED_REGISTRATION --> REGISTERING: claim
            REGISTERING --> REGISTERED: storage_deposit done
            REGISTERING --> FAILED: storage_deposit rejected
            REGISTERING --> NEEDS_REGISTRATION: storage_deposit dead
            REGISTERING --> REGISTERING: storage_deposit unknown
            REGISTERED --> FAILED: cancelled
            REGISTERED --> QUEUED_TRANSFER: claim
            QUEUED_TRANSFER --> FAILED: cancelled
            QUEUED_TRANSFER --> SUBMITTED: claim
            SUBMITTED --> COMPLETED: ft_transfer done
            SUBMITTED --> FAILED: ft_transfer rejected
            SUBMITTED --> RECEIVED: ft_transfer dead
            SUBMITTED --> QUEUED_VERIFICATION: ft_transfer unknown
            QUEUED_VERIFICATION --> COMPLETED: ft_transfer done
            QUEUED_VERIFICATION --> FAILED: ft_transfer rejected
            QUEUED_VERIFICATION --> RECEIVED: ft_transfer dead
            QUEUED_VERIFICATION --> QUEUED_VERIFICATION: ft_transfer unknown
            COMPLETED --> [*]
            FAILED --> [*]
    "#]]
    .assert_eq(&mermaid::draw(&table()));
    golden::is_shown(&table(), golden::PAGE);
}

/// Turns red where a transfer may be cancelled that may be paid, and where `check` lets a table say so.
#[test]
fn what_two_persons_may_cancel() {
    let table = table();
    let failed = table.named("FAILED").expect("a state");
    let cancelled = |s: &S| table.state(*s).cancelled == Some(failed);
    let names: Vec<_> = table.all().filter(cancelled).map(|s| table.state(s).name).collect();
    let before_a_send =
        ["RECEIVED", "NEEDS_REGISTRATION", "QUEUED_REGISTRATION", "REGISTERED", "QUEUED_TRANSFER"];
    assert_eq!(names, before_a_send);
    for s in table.all() {
        let faults = |to: S| {
            let mut other = table.clone();
            other.states[usize::from(s)].cancelled = Some(to);
            check::faults(&other).len()
        };
        assert_eq!(faults(failed) == 0, cancelled(&s), "{}", table.state(s).name);
        assert!(table.all().filter(|to| *to != failed).all(|to| faults(to) > 0));
    }
    // one behind a payment that may stand
    let mut other = table.clone();
    let at = usize::from(table.named("SUBMITTED").expect("a state"));
    let received = table.named("RECEIVED").expect("a state");
    if let Step::Send { unknown, .. } = &mut other.states[at].step {
        *unknown = received;
    }
    let fault = "RECEIVED: is cancelled while ft_transfer may have happened";
    assert!(check::faults(&other).iter().any(|found| found == fault));
}

/// Numbers are stored: none is ever changed or used again.
#[test]
fn the_states_and_acts() {
    expect![[r#"
        0 RECEIVED: AtSource, Passing
        5 NEEDS_REGISTRATION: AtSource, Passing
        10 QUEUED_REGISTRATION: AtSource, Passing
        15 REGISTERING: AtSource, Seconds(30)
        20 REGISTERED: AtSource, Passing
        30 QUEUED_TRANSFER: AtSource, Passing
        40 SUBMITTED: AtSource, Seconds(30)
        50 QUEUED_VERIFICATION: AtSource, Seconds(120)
        60 COMPLETED: AtTarget, Passing, Paid
        -10 FAILED: AtSource, Passing, Failed
        act 0 storage_deposit: Some(Cost) at Target, OwnCost
        act 1 ft_transfer: Some(Move) at Target, Net
    "#]]
    .assert_eq(&golden::states(&table()));
}

#[test]
fn the_words_of_the_history() {
    expect![[r#"
        RECEIVED -> REGISTERED: REGISTERED (Yes)
        RECEIVED -> NEEDS_REGISTRATION: NEEDS_REGISTRATION (No)
        NEEDS_REGISTRATION -> QUEUED_REGISTRATION: QUEUED_REGISTRATION (Yes)
        NEEDS_REGISTRATION -> FAILED: FAILED (No)
        QUEUED_REGISTRATION -> REGISTERING: REGISTERING (Claim)
        REGISTERING -> REGISTERED: REGISTERED (Done)
        REGISTERING -> FAILED: FAILED (Rejected)
        REGISTERING -> NEEDS_REGISTRATION: ERROR (Dead)
        REGISTERING -> REGISTERING: RETRY (Unknown)
        REGISTERED -> QUEUED_TRANSFER: QUEUED_TRANSFER (Claim)
        QUEUED_TRANSFER -> SUBMITTED: SUBMITTED (Claim)
        SUBMITTED -> COMPLETED: COMPLETED (Done)
        SUBMITTED -> FAILED: FAILED (Rejected)
        SUBMITTED -> RECEIVED: ERROR (Dead)
        SUBMITTED -> QUEUED_VERIFICATION: QUEUED_VERIFICATION (Unknown)
        QUEUED_VERIFICATION -> COMPLETED: COMPLETED (Done)
        QUEUED_VERIFICATION -> FAILED: FAILED (Rejected)
        QUEUED_VERIFICATION -> RECEIVED: ERROR (Dead)
        QUEUED_VERIFICATION -> QUEUED_VERIFICATION: RETRY (Unknown)
    "#]]
    .assert_eq(&golden::history(&table()));
}

#[test]
fn the_sentences() {
    expect![[r#"
        Transfer accepted; whether the receiver holds the token is being asked
        The receiver is not registered for the token
        The registration of the receiver is waiting to be sent
        The receiver is being registered
        The receiver is registered for the token
        The transfer is waiting for a transaction
        The transaction was signed and sent
        Whether the transaction is final is being proven
        Transfer successful: the transaction is final
        Transfer failed, no money has moved: refused
    "#]]
    .assert_eq(&golden::sentences(&table()));
}

#[test]
fn the_crash_points() {
    expect![[r#"
        {
            "AfterWrite": 16,
            "BeforeSend": 3,
            "BeforeWrite": 5,
            "ProofNotStored": 3,
            "ReplyLost": 3,
            "ReplyNotStored": 3,
            "SignedNotStored": 2,
            "TornWrite": 16,
        }
    "#]]
    .assert_debug_eq(&golden::crash_points(&table()));
}
