//! The queries about what the journal holds besides transfers: flags, named values, counters.

use crate::answer::Cause;
use crate::ids::{AssetId, Day, Id, LedgerId, UserId, WorkerId};
use crate::limits::DailyUsage;
use crate::money::Asset;
use crate::operation::{Identity, Known};
use crate::operators::{Accepted, Paused};
use crate::ports::Fut;
use std::sync::Arc;

/// A named value that units compare and swap: a key, a cursor, a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// The name of the row.
    pub name: Arc<str>,
    /// Raised by every put; the first is 1.
    pub version: u32,
    /// What the last put said.
    pub value: Arc<str>,
}

/// The resource of a journal that was restored from a backup: when that was taken.
pub const RESTORED_ROW: &str = "restored";

/// What the journal holds besides transfers.
#[derive(Debug, Clone, Default)]
pub struct ServiceStatus {
    /// The identity of the journal, drawn once. A backup has it, so a restored journal is the same one.
    pub identity: Identity,
    /// Why no money moves; `None` where it moves.
    pub halted: Option<Arc<str>>,
    /// The pauses that are in force until a person lifts them.
    pub paused: Vec<Paused>,
    /// Breaks of conservation that were accepted.
    pub accepted: Vec<Accepted>,
    /// Every asset, in whatever status.
    pub assets: Vec<Asset>,
    /// The version of the resource `assets`: how often they changed.
    pub assets_version: u32,
    /// The ledgers outside the journal's database that it met.
    pub ledgers: Vec<(LedgerId, Known)>,
    /// Results at or below it are forgotten.
    pub horizon: Option<Id>,
    /// The number of the last halt; 0 before the first one. It rises with each, also where one stands.
    pub halts: u64,
    /// How far conservation was proven, as a checker stored it under the resource `proven`.
    pub proven: Option<Arc<str>>,
    /// The owners of the cores that run inside a process.
    pub owners: Vec<Owner>,
    /// The workers whose leases end; empty where one process has the journal for itself.
    pub workers: Vec<WorkerId>,
}

impl ServiceStatus {
    /// The incarnation that the journal has of a ledger; `None` where it never met the ledger.
    pub fn ledger(&self, id: LedgerId) -> Option<Known> {
        self.ledgers.iter().find(|(known, _)| *known == id).map(|(_, known)| *known)
    }
}

/// The worker in whose process a ledger's core runs (`ledgers.md` §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// The ledger whose core is owned.
    pub ledger: LedgerId,
    /// How often it was taken over: what guards the owner's units.
    pub epoch: u64,
    /// The worker that took it over last.
    pub worker: WorkerId,
    /// The identity that it had then.
    pub identity: Identity,
    /// That worker has a lease.
    pub lives: bool,
}

/// Reads the status of the service, and the named values and counters that units compare and raise.
pub trait ServiceQueries: Send + Sync {
    /// The flags of HALT and pauses, the assets and the ledgers.
    fn service_status(&self) -> Fut<'_, Result<ServiceStatus, Cause>>;
    /// The resource of that name; `None` where it was never put.
    fn resource(&self, name: Arc<str>) -> Fut<'_, Result<Option<Resource>, Cause>>;
    /// Resources whose names begin like this, by name.
    fn resources(&self, prefix: Arc<str>) -> Fut<'_, Result<Vec<Resource>, Cause>>;
    /// Where a counter stands; 0 where it was never raised.
    fn counter(&self, name: Arc<str>) -> Fut<'_, Result<u128, Cause>>;
    /// What a user has moved on a day.
    fn daily_usage(
        &self,
        user: UserId,
        day: Day,
        asset: AssetId,
    ) -> Fut<'_, Result<DailyUsage, Cause>>;
}
