//! The port to a ledger: a system that holds accounts and keeps its answers (`ledgers.md` §1–2).

use super::Fut;
use super::journal::Writing;
use super::sending::SendPermission;
use crate::answer::{Answer, Cause};
use crate::code::Code;
use crate::ids::{AssetId, Day, Id, LedgerId, Millis, UserId};
use crate::money::{Amount, Asset};
use crate::operation::{Key, Known, Op, Operation};
use crate::operators::{Action, ApprovalStatus};
use crate::principal;
use crate::unit::Put;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The reply of a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply<T> {
    /// An answer, with the ledger's identity at that moment.
    Answered(Known, T),
    /// It is another ledger, another incarnation, or knows less than the request: it executed
    /// nothing.
    OtherLedger(Known),
    /// No answer, or none that counts.
    NoAnswer(Cause),
}

impl<T> Reply<T> {
    /// The same reply, with what was answered as `read` makes it.
    pub fn map<U>(self, read: impl FnOnce(T) -> U) -> Reply<U> {
        match self {
            Self::Answered(known, answer) => Reply::Answered(known, read(answer)),
            Self::OtherLedger(known) => Reply::OtherLedger(known),
            Self::NoAnswer(cause) => Reply::NoAnswer(cause),
        }
    }
}

/// The stored result under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stored {
    /// The operation as the ledger stored it, with its outcome.
    Found(Operation),
    /// Nothing under that key.
    Nothing,
}

/// One asset's books at one instant; `users + frozen + clearing + world = 0`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// The money that users may use.
    pub users: i128,
    /// The money that is held for withdrawals.
    pub frozen: i128,
    /// Money between two ledgers.
    pub clearing: i128,
    /// The outside: deposits below zero, withdrawals above.
    pub world: i128,
}

/// Whether an account may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum AccountStatus {
    /// The account may send and receive.
    Active,
    /// It may receive, not pay.
    Frozen,
    /// It may neither receive nor pay.
    Disabled,
}

impl AccountStatus {
    /// The stored and wire spelling.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "ACTIVE",
            Self::Frozen => "FROZEN",
            Self::Disabled => "DISABLED",
        }
    }

    /// The status of that spelling.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Active, Self::Frozen, Self::Disabled].into_iter().find(|s| s.name() == text)
    }

    /// The code with which a withdraw is refused (`ledgers.md` §1).
    pub const fn bars_withdraw(self) -> Option<Code> {
        match self {
            Self::Active => None,
            Self::Frozen => Some(Code::AccountFrozen),
            Self::Disabled => Some(Code::AccountDisabled),
        }
    }

    /// The code with which a deposit is refused.
    pub const fn bars_deposit(self) -> Option<Code> {
        match self {
            Self::Active | Self::Frozen => None,
            Self::Disabled => Some(Code::AccountDisabled),
        }
    }
}

/// One asset of one account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holding {
    /// The user who has the account.
    pub user: UserId,
    /// The asset of the balance.
    pub asset: AssetId,
    /// The amount that may be used.
    pub available: Amount,
    /// The amount that holds set apart.
    pub frozen: Amount,
    /// Whether the account may pay and receive.
    pub status: AccountStatus,
}

/// A selection of accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// The balances of one user.
    User(UserId),
    /// The next ones above this user, and the maximum number of holdings.
    After(u64, usize),
}

/// How much a ledger can prove of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LedgerForm {
    /// It has an identity, numbers and lists its operations, proves its totals, and can be fenced.
    Full,
    /// It takes operations and can be asked for one, and nothing else: its identity is taken from the
    /// settings, its receipts have no number, and its answers about a key name the key alone, neither
    /// account nor amount.
    Simple,
}

/// Which requests of a key were sent before this one, as far as the caller can prove it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlierSends {
    /// None: this process wrote the claim in this run, and no call was sent since.
    None,
    /// Some, all of them through this very port since this process wrote the claim.
    OnlyHere,
    /// It is not known: the claim is of an earlier run or another process, which may have sent one
    /// that is still on its way.
    Unknown,
}

/// A ledger. Its answers are sticky: a repeat of a key gets what was stored, refusals included.
pub trait Ledger: Send + Sync {
    /// The number of the ledger in the settings.
    fn id(&self) -> LedgerId;
    /// How much the ledger can prove of itself.
    fn form(&self) -> LedgerForm {
        LedgerForm::Full
    }
    /// True where external money reaches the ledger by ways that it does not list. Its totals of external
    /// money are then its own word, and only the sum and the clearing can be proven.
    fn own_world(&self) -> bool {
        false
    }
    /// Asks which ledger it is now. Executes nothing.
    fn hello(&self) -> Fut<'_, Reply<()>>;
    /// One answer for each operation, in order. Independent of each other.
    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>>;
    /// The same, with the earlier sends of each key, in the same order. It matters to a ledger that does
    /// not promise to keep its refusals (`ledgers.md` §1): after a send without an answer its refusal
    /// proves nothing. Other ledgers need not look.
    fn execute_after(
        &self,
        known: Known,
        ops: Arc<[Op]>,
        _earlier: Arc<[EarlierSends]>,
    ) -> Fut<'_, Reply<Vec<Answer>>> {
        self.execute(known, ops)
    }
    /// The same as [`Self::execute`], without waiting for those among them that wait for a row that another
    /// session has locked. A future that is dropped takes nothing back: its operation is still done.
    fn begin(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Writing<Answer>>>> {
        let over = |answers: Vec<Answer>| answers.into_iter().map(Writing::Over).collect();
        Box::pin(async move { self.execute(known, ops).await.map(over) })
    }
    /// What is stored under a key.
    fn query(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>>;
    /// Writes a tombstone under a key of a withdraw or a deposit, or says what is stored already.
    fn fence(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>>;
    /// The books at one instant, which is the reply's `highest`; recomputed from the accounts.
    fn totals(&self) -> Fut<'_, Reply<Vec<(AssetId, Totals)>>>;
    /// Operations above `after`, by number, at most `limit`.
    fn operations(&self, after: u64, limit: usize) -> Fut<'_, Reply<Vec<Operation>>>;
    /// Lets the ledger forget results at or below `id`, except those of `open`.
    fn horizon(&self, known: Known, id: Id, open: Arc<[Id]>) -> Fut<'_, Reply<()>>;
    /// The balances of one user, or a page of all.
    fn accounts(&self, whose: Whose) -> Fut<'_, Reply<Vec<Holding>>>;
    /// Sets an account's status; `key` makes it idempotent. False: there is no such account.
    fn status(&self, known: Known, change: StatusChange) -> Fut<'_, Reply<bool>>;
    /// Tells the ledger the number of the last HALT. From its answer on it does nothing that a request with a lower
    /// number asks for. Returns the highest number that it was told of; `None` where it keeps no numbers.
    fn note_halt(&self, known: Known, _number: u64) -> Fut<'_, Reply<Option<u64>>> {
        Box::pin(std::future::ready(Reply::Answered(known, None)))
    }
    /// Tells the ledger every asset that there is from now on, before any operation names a new one. A
    /// ledger that reads the assets itself does nothing.
    fn know(&self, _assets: &[Asset]) {}
    /// False where the ledger itself says that it does not hold the asset, or counts it with other decimals.
    fn holds(&self, _asset: &Asset) -> bool {
        true
    }
    /// Has the ledger ask before the first byte of what has an effect. One that is in this process, or in the
    /// journal's database, has no way to wait on and does nothing.
    fn ask_before_sending(&self, _permission: &Arc<dyn SendPermission>) {}
    /// Some where the ledger lives in the journal's database.
    fn enlist(&self) -> Option<&dyn Enlist> {
        None
    }
}

/// An operator's change of an account's status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusChange {
    /// The user who has the account.
    pub user: UserId,
    /// The status that the account gets.
    pub status: AccountStatus,
    /// The reason that was given, for the audit.
    pub reason: Arc<str>,
    /// The principal who asked: `issuer|sub`.
    pub caller: Arc<str>,
    /// The operator's idempotency key.
    pub key: Arc<str>,
}

/// A ledger whose operations may be added to a [`crate::unit::Unit`].
pub trait Enlist: Send + Sync {
    /// True: a withdraw only holds, so a settle goes with the move to the target.
    fn holds(&self) -> bool;
}

/// The direction of an external movement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// A deposit, into an account.
    #[default]
    In,
    /// Out of an account.
    Out,
}

impl Direction {
    /// True for a deposit.
    pub const fn is_in(&self) -> bool {
        matches!(self, Self::In)
    }
}

/// An external movement: a deposit to an account, or a withdrawal from one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct External {
    /// Whether it is a deposit or a withdrawal.
    pub direction: Direction,
    /// The outside world's own id: unique per direction, and the key.
    pub reference: Arc<str>,
    /// The user who has the account.
    pub user: UserId,
    /// The number of an account at the accounts ledger; `None`: the user's account at Funding.
    pub number: Option<Arc<str>>,
    /// The asset of the balance.
    pub asset: AssetId,
    /// How much, in base units.
    pub amount: Amount,
    /// The reason that was given, for the audit.
    pub reason: Arc<str>,
    /// The principal who asked: `issuer|sub`.
    pub caller: Arc<str>,
}

impl External {
    /// The ledger that has the account.
    pub const fn ledger(&self) -> LedgerId {
        match self.number {
            None => LedgerId::FUNDING,
            Some(_) => LedgerId::ACCOUNT,
        }
    }

    /// The counter of what its caller moved of the asset by hand, in this direction, on the UTC day of this
    /// moment, without a second person. Subjects that are one person (four eyes) have one.
    pub fn counter(&self, at: Millis) -> Arc<str> {
        let (day, asset, who) = (Day::of(at).0, self.asset, principal::person(&self.caller));
        let counters = match self.direction {
            Direction::In => DEPOSITS,
            Direction::Out => WITHDRAWALS,
        };
        format!("{counters}/{day:05}/{asset}/{who}").into()
    }

    /// The names of the counters that go with the days before this one are forgotten, for each direction:
    /// from the first, up to but not with the second. They are kept for a week, for who asks who moved what.
    pub fn forgotten_counters(before: Day) -> [(String, String); 2] {
        // a day has five digits from 1997 to 2243, so names are in the order of days
        let day = before.0.saturating_sub(COUNTERS_KEPT);
        [DEPOSITS, WITHDRAWALS].map(|of| (format!("{of}/"), format!("{of}/{day:05}/")))
    }
}

/// Where the names of the counters of deposits begin.
const DEPOSITS: &str = "deposits";
/// Where the names of the counters of withdrawals begin.
const WITHDRAWALS: &str = "withdrawals";
/// A counter of movements is kept for this many days.
const COUNTERS_KEPT: u32 = 7;

/// The persons on whose word a movement is booked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authority {
    /// The word of its caller is enough, for any amount.
    Alone,
    /// Its caller's alone, as long as that person's movements of the asset in this direction on the UTC day of
    /// the booking, this one with them, are no more than this.
    UpTo(Amount),
    /// Two persons' word: the caller proposed it, and another one approves.
    Approved(Box<Approved>),
}

/// A proposal that another person approves: it is decided in the transaction that books the movement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approved {
    /// The proposal, which must be pending then.
    pub proposal: Id,
    /// What the approver did, written with the booking.
    pub action: Action,
}

impl Approved {
    /// What is written beside the movement.
    pub fn puts(&self) -> [Put; 2] {
        let (id, caller) = (self.proposal, self.action.caller.clone());
        [
            Put::Decide { id, stand: ApprovalStatus::Approved, caller },
            Put::Action(self.action.clone()),
        ]
    }
}

/// The result of booking an external movement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moved {
    /// It is booked, now or at an earlier request.
    Done {
        /// The number that the ledger gave the movement.
        operation: u64,
        /// What the account has available after it (at its first booking).
        available: Amount,
        /// When it was booked.
        at: Millis,
        /// It had been booked before; nothing was done now.
        replayed: bool,
    },
    /// It was refused; nothing is stored. `SECOND_PERSON_REQUIRED`: above its caller's bound;
    /// `ALREADY_DECIDED`: its proposal is not pending; `DUPLICATE_REQUEST`: the approver's key did
    /// something before.
    Refused(Code),
    /// Another movement has that reference; these fields differ.
    Conflict(Vec<&'static str>),
}

/// A movement as it was booked: once for its (direction, reference).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BookedMovement {
    /// Its number among the operations of its store.
    pub operation: u64,
    /// The movement, with who asked for it and why.
    pub movement: External,
    /// What the account had available after it, in base units.
    pub available: Amount,
    /// When it was booked.
    pub at: Millis,
}

impl BookedMovement {
    /// What a repeat of this movement is answered.
    pub fn answer(&self, repeat: &External) -> Moved {
        let first = &self.movement;
        let pairs = [
            ("user_id", first.user != repeat.user),
            ("account_number", first.number != repeat.number),
            ("asset", first.asset != repeat.asset),
            ("amount", first.amount != repeat.amount),
        ];
        let differ: Vec<_> = pairs.into_iter().filter(|pair| pair.1).map(|pair| pair.0).collect();
        if !differ.is_empty() {
            return Moved::Conflict(differ);
        }
        let Self { operation, available, at, .. } = *self;
        Moved::Done { operation, available, at, replayed: true }
    }
}

/// The port that books external movements.
pub trait World: Send + Sync {
    /// Books one movement on its caller's word, idempotent by its reference.
    ///
    /// # Errors
    /// The cause for which the outcome is not known; repeat it with the same reference.
    fn external(&self, movement: External) -> Fut<'_, Result<Moved, Cause>> {
        self.book(movement, Authority::Alone)
    }
    /// Books one movement, idempotent by its reference, where that may be done on this authority: the
    /// transaction that books looks.
    ///
    /// # Errors
    /// The cause for which the outcome is not known; repeat it with the same reference.
    fn book(&self, movement: External, authority: Authority) -> Fut<'_, Result<Moved, Cause>>;
    /// What its reference was booked for before; `None` where it was never booked. Books nothing.
    ///
    /// # Errors
    /// The cause for which the outcome is not known.
    fn booked(&self, movement: External) -> Fut<'_, Result<Option<Moved>, Cause>>;
}
