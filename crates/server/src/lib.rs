//! The process around the engine: settings, tokens, HTTP, metrics, the command line.

pub mod auth;
pub mod backup;
pub mod cli;
pub mod config;
mod file_modes;
pub mod house;
pub mod http;
pub mod json;
pub mod layers;
pub mod metrics;
pub mod outward;
pub mod ports;
pub mod shutdown;
pub mod spot;
pub mod stores;
pub mod telemetry;
pub mod webhooks;
