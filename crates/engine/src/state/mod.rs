//! What this process knows: the parts that it was given, its settings, its ledgers, its limits, the transfers on their
//! way, the cases.

pub(crate) mod accepted;
pub(crate) mod assets;
pub(crate) mod case_kinds;
pub(crate) mod cases;
pub(crate) mod create_request;
pub(crate) mod halt;
pub(crate) mod in_flight;
pub(crate) mod late_answers;
pub(crate) mod ledgers;
pub(crate) mod limits;
pub(crate) mod loss;
pub(crate) mod not_yet;
pub(crate) mod parts;
pub(crate) mod queue;
pub(crate) mod select;
pub(crate) mod settings;
pub(crate) mod shared;
pub mod tasks;
pub(crate) mod transfer_ids;
pub(crate) mod waiters;
