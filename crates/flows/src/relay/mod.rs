//! Our NEAR account to any NEAR account: fungible tokens, a hundred transfers to a transaction.

mod account;
pub mod rules;
mod table;
mod text;

pub use account::is_account_id;
pub use table::{Act, Rule, State};
pub use text::{StatusBasis, status};
