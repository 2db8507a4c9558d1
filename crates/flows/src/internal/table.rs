//! The life of an internal transfer: its states, steps, acts, events and ends.

use super::text;
use kernel::answer::Evidence;
use kernel::flow::life::{
    Audience, Driver, Leg, Life, Meta, Never, Normal, Outcome, Place, Ruling, Share, Side, Step,
    Via,
};
use kernel::record::{Facts, Record};
use kernel::words;
use {Act::*, State::*, Step::*};

words! {
    /// Where a transfer stands: names and numbers are the strict-FSM source's (§2.1).
    pub State {
        Init = 0 "INIT",
        SourcePending = 10 "SOURCE_PENDING",
        SourceDone = 20 "SOURCE_DONE",
        TargetPending = 30 "TARGET_PENDING",
        Committed = 40 "COMMITTED",
        Failed = -10 "FAILED",
        Compensating = -20 "COMPENSATING",
        RolledBack = -30 "ROLLED_BACK",
    }
}
words! {
    /// What is done at the ledgers.
    pub Act {
        Withdraw = 0 "withdraw",
        Deliver = 1 "deliver",
        Refund = 2 "refund",
    }
}

impl Life for State {
    type Act = Act;
    type Rule = Never;
    const FLOW: &'static str = "internal";
    const START: Self = Init;
    const DRIVER: Driver = Driver::Stations;

    #[rustfmt::skip]
    fn step(self) -> Step<Self, Act> {
        match self {
            Init          => Claim { to: SourcePending },
            SourcePending => Call  { act: Withdraw, done: SourceDone, rejected: Failed,       unknown: SourcePending },
            SourceDone    => Claim { to: TargetPending },
            TargetPending => Call  { act: Deliver,  done: Committed,  rejected: Compensating, unknown: TargetPending },
            Compensating  => Push  { act: Refund,   done: RolledBack, unknown: Compensating },
            Committed | RolledBack | Failed => End,
        }
    }

    fn money(self) -> Place {
        match self {
            Init | SourcePending | Failed | RolledBack => Place::AtSource,
            SourceDone | TargetPending | Compensating => Place::InFlight,
            Committed => Place::AtTarget,
        }
    }

    fn act(act: Act) -> Meta<Act> {
        match act {
            Withdraw => Meta::repeatable(Leg::Withdraw, Side::Source, Share::Gross),
            Deliver => Meta::repeatable(Leg::Deposit, Side::Target, Share::Net),
            Refund => Meta {
                undoes: &[Withdraw],
                ..Meta::repeatable(Leg::Refund, Side::Source, Share::Gross)
            },
        }
    }

    fn rule(rule: Never, _: &Record, _: &Facts) -> Ruling {
        match rule {}
    }

    fn event(self, via: Via) -> &'static str {
        match self {
            Init => "SOURCE_CALL",
            SourcePending => answered(via, "SOURCE_OK", "SOURCE_FAIL"),
            SourceDone => "TARGET_CALL",
            TargetPending => answered(via, "TARGET_OK", "TARGET_FAIL"),
            Compensating => answered(via, "ROLLBACK_OK", RETRY),
            // nothing leaves an end
            Committed | RolledBack | Failed => "",
        }
    }

    fn normal(self) -> Normal {
        match self {
            SourcePending | Compensating => Normal::Usual,
            TargetPending => Normal::Configured,
            Init | SourceDone | Committed | RolledBack | Failed => Normal::Passing,
        }
    }

    fn outcome(self) -> Option<Outcome> {
        match self {
            Committed => Some(Outcome::Paid),
            RolledBack => Some(Outcome::GivenBack),
            Failed => Some(Outcome::Failed),
            Init | SourcePending | SourceDone | TargetPending | Compensating => None,
        }
    }

    fn message(self, _: Audience, error: Option<&Evidence>) -> String {
        text::message(self, error)
    }
}

const RETRY: &str = "RETRY";

const fn answered(via: Via, done: &'static str, rejected: &'static str) -> &'static str {
    match via {
        Via::Done => done,
        Via::Rejected => rejected,
        Via::Claim | Via::Yes | Via::No | Via::Dead | Via::Unknown => RETRY,
    }
}
