//! The swap from Solana to Nexus to the letter: diagram, stored numbers, words of the history, crash points.

use crate::golden;
use expect_test::expect;
use flows::swap_in::State;
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
            state "debited, awaiting confirmation" as debited__awaiting_confirmation
            state "debit dead" as debit_dead
            state "processed, amount after fees <= 0" as processed__amount_after_fees____0
            state "debit expired" as debit_expired
            state "to be refunded" as to_be_refunded
            state "refund ready" as refund_ready
            state "refund sent, awaiting confirmation" as refund_sent__awaiting_confirmation
            state "to be quarantined" as to_be_quarantined
            state "quarantine ready" as quarantine_ready
            state "quarantine sent, awaiting confirmation" as quarantine_sent__awaiting_confirmation
            [*] --> detected
            detected --> ready_for_processing: memo valid yes
            detected --> to_be_refunded: memo valid no
            ready_for_processing --> accepting: above fees yes
            ready_for_processing --> processed__amount_after_fees____0: above fees no
            accepting --> accepted: destination valid, inventory reserved, before the deadline yes
            accepting --> to_be_refunded: destination valid, inventory reserved, before the deadline no
            accepted --> debiting: claim
            debiting --> debit_confirmed: debit USDD done
            debiting --> to_be_refunded: debit USDD rejected
            debiting --> debit_dead: debit USDD dead
            debiting --> debited__awaiting_confirmation: debit USDD unknown
            debited__awaiting_confirmation --> debit_confirmed: debit USDD done
            debited__awaiting_confirmation --> to_be_refunded: debit USDD rejected
            debited__awaiting_confirmation --> debit_dead: debit USDD dead
            debited__awaiting_confirmation --> debited__awaiting_confirmation: debit USDD unknown
            debit_dead --> accepted: try again yes
            debit_dead --> to_be_refunded: try again no
            debit_confirmed --> processed: delivered? done
            debit_confirmed --> debit_expired: delivered? rejected
            debit_confirmed --> debit_confirmed: delivered? unknown
            processed --> [*]
            processed__amount_after_fees____0 --> [*]
            debit_expired --> voiding: claim
            voiding --> to_be_refunded: void done
            voiding --> debit_confirmed: void rejected
            voiding --> debit_expired: void dead
            voiding --> voiding: void unknown
            to_be_refunded --> refund_ready: refund possible yes
            to_be_refunded --> to_be_quarantined: refund possible no
            refund_ready --> refunding: claim
            refunding --> refund_confirmed: refund USDC done
            refunding --> to_be_refunded: refund USDC rejected
            refunding --> to_be_refunded: refund USDC dead
            refunding --> refund_sent__awaiting_confirmation: refund USDC unknown
            refund_sent__awaiting_confirmation --> refund_confirmed: refund USDC done
            refund_sent__awaiting_confirmation --> to_be_refunded: refund USDC rejected
            refund_sent__awaiting_confirmation --> to_be_refunded: refund USDC dead
            refund_sent__awaiting_confirmation --> refund_sent__awaiting_confirmation: refund USDC unknown
            refund_confirmed --> [*]
            to_be_quarantined --> quarantine_ready: move out / refund after all yes
            to_be_quarantined --> to_be_refunded: move out / refund after all no
            quarantine_ready --> quarantine_sent__awaiting_confirmation: claim
            quarantine_sent__awaiting_confirmation --> quarantined: quarantine USDC done
            quarantine_sent__awaiting_confirmation --> to_be_quarantined: quarantine USDC rejected
            quarantine_sent__awaiting_confirmation --> to_be_quarantined: quarantine USDC dead
            quarantine_sent__awaiting_confirmation --> quarantine_sent__awaiting_confirmation: quarantine USDC unknown
            quarantined --> [*]
    "#]].assert_eq(&mermaid::draw(&table()));
    golden::is_shown(&table(), golden::PAGE);
}

/// Numbers are stored: none is ever changed or used again.
#[test]
fn the_states_and_acts() {
    expect![[r#"
        0 detected: InFlight, Passing
        10 ready for processing: InFlight, Passing
        15 accepting: InFlight, Seconds(3600)
        20 accepted: InFlight, Passing
        30 debiting: InFlight, Seconds(600)
        40 debited, awaiting confirmation: InFlight, Seconds(600)
        45 debit dead: InFlight, Passing
        50 debit_confirmed: InFlight, Seconds(604800)
        60 processed: AtTarget, Passing, Paid
        70 processed, amount after fees <= 0: Fees, Passing, Kept
        80 debit expired: InFlight, Passing
        85 voiding: InFlight, Seconds(600)
        -10 to be refunded: InFlight, Passing
        -15 refund ready: InFlight, Passing
        -17 refunding: InFlight, Seconds(600)
        -20 refund sent, awaiting confirmation: InFlight, Seconds(600)
        -30 refund_confirmed: AtSource, Passing, GivenBack
        -40 to be quarantined: Quarantine, Passing, Held
        -45 quarantine ready: Quarantine, Passing, Held
        -50 quarantine sent, awaiting confirmation: Quarantine, Seconds(600), Held
        -60 quarantined: Quarantine, Passing, Held
        act 0 debit USDD: Some(Deposit) at Target, Net
        act 1 delivered?: None at Target, nothing
        act 2 void: Some(Cost) at Target, OwnCost
        act 3 refund USDC: Some(Refund) at Source, LessFee
        act 4 quarantine USDC: Some(Quarantine) at Source, Gross
    "#]]
    .assert_eq(&golden::states(&table()));
}

#[test]
fn the_words_of_the_history() {
    expect![[r#"
        detected -> ready for processing: MEMO_VALID (Yes)
        detected -> to be refunded: MEMO_INVALID (No)
        ready for processing -> accepting: ABOVE_FEES (Yes)
        ready for processing -> processed, amount after fees <= 0: KEPT_AS_FEES (No)
        accepting -> accepted: ACCEPTED (Yes)
        accepting -> to be refunded: NOT_ACCEPTED (No)
        accepted -> debiting: DEBIT_CLAIMED (Claim)
        debiting -> debit_confirmed: DEBIT_CONFIRMED (Done)
        debiting -> to be refunded: DEBIT_REJECTED (Rejected)
        debiting -> debit dead: DEBIT_DEAD (Dead)
        debiting -> debited, awaiting confirmation: DEBIT_SENT (Unknown)
        debited, awaiting confirmation -> debit_confirmed: DEBIT_CONFIRMED (Done)
        debited, awaiting confirmation -> to be refunded: DEBIT_REJECTED (Rejected)
        debited, awaiting confirmation -> debit dead: DEBIT_DEAD (Dead)
        debited, awaiting confirmation -> debited, awaiting confirmation: RETRY (Unknown)
        debit dead -> accepted: TRY_AGAIN (Yes)
        debit dead -> to be refunded: GIVEN_UP (No)
        debit_confirmed -> processed: DELIVERED (Done)
        debit_confirmed -> debit expired: DEBIT_EXPIRED (Rejected)
        debit_confirmed -> debit_confirmed: RETRY (Unknown)
        debit expired -> voiding: VOID_CLAIMED (Claim)
        voiding -> to be refunded: VOIDED (Done)
        voiding -> debit_confirmed: VOID_REJECTED (Rejected)
        voiding -> debit expired: VOID_DEAD (Dead)
        voiding -> voiding: RETRY (Unknown)
        to be refunded -> refund ready: REFUND_POSSIBLE (Yes)
        to be refunded -> to be quarantined: REFUND_NOT_POSSIBLE (No)
        refund ready -> refunding: REFUND_CLAIMED (Claim)
        refunding -> refund_confirmed: REFUND_CONFIRMED (Done)
        refunding -> to be refunded: REFUND_REJECTED (Rejected)
        refunding -> to be refunded: REFUND_DEAD (Dead)
        refunding -> refund sent, awaiting confirmation: REFUND_SENT (Unknown)
        refund sent, awaiting confirmation -> refund_confirmed: REFUND_CONFIRMED (Done)
        refund sent, awaiting confirmation -> to be refunded: REFUND_REJECTED (Rejected)
        refund sent, awaiting confirmation -> to be refunded: REFUND_DEAD (Dead)
        refund sent, awaiting confirmation -> refund sent, awaiting confirmation: RETRY (Unknown)
        to be quarantined -> quarantine ready: MOVE_OUT (Yes)
        to be quarantined -> to be refunded: REFUND_RELEASED (No)
        quarantine ready -> quarantine sent, awaiting confirmation: QUARANTINE_CLAIMED (Claim)
        quarantine sent, awaiting confirmation -> quarantined: QUARANTINED (Done)
        quarantine sent, awaiting confirmation -> to be quarantined: QUARANTINE_REJECTED (Rejected)
        quarantine sent, awaiting confirmation -> to be quarantined: QUARANTINE_DEAD (Dead)
        quarantine sent, awaiting confirmation -> quarantine sent, awaiting confirmation: RETRY (Unknown)
    "#]].assert_eq(&golden::history(&table()));
}

#[test]
fn the_sentences() {
    expect![[r#"
        The USDC deposit was found
        The memo names a Nexus account
        The Nexus account and the USDD for it are being looked for
        The swap is accepted; USDD is about to be sent
        USDD is being sent
        USDD was sent; its confirmation is awaited
        The USDD transaction can never be confirmed; nothing was paid
        USDD is confirmed and waits for its receiver to take it
        Swap successful: the receiver has the USDD
        Nothing was left of the deposit after the fee
        The receiver did not take the USDD in time
        The USDD that was not taken is being called back
        The USDC is to be given back
        The refund of the USDC is ready
        The USDC is being given back
        The refund of the USDC was sent; its confirmation is awaited
        The USDC was given back, less the fee
        The USDC could not be given back and is held for an operator
        The USDC is about to be moved to the quarantine account
        The USDC is being moved to the quarantine account
        The USDC is in the quarantine account, held for an operator
    "#]]
    .assert_eq(&golden::sentences(&table()));
}

#[test]
fn the_crash_points() {
    expect![[r#"
        {
            "AfterWrite": 36,
            "BeforeSend": 7,
            "BeforeWrite": 10,
            "ProofNotStored": 6,
            "ReplyLost": 7,
            "ReplyNotStored": 7,
            "SignedNotStored": 4,
            "TornWrite": 36,
        }
    "#]]
    .assert_debug_eq(&golden::crash_points(&table()));
}
