//! Ledgers outside the journal's database, for the simulation, and the faults of the network to them.

mod faulty;
mod plain;
mod route;

pub use faulty::{Faulty, Trouble};
pub use plain::Plain;
pub(crate) use route::LedgerRoute;
