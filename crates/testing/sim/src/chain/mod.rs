//! A simulated chain, driven by a seed: blocks and finality, reorganisations before it, transactions that
//! come late or are lost, nodes that lag or lie, locks of three kinds, members that spoil a transaction, a contract
//! that refuses whatever comes.
//!
//! A [`SimChain`] is the chain itself and outlives every process. A [`SimPort`] is one process's adapter: it
//! believes its nodes only where they agree about a final block. [`FaultyChain`] is the link between an engine
//! and its port.

mod accounts;
mod bridge;
mod facts;
mod faulty;
mod flow;
mod foreign;
mod held_back;
mod keys;
mod learned;
mod node;
mod played;
mod port;
mod proof;
mod refusals;
mod state;
mod transaction;
mod vault;

pub use bridge::{AdapterHost, BridgedDeposits, BridgedFacts, BridgedPort};
pub use facts::{RelayFacts, account_exists};
pub use faulty::{ChainCall, ChainTrouble, FaultyChain, Moment};
pub use flow::{ChainFlow, ChainPorts, FactsOf, LinkedChain, relay_terms};
pub use foreign::STRANGE_BLOCKS;
pub use held_back::HeldBack;
pub use learned::{FactLog, LinkedFacts};
pub use played::{PlayedChain, PlayedVault};
pub use port::SimPort;
pub use refusals::REFUSES_FOR;
pub use state::{ChainRules, Locking, SimChain};
pub use transaction::{Outcome, Paid, QUARANTINE};
pub use vault::{SimVault, balance_after};
