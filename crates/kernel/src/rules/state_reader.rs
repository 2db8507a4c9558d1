//! What the rules ask of a store.

use super::StoredAttempt;
use crate::accounts::NumberedAccount;
use crate::answer::Evidence;
use crate::attempt::{AttemptId, Lock};
use crate::audit::Hash;
use crate::ids::{AssetId, ChainId, Day, FlowId, Id, LedgerId, Millis, UserId};
use crate::limits::DailyUsage;
use crate::money::Amount;
use crate::operation::{Key, Known, Operation};
use crate::operators::ApprovalStatus;
use crate::ports::ledger::AccountStatus;
use std::sync::Arc;

/// All transfers of a day are counted under this number, which no asset has.
pub const ALL_ASSETS: AssetId = AssetId(0);

/// A row of what users moved.
pub type UsageKey = (Day, UserId, AssetId);

/// What a chain spends at most once: the chain, the lane, and the lock in it.
pub type LockKey = (ChainId, Arc<str>, Lock);

/// Where a stored transfer stands.
#[derive(Debug, Clone, Copy)]
pub struct StoredTransfer {
    /// Its number in the store.
    pub transfer: i64,
    /// The flow that it goes through.
    pub flow: FlowId,
    /// The stored number of its state.
    pub code: i16,
    /// Raised by each move.
    pub version: u32,
    /// The number of the write that opened it.
    pub batch: i64,
    /// The number of events in its history.
    pub events: u32,
    /// The hash of the last of them.
    pub chain: Hash,
    /// It has a row for the scanner.
    pub due: bool,
    /// Something was agreed after its opening.
    pub agreed: bool,
}

/// One asset of one account.
#[derive(Debug, Clone, Copy)]
pub struct StoredBalance {
    /// What the user may spend, in base units.
    pub available: Amount,
    /// What is held for withdrawals, in base units.
    pub frozen: Amount,
    /// What the account may do.
    pub status: AccountStatus,
    /// It has a row already.
    pub stored: bool,
    /// The row is to be written.
    pub changed: bool,
}

impl StoredBalance {
    /// Of an account that holds nothing of the asset yet.
    pub const fn empty(status: AccountStatus) -> Self {
        let (available, frozen) = (Amount::ZERO, Amount::ZERO);
        Self { available, frozen, status, stored: false, changed: false }
    }
}

/// A book that no user owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SystemBook {
    /// Money between two ledgers.
    Clearing,
    /// The outside: what came in and went out.
    World,
}

impl SystemBook {
    /// The stored spelling of the book.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clearing => "CLEARING",
            Self::World => "WORLD",
        }
    }
}

/// A book that no user owns, of one asset at an enlisted ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Book {
    /// The enlisted ledger that keeps it.
    pub ledger: LedgerId,
    /// Which of its books.
    pub book: SystemBook,
    /// The asset that it counts.
    pub asset: AssetId,
}

/// What a store has read, seen over what earlier items of the same write did.
pub trait StateReader {
    /// Why it cannot say.
    type Error;

    /// The journal's time of this write.
    fn at(&self) -> Millis;
    /// The time of this write by the clock that finds what is due: where it was set back, [`Self::at`] is ahead of it.
    fn clock(&self) -> Millis;
    /// No claim is written.
    fn halted(&self) -> bool;
    /// The number of the last halt; 0 before the first one.
    fn halts(&self) -> u64;
    /// Ids at or below it are not opened any more.
    fn horizon(&self) -> Option<Id>;
    /// The number of the next operation at an enlisted ledger.
    fn number(&self) -> u64;
    /// Where a transfer stands; `None`: there is none.
    fn transfer(&mut self, id: Id) -> Result<Option<StoredTransfer>, Self::Error>;
    /// True where a client's key is bound.
    fn find_by_idempotency_key(
        &mut self,
        flow: FlowId,
        scope: &Arc<str>,
        key: &Arc<str>,
    ) -> Result<bool, Self::Error>;
    /// The incarnation of a ledger that is current.
    fn current(&mut self, ledger: LedgerId) -> Result<Option<Known>, Self::Error>;
    /// How often the core of a ledger was taken over.
    fn epoch(&mut self, ledger: LedgerId) -> Result<u64, Self::Error>;
    /// What every ledger stored for a transfer.
    fn legs(&mut self, id: Id) -> Result<&[(LedgerId, Operation)], Self::Error>;
    /// True for an asset of ours.
    fn knows(&mut self, asset: AssetId) -> Result<bool, Self::Error>;
    /// What an account holds; `None`: there is no such account. An asset that it does not hold yet
    /// takes the account's status.
    fn balance(
        &mut self,
        user: UserId,
        asset: AssetId,
    ) -> Result<Option<StoredBalance>, Self::Error>;
    /// A numbered account; `None`: there is none.
    fn numbered_account(
        &mut self,
        number: &Arc<str>,
    ) -> Result<Option<NumberedAccount>, Self::Error>;
    /// What a user moved on a day.
    fn daily_usage(&mut self, spend: UsageKey) -> Result<DailyUsage, Self::Error>;
    /// The database's own refusal of a leg that it was shown alone.
    fn refused(&self, _: Key) -> Option<Evidence> {
        None
    }

    /// Where an attempt stands; `None`: there is none.
    fn attempt(&mut self, id: AttemptId) -> Result<Option<StoredAttempt>, Self::Error>;
    /// True where an attempt was ever made under the lock.
    fn lock_taken(&mut self, lock: &LockKey) -> Result<bool, Self::Error>;
    /// The version of a resource; 0 where it does not exist.
    fn resource(&mut self, name: &Arc<str>) -> Result<u64, Self::Error>;
    /// A counter; 0 where it was never raised.
    fn counter(&mut self, name: &Arc<str>) -> Result<u128, Self::Error>;
    /// True for an event that its consumer had.
    fn seen(&mut self, consumer: &'static str, event: u128) -> Result<bool, Self::Error>;
    /// True where the caller did something under the key.
    fn past_action(&mut self, caller: &Arc<str>, key: &Arc<str>) -> Result<bool, Self::Error>;
    /// How an approval is stored, and until when it may be decided; `None`: there is none.
    fn approval_status(&mut self, id: Id) -> Result<Option<(ApprovalStatus, Millis)>, Self::Error>;
    /// True where another incarnation followed this one.
    fn superseded(&mut self, ledger: LedgerId, known: &Known) -> Result<bool, Self::Error>;
}
