//! Ends a campaign on two servers: waits until all work has ended, and prints the faults.

use super::TwoServers;
use crate::{Outcome, clock};
use serde_json::Value;
use std::time::Duration;

/// Between two looks at what waits.
const LOOK: Duration = Duration::from_millis(200);
/// Maximum number of faults that are shown.
const SHOWN: usize = 12;

/// Looks until nothing waits any more.
///
/// # Errors
/// What still waits after this time.
pub(crate) fn rests(
    limit: Duration,
    mut unrest: impl FnMut() -> Outcome<Option<String>>,
) -> Outcome {
    let mut last = String::new();
    let rests = clock::until(limit, || match unrest() {
        Ok(None) => Some(()),
        Ok(Some(waits)) | Err(waits) => {
            last = waits;
            std::thread::sleep(LOOK);
            None
        }
    });
    rests.ok_or_else(|| format!("it does not come to rest: {last}"))
}

/// How many faults there are, and the first of them.
///
/// # Errors
/// There is one.
pub(crate) fn none_of(faults: &[String]) -> Outcome {
    if faults.is_empty() {
        return Ok(());
    }
    let first: Vec<&str> = faults.iter().take(SHOWN).map(String::as_str).collect();
    Err(format!("{} faults:\n{}", faults.len(), first.join("\n")))
}

impl TwoServers {
    /// The cases that are open, in words.
    pub(crate) fn open_cases(&self) -> Outcome<Option<String>> {
        let cases = self.look("/cases?status=open")?;
        let open = cases.get("cases").and_then(Value::as_array).filter(|open| !open.is_empty());
        Ok(open.map(|open| format!("cases: {open:?}")))
    }
}
