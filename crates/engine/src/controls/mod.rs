//! What may begin at this moment, and what goes on: HALT, pauses, the lease, the admission of ledgers, the calls and
//! writes on their way, and whether the store takes writes. Of the other rooms it knows the plans alone.

pub(crate) mod admission;
pub(crate) mod lease;
pub(crate) mod outstanding_calls;
pub(crate) mod store_room;
