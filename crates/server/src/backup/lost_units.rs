//! Halts over a journal whose last units are gone: its write-ahead log was deleted or cut, or its file is an older
//! copy. Deposits and transfers that callers know of may be missing.

use super::set_back;
use crate::http::format;
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::ports::journal::UnitWriter as _;
use kernel::unit::{Unit, Wrote};
use store::sqlite::{Embedded, LostUnits};

/// Halts where the database had units that it does not have any more, before anything else is written.
///
/// # Errors
/// The journal does not take it; the next start tries again.
pub(crate) async fn halt_over_lost_units(store: &Embedded, now: Millis) -> Result<(), Cause> {
    let Some(LostUnits { stored, written }) = store.lost_units() else { return Ok(()) };
    let first = stored.saturating_add(1);
    let facts = format!(
        "the journal ends at its unit {stored}, and unit {written} was written: portage.db-wal was deleted or cut, or \
         portage.db is an older copy. Put the newest files back, or compare the journal with the outside before you \
         resume"
    );
    let reason = format!("the journal lost its units {first} to {written}");
    let unit = Unit::puts(set_back(reason, &format::time(now), facts));
    match store.write(vec![unit]).await.as_slice() {
        [Wrote::Written(_)] => {
            store.forget_lost_units();
            tracing::error!(stored, written, "the journal lost units: all money is halted");
            Ok(())
        }
        _ => Err(Cause::of("LOST_UNITS")),
    }
}
