//! The history of all client calls, and the checks that one service with one register for each key can have given
//! these answers.
//!
//! The lines are in the order in which the driver wrote them: a call before it was sent, an answer after it was
//! read. So where an answer is before a call, the driver knew it before it made the call.

mod calls;
mod ledger_invariant;
mod linearizability;
mod progress;

use serde::{Deserialize, Serialize};

/// One line of a history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// A call that is about to be sent.
    Invoke { n: u64, client: u64, op: Op },
    Ok {
        /// The number of the call.
        n: u64,
        said: CallResult,
    },
    /// It did nothing, and never will.
    Fail {
        /// The number of the call.
        n: u64,
        code: String,
    },
    /// Unknown; it may have an effect at any later time.
    Info {
        /// The number of the call.
        n: u64,
        /// What was seen of it.
        why: String,
    },
    /// A remark for the reader; checkers skip it.
    Note { text: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Op {
    /// A create: a transfer, or money from or to the outside.
    Put {
        kind: Kind,
        key: String,
        /// What is asked for, in one spelling.
        body: String,
        /// How much, in base units.
        units: i64,
    },
    /// A transfer by its id.
    Get { id: String },
    /// All accounts of a ledger at one instant.
    Snapshot { ledger: String },
}

/// What is created. Each kind has keys of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Transfer,
    /// From the outside into Funding.
    Deposit,
    /// From Funding to the outside.
    Withdrawal,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum CallResult {
    Put {
        /// What it was given.
        id: String,
        /// What was made, in the spelling of the call.
        body: String,
        /// The state, where it has one.
        state: Option<String>,
        /// The service says that the key had been used before.
        replayed: bool,
    },
    Story {
        state: String,
        /// How many entries its history has.
        version: u64,
    },
    Books {
        /// What each user has: available and frozen. Empty where only the sums were read.
        users: Vec<(i64, i64)>,
        /// The sums over all users: available and frozen.
        sums: (i64, i64),
        /// Money on its way.
        clearing: i64,
        /// The outside: what came in is negative.
        world: i64,
    },
}

/// Reads a history, one JSON object a line.
///
/// # Errors
/// The line that is none.
pub fn read(text: &str) -> Result<Vec<Event>, String> {
    let line = |(n, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|fault| format!("line {}: {fault}", n + 1))
    };
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(line).collect()
}

/// What no correct service can have said.
pub fn faults(events: &[Event]) -> Vec<String> {
    let (calls, mut faults) = calls::paired(events);
    faults.extend(linearizability::faults(&calls));
    faults.extend(progress::faults(events));
    faults.extend(ledger_invariant::faults(&calls));
    faults
}

/// What a campaign must have met, or it has shown nothing: how often each was answered.
pub fn met(events: &[Event]) -> std::collections::BTreeMap<&'static str, u64> {
    let mut met: std::collections::BTreeMap<&'static str, u64> =
        KINDS.into_iter().map(|kind| (kind, 0)).collect();
    for event in events {
        let kind = match event {
            Event::Ok { said: CallResult::Put { replayed: true, .. }, .. } => "replayed",
            Event::Ok { said: CallResult::Put { state: Some(state), .. }, .. } => {
                match state.as_str() {
                    "COMMITTED" => "committed",
                    "FAILED" => "failed",
                    "ROLLED_BACK" => "rolled back",
                    _ => "pending",
                }
            }
            Event::Ok { said: CallResult::Put { state: None, .. }, .. } => "booked",
            Event::Ok { said: CallResult::Story { .. }, .. } => "read",
            Event::Ok { said: CallResult::Books { .. }, .. } => "snapshot",
            Event::Fail { code, .. } if code == "DUPLICATE_REQUEST" => "conflict",
            Event::Fail { code, .. } if code != "UNREACHABLE" => "refused",
            Event::Info { .. } => "unknown",
            Event::Invoke { .. } | Event::Fail { .. } | Event::Note { .. } => continue,
        };
        *met.entry(kind).or_default() += 1;
    }
    met
}

/// The kinds of answers that [`met`] counts and a campaign must meet.
const KINDS: [&str; 10] = [
    "booked",
    "committed",
    "conflict",
    "failed",
    "read",
    "refused",
    "replayed",
    "rolled back",
    "snapshot",
    "unknown",
];
