//! The ledgers that live in the journal's database, Funding and the accounts ledger: they keep double
//! entry inside the journal's own transactions.

pub(crate) mod accounts;
pub(crate) mod balances;
pub(crate) mod operations;
mod port;
mod single;

pub use port::EnlistedLedger;
pub(crate) use single::{BOOKED, booked_movement};
