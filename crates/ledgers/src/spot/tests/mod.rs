//! Tests the core alone: its rules, that a replay gives the same books, and that its memory is bounded.

mod fuzz;
mod memory;
mod replay;
mod rules;

use super::core::Core;
use super::core::decide::{Command, CoreReply, Request};
use super::core::record::Record;
use super::log::codec;
use super::log::frame::{self, HEADER};
use super::{Identity, Incarnation};
use kernel::answer::{Answer, Evidence, Receipt};
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, Id, UserId};
use kernel::money::Amount;
use kernel::operation::{Key, Op};
use kernel::ports::ledger::{AccountStatus, StatusChange};
use kernel::record::Account;

/// The assets that the core of these tests knows.
const ASSETS: [AssetId; 2] = [AssetId(1), AssetId(2)];

fn born() -> Core {
    let mut core = Core::new(ASSETS);
    let records = vec![Record::Identity(Identity(7)), Record::Incarnation(Incarnation(8))];
    core.apply(records).unwrap();
    core
}

fn key(id: u128, leg: Leg) -> Key {
    Key { id: Id(id), leg }
}

fn op(id: u128, leg: Leg, user: u64, amount: u128) -> Op {
    Op {
        key: key(id, leg),
        account: Account::User(UserId(user)),
        other: None,
        asset: ASSETS[0],
        amount: Amount(amount),
    }
}

fn change(user: u64, status: AccountStatus, key: &str) -> StatusChange {
    let (reason, caller) = ("why".into(), "who".into());
    StatusChange { user: UserId(user), status, reason, caller, key: key.into() }
}

impl Core {
    /// Decides and applies, as if the disk had taken it.
    fn run(&mut self, commands: Vec<Command>) -> (Vec<Record>, Vec<CoreReply>) {
        let known = self.known();
        let batch: Vec<_> =
            commands.into_iter().map(|command| Request { known, halt: None, command }).collect();
        let decided = self.decide(&batch);
        self.apply(decided.records.clone()).unwrap();
        (decided.records, decided.replies)
    }

    fn ask(&mut self, command: Command) -> CoreReply {
        self.run(vec![command]).1.pop().unwrap()
    }

    fn one(&mut self, op: Op) -> Answer {
        let CoreReply::Answers(mut answers) = self.ask(Command::Execute([op].into())) else {
            panic!("no answers")
        };
        answers.pop().unwrap()
    }

    /// What the class of an answer without effect is; nothing may have changed.
    fn unknown(&mut self, op: Op) -> &'static str {
        let before = self.clone();
        let Answer::Unknown(cause) = self.one(op) else { panic!("it was decided") };
        assert_eq!(*self, before);
        cause.class
    }

    fn balance(&self, user: u64) -> u128 {
        self.accounts[&UserId(user)].available(ASSETS[0]).0
    }

    fn whole(&self) {
        for (asset, totals) in self.totals().unwrap() {
            assert_eq!(totals.users + totals.clearing, 0, "{asset}");
            assert_eq!((totals.frozen, totals.world), (0, 0));
        }
    }
}

fn done(seq: u64) -> Answer {
    Answer::Done(Receipt::seq(seq))
}

fn refused(code: &'static str, seq: u64) -> Answer {
    Answer::Rejected(Evidence::code(code), Receipt::seq(seq))
}

/// Records written and read again.
fn through_bytes(records: &[Record]) -> Vec<Record> {
    let frame = frame::write(1, 0, records).unwrap();
    codec::read(&frame[HEADER..]).unwrap()
}
