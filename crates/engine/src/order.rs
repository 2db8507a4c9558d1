//! A transfer on its way in, and what those who wait for it are told.

use crate::limits::Quota;
use crate::waiting::Ear;
use kernel::answer::Cause;
use kernel::code::Code;
use kernel::record::Record;
use kernel::unit::Guard;
use std::sync::Arc;
use tokio::sync::oneshot;

/// What became of an opening.
#[derive(Debug)]
pub(crate) enum Opening {
    /// It is durable.
    Opened(Record),
    /// The client's key is bound already.
    Bound,
    /// Nothing was opened.
    Refused(Code),
    /// Nobody knows.
    Unknown(Cause),
}

/// A transfer on its way in, with those who wait for it.
#[derive(Debug)]
pub(crate) struct Order {
    pub opened: oneshot::Sender<Opening>,
    pub ended: Ear,
    /// What its opening takes from its user's day.
    pub quota: Option<Quota>,
    /// The other scopes in which its key must be free: of the same subject under other issuers.
    pub scopes: Vec<Arc<str>>,
}

impl Order {
    /// Its key is bound in no other scope either.
    pub(crate) fn unbound<'a>(&'a self, record: &'a Record) -> impl Iterator<Item = Guard> + 'a {
        let (flow, binding) = (record.flow, record.terms.binding.as_ref());
        let guard = move |scope: &Arc<str>| {
            let key = binding?.key.clone();
            Some(Guard::Unbound { flow, scope: scope.clone(), key })
        };
        self.scopes.iter().filter_map(guard)
    }

    pub(crate) fn answer(self, opening: Opening) {
        // nobody listens any more where the caller went away
        let _gone = self.opened.send(opening);
    }

    pub(crate) fn refuse(self, code: Code) {
        self.answer(Opening::Refused(code));
    }
}
