//! Keeps money from moving: HALT, pauses, limits, and the admission of ledgers that the journal knows.

pub(crate) mod admission;
pub(crate) mod halt;
pub(crate) mod limits;
