//! The routes for balances: a user's own, and all accounts for operators.

pub mod accounts;
pub mod user_balances;
