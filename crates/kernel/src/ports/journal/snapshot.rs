//! A snapshot of the journal at one instant, for reconciliation.

use crate::answer::Cause;
use crate::flow::table::S;
use crate::ids::{AssetId, FlowId, Id, LedgerId, Serial};
use crate::money::Amount;
use crate::operation::{Key, Operation};
use crate::ports::Fut;
use crate::ports::journal::Resource;
use crate::ports::ledger::Totals;
use crate::record::{Account, Party};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A transfer beside its operations, as the conservation check reads it.
#[derive(Debug, Clone)]
pub struct Line {
    /// The journal's number of the transfer.
    pub serial: Serial,
    /// The id that its operations are keyed by.
    pub id: Id,
    /// The flow that the transfer belongs to.
    pub flow: FlowId,
    /// The state that the transfer is in.
    pub state: S,
    /// Where the money comes from.
    pub source: Party,
    /// Where the money goes.
    pub target: Party,
    /// What is kept where the money is given back, in base units of the source's asset.
    pub refund_fee: Amount,
    /// The row that the table of clients' keys has for the transfer's own key.
    pub key_row: KeyRow,
    /// What each ledger answered, as far as it is stored.
    pub operations: Vec<(LedgerId, Operation)>,
}

/// What the table of clients' keys has for the key of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRow {
    /// The transfer has no key.
    Keyless,
    /// The transfer has a key, and the table no row of it.
    Missing,
    /// The row names the transfer of this number.
    Names(Serial),
}

/// A row of the table of clients' keys to which no transfer belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmatchedKey {
    /// The name of the flow, as it is stored.
    pub flow: String,
    /// The scope in which the key is unique.
    pub scope: String,
    /// The client's own key.
    pub key: String,
    /// The number of the transfer that the row names.
    pub serial: Serial,
}

/// What the stored operations of one ledger add up to, per asset, over the DONE ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sums {
    /// The sum of withdraws, in base units.
    pub withdraw: i128,
    /// The sum of deposits, in base units.
    pub deposit: i128,
    /// The sum of settles, in base units.
    pub settle: i128,
    /// The sum of refunds, in base units.
    pub refund: i128,
    /// From the world less to the world.
    pub external: i128,
    /// Operations of every leg and outcome.
    pub count: u64,
}

/// What all stored operations add up to, by ledger and asset.
pub type Recount = Vec<(LedgerId, AssetId, Sums)>;

/// What the stored operations of one account add up to, in one asset at one ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountSums {
    /// The account that is summed.
    pub account: Account,
    /// The asset that is summed.
    pub asset: AssetId,
    /// What the account has available, at an enlisted ledger; 0 where it has no such row.
    pub available: Amount,
    /// What is held of it, at an enlisted ledger.
    pub frozen: Amount,
    /// Over the DONE ones; `count` counts these alone, without external movements.
    pub sums: Sums,
}

/// Gives instants of the journal.
pub trait SnapshotSource: Send + Sync {
    /// One instant of the whole journal.
    fn snapshot(&self) -> Fut<'_, Result<Box<dyn Snapshot>, Cause>>;
}

/// One instant of the journal's database. Dropping it ends the read transaction.
pub trait Snapshot: Send {
    /// The books of an enlisted ledger, recomputed from its balances.
    fn books(&mut self, ledger: LedgerId) -> Fut<'_, Result<Vec<(AssetId, Totals)>, Cause>>;
    /// What the operations of a ledger with a number at or below `upto` add up to, by the running
    /// sums that are written with the rows: it costs the same however many rows there are.
    fn sums(&mut self, ledger: LedgerId, upto: u64)
    -> Fut<'_, Result<Vec<(AssetId, Sums)>, Cause>>;
    /// The stored operations of a ledger with a number above `after`, by number, at most `limit`; such a
    /// number may be there twice where the ledger lost the first one and persons accepted that.
    fn receipts(
        &mut self,
        ledger: LedgerId,
        after: u64,
        limit: usize,
    ) -> Fut<'_, Result<Vec<Operation>, Cause>>;
    /// What the operations of every ledger add up to, recomputed from all rows. It may take minutes,
    /// and keeps no writer waiting.
    fn recount(&mut self) -> Fut<'_, Result<Recount, Cause>>;
    /// Rows of the table of clients' keys whose transfer is not there or has another key, at most `limit`.
    /// It reads all rows, may take minutes, and keeps no writer waiting.
    fn unmatched_keys(&mut self, limit: usize) -> Fut<'_, Result<Vec<UnmatchedKey>, Cause>>;
    /// What the DONE operations of a ledger with a number at or below `upto` add up to by account and
    /// asset, external movements among those of the ledger that has them; of an enlisted ledger beside
    /// the balances, and with those that have no operation. The first call begins the reading of all
    /// rows, each further one gives the next page, an empty page ends it; no other ledger's reading is
    /// begun before. In order: users by number, then accounts by name; an account's assets by number.
    /// It may take minutes, and keeps no writer waiting.
    fn account_sums(
        &mut self,
        ledger: LedgerId,
        upto: u64,
        limit: usize,
    ) -> Fut<'_, Result<Vec<AccountSums>, Cause>>;
    /// The highest number up to which this instant has every transfer that ever will have one.
    /// Numbers above it may be in the instant, and lower ones beside them may still be committed:
    /// who reads on behind a number reads no further than this.
    fn complete(&mut self) -> Fut<'_, Result<Serial, Cause>>;
    /// Transfers above a number, by number, at most `limit`.
    fn lines(&mut self, after: Serial, limit: usize) -> Fut<'_, Result<Vec<Line>, Cause>>;
    /// The transfers of these keys; unknown ones are left out.
    fn lines_of(&mut self, keys: Vec<Key>) -> Fut<'_, Result<Vec<Line>, Cause>>;
    /// Resources whose names begin like this, by name.
    fn resources(&mut self, prefix: Arc<str>) -> Fut<'_, Result<Vec<Resource>, Cause>>;
    /// Counters whose names begin like this, with where each stands; one that was never raised may be left out.
    fn counters(&mut self, prefix: Arc<str>) -> Fut<'_, Result<BTreeMap<Arc<str>, u128>, Cause>>;
}
