//! Connections to the database: how each is made, and what the database must promise before it is
//! used.

pub(crate) mod client;
pub(crate) mod connect;
pub(crate) mod preflight;

pub(crate) mod replication;
pub(crate) mod timeline;

pub(crate) mod database_clock;
pub(crate) mod writer_health;
