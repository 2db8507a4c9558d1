//! What is left of forged messages: dead letters, which an operator passes over, and cases of the audit, which stay open
//! for a day.

use super::services::{Services, TOPICS};
use crate::Outcome;
use crate::two_servers::rests;
use serde_json::{Value, json};
use std::time::Duration;

/// How long the consumers may take to have all messages, and an operator to have passed over all dead letters.
const CONSUMED: Duration = Duration::from_secs(240);
/// The kinds of cases that say that a message was forged, or that a broker lost one.
const SAID: [&str; 3] = ["MESSAGE_MISMATCH", "MESSAGE_GAP", "DEAD_LETTER"];

/// A field of the rows of a list of `/ops/pipeline`, added up.
pub(super) fn sum(pipeline: &Value, list: &str, field: &str) -> u64 {
    let rows = pipeline.get(list).and_then(Value::as_array).into_iter().flatten();
    rows.filter_map(|row| row.get(field).and_then(Value::as_u64)).sum()
}

/// Waits until each group has had every message, and passes over the dead letters; their number.
pub(super) fn pass_over(services: &Services) -> Outcome<u64> {
    rests(CONSUMED, || {
        let pipeline = services.servers.look("/ops/pipeline")?;
        let left = sum(&pipeline, "groups", "lag") + sum(&pipeline, "dead_letters", "in_journal");
        Ok((left > 0).then(|| format!("messages are consumed: {pipeline}")))
    })?;
    let (mut letters, mut round) = (0, 0);
    rests(CONSUMED, || {
        let pipeline = services.servers.look("/ops/pipeline")?;
        let waiting = sum(&pipeline, "dead_letters", "messages");
        if round == 0 {
            letters = waiting;
        }
        if waiting == 0 {
            return Ok(None);
        }
        round += 1;
        let body = json!({ "most": 1_000, "max_replays": 0, "reason": "forged by the campaign" });
        for topic in TOPICS {
            let path = format!("/ops/dlt/{topic}-dlt/redrive");
            services.servers.act(&path, &body, &format!("over-{topic}-{round}"))?;
        }
        Ok(Some(format!("{waiting} dead letters wait")))
    })?;
    Ok(letters)
}

/// The open cases but those that say what the campaign did to the topics.
pub(super) fn other_cases(services: &Services) -> Outcome<Option<String>> {
    let cases = services.servers.look("/cases?status=open")?;
    let open = cases.get("cases").and_then(Value::as_array).into_iter().flatten();
    let other: Vec<&Value> = open
        .filter(|case| {
            let kind = case.get("kind").and_then(Value::as_str).unwrap_or_default();
            !SAID.contains(&kind)
        })
        .collect();
    Ok((!other.is_empty()).then(|| format!("cases: {other:?}")))
}
