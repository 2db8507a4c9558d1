//! The store of transfers, as a sum of small ports: a component names the part that it uses, or takes
//! the whole.

mod attempts;
mod operators;
mod service;
mod snapshot;
mod transfers;
mod units;
mod workers;

pub use attempts::AttemptQueries;
pub use operators::{OperatorQueries, PENDING_APPROVALS};
pub use service::{Owner, RESTORED_ROW, Resource, ServiceQueries, ServiceStatus};
pub use snapshot::{
    AccountSums, KeyRow, Line, Recount, Snapshot, SnapshotSource, Sums, UnmatchedKey,
};
pub use transfers::{Count, Linked, TransferPage, TransferQueries};
pub use units::{UnitWriter, Writing};
pub use workers::{Due, DueQuery, Lease, OtherLease, WorkerLeases};

/// The whole journal. A store implements the seven parts, and is a journal by the implementation below.
pub trait Journal:
    UnitWriter
    + TransferQueries
    + WorkerLeases
    + AttemptQueries
    + OperatorQueries
    + ServiceQueries
    + SnapshotSource
{
}

impl<T> Journal for T where
    T: UnitWriter
        + TransferQueries
        + WorkerLeases
        + AttemptQueries
        + OperatorQueries
        + ServiceQueries
        + SnapshotSource
        + ?Sized
{
}
