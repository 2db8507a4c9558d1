//! Writes what is proven of an attempt, as the journal keeps it: the answer of its members, and the evidence of a code.

use kernel::answer::{Answer, Evidence};
use kernel::attempt::{Attempt, MemberVerdict};
use kernel::ports::chain::AttemptProof;
use serde_json::Value;
use std::sync::Arc;

/// One answer for every member.
pub(crate) fn all(attempt: &Attempt, answer: &Answer) -> AttemptProof {
    let verdict = MemberVerdict { answer: answer.clone(), alone: false };
    AttemptProof::Closed(vec![verdict; attempt.members.len()])
}

pub(crate) fn dead(code: &'static str, doc: Arc<str>) -> Answer {
    Answer::Dead(coded(code, &doc))
}

/// The evidence of a code, whose document says the code too: a transfer's history keeps the document alone.
pub(crate) fn coded(code: &'static str, doc: &Arc<str>) -> Evidence {
    Evidence { code: code.into(), doc: Some(with_field(doc, "code", code.into())) }
}

/// A document with one more field.
pub(crate) fn with_field(doc: &Arc<str>, name: &str, value: Value) -> Arc<str> {
    match serde_json::from_str(doc) {
        Ok(Value::Object(mut fields)) => {
            fields.insert(name.to_owned(), value);
            Value::Object(fields).to_string().into()
        }
        Ok(_) | Err(_) => Arc::clone(doc),
    }
}
