//! What keeps money from moving: HALT, pauses, limits, and a ledger that is not the one the journal knows.

pub(crate) mod admission;
pub(crate) mod halt;
pub(crate) mod limits;
pub(crate) mod status_sync;
