//! The life of a swap from Nexus to Solana: its states are the swap source's, and between them those in
//! which an intent is written, an attempt is dead, or a refund expired.

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
        CreditFound = 0 "credit found",
        CreditReady = 2 "credit ready",
        Crediting = 4 "crediting",
        Detected = 6 "detected",
        PendingReceival = 10 "pending_receival",
        ReadyForProcessing = 20 "ready for processing",
        Accepted = 25 "accepted",
        Sending = 30 "sending",
        AwaitingConfirmation = 40 "sig created, awaiting confirmations",
        PayoutDead = 45 "payout dead",
        Processed = 60 "processed",
        ProcessedAsFees = 70 "processed as fees",
        TradeBalanceCheck = -5 "trade balance to be checked",
        RefundPending = -10 "refund pending",
        CollectingRefund = -15 "collecting refund",
        Refunding = -17 "refunding",
        RefundDebited = -18 "refund debited",
        RefundExpired = -19 "refund expired",
        Refunded = -20 "refunded",
        RefundVoiding = -21 "voiding refund",
        Held = -35 "to be quarantined",
        QuarantineReady = -36 "quarantine ready",
        Quarantining = -38 "quarantining",
        Quarantined = -40 "quarantined",
        NotTaken = -50 "not taken",
    }
}
words! {
    /// What is done on the two chains.
    pub Act {
        Pay = 0 "pay USDC",
        Refund = 1 "refund USDD",
        RefundDelivery = 2 "refund delivered?",
        VoidRefund = 3 "void refund",
        Quarantine = 4 "quarantine USDD",
        Credit = 5 "credit USDD",
    }
}
words! {
    /// What is decided of a swap.
    pub Rule {
        WorthIt = 0 "above fees",
        Mapping = 1 "mapping found (no: deadline)",
        LastLook = 2 "mapping at the last look",
        Accept = 3 "account valid, inventory reserved",
        TryAgain = 4 "try again",
        RefundPossible = 5 "refund possible",
        MoveOut = 6 "move out / refund after all",
        TakeIn = 7 "no dust, time enough to take it in",
    }
}

impl State {
    /// How long is normal here by these times.
    pub(crate) fn normal_by(self, times: &SwapTimes) -> Normal {
        match self {
            PendingReceival | ReadyForProcessing => Normal::Seconds(times.accepted),
            Crediting | Sending | AwaitingConfirmation | Refunding | RefundVoiding
            | Quarantining => Normal::Seconds(times.confirmed),
            RefundPending => Normal::Seconds(times.refunded),
            RefundDebited => Normal::Seconds(times.delivered),
            CreditFound | CreditReady | Detected | Accepted | PayoutDead | TradeBalanceCheck
            | CollectingRefund | RefundExpired | Held | QuarantineReady | Processed
            | ProcessedAsFees | Refunded | Quarantined | NotTaken => Normal::Passing,
        }
    }
}

impl Life for State {
    type Act = Act;
    type Rule = Rule;
    const FLOW: &'static str = "swap_out";
    const START: Self = CreditFound;
    const DRIVER: Driver = Driver::Stations;

    #[rustfmt::skip]
    fn step(self) -> Step<Self, Act, Rule> {
        match self {
            // a debit is its sender's until we credit it
            CreditFound          => Decide { rule: TakeIn, yes: CreditReady, no: NotTaken },
            CreditReady          => Claim  { to: Crediting },
            Crediting            => Send   { act: Credit, done: Detected, rejected: NotTaken, dead: CreditFound, unknown: Crediting },
            Detected             => Decide { rule: WorthIt, yes: PendingReceival, no: ProcessedAsFees },
            PendingReceival      => Decide { rule: Mapping, yes: ReadyForProcessing, no: TradeBalanceCheck },
            TradeBalanceCheck    => Decide { rule: LastLook, yes: ReadyForProcessing, no: RefundPending },
            ReadyForProcessing   => Decide { rule: Accept, yes: Accepted, no: RefundPending },
            Accepted             => Claim  { to: Sending },
            Sending              => Send   { act: Pay, done: Processed, rejected: RefundPending, dead: PayoutDead, unknown: AwaitingConfirmation },
            AwaitingConfirmation => Send   { act: Pay, done: Processed, rejected: RefundPending, dead: PayoutDead, unknown: AwaitingConfirmation },
            PayoutDead           => Decide { rule: TryAgain, yes: Accepted, no: RefundPending },
            RefundPending        => Decide { rule: RefundPossible, yes: CollectingRefund, no: Held },
            CollectingRefund     => Claim  { to: Refunding },
            Refunding            => Send   { act: Refund, done: RefundDebited, rejected: RefundPending, dead: RefundPending, unknown: Refunding },
            RefundDebited        => Call   { act: RefundDelivery, done: Refunded, rejected: RefundExpired, unknown: RefundDebited },
            RefundExpired        => Claim  { to: RefundVoiding },
            RefundVoiding        => Send   { act: VoidRefund, done: RefundPending, rejected: RefundDebited, dead: RefundExpired, unknown: RefundVoiding },
            Held                 => Decide { rule: MoveOut, yes: QuarantineReady, no: RefundPending },
            QuarantineReady      => Claim  { to: Quarantining },
            Quarantining         => Send   { act: Quarantine, done: Quarantined, rejected: Held, dead: Held, unknown: Quarantining },
            Processed | ProcessedAsFees | Refunded | Quarantined | NotTaken => End,
        }
    }

    fn money(self) -> Place {
        match self {
            CreditFound | CreditReady | Crediting | NotTaken => Place::AtSource,
            Detected | PendingReceival | ReadyForProcessing | Accepted | Sending
            | AwaitingConfirmation | PayoutDead | TradeBalanceCheck | RefundPending
            | CollectingRefund | Refunding | RefundDebited | RefundExpired | RefundVoiding => {
                Place::InFlight
            }
            Processed => Place::AtTarget,
            ProcessedAsFees => Place::Fees,
            Refunded => Place::AtSource,
            Held | QuarantineReady | Quarantining | Quarantined => Place::Quarantine,
        }
    }

    fn booking(self) -> Option<Booking> {
        use {DepositBooking as Deposit, PayoutBooking as Payout};
        let (deposit, payout) = match self {
            CreditFound | CreditReady | Crediting | NotTaken => (Deposit::Outside, Payout::Open),
            Detected | PendingReceival | TradeBalanceCheck | ReadyForProcessing | PayoutDead
            | RefundPending | CollectingRefund | Refunding => (Deposit::Owed, Payout::Open),
            Accepted | Sending | AwaitingConfirmation => (Deposit::Owed, Payout::Reserved),
            Processed => (Deposit::Swapped, Payout::Spent),
            ProcessedAsFees => (Deposit::Kept, Payout::Open),
            RefundDebited | RefundExpired | RefundVoiding | Refunded => {
                (Deposit::GivenBack, Payout::Open)
            }
            Held | QuarantineReady | Quarantining => (Deposit::Held, Payout::Open),
            Quarantined => (Deposit::MovedOut, Payout::Open),
        };
        Some(Booking { deposit, payout })
    }

    fn releases(self) -> Option<&'static [&'static str]> {
        matches!(self, Held).then_some(rules::REFUND_REFUSED)
    }

    fn act(act: Act) -> Meta<Act> {
        match act {
            Pay => Meta::once(Leg::Deposit, Side::Target, Share::Net),
            Credit => Meta::once(Leg::Withdraw, Side::Source, Share::Gross),
            Refund => Meta {
                undoes: &[Credit],
                ..Meta::once(Leg::Refund, Side::Source, Share::LessRefundFee)
            },
            RefundDelivery => Meta::question(Side::Source, Some(Refund)),
            VoidRefund => {
                Meta { undoes: &[Refund], ..Meta::once(Leg::Cost, Side::Source, Share::OwnCost) }
            }
            Quarantine => Meta::once(Leg::Quarantine, Side::Source, Share::Gross),
        }
    }

    fn gathers(rule: Rule) -> bool {
        // these read what was agreed
        !matches!(rule, WorthIt)
    }

    fn agrees(rule: Rule) -> bool {
        matches!(rule, Accept)
    }

    fn agreement(_: Rule, record: &Record, facts: &Facts) -> Option<Agreed> {
        rules::agreed(record, facts)
    }

    fn rule(rule: Rule, record: &Record, facts: &Facts) -> Ruling {
        match rule {
            TakeIn => rules::take_in(record, facts),
            WorthIt => rules::worth_it(record),
            Mapping => rules::mapping(record, facts),
            LastLook => rules::last_look(facts),
            Accept => rules::accept(facts),
            TryAgain => swap::try_again(record, facts),
            RefundPossible => swap::refund_possible(record, facts),
            MoveOut => swap::move_out(record, facts),
        }
    }

    #[rustfmt::skip]
    fn event(self, via: Via) -> &'static str {
        match self {
            CreditFound          => rule_event(via, "CREDIT_WANTED", "CREDIT_LEFT"),
            CreditReady          => "CREDIT_CLAIMED",
            Crediting            => answered(via, Words { done: "CREDIT_TAKEN", rejected: "CREDIT_REJECTED", dead: "CREDIT_DEAD", unknown: RETRY }),
            Detected             => rule_event(via, "ABOVE_FEES", "KEPT_AS_FEES"),
            PendingReceival      => rule_event(via, "MAPPING_FOUND", "MAPPING_LATE"),
            TradeBalanceCheck    => rule_event(via, "MAPPING_FOUND", "MAPPING_MISSING"),
            ReadyForProcessing   => rule_event(via, "ACCEPTED", "NOT_ACCEPTED"),
            Accepted             => "PAYOUT_CLAIMED",
            Sending              => answered(via, Words { done: "PAYOUT_CONFIRMED", rejected: "PAYOUT_REJECTED", dead: "PAYOUT_DEAD", unknown: "PAYOUT_SENT" }),
            AwaitingConfirmation => answered(via, Words { done: "PAYOUT_CONFIRMED", rejected: "PAYOUT_REJECTED", dead: "PAYOUT_DEAD", unknown: RETRY }),
            PayoutDead           => rule_event(via, "TRY_AGAIN", "GIVEN_UP"),
            RefundPending        => rule_event(via, "REFUND_POSSIBLE", "REFUND_NOT_POSSIBLE"),
            CollectingRefund     => "REFUND_CLAIMED",
            Refunding            => answered(via, Words { done: "REFUND_CONFIRMED", rejected: "REFUND_REJECTED", dead: "REFUND_DEAD", unknown: RETRY }),
            RefundDebited        => answered(via, Words { done: "REFUND_DELIVERED", rejected: "REFUND_EXPIRED", dead: RETRY, unknown: RETRY }),
            RefundExpired        => "VOID_CLAIMED",
            RefundVoiding        => answered(via, Words { done: "VOIDED", rejected: "VOID_REJECTED", dead: "VOID_DEAD", unknown: RETRY }),
            Held                 => rule_event(via, "MOVE_OUT", "REFUND_RELEASED"),
            QuarantineReady      => "QUARANTINE_CLAIMED",
            Quarantining         => answered(via, Words { done: "QUARANTINED", rejected: "QUARANTINE_REJECTED", dead: "QUARANTINE_DEAD", unknown: RETRY }),
            // nothing leaves an end
            Processed | ProcessedAsFees | Refunded | Quarantined | NotTaken => "",
        }
    }

    fn normal(self) -> Normal {
        self.normal_by(&SwapTimes::SOURCE)
    }

    fn outcome(self) -> Option<Outcome> {
        match self {
            Processed => Some(Outcome::Paid),
            ProcessedAsFees => Some(Outcome::Kept),
            Refunded => Some(Outcome::GivenBack),
            NotTaken => Some(Outcome::Failed),
            Held | QuarantineReady | Quarantining | Quarantined => Some(Outcome::Held),
            CreditFound | CreditReady | Crediting | Detected | PendingReceival
            | ReadyForProcessing | Accepted | Sending | AwaitingConfirmation | PayoutDead
            | TradeBalanceCheck | RefundPending | CollectingRefund | Refunding | RefundDebited
            | RefundExpired | RefundVoiding => None,
        }
    }

    fn message(self, audience: Audience, error: Option<&Evidence>) -> String {
        swap_text::message(text::sentence(self), audience, error)
    }
}
