//! The bodies of the operators' routes.

pub mod actions;
pub mod approvals;
pub mod assets;
pub mod cases;
pub mod chains;
pub mod halts;
pub mod numbered_accounts;
pub mod pauses;
pub mod pipeline;
pub mod relay_keys;
pub mod transfer_actions;
pub mod webhooks;
