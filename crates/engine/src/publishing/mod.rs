//! Messages on their way out: what units wrote into the outbox goes to the bus.

mod publisher;

pub use publisher::{Publisher, PublisherParts, Sent};
