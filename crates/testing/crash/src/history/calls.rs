//! Pairs the calls of a history with their answers.

use super::{CallResult, Event, Op};
use std::collections::BTreeMap;

/// A call from its sending to its answer.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub op: &'a Op,
    /// The line of its sending.
    pub begun: usize,
    /// The line of its answer; never, where its outcome is unknown.
    pub ended: usize,
    pub end: End<'a>,
}

/// What is known of a call's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End<'a> {
    Ok(&'a CallResult),
    Fail(&'a str),
    /// Nothing: it stays concurrent for ever.
    Open,
}

/// The line that never comes.
pub(super) const NEVER: usize = usize::MAX;

/// Every call with its answer, and what is not a history at all.
pub(super) fn paired(events: &[Event]) -> (Vec<Call<'_>>, Vec<String>) {
    let (mut calls, mut faults) = (Vec::<Call<'_>>::new(), Vec::new());
    let mut open = BTreeMap::new();
    let mut seen = BTreeMap::new();
    for (at, event) in events.iter().enumerate() {
        let (n, end) = match event {
            Event::Note { .. } => continue,
            Event::Invoke { n, op, .. } => {
                if seen.insert(*n, ()).is_some() {
                    faults.push(format!("call {n} is made twice"));
                }
                open.insert(*n, calls.len());
                calls.push(Call { op, begun: at, ended: NEVER, end: End::Open });
                continue;
            }
            Event::Ok { n, said } => (n, Some(End::Ok(said))),
            Event::Fail { n, code } => (n, Some(End::Fail(code))),
            Event::Info { n, .. } => (n, None),
        };
        let Some(call) = open.remove(n).and_then(|place| calls.get_mut(place)) else {
            faults.push(format!("call {n} is answered without being open"));
            continue;
        };
        if let Some(end) = end {
            (call.ended, call.end) = (at, end);
        }
    }
    (calls, faults)
}
