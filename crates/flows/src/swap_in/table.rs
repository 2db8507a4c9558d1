//! The life of a swap from Solana to Nexus: its states are the swap source's, and between them those in
//! which an intent is written, an attempt is dead, or a debit expired.

use super::{rules, text};
use crate::swaps::events::{RETRY, Words, answered, rule_event};
use crate::swaps::times::SwapTimes;
use crate::swaps::{rules as swap, text as swap_text};
use kernel::agreed::Agreed;
use kernel::answer::Evidence;
use kernel::flow::booking::{Booking, DepositBooking, PayoutBooking};
use kernel::flow::life::{
    Audience, Driver, Leg, Life, Meta, Normal, Outcome, Place, Ruling, Share, Side, Step, Via,
};
use kernel::record::{Facts, Record};
use kernel::words;
use {Act::*, Rule::*, State::*, Step::*};

words! {
    /// Where a swap stands. The spellings of the source's states are its status values.
    pub State {
        Detected = 0 "detected",
        AboveFees = 5 "above fees",
        ReadyForProcessing = 10 "ready for processing",
        Accepted = 20 "accepted",
        Debiting = 30 "debiting",
        DebitedAwaiting = 40 "debited, awaiting confirmation",
        DebitDead = 45 "debit dead",
        DebitConfirmed = 50 "debit_confirmed",
        Processed = 60 "processed",
        ProcessedAsFees = 70 "processed, amount after fees <= 0",
        Expired = 80 "debit expired",
        Voiding = 85 "voiding",
        ToBeRefunded = -10 "to be refunded",
        RefundReady = -15 "refund ready",
        Refunding = -17 "refunding",
        RefundSent = -20 "refund sent, awaiting confirmation",
        RefundConfirmed = -30 "refund_confirmed",
        ToBeQuarantined = -40 "to be quarantined",
        QuarantineReady = -45 "quarantine ready",
        Quarantining = -50 "quarantine sent, awaiting confirmation",
        Quarantined = -60 "quarantined",
    }
}
words! {
    /// What is done on the two chains.
    pub Act {
        Debit = 0 "debit USDD",
        Delivery = 1 "delivered?",
        Void = 2 "void",
        Refund = 3 "refund USDC",
        Quarantine = 4 "quarantine USDC",
    }
}
words! {
    /// What is decided of a swap.
    pub Rule {
        MemoValid = 0 "memo valid",
        WorthIt = 1 "above fees",
        Accept = 2 "destination valid, inventory reserved, before the deadline",
        TryAgain = 3 "try again",
        RefundPossible = 4 "refund possible",
        MoveOut = 5 "move out / refund after all",
    }
}

impl State {
    /// How long is normal here by these times.
    pub(crate) fn normal_by(self, times: &SwapTimes) -> Normal {
        match self {
            ReadyForProcessing => Normal::Seconds(times.accepted),
            Debiting | DebitedAwaiting | Voiding | Refunding | RefundSent | Quarantining => {
                Normal::Seconds(times.confirmed)
            }
            ToBeRefunded => Normal::Seconds(times.refunded),
            DebitConfirmed => Normal::Seconds(times.delivered),
            Detected | AboveFees | Accepted | DebitDead | Expired | RefundReady
            | ToBeQuarantined | QuarantineReady | Processed | ProcessedAsFees | RefundConfirmed
            | Quarantined => Normal::Passing,
        }
    }
}

impl Life for State {
    type Act = Act;
    type Rule = Rule;
    const FLOW: &'static str = "swap_in";
    const START: Self = Detected;
    const DRIVER: Driver = Driver::Stations;

    #[rustfmt::skip]
    fn step(self) -> Step<Self, Act, Rule> {
        match self {
            // first, so that no stranger fills the operators' list with dust
            Detected           => Decide { rule: WorthIt, yes: AboveFees, no: ProcessedAsFees },
            AboveFees          => Decide { rule: MemoValid, yes: ReadyForProcessing, no: ToBeRefunded },
            ReadyForProcessing => Decide { rule: Accept, yes: Accepted, no: ToBeRefunded },
            Accepted           => Claim  { to: Debiting },
            Debiting           => Send   { act: Debit, done: DebitConfirmed, rejected: ToBeRefunded, dead: DebitDead, unknown: DebitedAwaiting },
            DebitedAwaiting    => Send   { act: Debit, done: DebitConfirmed, rejected: ToBeRefunded, dead: DebitDead, unknown: DebitedAwaiting },
            DebitDead          => Decide { rule: TryAgain, yes: Accepted, no: ToBeRefunded },
            DebitConfirmed     => Call   { act: Delivery, done: Processed, rejected: Expired, unknown: DebitConfirmed },
            Expired            => Claim  { to: Voiding },
            Voiding            => Send   { act: Void, done: ToBeRefunded, rejected: DebitConfirmed, dead: Expired, unknown: Voiding },
            ToBeRefunded       => Decide { rule: RefundPossible, yes: RefundReady, no: ToBeQuarantined },
            RefundReady        => Claim  { to: Refunding },
            Refunding          => Send   { act: Refund, done: RefundConfirmed, rejected: ToBeRefunded, dead: ToBeRefunded, unknown: RefundSent },
            RefundSent         => Send   { act: Refund, done: RefundConfirmed, rejected: ToBeRefunded, dead: ToBeRefunded, unknown: RefundSent },
            ToBeQuarantined    => Decide { rule: MoveOut, yes: QuarantineReady, no: ToBeRefunded },
            QuarantineReady    => Claim  { to: Quarantining },
            Quarantining       => Send   { act: Quarantine, done: Quarantined, rejected: ToBeQuarantined, dead: ToBeQuarantined, unknown: Quarantining },
            Processed | ProcessedAsFees | RefundConfirmed | Quarantined => End,
        }
    }

    fn money(self) -> Place {
        match self {
            Detected | AboveFees | ReadyForProcessing | Accepted | Debiting | DebitedAwaiting
            | DebitDead | DebitConfirmed | Expired | Voiding | ToBeRefunded | RefundReady
            | Refunding | RefundSent => Place::InFlight,
            Processed => Place::AtTarget,
            ProcessedAsFees => Place::Fees,
            RefundConfirmed => Place::AtSource,
            ToBeQuarantined | QuarantineReady | Quarantining | Quarantined => Place::Quarantine,
        }
    }

    fn booking(self) -> Option<Booking> {
        use {DepositBooking as Deposit, PayoutBooking as Payout};
        let (deposit, payout) = match self {
            Detected | AboveFees | ReadyForProcessing | DebitDead | ToBeRefunded | RefundReady
            | Refunding | RefundSent => (Deposit::Owed, Payout::Open),
            Accepted | Debiting | DebitedAwaiting => (Deposit::Owed, Payout::Reserved),
            DebitConfirmed | Expired | Voiding => (Deposit::Owed, Payout::Spent),
            Processed => (Deposit::Swapped, Payout::Spent),
            ProcessedAsFees => (Deposit::Kept, Payout::Open),
            RefundConfirmed => (Deposit::GivenBack, Payout::Open),
            ToBeQuarantined | QuarantineReady | Quarantining => (Deposit::Held, Payout::Open),
            Quarantined => (Deposit::MovedOut, Payout::Open),
        };
        Some(Booking { deposit, payout })
    }

    fn releases(self) -> Option<&'static [&'static str]> {
        matches!(self, ToBeQuarantined).then_some(rules::REFUND_REFUSED)
    }

    fn act(act: Act) -> Meta<Act> {
        match act {
            Debit => Meta::once(Leg::Deposit, Side::Target, Share::Net),
            Delivery => Meta::question(Side::Target, Some(Debit)),
            Void => {
                Meta { undoes: &[Debit], ..Meta::once(Leg::Cost, Side::Target, Share::OwnCost) }
            }
            Refund => Meta::once(Leg::Refund, Side::Source, Share::LessRefundFee),
            Quarantine => Meta::once(Leg::Quarantine, Side::Source, Share::Gross),
        }
    }

    fn gathers(rule: Rule) -> bool {
        // these read what was agreed
        !matches!(rule, MemoValid | WorthIt)
    }

    fn agrees(rule: Rule) -> bool {
        matches!(rule, Accept)
    }

    fn agreement(_: Rule, record: &Record, _: &Facts) -> Option<Agreed> {
        rules::agreed(record)
    }

    fn rule(rule: Rule, record: &Record, facts: &Facts) -> Ruling {
        match rule {
            MemoValid => rules::memo_valid(record),
            WorthIt => rules::worth_it(record),
            Accept => rules::accept(record, facts),
            TryAgain => swap::try_again(record, facts),
            RefundPossible => swap::refund_possible(record, facts),
            MoveOut => swap::move_out(record, facts),
        }
    }

    #[rustfmt::skip]
    fn event(self, via: Via) -> &'static str {
        match self {
            Detected           => rule_event(via, "ABOVE_FEES", "KEPT_AS_FEES"),
            AboveFees          => rule_event(via, "MEMO_VALID", "MEMO_INVALID"),
            ReadyForProcessing => rule_event(via, "ACCEPTED", "NOT_ACCEPTED"),
            Accepted           => "DEBIT_CLAIMED",
            Debiting           => answered(via, Words { done: "DEBIT_CONFIRMED", rejected: "DEBIT_REJECTED", dead: "DEBIT_DEAD", unknown: "DEBIT_SENT" }),
            DebitedAwaiting    => answered(via, Words { done: "DEBIT_CONFIRMED", rejected: "DEBIT_REJECTED", dead: "DEBIT_DEAD", unknown: RETRY }),
            DebitDead          => rule_event(via, "TRY_AGAIN", "GIVEN_UP"),
            DebitConfirmed     => answered(via, Words { done: "DELIVERED", rejected: "DEBIT_EXPIRED", dead: RETRY, unknown: RETRY }),
            Expired            => "VOID_CLAIMED",
            Voiding            => answered(via, Words { done: "VOIDED", rejected: "VOID_REJECTED", dead: "VOID_DEAD", unknown: RETRY }),
            ToBeRefunded       => rule_event(via, "REFUND_POSSIBLE", "REFUND_NOT_POSSIBLE"),
            RefundReady        => "REFUND_CLAIMED",
            Refunding          => answered(via, Words { done: "REFUND_CONFIRMED", rejected: "REFUND_REJECTED", dead: "REFUND_DEAD", unknown: "REFUND_SENT" }),
            RefundSent         => answered(via, Words { done: "REFUND_CONFIRMED", rejected: "REFUND_REJECTED", dead: "REFUND_DEAD", unknown: RETRY }),
            ToBeQuarantined    => rule_event(via, "MOVE_OUT", "REFUND_RELEASED"),
            QuarantineReady    => "QUARANTINE_CLAIMED",
            Quarantining       => answered(via, Words { done: "QUARANTINED", rejected: "QUARANTINE_REJECTED", dead: "QUARANTINE_DEAD", unknown: RETRY }),
            // nothing leaves an end
            Processed | ProcessedAsFees | RefundConfirmed | Quarantined => "",
        }
    }

    fn normal(self) -> Normal {
        self.normal_by(&SwapTimes::SOURCE)
    }

    fn outcome(self) -> Option<Outcome> {
        match self {
            Processed => Some(Outcome::Paid),
            ProcessedAsFees => Some(Outcome::Kept),
            RefundConfirmed => Some(Outcome::GivenBack),
            ToBeQuarantined | QuarantineReady | Quarantining | Quarantined => Some(Outcome::Held),
            Detected | AboveFees | ReadyForProcessing | Accepted | Debiting | DebitedAwaiting
            | DebitDead | DebitConfirmed | Expired | Voiding | ToBeRefunded | RefundReady
            | Refunding | RefundSent => None,
        }
    }

    fn message(self, audience: Audience, error: Option<&Evidence>) -> String {
        swap_text::message(text::sentence(self), audience, error)
    }
}
