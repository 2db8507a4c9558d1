//! A ledger at the other end of a network: somebody's trading system, or `portage spot serve`.
//!
//! Reading order: [`wire`] (the contract), [`classify`] (what counts as an answer).

pub mod books;
pub mod classify;
mod json;
mod symbols;
#[cfg(test)]
mod tests;
pub mod wire;

pub use symbols::Symbols;
