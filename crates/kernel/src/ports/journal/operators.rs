//! The queries about operators' work: cases, actions, approvals, numbered accounts.

use crate::accounts::{AccountsOf, NumberedAccount};
use crate::answer::Cause;
use crate::ids::Id;
use crate::operators::{Approval, OpenCase, PastAction};
use crate::ports::Fut;
use std::sync::Arc;

/// The most approvals that one reading of those that wait gives.
pub const PENDING_APPROVALS: usize = 1000;

/// Reads the cases, decisions and numbered accounts of operators; their lists and searches are
/// [`AdminQueries`](crate::ports::admin_queries::AdminQueries).
pub trait OperatorQueries: Send + Sync {
    /// Every case that is open.
    fn open_cases(&self) -> Fut<'_, Result<Vec<OpenCase>, Cause>>;
    /// What (principal, key) did.
    fn past_action(
        &self,
        caller: Arc<str>,
        key: Arc<str>,
    ) -> Fut<'_, Result<Option<PastAction>, Cause>>;
    /// Every action of a kind about a subject, newest first.
    fn actions_on(
        &self,
        kind: &'static str,
        subject: Arc<str>,
    ) -> Fut<'_, Result<Vec<PastAction>, Cause>>;
    /// The actions that ended a HALT, oldest first: what they accepted is what the audit says was accepted.
    fn resumes(&self) -> Fut<'_, Result<Vec<PastAction>, Cause>>;
    /// The approval of this id.
    fn approval(&self, id: Id) -> Fut<'_, Result<Option<Approval>, Cause>>;
    /// The approvals that wait, oldest first, at most [`PENDING_APPROVALS`].
    fn pending_approvals(&self) -> Fut<'_, Result<Vec<Approval>, Cause>>;
    /// Numbered accounts, in the order of their numbers.
    fn numbered_accounts(&self, of: AccountsOf) -> Fut<'_, Result<Vec<NumberedAccount>, Cause>>;
}
