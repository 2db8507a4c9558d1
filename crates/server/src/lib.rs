//! The process around the engine: settings, tokens, HTTP, metrics, the command line.

pub mod auth;
pub mod config;
pub mod layers;
pub mod ports;
pub mod metrics;
pub mod telemetry;
pub mod http;
