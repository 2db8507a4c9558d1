//! The contract suite of a chain port: signing sends nothing, a form pays all its members or none, at most one form
//! of a lock lands, and only final facts prove anything.
//!
//! A check that fails panics with its name and the facts. No check sleeps or spawns: time passes where the
//! [`ChainSite`] lets it. The suite does the engine's part: it stores in RAM what it would store.

mod checks;
mod fixture;

use kernel::ports::Fut;
use kernel::ports::chain::Chain;
use kernel::record::Record;
use std::sync::Arc;

/// One chain with the accounts that the checks need, and the time that passes on it. Nothing goes wrong on
/// it but what a check asks for.
pub trait ChainSite: Send + Sync {
    /// A new adapter over the chain, as a process that begins has it: it is bound to no chain yet.
    fn port(&self) -> Arc<dyn Chain>;
    /// A new adapter with the same settings, whose providers are of another chain of that name.
    fn port_elsewhere(&self) -> Arc<dyn Chain>;
    /// The flow and the act that the checks make: a payment.
    fn act(&self) -> (&'static str, &'static str);
    /// A transfer to a receiver that can be paid; each is another one.
    fn member(&self) -> Record;
    /// A transfer whose payment always fails on the chain.
    fn spoiler(&self) -> Record;
    /// Passes the time after which whatever was sent is final.
    fn settle(&self) -> Fut<'_, ()>;
    /// Passes the time after which whatever was signed can no longer land.
    fn expire(&self) -> Fut<'_, ()>;
    /// Nothing that is sent from now on reaches the chain, or everything does.
    fn swallow(&self, swallows: bool);
    /// Another program signs with the key of a lane: what this transfer waits for, with its id as the memo, or nothing
    /// that concerns a transfer. False where no key of the chain can be used elsewhere.
    fn use_elsewhere(&self, lane: &str, pays: Option<&Record>) -> bool;
    /// How often a transfer was paid in final blocks.
    fn times_paid<'a>(&'a self, record: &'a Record) -> Fut<'a, usize>;
}

/// Makes a fresh chain for one check.
pub trait Fresh: Fn() -> Arc<dyn ChainSite> + Send + Sync {}

impl<F: Fn() -> Arc<dyn ChainSite> + Send + Sync> Fresh for F {}

/// Runs every check, each over a chain of its own.
pub async fn run(fresh: impl Fresh) {
    checks::run(&fresh).await;
}
