//! A NEAR chain in this process, for the relay's tests: accounts, access keys, blocks, a token
//! contract, and the JSON-RPC of a node over HTTP.
//!
//! `chain` is the protocol, `contract` executes the token, `rpc` answers as a node does, `faults`
//! scripts what a provider does wrong, `devnet` is the handle that tests hold.

mod chain;
mod contract;
mod devnet;
mod faults;
mod node;
mod options;
pub mod recorded;
mod rpc;
pub mod serve;
mod setup;
mod wallet;

pub use crate::front::{Blocks, Change, Edit};
pub use chain::events::{EventKind, TokenEvent};
pub use chain::status::{Observed, SpentNonce};
pub use contract::TOKEN_WASM;
pub use devnet::{Devnet, Endpoint};
pub use faults::{Fault, Lie, Rule};
pub use options::{Execution, Options};
pub use setup::TokenOptions;
pub use wallet::Wallet;

/// NEAR's own types, which this crate is built with.
pub use near_crypto;
pub use near_primitives;
