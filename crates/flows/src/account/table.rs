//! The life of an account transfer: its states are the pipeline source's, its consumers are the two
//! calls.

use super::{message, text};
use kernel::answer::Evidence;
use kernel::flow::life::{
    Audience, AuditGroup, ConsumerGroup, Driver, Leg, Life, Meta, Never, Normal, Outcome, Place,
    Response, Ruling, Share, Side, Step, Via,
};
use kernel::message::{Emission, Message};
use kernel::record::{Facts, Record};
use kernel::words;
use {Act::*, State::*, Step::*};

words! {
    /// Where a transfer stands: the names are the pipeline source's.
    pub State {
        Pending = 0 "PENDING",
        Validating = 10 "VALIDATING",
        Validated = 20 "VALIDATED",
        Executing = 30 "EXECUTING",
        Completed = 40 "COMPLETED",
        Failed = -10 "FAILED",
    }
}
words! {
    /// What is done at the accounts ledger.
    pub Act {
        Validate = 0 "validate",
        Execute = 1 "execute",
    }
}

/// The number of seconds that a consumer may take; the outbox is read every three.
const CONSUMER: u32 = 60;

impl Life for State {
    type Act = Act;
    type Rule = Never;
    const FLOW: &'static str = "account";
    const START: Self = Pending;
    const DRIVER: Driver = Driver::Events;
    const CONSUMERS: &'static [ConsumerGroup] = &[
        ConsumerGroup { name: "validation-group", topic: message::VALIDATION },
        ConsumerGroup { name: "execution-group", topic: message::EXECUTION },
    ];
    const AUDIT: Option<AuditGroup> =
        Some(AuditGroup { name: "audit-group", topics: message::TOPICS });
    const RESPONDS: Response = Response::AtOpening;

    #[rustfmt::skip]
    fn step(self) -> Step<Self, Act> {
        match self {
            Pending    => Claim { to: Validating },
            Validating => Call  { act: Validate, done: Validated, rejected: Failed, unknown: Validating },
            Validated  => Claim { to: Executing },
            Executing  => Call  { act: Execute,  done: Completed, rejected: Failed, unknown: Executing },
            Completed | Failed => End,
        }
    }

    fn money(self) -> Place {
        match self {
            Pending | Validating | Validated | Executing | Failed => Place::AtSource,
            Completed => Place::AtTarget,
        }
    }

    fn act(act: Act) -> Meta<Act> {
        match act {
            Validate => Meta::question(Side::Source, None),
            Execute => Meta::repeatable(Leg::Move, Side::Source, Share::Gross),
        }
    }

    fn rule(rule: Never, _: &Record, _: &Facts) -> Ruling {
        match rule {}
    }

    /// A message that can never go through leaves its transfer here: the unit that moves the money also leaves the
    /// state, so nothing has moved.
    fn cancelled(self) -> Option<Self> {
        match self {
            Pending | Validated => Some(Failed),
            Validating | Executing | Completed | Failed => None,
        }
    }

    fn event(self, via: Via) -> &'static str {
        match self {
            Pending | Validated if via == Via::Rejected => "CANCELLED",
            Pending => "VALIDATION_CALL",
            Validating => answered(via, "VALIDATION_OK", "VALIDATION_FAIL"),
            Validated => "EXECUTION_CALL",
            Executing => answered(via, "EXECUTION_OK", "EXECUTION_FAIL"),
            // nothing leaves an end
            Completed | Failed => "",
        }
    }

    fn emits(self, record: &Record, emission: Emission) -> Option<Message> {
        message::message(self, record, emission)
    }

    fn normal(self) -> Normal {
        match self {
            Validating | Executing => Normal::Seconds(CONSUMER),
            Pending | Validated | Completed | Failed => Normal::Passing,
        }
    }

    fn outcome(self) -> Option<Outcome> {
        match self {
            Completed => Some(Outcome::Paid),
            Failed => Some(Outcome::Failed),
            Pending | Validating | Validated | Executing => None,
        }
    }

    fn message(self, _: Audience, error: Option<&Evidence>) -> String {
        text::message(self, error)
    }
}

const fn answered(via: Via, done: &'static str, rejected: &'static str) -> &'static str {
    match via {
        Via::Done => done,
        Via::Rejected => rejected,
        Via::Claim | Via::Yes | Via::No | Via::Dead | Via::Unknown => "RETRY",
    }
}
