//! A flow that decides and asks: money leaves its source when a person released it, is screened on the
//! way, and goes on while there is room at the target. With the room it is agreed who gets what.

use kernel::agreed::Agreed;
use kernel::answer::Evidence;
use kernel::flow::life::{
    Audience, Driver, Leg, Life, Meta, Normal, Outcome, Place, Ruling, Share, Side, Step, Via,
    Word as _,
};
use kernel::ids::UserId;
use kernel::money::Amount;
use kernel::record::{Account, Fact, Facts, Party, Record};
use kernel::words;
use {Act::*, Rule::*, State::*, Step::*};

words! {
    pub(crate) State {
        Opened = 0 "OPENED",
        Small = 5 "SMALL",
        Released = 10 "RELEASED",
        Withdrawing = 20 "WITHDRAWING",
        Screening = 30 "SCREENING",
        Cleared = 40 "CLEARED",
        Ready = 50 "READY",
        Delivering = 60 "DELIVERING",
        Paid = 70 "PAID",
        Returning = -10 "RETURNING",
        Returned = -20 "RETURNED",
        Refused = -30 "REFUSED",
    }
}
words! {
    pub(crate) Act {
        Withdraw = 0 "withdraw",
        Screen = 1 "screen",
        Deliver = 2 "deliver",
        Refund = 3 "refund",
    }
}
words! {
    pub(crate) Rule {
        IsReleased = 0 "released",
        IsSmall = 1 "small",
        HasRoom = 2 "room",
    }
}

/// What a rule reads: whether a person released the transfer, how much the target takes, who gets it
/// and for which fee, where that is not what the terms say.
pub(crate) const RELEASED: &str = "released";
pub(crate) const ROOM: &str = "room";
pub(crate) const PAYEE: &str = "payee";
pub(crate) const FEE: &str = "fee";
/// A transfer above it is not small.
const SMALL: u128 = 1_000;

impl Life for State {
    type Act = Act;
    type Rule = Rule;
    const FLOW: &'static str = "screened";
    const START: Self = Opened;
    const DRIVER: Driver = Driver::Stations;

    #[rustfmt::skip]
    fn step(self) -> Step<Self, Act, Rule> {
        match self {
            Opened      => Decide { rule: IsReleased, yes: Small, no: Refused },
            Small       => Decide { rule: IsSmall, yes: Released, no: Refused },
            Released    => Claim  { to: Withdrawing },
            Withdrawing => Call   { act: Withdraw, done: Screening, rejected: Refused, unknown: Withdrawing },
            Screening   => Call   { act: Screen, done: Cleared, rejected: Returning, unknown: Screening },
            Cleared     => Decide { rule: HasRoom, yes: Ready, no: Returning },
            Ready       => Claim  { to: Delivering },
            Delivering  => Call   { act: Deliver, done: Paid, rejected: Returning, unknown: Delivering },
            Returning   => Push   { act: Refund, done: Returned, unknown: Returning },
            Paid | Returned | Refused => End,
        }
    }

    fn money(self) -> Place {
        match self {
            Opened | Small | Released | Withdrawing | Returned | Refused => Place::AtSource,
            Screening | Cleared | Ready | Delivering | Returning => Place::InFlight,
            Paid => Place::AtTarget,
        }
    }

    fn act(act: Act) -> Meta<Act> {
        match act {
            Withdraw => Meta::repeatable(Leg::Withdraw, Side::Source, Share::Gross),
            Screen => Meta::question(Side::Source, None),
            Deliver => Meta::repeatable(Leg::Deposit, Side::Target, Share::Net),
            Refund => Meta {
                undoes: &[Withdraw],
                ..Meta::repeatable(Leg::Refund, Side::Source, Share::Gross)
            },
        }
    }

    fn gathers(rule: Rule) -> bool {
        match rule {
            IsReleased | HasRoom => true,
            IsSmall => false,
        }
    }

    fn agrees(rule: Rule) -> bool {
        matches!(rule, HasRoom)
    }

    fn agreement(_: Rule, record: &Record, facts: &Facts) -> Option<Agreed> {
        let number = |name| match facts.get(name) {
            Some(Fact::Number(number)) => Some(*number),
            Some(Fact::Flag(_) | Fact::Text(_)) | None => None,
        };
        let payee = number(PAYEE).and_then(|payee| u64::try_from(payee).ok());
        let named = record.terms.target.account.clone();
        let account = payee.map_or(named, |payee| Account::User(UserId(payee)));
        let fee = Amount(number(FEE).unwrap_or_default());
        let amount = record.source().amount.minus(fee)?;
        let target = Party { account, amount, ..record.terms.target.clone() };
        let (reference, deadline) = (Some("17".into()), None);
        let agreed = Agreed { target, fee, reference, terms_version: 2, deadline };
        (agreed.target.account != Account::Unnamed).then_some(agreed)
    }

    fn rule(rule: Rule, record: &Record, facts: &Facts) -> Ruling {
        let amount = record.share(Share::Gross).map_or(u128::MAX, |(_, amount)| amount.0);
        match (rule, facts.get(RELEASED), facts.get(ROOM)) {
            (IsSmall, ..) if amount <= SMALL => Ruling::Yes,
            (IsReleased, Some(Fact::Flag(true)), _) => Ruling::Yes,
            (HasRoom, _, Some(Fact::Number(room))) if *room >= amount => Ruling::Yes,
            (IsSmall, ..) | (IsReleased, Some(_), _) | (HasRoom, _, Some(_)) => Ruling::No,
            (IsReleased | HasRoom, ..) => Ruling::NotYet,
        }
    }

    fn event(self, via: Via) -> &'static str {
        match via {
            Via::Claim => "CLAIMED",
            Via::Yes => "YES",
            Via::No => "NO",
            Via::Done => "DONE",
            Via::Rejected => "REJECTED",
            Via::Dead | Via::Unknown => "RETRY",
        }
    }

    fn normal(self) -> Normal {
        match self {
            Opened | Cleared => Normal::Seconds(600),
            Withdrawing | Screening | Delivering | Returning => Normal::Usual,
            Small | Released | Ready | Paid | Returned | Refused => Normal::Passing,
        }
    }

    fn outcome(self) -> Option<Outcome> {
        match self {
            Paid => Some(Outcome::Paid),
            Returned => Some(Outcome::GivenBack),
            Refused => Some(Outcome::Failed),
            Opened | Small | Released | Withdrawing | Screening | Cleared | Ready | Delivering
            | Returning => None,
        }
    }

    fn message(self, _: Audience, _: Option<&Evidence>) -> String {
        self.name().to_owned()
    }
}
