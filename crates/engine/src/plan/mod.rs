//! Plans: what each answer, fact or message makes of a transfer, as the unit that says it. Pure; of the other rooms
//! it knows none.

pub(crate) mod chain_stop;
pub(crate) mod claim;
pub(crate) mod close;
pub(crate) mod decision;
pub(crate) mod guards;
mod lane_acts;
pub(crate) mod lane_state;
pub(crate) mod plan_events;
#[cfg(test)]
pub(crate) mod plan_tests;
pub(crate) mod plan_waits;
pub(crate) mod planner;
pub(crate) mod quota;
pub(crate) mod routes;
