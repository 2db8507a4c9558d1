//! What this process knows: the parts that it was given, its settings, its lease, its ledgers, its flags and limits,
//! the transfers on their way, the cases. Of the other rooms it knows the plans alone.

pub(crate) mod accepted;
pub(crate) mod assets;
pub(crate) mod case_kinds;
pub(crate) mod cases;
pub(crate) mod controls;
pub(crate) mod create_request;
pub(crate) mod in_flight;
pub(crate) mod late_answers;
pub(crate) mod lease;
pub(crate) mod ledgers;
pub(crate) mod loss;
pub(crate) mod not_yet;
pub(crate) mod parts;
pub(crate) mod queue;
pub(crate) mod select;
pub(crate) mod settings;
pub(crate) mod shared;
pub(crate) mod superseded;
pub mod tasks;
pub(crate) mod transfer_ids;
pub(crate) mod waiters;
