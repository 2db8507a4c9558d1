//! Checks a history for linearizability: each key is a register that is written once.
//!
//! The first create of a key sets it to its body and an id, at one instant between its sending and its answer;
//! every later one with the same body reads the id, every other one gets a conflict. Since a register that was set
//! never changes, a history fits exactly if there is one such instant: after the last refusal was sent, before the
//! first answer that saw the register set, and inside a call that can have set it.

use super::calls::{Call, End};
use super::{CallResult, Kind, Op};
use std::collections::BTreeMap;

/// The same key with another body.
const CONFLICT: &str = "DUPLICATE_REQUEST";
/// Refusals before the key is looked at.
const UNLOOKED: [&str; 4] = ["UNREACHABLE", "UNAUTHORIZED", "FORBIDDEN", "BAD_REQUEST"];

/// One create, as its register sees it.
#[derive(Debug, Clone, Copy)]
struct Put<'a> {
    body: &'a str,
    begun: usize,
    ended: usize,
    saw: Saw<'a>,
}

/// What a create learnt of its register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Saw<'a> {
    /// Set, with the same body.
    Set { id: &'a str, body: &'a str, replayed: bool },
    /// Set, with another body.
    Other,
    /// Not set, and it did not set it.
    Unset,
    /// It was refused unread: it says nothing of the key, and set nothing.
    Nothing,
    /// Nothing, and it may have set it.
    Unknown,
}

/// What does not fit, by key.
pub(super) fn faults(calls: &[Call<'_>]) -> Vec<String> {
    let mut keys: BTreeMap<(Kind, &str), Vec<Put<'_>>> = BTreeMap::new();
    for call in calls {
        let Op::Put { kind, key, body, .. } = call.op else { continue };
        let put = Put { body, begun: call.begun, ended: call.ended, saw: saw(call.end) };
        keys.entry((*kind, key)).or_default().push(put);
    }
    let mut faults = Vec::new();
    let mut ids: BTreeMap<(Kind, &str), &str> = BTreeMap::new();
    for ((kind, key), puts) in &keys {
        let said = match one_value(puts) {
            Err(fault) => Err(fault),
            Ok(value) => an_instant(puts, value).map(|()| value),
        };
        match said {
            Err(fault) => faults.push(format!("{kind:?} key {key}: {fault}")),
            Ok(Some((id, _))) => {
                if let Some(other) = ids.insert((*kind, id), key) {
                    faults.push(format!("{kind:?} {id} is the answer to both {other} and {key}"));
                }
            }
            Ok(None) => {}
        }
    }
    faults
}

fn saw(end: End<'_>) -> Saw<'_> {
    match end {
        End::Open => Saw::Unknown,
        End::Fail(CONFLICT) => Saw::Other,
        End::Fail(code) if UNLOOKED.contains(&code) => Saw::Nothing,
        End::Fail(_) => Saw::Unset,
        End::Ok(CallResult::Put { id, body, replayed, .. }) => {
            Saw::Set { id, body, replayed: *replayed }
        }
        // an answer of another form tells nothing of a key
        End::Ok(CallResult::Story { .. } | CallResult::Books { .. }) => Saw::Unknown,
    }
}

/// The id and body that every answer names.
fn one_value<'a>(puts: &[Put<'a>]) -> Result<Option<(&'a str, &'a str)>, String> {
    let mut value: Option<(&str, &str)> = None;
    let mut made = 0;
    for put in puts {
        let Saw::Set { id, body, replayed } = put.saw else { continue };
        if body != put.body {
            return Err(format!("asked for `{}`, answered with `{body}`", put.body));
        }
        let (known, known_body) = *value.get_or_insert((id, body));
        if known != id {
            return Err(format!("two ids: {known} and {id}"));
        }
        if known_body != body {
            return Err(format!("two bodies under one id: `{known_body}` and `{body}`"));
        }
        made += usize::from(!replayed);
    }
    if made > 1 {
        return Err(format!("made {made} times"));
    }
    Ok(value)
}

/// There is an instant at which the register can have been set.
fn an_instant(puts: &[Put<'_>], value: Option<(&str, &str)>) -> Result<(), String> {
    let seen_set = |put: &&Put<'_>| matches!(put.saw, Saw::Set { .. } | Saw::Other);
    let Some(first_seen) = puts.iter().filter(seen_set).map(|put| put.ended).reduce(least) else {
        return Ok(());
    };
    let refused = puts.iter().filter(|put| put.saw == Saw::Unset).map(|put| put.begun);
    let last_unset = refused.reduce(most);
    let maker = puts
        .iter()
        .find(|put| matches!(put.saw, Saw::Set { replayed: false, .. }))
        .map(|put| put.begun);
    let others: Vec<&str> =
        puts.iter().filter(|put| put.saw == Saw::Other).map(|put| put.body).collect();
    let can = |put: &&Put<'_>| {
        let wrote = match put.saw {
            Saw::Set { replayed, .. } => !replayed,
            Saw::Unknown => maker.is_none() && value.is_none_or(|(_, body)| body == put.body),
            Saw::Other | Saw::Unset | Saw::Nothing => false,
        };
        // from its sending, or from the last refusal's, up to its end and to the first answer
        let from = last_unset.map_or(put.begun, |unset| most(unset, put.begun));
        wrote && !others.contains(&put.body) && from < least(put.ended, first_seen)
    };
    if puts.iter().any(|put| can(&put)) {
        return Ok(());
    }
    let what = match (others.is_empty(), last_unset.is_some_and(|unset| unset > first_seen)) {
        (_, true) => "refused after it was known to be set",
        (false, _) => "a conflict with no other body",
        (true, _) => "seen before anybody can have set it",
    };
    Err(what.to_owned())
}

const fn least(a: usize, b: usize) -> usize {
    if a < b { a } else { b }
}

const fn most(a: usize, b: usize) -> usize {
    if a > b { a } else { b }
}
