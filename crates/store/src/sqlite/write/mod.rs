//! The writer takes many units as one transaction; the rules decide each unit before the writer writes
//! anything of it.

pub(crate) mod work;
pub(crate) mod writer;
pub(crate) mod writer_state;

pub(crate) mod batch;

mod apply;
mod state_reader;

pub(crate) mod attempts;
pub(crate) mod audit_chain;
pub(crate) mod daily_usage;
mod operators;
mod puts;
mod running_sums;
mod transfer_rows;
