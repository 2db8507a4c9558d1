//! Connects to the database, and checks what the database must guarantee before the store uses it.

pub(crate) mod client;
pub(crate) mod connect;
pub(crate) mod preflight;

pub(crate) mod replication;
pub(crate) mod timeline;

pub(crate) mod database_clock;
pub(crate) mod writer_health;
