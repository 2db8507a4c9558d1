//! A flow that pays an invoice: a person approves it, its payee is asked about, the money moves inside the accounts
//! ledger or, between accounts of a chain, in one transaction with other invoices, and its end is published.

use kernel::answer::Evidence;
use kernel::flow::life::{
    Audience, Driver, Leg, Life, Meta, Normal, Outcome, Place, Ruling, Share, Side, Step, Via,
    Word as _,
};
use kernel::message::{Emission, Message};
use kernel::record::{Fact, Facts, Record, System};
use kernel::words;
use {Act::*, Rule::*, State::*, Step::*};

words! {
    pub(crate) State {
        Received = 0 "RECEIVED",
        Approved = 10 "APPROVED",
        Checked = 20 "CHECKED",
        Booked = 25 "BOOKED",
        Paying = 30 "PAYING",
        Collected = 35 "COLLECTED",
        Sending = 36 "SENDING",
        Paid = 40 "PAID",
        Landed = 45 "LANDED",
        Refused = -10 "REFUSED",
    }
}
words! {
    pub(crate) Act {
        CheckPayee = 0 "check-payee",
        Pay = 1 "pay",
        Transfer = 2 "transfer",
    }
}
words! {
    pub(crate) Rule {
        IsApproved = 0 "approved",
        IsOnChain = 1 "on a chain",
    }
}

/// What the rule reads: whether a person approved the invoice.
pub(crate) const APPROVED: &str = "approved";
/// The topics of invoices that were paid, and of those that were refused.
pub(crate) const TOPICS: [&str; 2] = ["invoice-paid", "invoice-refused"];

impl Life for State {
    type Act = Act;
    type Rule = Rule;
    const FLOW: &'static str = "invoice";
    const START: Self = Received;
    const DRIVER: Driver = Driver::Stations;

    #[rustfmt::skip]
    fn step(self) -> Step<Self, Act, Rule> {
        match self {
            Received  => Decide { rule: IsApproved, yes: Approved, no: Refused },
            Approved  => Call   { act: CheckPayee, done: Checked, rejected: Refused, unknown: Approved },
            Checked   => Decide { rule: IsOnChain, yes: Collected, no: Booked },
            Booked    => Claim  { to: Paying },
            Paying    => Call   { act: Pay, done: Paid, rejected: Refused, unknown: Paying },
            Collected => Claim  { to: Sending },
            Sending   => Send   { act: Transfer, done: Landed, rejected: Refused, dead: Collected, unknown: Sending },
            Paid | Landed | Refused => End,
        }
    }

    fn money(self) -> Place {
        match self {
            Received | Approved | Checked | Booked | Paying | Collected | Sending | Refused => {
                Place::AtSource
            }
            Paid | Landed => Place::AtTarget,
        }
    }

    fn act(act: Act) -> Meta<Act> {
        match act {
            CheckPayee => Meta::question(Side::Source, None),
            Pay => Meta::repeatable(Leg::Move, Side::Source, Share::Gross),
            Transfer => Meta::once(Leg::Move, Side::Source, Share::Gross),
        }
    }

    fn gathers(rule: Rule) -> bool {
        match rule {
            IsApproved => true,
            IsOnChain => false,
        }
    }

    fn rule(rule: Rule, record: &Record, facts: &Facts) -> Ruling {
        match (rule, facts.get(APPROVED), record.source().system) {
            (IsApproved, Some(Fact::Flag(true)), _) | (IsOnChain, _, System::Chain(_)) => {
                Ruling::Yes
            }
            (IsApproved, Some(_), _) | (IsOnChain, _, System::Ledger(_)) => Ruling::No,
            (IsApproved, None, _) => Ruling::NotYet,
        }
    }

    fn event(self, via: Via) -> &'static str {
        match (self, via) {
            (_, Via::Claim) => "CLAIMED",
            (Checked, Via::Yes) => "FOR_A_CHAIN",
            (Checked, Via::No) => "FOR_THE_BOOKS",
            (_, Via::Yes) => "APPROVED",
            (_, Via::No) => "REFUSED",
            (_, Via::Done) => "DONE",
            (_, Via::Rejected) => "REJECTED",
            (_, Via::Dead) => "SPOILED",
            (_, Via::Unknown) => "RETRY",
        }
    }

    fn emits(self, record: &Record, _: Emission) -> Option<Message> {
        let [paid, refused] = TOPICS;
        let topic = match self {
            Paid | Landed => paid,
            Refused => refused,
            Received | Approved | Checked | Booked | Paying | Collected | Sending => return None,
        };
        let payer = record.terms.source.account.to_string();
        Some(Message::new(topic, topic, payer).field("transferId", record.id.uuid_text()))
    }

    fn normal(self) -> Normal {
        match self {
            Received => Normal::Seconds(86_400),
            Approved | Paying => Normal::Usual,
            Sending => Normal::Seconds(60),
            Checked | Booked | Collected | Paid | Landed | Refused => Normal::Passing,
        }
    }

    fn outcome(self) -> Option<Outcome> {
        match self {
            Paid | Landed => Some(Outcome::Paid),
            Refused => Some(Outcome::Failed),
            Received | Approved | Checked | Booked | Paying | Collected | Sending => None,
        }
    }

    fn message(self, _: Audience, _: Option<&Evidence>) -> String {
        self.name().to_owned()
    }
}
