//! The flows: each an enum of states with one table, and what people read of them.

pub mod internal;
mod registry;
pub mod words;

pub use registry::registry;
