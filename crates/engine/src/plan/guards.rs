//! The guard and the event that many units have.

use kernel::record::Record;
use kernel::unit::{Event, Guard};
use std::sync::Arc;

/// An event of a transfer that does not move it.
pub(crate) fn noted_at(
    record: &Record,
    what: &'static str,
    caller: Option<Arc<str>>,
    detail: Arc<str>,
) -> Event {
    let state = record.head.state;
    let (detail, agreed) = (Some(detail), None);
    Event { id: record.id, from: Some(state), to: state, what, caller, detail, agreed }
}

/// The guard that a record still stands where this worker believes it does.
pub(crate) fn at_state(record: &Record) -> Guard {
    let (state, version) = (record.head.state, record.head.version);
    Guard::Transfer { id: record.id, state, version }
}
