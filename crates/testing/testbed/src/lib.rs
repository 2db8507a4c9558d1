//! Real servers for tests. PostgreSQL: a cluster of its own in a temporary folder, many databases on it, and a
//! proxy that cuts connections at a COMMIT or lets them fall silent. Apache Kafka: one broker or two in temporary
//! folders. SQLite: a file opened beside the process that writes it. Any program that prints a line once it listens.
//!
//! Development only. It is written with threads and the server's own programs, so that it fits under
//! any runtime and into tools that have none.

mod base;
#[cfg(feature = "sqlite")]
mod beside;
mod clock;
mod database;
mod hop;
mod jars;
mod kafka;
mod kafka_node;
mod listening;
mod probe;
mod process;
mod programs;
mod proxy;
mod replica;
pub mod served;
mod server;
mod url;
mod wire;

pub use base::{Base, Recovery};
#[cfg(feature = "sqlite")]
pub use beside::beside;
pub use clock::until;
pub use database::{Copied, Database};
pub use hop::{Fault, Hop, HopSeen};
pub use kafka::{GIVEN_KAFKA, Kafka};
pub use listening::{Listening, NotListening};
pub use probe::{fdatasync, reply_body};
pub use process::{free_port, signal, used};
pub use proxy::{Direction, Healing, Proxy, Seen, Side, Silence, Strike};
pub use served::Served;
pub use server::{GIVEN, Options, Server};
pub use wire::Wire;

/// What went wrong, in words for the person who runs the test.
pub type Outcome<T = ()> = Result<T, String>;
