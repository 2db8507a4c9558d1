//! What the tests share: an executor without a runtime, operations, a ledger at hand.

use crate::memory::Memory;
use kernel::answer::{Answer, Receipt};
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, Id, UserId};
use kernel::money::Amount;
use kernel::operation::{Key, Known, Op};
use kernel::ports::disk::Disk;
use kernel::ports::ledger::{AccountStatus, Ledger, Reply, StatusChange, Totals, Whose};
use kernel::record::Account;
use ledgers::SpotOpenError;
use ledgers::spot::{Spot, TornTail};
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use testkit::UniqueRng;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread, with no runtime around it.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(done) => return done,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// The asset of these tests.
pub(crate) const USDT: AssetId = AssetId(3);

pub(crate) fn op(id: u128, leg: Leg, user: u64, amount: u128) -> Op {
    Op {
        key: Key { id: Id(id), leg },
        account: Account::User(UserId(user)),
        other: None,
        asset: USDT,
        amount: Amount(amount),
    }
}

pub(crate) fn deposit(id: u128, user: u64, amount: u128) -> Op {
    op(id, Leg::Deposit, user, amount)
}

pub(crate) fn withdraw(id: u128, user: u64, amount: u128) -> Op {
    op(id, Leg::Withdraw, user, amount)
}

pub(crate) fn refund(id: u128, user: u64, amount: u128) -> Op {
    op(id, Leg::Refund, user, amount)
}

pub(crate) fn done(seq: u64) -> Answer {
    Answer::Done(Receipt::seq(seq))
}

pub(crate) fn freeze(user: u64, key: &str) -> StatusChange {
    StatusChange {
        user: UserId(user),
        status: AccountStatus::Frozen,
        reason: "asked for".into(),
        caller: "a person".into(),
        key: key.into(),
    }
}

/// What was said, where something was.
pub(crate) fn said<T: std::fmt::Debug>(reply: Reply<T>) -> T {
    if let Reply::Answered(_, said) = reply { said } else { panic!("{reply:?}") }
}

/// A ledger, and what it said when it broke.
pub(crate) struct SpotFixture {
    pub(crate) spot: Arc<Spot>,
    pub(crate) torn: Option<TornTail>,
    pub(crate) fatal: Arc<Mutex<Vec<String>>>,
}

/// Opens a ledger on a disk.
pub(crate) fn open(disk: Arc<dyn Disk>, acknowledged: u64) -> Result<SpotFixture, SpotOpenError> {
    let fatal = Arc::new(Mutex::new(Vec::new()));
    let messages = fatal.clone();
    let fatally = Arc::new(move |message| messages.lock().unwrap().push(message));
    let (spot, torn) = run(Spot::open(disk, &UniqueRng, vec![USDT], acknowledged, fatally))?;
    Ok(SpotFixture { spot, torn, fatal })
}

/// A fresh ledger on a fresh disk.
pub(crate) fn fresh() -> (Arc<Memory>, SpotFixture) {
    let disk = Arc::new(Memory::default());
    let fixture = open(disk.clone(), 0).unwrap();
    (disk, fixture)
}

impl SpotFixture {
    pub(crate) fn known(&self) -> Known {
        self.spot.known()
    }

    pub(crate) fn execute(&self, ops: &[Op]) -> Reply<Vec<Answer>> {
        run(self.spot.execute(self.known(), ops.into()))
    }

    /// The answers of operations that were heard.
    pub(crate) fn done(&self, ops: &[Op]) -> Vec<Answer> {
        said(self.execute(ops))
    }

    pub(crate) fn totals(&self) -> Totals {
        said(run(self.spot.totals()))[0].1
    }

    pub(crate) fn available(&self, user: u64) -> Option<u128> {
        let holdings = said(run(self.spot.accounts(Whose::User(UserId(user)))));
        holdings.first().map(|holding| holding.available.0)
    }

    /// Everything that can be asked, to compare two ledgers by.
    pub(crate) fn all(&self) -> String {
        let operations = said(run(self.spot.operations(0, usize::MAX)));
        let holdings = said(run(self.spot.accounts(Whose::After(0, usize::MAX))));
        let highest = self.known().highest;
        format!("{highest} {operations:?} {holdings:?} {:?}", self.totals())
    }
}
