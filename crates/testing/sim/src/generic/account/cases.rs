//! The account cases of the generic tests: accounts, transfers between them, and the end of each.

use kernel::accounts::NumberedStatus;
use std::borrow::Cow;

/// How a transfer must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransferEnd {
    /// It moves its money.
    Completed,
    /// It is refused, and moves nothing.
    Failed,
    /// One or the other: which depends on the order.
    Either,
}

/// An account of a case.
#[derive(Debug, Clone, Copy)]
pub struct CaseAccount {
    /// Its number, by which transfers name it.
    pub number: &'static str,
    /// What it has at first, in base units.
    pub has: u128,
    /// Its status from then on.
    pub status: NumberedStatus,
}

/// A transfer of a case.
#[derive(Debug, Clone, Copy)]
pub struct CaseTransfer {
    /// The account that pays; its number is the key of all messages.
    pub from: &'static str,
    /// The account that is paid.
    pub to: &'static str,
    /// How much, in base units.
    pub amount: u128,
    /// How it must end.
    pub end: TransferEnd,
}

/// Transfers that are opened together.
#[derive(Debug, Clone)]
pub struct AccountCase {
    /// What it shows, in a few words.
    pub name: &'static str,
    /// The accounts that exist.
    pub accounts: Cow<'static, [CaseAccount]>,
    /// The transfers, in the order in which they are opened.
    pub transfers: Cow<'static, [CaseTransfer]>,
    /// How many of them are COMPLETED, whatever the order; `None` where that depends on it.
    pub completed: Option<usize>,
    /// The check of the first transfer gets no answer until all others wait behind it; they are opened
    /// when its key is parked.
    pub parks: bool,
    /// Everything that was published is published again when all transfers have ended.
    pub repeats: bool,
}

const fn active(number: &'static str, has: u128) -> CaseAccount {
    CaseAccount { number, has, status: NumberedStatus::Active }
}

const fn pays(from: &'static str, to: &'static str, amount: u128) -> CaseTransfer {
    CaseTransfer { from, to, amount, end: TransferEnd::Completed }
}

const fn refused(from: &'static str, to: &'static str, amount: u128) -> CaseTransfer {
    CaseTransfer { from, to, amount, end: TransferEnd::Failed }
}

const fn races(from: &'static str, to: &'static str, amount: u128) -> CaseTransfer {
    CaseTransfer { from, to, amount, end: TransferEnd::Either }
}

const BOTH_WAYS: AccountCase = AccountCase {
    name: "both ways at once",
    accounts: Cow::Borrowed(&[active("A-1", 100), active("B-1", 100)]),
    transfers: Cow::Borrowed(&[
        pays("A-1", "B-1", 10),
        pays("B-1", "A-1", 20),
        pays("A-1", "B-1", 30),
        pays("B-1", "A-1", 5),
    ]),
    completed: Some(4),
    parks: false,
    repeats: true,
};

const REFUSALS: AccountCase = AccountCase {
    name: "refusals beside a payment",
    accounts: Cow::Borrowed(&[
        active("A-1", 100),
        active("B-1", 0),
        CaseAccount { number: "F-1", has: 50, status: NumberedStatus::Frozen },
    ]),
    transfers: Cow::Borrowed(&[
        refused("A-1", "B-1", 101),
        refused("F-1", "B-1", 1),
        refused("A-1", "X-1", 1),
        refused("X-1", "A-1", 1),
        pays("A-1", "F-1", 7),
    ]),
    completed: Some(1),
    parks: false,
    repeats: false,
};

const GONE: AccountCase = AccountCase {
    name: "money that is there once",
    accounts: Cow::Borrowed(&[active("A-1", 100), active("B-1", 0)]),
    transfers: Cow::Borrowed(&[
        races("A-1", "B-1", 60),
        races("A-1", "B-1", 70),
        races("A-1", "B-1", 80),
    ]),
    completed: Some(1),
    parks: false,
    repeats: false,
};

const PARKED: AccountCase = AccountCase {
    name: "an account whose check says nothing",
    accounts: Cow::Borrowed(&[active("A-1", 100), active("B-1", 100)]),
    transfers: Cow::Borrowed(&[
        pays("A-1", "B-1", 13),
        pays("A-1", "B-1", 10),
        pays("B-1", "A-1", 20),
        pays("A-1", "B-1", 30),
    ]),
    completed: Some(4),
    parks: true,
    repeats: false,
};

/// Every case: payments both ways, refusals, a race for money, a parked key.
pub const ACCOUNT_CASES: [AccountCase; 4] = [BOTH_WAYS, REFUSALS, GONE, PARKED];
