//! Checks that transfers only go forward: a client that saw a transfer in a state finds it there or further on, for
//! ever.

use super::{CallResult, Event, Kind, Op};
use std::collections::BTreeMap;

/// What is known of a transfer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Known {
    rank: u8,
    state: String,
    version: u64,
}

/// How far a state is; of ends there is none above another.
const fn rank(state: &str) -> Option<u8> {
    Some(match state.as_bytes() {
        // a create's word for everything that has not ended
        b"PENDING" | b"INIT" => 0,
        b"SOURCE_PENDING" => 1,
        b"SOURCE_DONE" => 2,
        b"TARGET_PENDING" => 3,
        b"COMPENSATING" => 4,
        b"COMMITTED" | b"FAILED" | b"ROLLED_BACK" => 5,
        _ => return None,
    })
}

/// Where a state stands whose transfer has ended.
const END: u8 = 5;

/// A call on its way, about a transfer that a client knew of when it was sent.
#[derive(Debug)]
struct OpenCall {
    id: Option<String>,
    key: Option<String>,
    then: Option<Known>,
}

/// What went backwards or vanished.
pub(super) fn faults(events: &[Event]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut known: BTreeMap<String, Known> = BTreeMap::new();
    let mut keys: BTreeMap<String, String> = BTreeMap::new();
    let mut asked: BTreeMap<u64, OpenCall> = BTreeMap::new();
    for event in events {
        match event {
            Event::Invoke { n, op, .. } => {
                let (id, key) = match op {
                    Op::Get { id } => (Some(id.clone()), None),
                    Op::Put { kind: Kind::Transfer, key, .. } => {
                        (keys.get(key).cloned(), Some(key))
                    }
                    Op::Put { .. } | Op::Snapshot { .. } => continue,
                };
                let then = id.as_ref().and_then(|id| known.get(id)).cloned();
                asked.insert(*n, OpenCall { id, key: key.cloned(), then });
            }
            Event::Ok { n, said } => {
                let Some(call) = asked.remove(n) else { continue };
                let Some((id, now)) = told(&call, said, &mut faults) else { continue };
                if let Some(then) = &call.then {
                    faults.extend(back(&id, then, &now));
                }
                if let Some(key) = call.key {
                    keys.insert(key, id.clone());
                }
                learn(known.entry(id).or_default(), now);
            }
            Event::Fail { n, code } => {
                let Some(call) = asked.remove(n) else { continue };
                let vanished = code == "NOT_FOUND" && call.then.is_some();
                if let Some(id) = call.id.filter(|_| vanished) {
                    faults.push(format!("transfer {id}: not found, after it was answered"));
                }
            }
            Event::Info { .. } | Event::Note { .. } => {}
        }
    }
    faults
}

/// What an answer tells of a transfer.
fn told(call: &OpenCall, said: &CallResult, faults: &mut Vec<String>) -> Option<(String, Known)> {
    let (id, state, version) = match said {
        CallResult::Put { id, state, .. } => (id.clone(), state.clone()?, 0),
        CallResult::Story { state, version } => (call.id.clone()?, state.clone(), *version),
        CallResult::Books { .. } => return None,
    };
    let Some(rank) = rank(&state) else {
        faults.push(format!("transfer {id}: `{state}` is no state"));
        return None;
    };
    Some((id, Known { rank, state, version }))
}

fn back(id: &str, then: &Known, now: &Known) -> Option<String> {
    let what = if then.rank == END && now.rank == END && then.state != now.state {
        format!("ended {}, then {}", then.state, now.state)
    } else if now.rank < then.rank {
        // a create's PENDING says only that it has not ended
        if now.state == "PENDING" && then.rank < END {
            return None;
        }
        format!("was {}, then {}", then.state, now.state)
    } else if now.version != 0 && now.version < then.version {
        format!("had {} entries, then {}", then.version, now.version)
    } else {
        return None;
    };
    Some(format!("transfer {id}: {what}"))
}

fn learn(known: &mut Known, now: Known) {
    if now.version > known.version {
        known.version = now.version;
    }
    if now.rank >= known.rank {
        (known.rank, known.state) = (now.rank, now.state);
    }
}
