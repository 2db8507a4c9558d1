//! The process campaign: the real binary is killed, its disk loses power, fills up and fails, its
//! database falls silent or is another one; what was acknowledged must be there afterwards, once.
//!
//! Nothing in the product knows of this. The driver is another process, the faults are put into
//! system calls from outside by `strace`.

pub mod account;
mod aim;
pub mod book;
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
mod two_servers;
pub mod workload;

/// What went wrong, in the words that the terminal shows.
pub type Outcome<T = ()> = Result<T, String>;
