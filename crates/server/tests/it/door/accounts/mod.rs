//! Accounts with a number: what operators do to them, and transfers between them.

mod numbered_accounts;
mod transfers;
