//! Accounts with a number: what operators do to them, and transfers between them.

mod foreign_targets;
mod numbered_accounts;
mod refused_creates;
mod transfers;
