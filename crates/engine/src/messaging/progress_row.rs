//! The resource that says how far a background task is.

use crate::commit::outcome::WriteOutcome;
use kernel::answer::Cause;
use kernel::unit::{Guard, Put, Unit};
use std::sync::Arc;

/// The unit of the next value over the version that was read.
pub(super) fn next_row(name: Arc<str>, version: u32, value: Arc<str>) -> Unit {
    let guard = Guard::Resource { name: name.clone(), version };
    Unit::guarded(vec![guard], vec![Put::Resource { name, value }])
}

/// Whether the row is moved on, here or by another process meanwhile.
///
/// # Errors
/// The cause for which the journal does not write, or does not say that it wrote.
pub(super) fn moved_on(outcome: WriteOutcome) -> Result<(), Cause> {
    match outcome {
        WriteOutcome::Done(_) | WriteOutcome::Lost(_) => Ok(()),
        WriteOutcome::NotWritten(why) => Err(why.cause),
    }
}
