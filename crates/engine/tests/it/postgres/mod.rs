//! The engine on a real PostgreSQL, and what may befall one: kills, cut wires, locks, triggers, other
//! people's connections, clocks that are apart.

mod account;
mod beside;
mod chains;
mod clocks;
mod commits;
mod failover;
pub(crate) mod fixture;
mod halts;
mod kills;
mod locks;
mod no_connections;
mod running_sums;
mod server;
mod shared;
mod simple_takeover;
mod standby;
mod triggers;
mod workers;
