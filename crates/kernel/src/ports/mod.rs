//! The ports: traits through which engine and store reach the world. Each method returns one boxed future
//! for a whole *batch*.

pub mod admin_queries;
pub mod audit;
pub mod bus;
pub mod chain;
pub mod clock;
pub mod deposits;
pub mod disk;
pub mod facts;
pub mod inbox;
pub mod journal;
pub mod ledger;
pub mod meter;
pub mod outbox;
pub mod sending;
pub mod spawn;
pub mod webhooks;

use std::future::Future;
use std::pin::Pin;

/// A boxed future: the ports are `dyn`, so that the simulation can give its own.
pub type Fut<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
