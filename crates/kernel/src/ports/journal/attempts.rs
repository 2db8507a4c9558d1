//! The queries about attempts on chains.

use crate::answer::Cause;
use crate::attempt::Attempt;
use crate::ids::{ChainId, Id};
use crate::ports::Fut;
use std::sync::Arc;

/// Reads attempts by member, by chain, by lane and by form. An attempt comes whole: with its forms, and
/// with all members as they stand now.
pub trait AttemptQueries: Send + Sync {
    /// Every attempt, open and closed, that one of these transfers is a member of, oldest first.
    fn attempts_of(&self, ids: Vec<Id>) -> Fut<'_, Result<Vec<Attempt>, Cause>>;
    /// The open attempts on a chain, oldest first, of the flows that this binary knows.
    fn open_attempts(&self, chain: ChainId) -> Fut<'_, Result<Vec<Attempt>, Cause>>;
    /// The last attempts of a lane, open and closed, newest first: the first has the highest stored
    /// lock. One that is stored beside another of its lock ([`crate::attempt::Lock::beside`]) is left out.
    fn attempts_of_lane(
        &self,
        chain: ChainId,
        lane: Arc<str>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<Attempt>, Cause>>;
    /// The attempt that has a form of that name.
    fn attempt_of_form(
        &self,
        chain: ChainId,
        name: Arc<[u8]>,
    ) -> Fut<'_, Result<Option<Attempt>, Cause>>;
}
