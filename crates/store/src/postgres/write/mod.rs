//! The batch pipeline reads the rows of all waiting items, has the rules decide, and writes, in two
//! round trips.
//!
//! ```text
//! queue ─► account_queues ─► writer ─► batch: row_set ─► read_rows ─► apply ─► write_rows
//! ```

pub(crate) mod account_queues;
pub(crate) mod queue;
pub(crate) mod work;

pub(crate) mod batch;
pub(crate) mod connection;
pub(crate) mod writer;

pub(crate) mod client_keys;
pub(crate) mod read_rows;
pub(crate) mod row_set;

mod apply;
mod state_reader;
pub(crate) mod workspace;

pub(crate) mod running_sums;
pub(crate) mod statement;
pub(crate) mod transfer_rows;
pub(crate) mod write_rows;

pub(crate) mod balance_cache;
pub(crate) mod open_batches;
pub(crate) mod transfer_cache;
