//! Builds the message that `alerts` posts for one opening or closing of a case: the same under the same id at every
//! try.

use crate::http::format;
use kernel::audit::hex;
use kernel::operators::Severity;
use kernel::ports::admin_queries::{Delivery, Tells};
use serde::Serialize;
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

/// The most characters of a case's facts; the whole is in the list of cases.
const FACTS: usize = 3_000;
/// The number of a digest's digits in a message's id.
const ID: usize = 32;

/// A body with the id it goes by.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub id: String,
    pub body: String,
}

#[derive(Serialize)]
struct Envelope<'a> {
    r#type: &'static str,
    timestamp: String,
    data: CaseData<'a>,
}

/// The case at that moment.
// who looks after it may change between two tries, and is left out
#[derive(Serialize, ToSchema)]
pub(crate) struct CaseData<'a> {
    /// The number of the case.
    id: u64,
    /// Which page of the runbook is about it.
    kind: &'a str,
    /// How bad it is: `CRITICAL` or `WARNING`.
    severity: &'static str,
    /// What it is about, such as `ledger/SPOT`.
    subject: String,
    /// What was found, as a text.
    facts: String,
    /// Where it stands: `OPEN` or `CLOSED`.
    status: &'static str,
    /// When it opened, RFC 3339 in UTC.
    opened_at: String,
    /// When it was closed, RFC 3339 in UTC.
    #[schema(required)]
    closed_at: Option<String>,
    /// What closed it, where it is closed.
    #[schema(required)]
    closed_by: Option<&'a str>,
}

impl Message {
    pub(super) fn of(delivery: &Delivery) -> Self {
        let Delivery { case, tells, .. } = delivery;
        let over = match tells {
            Tells::Opened => None,
            Tells::Closed => case.closed.as_ref(),
        };
        let case = &case.opened;
        let envelope = Envelope {
            r#type: tells.name(),
            timestamp: format::time(over.map_or(case.opened_at, |(_, at)| *at)),
            data: CaseData {
                id: case.number,
                kind: &case.kind,
                severity: Severity::name(case.severity),
                subject: case.subject.to_string(),
                facts: cut(&case.facts),
                status: if over.is_some() { "CLOSED" } else { "OPEN" },
                opened_at: format::time(case.opened_at),
                closed_at: over.map(|(_, at)| format::time(*at)),
                closed_by: over.map(|(fact, _)| &**fact),
            },
        };
        // texts and numbers alone always have a form
        let body = serde_json::to_string(&envelope).unwrap_or_default();
        Self { id: id(delivery), body }
    }
}

/// The same at every try and in every restored copy of the folder; another for another episode,
/// though its number is given again after a restore.
fn id(Delivery { case, tells, .. }: &Delivery) -> String {
    let case = &case.opened;
    let (number, kind, subject, at) = (case.number, &case.kind, case.subject, case.opened_at);
    short_id(&format!("{number}\n{kind}\n{subject}\n{at}\n{}", tells.name()))
}

/// The `webhook-id` of a message of this name, always the same.
pub(super) fn short_id(name: &str) -> String {
    let digest = Sha256::digest(name);
    let short: String = hex(&digest.into()).chars().take(ID).collect();
    format!("msg_{short}")
}

fn cut(facts: &str) -> String {
    if facts.chars().count() <= FACTS {
        return facts.to_owned();
    }
    facts.chars().take(FACTS).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::Message;
    use kernel::ids::LedgerId;
    use kernel::operators::{OpenCase, Severity, Subject};
    use kernel::ports::admin_queries::{CaseRow, Delivery, Tells};
    use serde_json::{Value, json};

    fn delivery(tells: Tells) -> Delivery {
        let opened = OpenCase {
            number: 12,
            kind: "LEDGER_SILENT".into(),
            severity: Severity::Critical,
            subject: Subject::Ledger(LedgerId::SPOT),
            facts: "no answer\nsince \"12:00\"".into(),
            opened_at: 1_700_000_000_123,
        };
        let case = CaseRow {
            opened,
            closed: Some(("it answers".into(), 1_700_000_060_000)),
            assigned: Some("ops-7".into()),
        };
        Delivery { case, tells, attempts: 0, due_at: Some(0), error: None }
    }

    fn body(delivery: &Delivery) -> Value {
        serde_json::from_str(&Message::of(delivery).body).unwrap()
    }

    /// Seen red where a beginning that is told late has the case's end in it: two tries under one id
    /// would differ.
    #[test]
    fn each_half_says_what_it_knew() {
        let mut expected = json!({
            "type": "case.opened",
            "timestamp": "2023-11-14T22:13:20.123Z",
            "data": {
                "id": 12, "kind": "LEDGER_SILENT", "severity": "CRITICAL", "subject": "ledger/SPOT",
                "facts": "no answer\nsince \"12:00\"", "status": "OPEN",
                "opened_at": "2023-11-14T22:13:20.123Z", "closed_at": null, "closed_by": null,
            }
        });
        assert_eq!(body(&delivery(Tells::Opened)), expected);
        expected["type"] = json!("case.closed");
        expected["timestamp"] = json!("2023-11-14T22:14:20.000Z");
        expected["data"]["status"] = json!("CLOSED");
        expected["data"]["closed_at"] = json!("2023-11-14T22:14:20.000Z");
        expected["data"]["closed_by"] = json!("it answers");
        assert_eq!(body(&delivery(Tells::Closed)), expected);
    }

    #[test]
    fn a_repeat_is_the_same_and_another_episode_is_not() {
        let first = delivery(Tells::Opened);
        let later = Delivery { attempts: 7, error: Some("x".into()), ..first.clone() };
        assert_eq!(Message::of(&first), Message::of(&later));
        let mut after_a_restore = first.clone();
        after_a_restore.case.opened.opened_at += 1;
        let others = [delivery(Tells::Closed), after_a_restore];
        for other in others {
            assert_ne!(Message::of(&first).id, Message::of(&other).id);
        }
        let id = Message::of(&first).id;
        assert!(id.starts_with("msg_") && id.len() == 36, "{id}");
    }

    #[test]
    fn a_body_stays_small() {
        let mut long = delivery(Tells::Opened);
        long.case.opened.facts = "\u{1}".repeat(100_000).into();
        let shown = body(&long);
        assert!(shown["data"]["facts"].as_str().unwrap().ends_with('…'));
        assert!(Message::of(&long).body.len() < 20_000);
    }
}
