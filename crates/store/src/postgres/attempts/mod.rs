//! Stores attempts on chains: a batch writes them, the journal's port reads them, and the scanner
//! leases them.

mod due;
pub(crate) mod read;
pub(crate) mod write;

pub(crate) use due::{lease, retake};
