//! A transfer on its way in, and what those who wait for it are told.

use crate::limits::Quota;
use crate::waiting::Ear;
use kernel::answer::Cause;
use kernel::code::Code;
use kernel::record::Record;
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
}

impl Order {
    pub(crate) fn answer(self, opening: Opening) {
        // nobody listens any more where the caller went away
        let _gone = self.opened.send(opening);
    }

    pub(crate) fn refuse(self, code: Code) {
        self.answer(Opening::Refused(code));
    }
}
