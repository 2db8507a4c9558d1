//! A Solana chain in this process, for tests of swaps: slots and blocks, commitment with rollback, durable nonces,
//! address history, and the JSON-RPC of a node over HTTP.
//!
//! The token, associated-token-account, memo and system programs are the real ones, executed by LiteSVM; the chain
//! around them is ours. `chain` is the protocol, `rpc` answers as a node does, `faults` scripts what a node says wrong,
//! `devnet` is the handle that tests hold.

mod chain;
mod devnet;
mod faults;
mod node;
mod options;
mod rpc;
pub mod serve;
mod setup;
mod wallet;

pub use crate::front::{Blocks, Change, Edit};
pub use chain::{WINDOW, movements::Movement};
pub use devnet::{Devnet, Endpoint};
pub use faults::{Fault, Lie, Rule};
pub use options::Options;
pub use setup::{FEE, LANE_SEED, MEMO_PROGRAM, OLD_MEMO_PROGRAM, TOKEN_PROGRAM, nonce_lane};
pub use wallet::{Wallet, sign_message, sign_versioned};

/// Solana's own types, which this crate is built with.
pub use solana_address::Address;
pub use solana_hash::Hash;
pub use solana_signature::Signature;
