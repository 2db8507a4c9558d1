//! A create request on its way through the intake, and the result that its callers wait for.

use crate::plan::quota::Quota;
use crate::state::waiters::Waiter;
use kernel::answer::Cause;
use kernel::code::Code;
use kernel::record::Record;
use kernel::unit::Guard;
use std::sync::Arc;
use tokio::sync::oneshot;

/// The result of an opening.
#[derive(Debug)]
pub(crate) enum OpenResult {
    Opened(Record),
    /// The client's key is bound already.
    Bound,
    Refused(Code),
    /// The outcome is not known.
    Unknown(Cause),
}

/// A transfer to open, with the callers that wait for it.
#[derive(Debug)]
pub(crate) struct CreateRequest {
    pub opened: oneshot::Sender<OpenResult>,
    pub ended: Waiter,
    /// What its opening takes from its user's day.
    pub quota: Option<Quota>,
    /// The other scopes in which its key must be free: those of the same subject under other issuers.
    pub scopes: Vec<Arc<str>>,
    /// What else has to hold, as the settings say ([`crate::Settings::opening_guards`]).
    pub guard: Option<Guard>,
}

impl CreateRequest {
    /// The guards that its key is bound in no other scope either, then that of the settings: a replay is one, whatever
    /// other processes changed since.
    pub(crate) fn guards<'a>(&'a self, record: &'a Record) -> impl Iterator<Item = Guard> + 'a {
        let (flow, binding) = (record.flow, record.terms.binding.as_ref());
        let guard = move |scope: &Arc<str>| {
            let key = binding?.key.clone();
            Some(Guard::Unbound { flow, scope: scope.clone(), key })
        };
        self.scopes.iter().filter_map(guard).chain(self.guard.clone())
    }

    pub(crate) fn answer(self, opening: OpenResult) {
        // the receiver is gone where the caller went away
        let _gone = self.opened.send(opening);
    }

    pub(crate) fn refuse(self, code: Code) {
        self.answer(OpenResult::Refused(code));
    }
}
