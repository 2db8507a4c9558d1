//! The process campaigns: they kill the real binary, take the power of its disk, fill it or make it fail, take its log
//! away, shift its clock, and silence or exchange its database; every acknowledged transfer must be there afterwards, once.
//!
//! The product has no code for this. The driver is another process, and `strace` injects the faults into system
//! calls from outside.

pub mod account;
mod aim;
pub mod book;
mod chain;
mod clock;
pub mod create;
pub mod env;
pub mod faults;
pub mod fleet;
pub mod folder;
pub mod gateway;
pub mod history;
mod http;
pub mod journal;
pub mod kill;
pub mod points;
pub mod power;
mod probe;
pub mod record;
pub mod relay;
pub mod rng;
pub mod server;
pub mod store;
pub mod strace;
pub mod swap;
mod two_servers;
pub mod workload;

/// What went wrong, in the words that the terminal shows.
pub type Outcome<T = ()> = Result<T, String>;
