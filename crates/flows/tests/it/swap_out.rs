//! The swap from Nexus to Solana to the letter: diagram, stored numbers, words of the history, crash points.

use crate::golden;
use expect_test::expect;
use flows::swap_out::State;
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
            state "ready for processing" as ready_for_processing
            state "sig created, awaiting confirmations" as sig_created__awaiting_confirmations
            state "payout dead" as payout_dead
            state "processed as fees" as processed_as_fees
            state "trade balance to be checked" as trade_balance_to_be_checked
            state "refund pending" as refund_pending
            state "collecting refund" as collecting_refund
            state "refund debited" as refund_debited
            state "refund expired" as refund_expired
            state "voiding refund" as voiding_refund
            state "to be quarantined" as to_be_quarantined
            state "quarantine ready" as quarantine_ready
            [*] --> detected
            detected --> pending_receival: above fees yes
            detected --> processed_as_fees: above fees no
            pending_receival --> ready_for_processing: mapping found (no, deadline) yes
            pending_receival --> trade_balance_to_be_checked: mapping found (no, deadline) no
            ready_for_processing --> accepted: account valid, inventory reserved yes
            ready_for_processing --> refund_pending: account valid, inventory reserved no
            accepted --> sending: claim
            sending --> processed: pay USDC done
            sending --> refund_pending: pay USDC rejected
            sending --> payout_dead: pay USDC dead
            sending --> sig_created__awaiting_confirmations: pay USDC unknown
            sig_created__awaiting_confirmations --> processed: pay USDC done
            sig_created__awaiting_confirmations --> refund_pending: pay USDC rejected
            sig_created__awaiting_confirmations --> payout_dead: pay USDC dead
            sig_created__awaiting_confirmations --> sig_created__awaiting_confirmations: pay USDC unknown
            payout_dead --> accepted: try again yes
            payout_dead --> refund_pending: try again no
            processed --> [*]
            processed_as_fees --> [*]
            trade_balance_to_be_checked --> ready_for_processing: mapping at the last look yes
            trade_balance_to_be_checked --> refund_pending: mapping at the last look no
            refund_pending --> collecting_refund: refund possible yes
            refund_pending --> to_be_quarantined: refund possible no
            collecting_refund --> refunding: claim
            refunding --> refund_debited: refund USDD done
            refunding --> refund_pending: refund USDD rejected
            refunding --> refund_pending: refund USDD dead
            refunding --> refunding: refund USDD unknown
            refund_debited --> refunded: refund delivered? done
            refund_debited --> refund_expired: refund delivered? rejected
            refund_debited --> refund_debited: refund delivered? unknown
            refund_expired --> voiding_refund: claim
            refunded --> [*]
            voiding_refund --> refund_pending: void refund done
            voiding_refund --> refund_debited: void refund rejected
            voiding_refund --> refund_expired: void refund dead
            voiding_refund --> voiding_refund: void refund unknown
            to_be_quarantined --> quarantine_ready: move out / refund after all yes
            to_be_quarantined --> refund_pending: move out / refund after all no
            quarantine_ready --> quarantining: claim
            quarantining --> quarantined: quarantine USDD done
            quarantining --> to_be_quarantined: quarantine USDD rejected
            quarantining --> to_be_quarantined: quarantine USDD dead
            quarantining --> quarantining: quarantine USDD unknown
            quarantined --> [*]
    "#]].assert_eq(&mermaid::draw(&table()));
    golden::is_shown(&table(), golden::PAGE);
}

/// Numbers are stored: none is ever changed or used again.
#[test]
fn the_states_and_acts() {
    expect![[r#"
        0 detected: InFlight, Passing
        10 pending_receival: InFlight, Seconds(3600)
        20 ready for processing: InFlight, Passing
        25 accepted: InFlight, Passing
        30 sending: InFlight, Seconds(600)
        40 sig created, awaiting confirmations: InFlight, Seconds(600)
        45 payout dead: InFlight, Passing
        60 processed: AtTarget, Passing, Paid
        70 processed as fees: Fees, Passing, Kept
        -5 trade balance to be checked: InFlight, Passing
        -10 refund pending: InFlight, Passing
        -15 collecting refund: InFlight, Passing
        -17 refunding: InFlight, Seconds(600)
        -18 refund debited: InFlight, Seconds(604800)
        -19 refund expired: InFlight, Passing
        -20 refunded: AtSource, Passing, GivenBack
        -21 voiding refund: InFlight, Seconds(600)
        -35 to be quarantined: Quarantine, Passing, Held
        -36 quarantine ready: Quarantine, Passing, Held
        -38 quarantining: Quarantine, Seconds(600), Held
        -40 quarantined: Quarantine, Passing, Held
        act 0 pay USDC: Some(Deposit) at Target, Net
        act 1 refund USDD: Some(Refund) at Source, LessFee
        act 2 refund delivered?: None at Source, nothing
        act 3 void refund: Some(Cost) at Source, OwnCost
        act 4 quarantine USDD: Some(Quarantine) at Source, Gross
    "#]]
    .assert_eq(&golden::states(&table()));
}

#[test]
fn the_words_of_the_history() {
    expect![[r#"
        detected -> pending_receival: ABOVE_FEES (Yes)
        detected -> processed as fees: KEPT_AS_FEES (No)
        pending_receival -> ready for processing: MAPPING_FOUND (Yes)
        pending_receival -> trade balance to be checked: MAPPING_LATE (No)
        ready for processing -> accepted: ACCEPTED (Yes)
        ready for processing -> refund pending: NOT_ACCEPTED (No)
        accepted -> sending: PAYOUT_CLAIMED (Claim)
        sending -> processed: PAYOUT_CONFIRMED (Done)
        sending -> refund pending: PAYOUT_REJECTED (Rejected)
        sending -> payout dead: PAYOUT_DEAD (Dead)
        sending -> sig created, awaiting confirmations: PAYOUT_SENT (Unknown)
        sig created, awaiting confirmations -> processed: PAYOUT_CONFIRMED (Done)
        sig created, awaiting confirmations -> refund pending: PAYOUT_REJECTED (Rejected)
        sig created, awaiting confirmations -> payout dead: PAYOUT_DEAD (Dead)
        sig created, awaiting confirmations -> sig created, awaiting confirmations: RETRY (Unknown)
        payout dead -> accepted: TRY_AGAIN (Yes)
        payout dead -> refund pending: GIVEN_UP (No)
        trade balance to be checked -> ready for processing: MAPPING_FOUND (Yes)
        trade balance to be checked -> refund pending: MAPPING_MISSING (No)
        refund pending -> collecting refund: REFUND_POSSIBLE (Yes)
        refund pending -> to be quarantined: REFUND_NOT_POSSIBLE (No)
        collecting refund -> refunding: REFUND_CLAIMED (Claim)
        refunding -> refund debited: REFUND_CONFIRMED (Done)
        refunding -> refund pending: REFUND_REJECTED (Rejected)
        refunding -> refund pending: REFUND_DEAD (Dead)
        refunding -> refunding: RETRY (Unknown)
        refund debited -> refunded: REFUND_DELIVERED (Done)
        refund debited -> refund expired: REFUND_EXPIRED (Rejected)
        refund debited -> refund debited: RETRY (Unknown)
        refund expired -> voiding refund: VOID_CLAIMED (Claim)
        voiding refund -> refund pending: VOIDED (Done)
        voiding refund -> refund debited: VOID_REJECTED (Rejected)
        voiding refund -> refund expired: VOID_DEAD (Dead)
        voiding refund -> voiding refund: RETRY (Unknown)
        to be quarantined -> quarantine ready: MOVE_OUT (Yes)
        to be quarantined -> refund pending: REFUND_RELEASED (No)
        quarantine ready -> quarantining: QUARANTINE_CLAIMED (Claim)
        quarantining -> quarantined: QUARANTINED (Done)
        quarantining -> to be quarantined: QUARANTINE_REJECTED (Rejected)
        quarantining -> to be quarantined: QUARANTINE_DEAD (Dead)
        quarantining -> quarantining: RETRY (Unknown)
    "#]]
    .assert_eq(&golden::history(&table()));
}

#[test]
fn the_sentences() {
    expect![[r#"
        The USDD credit was found
        The asset that names the Solana account is awaited
        A Solana account is named; it and the USDC are being checked
        The swap is accepted; USDC is about to be sent
        USDC is being sent
        USDC was sent; its confirmation is awaited
        The USDC transaction can never be confirmed; nothing was paid
        Swap successful: the USDC payment is final
        Nothing was left of the credit after the fee
        No asset came in time; all assets are being read once more
        The USDD is to be given back
        The refund of the USDD is ready
        The USDD is being given back
        The refund is confirmed and waits for its receiver to take it
        The receiver did not take the refund in time
        The USDD was given back, less the fee
        The refund that was not taken is being called back
        The USDD could not be given back and is held for an operator
        The USDD is about to be moved to the quarantine account
        The USDD is being moved to the quarantine account
        The USDD is in the quarantine account, held for an operator
    "#]]
    .assert_eq(&golden::sentences(&table()));
}

#[test]
fn the_crash_points() {
    expect![[r#"
        {
            "AfterWrite": 35,
            "BeforeSend": 6,
            "BeforeWrite": 11,
            "ProofNotStored": 5,
            "ReplyLost": 6,
            "ReplyNotStored": 6,
            "SignedNotStored": 4,
            "TornWrite": 35,
        }
    "#]]
    .assert_debug_eq(&golden::crash_points(&table()));
}
