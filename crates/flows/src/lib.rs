//! The flows: each a folder with its table, its rules and what people read of it.

pub mod account;
mod facts;
pub mod internal;
mod registry;
pub mod relay;
pub mod swap_in;
pub mod swap_out;
pub mod swaps;

pub use registry::{registry, registry_by};
