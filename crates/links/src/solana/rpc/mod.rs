//! What the adapter asks providers of Solana: the methods and the shapes of their answers.

mod calls;
mod dialect;
mod transaction;

pub(super) use calls::{
    AccountView, AccountsView, HistoryEntry, NONE_SHOWN, accounts, block_time, blockhash, rent,
    send, signatures, slot,
};
pub(super) use dialect::SolanaDialect;
pub(super) use transaction::{InnerInstruction, SeenTransaction, TokenBalance, transaction};
