//! What the engine tells of itself, as far as it is a number that stands.

use kernel::ports::meter::{Meter, Seen};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// The last value of each gauge.
#[derive(Debug, Default)]
pub(crate) struct Gauges(Mutex<BTreeMap<String, usize>>);

impl Gauges {
    pub(crate) fn get(&self, name: &str) -> Option<usize> {
        self.0.lock().expect("no panic before").get(name).copied()
    }
}

impl Meter for Gauges {
    fn see(&self, seen: Seen<'_>) {
        let (name, open) = match seen {
            Seen::Cases { kind, severity, open } => (format!("{kind}/{}", severity.name()), open),
            Seen::Unclear { flow, system, open } => (format!("{flow}/{system}"), open),
            Seen::Halted(halted) => ("halted".to_owned(), usize::from(halted)),
            Seen::Commit { .. }
            | Seen::Step { .. }
            | Seen::Opened { .. }
            | Seen::Ended { .. }
            | Seen::Batch { .. }
            | Seen::Queue { .. }
            | Seen::Retry { .. }
            | Seen::Refused { .. }
            | Seen::Replay { .. }
            | Seen::Conflict { .. }
            | Seen::Round { .. } => return,
        };
        self.0.lock().expect("no panic before").insert(name, open);
    }
}
