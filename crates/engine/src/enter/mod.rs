//! Takes transfers in: create requests with their checks, and deposits that a watcher observed on a chain.

pub(crate) mod create_checks;
pub(crate) mod intake;
pub(crate) mod observed_deposits;
mod vault_page;
pub(crate) mod vault_watch;

use kernel::answer::Cause;
use kernel::code::Code;
use kernel::record::Record;

/// A transfer that was opened, now or before.
#[derive(Debug, Clone)]
pub struct Accepted {
    /// The record as it stands; its state says whether it ended.
    pub record: Record,
    /// The key was bound before this request.
    pub replayed: bool,
}

/// Why a create request has no transfer as its answer.
#[derive(Debug, Clone)]
pub enum Refused {
    Code(Code),
    /// The key is bound to this transfer, which another body asked for.
    Mismatch(Box<Record>),
    /// The outcome is not known; repeat with the same key.
    Unknown(Cause),
}
