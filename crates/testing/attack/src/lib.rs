//! Attacks on a running server, from outside, over its own port: every finding has a name.
#![expect(clippy::print_stdout, reason = "a command-line tool speaks to its terminal")]

pub mod forged;
pub mod frames;
pub mod operations;
pub mod own_server;
pub mod owners;
pub mod report;
pub mod roles;
pub mod schema;
pub mod sizes;
pub mod slow_connections;
pub mod target;
pub mod tokens;

/// What went wrong, in the words that the terminal shows.
pub type Outcome<T = ()> = Result<T, String>;
