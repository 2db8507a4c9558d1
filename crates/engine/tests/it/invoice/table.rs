//! A flow that pays an invoice between two accounts of the accounts ledger: a person approves it, its payee is
//! asked about, the money moves inside the ledger, and its end is published.

use kernel::answer::Evidence;
use kernel::flow::life::{
    Audience, Driver, Leg, Life, Meta, Normal, Outcome, Place, Ruling, Share, Side, Step, Via,
    Word as _,
};
use kernel::message::{Emission, Message};
use kernel::record::{Fact, Facts, Record};
use kernel::words;
use {Act::*, Rule::*, State::*, Step::*};

words! {
    pub(crate) State {
        Received = 0 "RECEIVED",
        Approved = 10 "APPROVED",
        Checked = 20 "CHECKED",
        Paying = 30 "PAYING",
        Paid = 40 "PAID",
        Refused = -10 "REFUSED",
    }
}
words! {
    pub(crate) Act {
        CheckPayee = 0 "check-payee",
        Pay = 1 "pay",
    }
}
words! {
    pub(crate) Rule {
        IsApproved = 0 "approved",
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
            Received => Decide { rule: IsApproved, yes: Approved, no: Refused },
            Approved => Call   { act: CheckPayee, done: Checked, rejected: Refused, unknown: Approved },
            Checked  => Claim  { to: Paying },
            Paying   => Call   { act: Pay, done: Paid, rejected: Refused, unknown: Paying },
            Paid | Refused => End,
        }
    }

    fn money(self) -> Place {
        match self {
            Received | Approved | Checked | Paying | Refused => Place::AtSource,
            Paid => Place::AtTarget,
        }
    }

    fn act(act: Act) -> Meta<Act> {
        match act {
            CheckPayee => Meta::question(Side::Source, None),
            Pay => Meta::repeatable(Leg::Move, Side::Source, Share::Gross),
        }
    }

    fn gathers(rule: Rule) -> bool {
        match rule {
            IsApproved => true,
        }
    }

    fn rule(rule: Rule, _: &Record, facts: &Facts) -> Ruling {
        match (rule, facts.get(APPROVED)) {
            (IsApproved, Some(Fact::Flag(true))) => Ruling::Yes,
            (IsApproved, Some(_)) => Ruling::No,
            (IsApproved, None) => Ruling::NotYet,
        }
    }

    fn event(self, via: Via) -> &'static str {
        match via {
            Via::Claim => "CLAIMED",
            Via::Yes => "APPROVED",
            Via::No => "REFUSED",
            Via::Done => "DONE",
            Via::Rejected => "REJECTED",
            Via::Dead | Via::Unknown => "RETRY",
        }
    }

    fn emits(self, record: &Record, _: Emission) -> Option<Message> {
        let [paid, refused] = TOPICS;
        let topic = match self {
            Paid => paid,
            Refused => refused,
            Received | Approved | Checked | Paying => return None,
        };
        let payer = record.terms.source.account.to_string();
        Some(Message::new(topic, topic, payer).field("transferId", record.id.uuid_text()))
    }

    fn normal(self) -> Normal {
        match self {
            Received => Normal::Seconds(86_400),
            Approved | Paying => Normal::Usual,
            Checked | Paid | Refused => Normal::Passing,
        }
    }

    fn outcome(self) -> Option<Outcome> {
        match self {
            Paid => Some(Outcome::Paid),
            Refused => Some(Outcome::Failed),
            Received | Approved | Checked | Paying => None,
        }
    }

    fn message(self, _: Audience, _: Option<&Evidence>) -> String {
        self.name().to_owned()
    }
}
