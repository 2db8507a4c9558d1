//! Ledgers outside the journal's database: the Spot core, and the real folder that it writes to.
//!
//! The core reaches disk and chance through ports only, so that a simulation can hold all of it on
//! one thread. Reading order: [`spot`], [`disk`].

pub mod disk;
mod error;
pub mod spot;

pub use error::OpenError;
