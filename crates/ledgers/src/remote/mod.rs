//! Reaches ledgers at the other end of a network, for the engine: another operator's trading system, or
//! `portage spot serve`.
//!
//! Reading order: [`wire`] (the contract), [`classify`] (what counts as an answer), `full` and
//! `simple` (the two forms as ledgers), `http` (one request).

mod asset_codes;
pub mod classify;
mod concurrent;
mod full;
mod held_assets;
mod http;
mod json;
mod queries;
mod simple;
#[cfg(test)]
mod tests;
mod tls;
pub mod wire;

pub use asset_codes::AssetCodes;
pub use classify::may_refuse;
pub use concurrent::concurrent;
pub use full::Remote;
pub use http::{Settings, Token, Unfit, address};
pub use simple::SimpleRemote;
