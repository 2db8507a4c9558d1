//! Routes for balances: a user's own, and for operators those of all accounts.

pub mod accounts;
pub mod user_balances;
