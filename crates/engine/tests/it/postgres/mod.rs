//! The engine on a real PostgreSQL, and what may befall one: kills, cut wires, locks, triggers, other
//! people's connections, clocks that are apart.

mod beside;
mod clocks;
mod commits;
mod counted;
mod crowded;
mod failover;
mod halts;
mod kills;
mod locks;
mod server;
mod site;
mod triggers;
mod workers;
