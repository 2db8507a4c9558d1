//! A toy flow between two chains that shows every shape a chain flow needs: a rule that waits, sends
//! of several members, a dead attempt that is decided on, a leg of two phases that can be voided,
//! payout against refund, and a hold for a person.

use kernel::answer::Evidence;
use kernel::flow::life::{
    Audience, Driver, Leg, Life, Meta, Normal, Outcome, Place, Ruling, Share, Side, Step, Via, Word,
};
use kernel::record::{Fact, Facts, Record};
use kernel::words;
use {Act::*, Rule::*, State::*, Step::*};

words!(pub State {
    Found = 0 "found", Ready = 10 "ready", Sending = 20 "sending", Awaiting = 25 "sent, not seen",
    Dead = 27 "payout dead", Sent = 30 "sent", Expired = 35 "expired", Voiding = 37 "voiding", Paid = 40 "paid",
    ToRefund = -10 "to refund", RefundReady = -15 "refund ready", Refunding = -20 "refunding", Refunded = -30 "refunded",
    Held = -40 "held", MoveReady = -45 "move ready", Moving = -50 "moving out", MovedOut = -60 "moved out",
});
words!(pub Act { Pay = 0 "pay", Arrived = 1 "arrived?", Void = 2 "void", Refund = 3 "refund", MoveOut = 4 "move out" });
words!(pub Rule { Mapped = 0 "receiver known", TryAgain = 1 "try again", MayRefund = 2 "refund possible", Release = 3 "move out, not refund" });

impl Life for State {
    type Act = Act;
    type Rule = Rule;
    const FLOW: &'static str = "toy";
    const START: Self = Found;
    const DRIVER: Driver = Driver::Stations;

    #[rustfmt::skip]
    fn step(self) -> Step<Self, Act, Rule> {
        match self {
            Found       => Decide { rule: Mapped, yes: Ready, no: ToRefund },
            Ready       => Claim  { to: Sending },
            Sending     => Send   { act: Pay, done: Sent, rejected: ToRefund, dead: State::Dead, unknown: Awaiting },
            Awaiting    => Send   { act: Pay, done: Sent, rejected: ToRefund, dead: State::Dead, unknown: Awaiting },
            State::Dead => Decide { rule: TryAgain, yes: Ready, no: ToRefund },
            Sent        => Call   { act: Arrived, done: Paid, rejected: Expired, unknown: Sent },
            Expired     => Claim  { to: Voiding },
            Voiding     => Send   { act: Void, done: ToRefund, rejected: Sent, dead: Expired, unknown: Voiding },
            ToRefund    => Decide { rule: MayRefund, yes: RefundReady, no: Held },
            RefundReady => Claim  { to: Refunding },
            Refunding   => Send   { act: Refund, done: Refunded, rejected: ToRefund, dead: ToRefund, unknown: Refunding },
            Held        => Decide { rule: Release, yes: MoveReady, no: ToRefund },
            MoveReady   => Claim  { to: Moving },
            Moving      => Send   { act: MoveOut, done: MovedOut, rejected: Held, dead: Held, unknown: Moving },
            Paid | Refunded | MovedOut => End,
        }
    }

    fn money(self) -> Place {
        match self {
            Found
            | Ready
            | Sending
            | Awaiting
            | State::Dead
            | Sent
            | Expired
            | Voiding
            | ToRefund
            | RefundReady
            | Refunding => Place::InFlight,
            Paid => Place::AtTarget,
            Refunded => Place::AtSource,
            Held | MoveReady | Moving | MovedOut => Place::Quarantine,
        }
    }

    fn act(act: Act) -> Meta<Act> {
        match act {
            Pay => Meta::once(Leg::Deposit, Side::Target, Share::Net),
            Arrived => Meta::question(Side::Target, Some(Pay)),
            Void => Meta { undoes: &[Pay], ..Meta::once(Leg::Cost, Side::Target, Share::OwnCost) },
            Refund => Meta::once(Leg::Refund, Side::Source, Share::LessRefundFee),
            MoveOut => Meta::once(Leg::Quarantine, Side::Source, Share::Gross),
        }
    }

    fn rule(rule: Rule, record: &Record, facts: &Facts) -> Ruling {
        match (rule, facts.get(rule_fact(rule))) {
            // after three refusals it is not tried again, whatever is known
            (MayRefund, _) if record.head.rejections < 3 => Ruling::Yes,
            (MayRefund, _) => Ruling::No,
            (Mapped | TryAgain | Release, Some(Fact::Flag(true))) => Ruling::Yes,
            (Mapped | TryAgain | Release, Some(Fact::Flag(false))) => Ruling::No,
            (Mapped | TryAgain | Release, Some(Fact::Number(_) | Fact::Text(_)) | None) => {
                Ruling::NotYet
            }
        }
    }

    fn event(self, via: Via) -> &'static str {
        match via {
            Via::Claim => "CLAIMED",
            Via::Yes => "YES",
            Via::No => "NO",
            Via::Done => "OK",
            Via::Rejected => "FAIL",
            Via::Dead => "DEAD",
            Via::Unknown => "RETRY",
        }
    }

    fn normal(self) -> Normal {
        match self {
            Sending | Awaiting | Voiding | Refunding | Moving => Normal::Seconds(60),
            Sent => Normal::Usual,
            Found
            | Ready
            | State::Dead
            | Expired
            | Paid
            | ToRefund
            | RefundReady
            | Refunded
            | Held
            | MoveReady
            | MovedOut => Normal::Passing,
        }
    }

    fn outcome(self) -> Option<Outcome> {
        match self {
            Paid => Some(Outcome::Paid),
            Refunded => Some(Outcome::GivenBack),
            Held | MoveReady | Moving | MovedOut => Some(Outcome::Held),
            Found
            | Ready
            | Sending
            | Awaiting
            | State::Dead
            | Sent
            | Expired
            | Voiding
            | ToRefund
            | RefundReady
            | Refunding => None,
        }
    }

    fn message(self, audience: Audience, _: Option<&Evidence>) -> String {
        format!("{audience:?}: {}", self.name())
    }
}

/// The fact that a rule waits for.
pub(crate) fn rule_fact(rule: Rule) -> &'static str {
    rule.name()
}
