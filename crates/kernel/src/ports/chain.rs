//! A chain, as the engine's gatherers see it. No flow of this release uses one yet.

use super::Fut;
use crate::answer::Cause;
use crate::attempt::{Attempt, Form, Lock, Purpose, Verdict};
use crate::ids::ChainId;
use crate::record::Record;
use std::sync::Arc;

/// What a look at the chain says of an attempt.
#[derive(Debug, Clone)]
pub enum Proof {
    /// One verdict for each member, in order. Closes the attempt.
    Closed(Vec<Verdict>),
    /// Look again later.
    NotYet(Cause),
    /// Sign another form under the same lock, store it, then send it.
    Form(Purpose),
}

/// A chain, as the engine uses it.
pub trait Chain: Send + Sync {
    /// The number of the chain in the settings.
    fn id(&self) -> ChainId;
    /// The most members of one attempt.
    fn cap(&self) -> usize;
    /// A free key or account to take a lock from; `None`: all busy, or stopped.
    fn lane(&self) -> Option<Arc<str>>;
    /// The next free lock of a lane, given the last one that was stored.
    fn lock<'a>(&'a self, lane: &'a str, stored: Option<&'a Lock>) -> Fut<'a, Result<Lock, Cause>>;
    /// Signs; reads, but sends nothing.
    fn sign<'a>(
        &'a self,
        lane: &'a str,
        lock: &'a Lock,
        members: &'a [Record],
        purpose: Purpose,
    ) -> Fut<'a, Result<Form, Cause>>;
    /// Sends. Its reply decides nothing.
    fn broadcast<'a>(&'a self, form: &'a Form) -> Fut<'a, Result<(), Cause>>;
    /// Looks at every form and the lock.
    fn prove<'a>(&'a self, attempt: &'a Attempt) -> Fut<'a, Proof>;
}
