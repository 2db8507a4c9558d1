//! Ledgers outside the journal's database, for the simulation, and what goes wrong on the network.

mod faulty;
mod plain;
mod route;

pub use faulty::{Faulty, Trouble};
pub use plain::Plain;
pub(crate) use route::LedgerRoute;
