//! The server process around the engine: settings, authentication, the HTTP API, metrics and the command line.

pub mod auth;
pub mod backup;
pub mod bootstrap;
mod bus;
pub mod cli;
pub mod config;
mod file_modes;
pub mod http;
pub mod json;
mod keystore;
mod link_context;
pub mod metrics;
pub mod open_store;
pub mod outbound_http;
mod relay;
pub mod remote_ledger;
pub mod runtime;
pub mod shutdown;
mod swap;
pub mod telemetry;
pub mod webhooks;
