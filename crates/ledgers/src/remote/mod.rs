//! A ledger at the other end of a network: somebody's trading system, or `portage spot serve`.
//!
//! Reading order: [`wire`] (the contract), [`classify`] (what counts as an answer), `full` and
//! `simple` (the two forms as ledgers), `http` (one request).

mod books;
pub mod classify;
mod full;
mod http;
mod json;
mod simple;
mod symbols;
#[cfg(test)]
mod tests;
mod tls;
mod together;
pub mod wire;

pub use full::Remote;
pub use http::{Settings, Token, Unfit, address};
pub use simple::Service;
pub use symbols::Symbols;
pub use together::together;
