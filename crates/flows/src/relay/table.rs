//! The life of a relayed transfer: its states are the relay source's, with the three between them that
//! the source leaves to its queues.

use super::{rules, text};
use kernel::answer::Evidence;
use kernel::flow::life::{
    Audience, Driver, Leg, Life, Meta, Normal, Outcome, Place, Response, Ruling, Share, Side, Step,
    Via, Word as _,
};
use kernel::record::{Facts, Record};
use kernel::words;
use {Act::*, Rule::*, State::*, Step::*};

words! {
    /// Where a transfer stands. NEEDS_REGISTRATION and REGISTERING are ours.
    pub State {
        Received = 0 "RECEIVED",
        NeedsRegistration = 5 "NEEDS_REGISTRATION",
        QueuedRegistration = 10 "QUEUED_REGISTRATION",
        Registering = 15 "REGISTERING",
        Registered = 20 "REGISTERED",
        QueuedTransfer = 30 "QUEUED_TRANSFER",
        Submitted = 40 "SUBMITTED",
        QueuedVerification = 50 "QUEUED_VERIFICATION",
        Completed = 60 "COMPLETED",
        Failed = -10 "FAILED",
    }
}
words! {
    /// What is done on the chain.
    pub Act {
        Register = 0 "storage_deposit",
        Pay = 1 "ft_transfer",
    }
}
words! {
    /// What is decided about the receiver.
    pub Rule {
        KnownReceiver = 0 "known receiver",
        MayRegister = 1 "may register",
    }
}

/// The number of seconds within which a transfer is confirmed after its request (the source's target).
const CONFIRMED: u32 = 30;
/// The source looks 20 times, every 6 seconds, whether a transaction is final.
const VERIFIED: u32 = 120;

impl Life for State {
    type Act = Act;
    type Rule = Rule;
    const FLOW: &'static str = "relay";
    const START: Self = Received;
    const DRIVER: Driver = Driver::Stations;
    const RESPONDS: Response = Response::AtOpening;
    const TROUBLE: Option<&'static str> = Some("ERROR");

    #[rustfmt::skip]
    fn step(self) -> Step<Self, Act, Rule> {
        match self {
            Received           => Decide { rule: KnownReceiver, yes: Registered, no: NeedsRegistration },
            NeedsRegistration  => Decide { rule: MayRegister, yes: QueuedRegistration, no: Failed },
            QueuedRegistration => Claim  { to: Registering },
            Registering        => Send   { act: Register, done: Registered, rejected: Failed, dead: NeedsRegistration, unknown: Registering },
            Registered         => Claim  { to: QueuedTransfer },
            QueuedTransfer     => Claim  { to: Submitted },
            Submitted          => Send   { act: Pay, done: Completed, rejected: Failed, dead: Received, unknown: QueuedVerification },
            QueuedVerification => Send   { act: Pay, done: Completed, rejected: Failed, dead: Received, unknown: QueuedVerification },
            Completed | Failed => End,
        }
    }

    fn money(self) -> Place {
        match self {
            Received | NeedsRegistration | QueuedRegistration | Registering | Registered
            | QueuedTransfer | Submitted | QueuedVerification | Failed => Place::AtSource,
            Completed => Place::AtTarget,
        }
    }

    fn act(act: Act) -> Meta<Act> {
        match act {
            // the contract refunds a second deposit, so a repeat is harmless
            Register => {
                Meta { undoes: &[Register], ..Meta::once(Leg::Cost, Side::Target, Share::OwnCost) }
            }
            Pay => Meta::once(Leg::Move, Side::Target, Share::Net),
        }
    }

    fn rule(rule: Rule, _: &Record, facts: &Facts) -> Ruling {
        match rule {
            KnownReceiver => rules::known_receiver(facts),
            MayRegister => rules::may_register(facts),
        }
    }

    fn refusal(rule: Rule, facts: &Facts) -> Option<&'static str> {
        match rule {
            KnownReceiver => None,
            MayRegister => Some(rules::refusal(facts)),
        }
    }

    /// Before its first payment, and behind one that is proven dead. What a registration cost is spent.
    fn cancelled(self) -> Option<Self> {
        match self {
            Received | NeedsRegistration | QueuedRegistration | Registered | QueuedTransfer => {
                Some(Failed)
            }
            Registering | Submitted | QueuedVerification | Completed | Failed => None,
        }
    }

    /// The source's event is the name of the status that is reached; ERROR is an error that is tried again.
    fn event(self, via: Via) -> &'static str {
        match (self.step(), via) {
            (_, Via::Dead) => "ERROR",
            (Claim { .. } | Decide { .. }, Via::Rejected) => Failed.name(),
            (Send { unknown, .. }, Via::Unknown) if unknown == self => "RETRY",
            (_, via) => self.reached(via),
        }
    }

    fn normal(self) -> Normal {
        match self {
            Registering | Submitted => Normal::Seconds(CONFIRMED),
            QueuedVerification => Normal::Seconds(VERIFIED),
            Received | NeedsRegistration | QueuedRegistration | Registered | QueuedTransfer
            | Completed | Failed => Normal::Passing,
        }
    }

    fn outcome(self) -> Option<Outcome> {
        match self {
            Completed => Some(Outcome::Paid),
            Failed => Some(Outcome::Failed),
            Received | NeedsRegistration | QueuedRegistration | Registering | Registered
            | QueuedTransfer | Submitted | QueuedVerification => None,
        }
    }

    fn message(self, _: Audience, error: Option<&Evidence>) -> String {
        text::message(self, error)
    }
}

impl State {
    /// The name of the state that an edge leads to.
    fn reached(self, via: Via) -> &'static str {
        let to = match (self.step(), via) {
            (Claim { to }, Via::Claim) => to,
            (Decide { yes, .. }, Via::Yes) => yes,
            (Decide { no, .. }, Via::No) => no,
            (Send { done, .. }, Via::Done) => done,
            (Send { rejected, .. }, Via::Rejected) => rejected,
            (Send { unknown, .. }, Via::Unknown) => unknown,
            (Claim { .. } | Decide { .. } | Call { .. } | Send { .. } | Push { .. } | End, _) => {
                return "";
            }
        };
        to.name()
    }
}
