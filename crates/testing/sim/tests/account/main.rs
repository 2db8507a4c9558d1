//! The flow `account` over the simulated bus. It links no real store, so that it is quick to build.

mod crashes;
mod generic;
mod seeds;
mod suite;
mod workers;
mod wrong;
