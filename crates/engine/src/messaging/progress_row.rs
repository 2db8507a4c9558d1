//! Moves a resource on that says how far a background task is.

use kernel::answer::Cause;
use kernel::ports::journal::Journal;
use kernel::unit::{Guard, Put, Unit, Wrote};
use std::sync::Arc;

/// Writes the next value over the version that was read; nothing where another process has moved it on meanwhile.
///
/// # Errors
/// The cause for which the journal does not write, or does not say that it wrote.
pub(super) async fn move_on(
    journal: &dyn Journal,
    name: Arc<str>,
    version: u32,
    value: Arc<str>,
) -> Result<(), Cause> {
    let guard = Guard::Resource { name: name.clone(), version };
    let unit = Unit::guarded(vec![guard], vec![Put::Resource { name, value }]);
    match journal.write(vec![unit]).await.pop() {
        Some(Wrote::Written(_) | Wrote::Lost(_)) => Ok(()),
        Some(Wrote::Full) => Err(Cause::of("FULL")),
        Some(Wrote::Unknown(cause)) => Err(cause),
        None => Err(Cause::of("NOT_WRITTEN")),
    }
}
