//! The engine on a real PostgreSQL, and what may befall one: kills, cut wires, locks, triggers, other
//! people's connections.

mod commits;
mod counted;
mod failover;
mod kills;
mod locks;
mod server;
mod site;
mod triggers;
mod workers;
