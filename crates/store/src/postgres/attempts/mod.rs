//! Attempts on chains: how a batch writes them, how they are read, and who is given them.

mod due;
pub(crate) mod read;
pub(crate) mod write;

pub(crate) use due::{lease, retake};
