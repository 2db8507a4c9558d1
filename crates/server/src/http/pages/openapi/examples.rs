//! Builds the examples of the OpenAPI description from examples of fields: a name has the same meaning everywhere.

use super::complete::resolved;
use crate::http::middleware::error::sentence;
use crate::http::pages::docs::errors;
use kernel::code::Code;
use serde_json::{Map, Value, json};

/// The example of a field of that name, where its schema has no closer one.
fn usual(field: &str) -> Option<Value> {
    Some(match field {
        "req_id" => json!("01JFVQ2X8Z0Y1M3N4P5R6S7T8V"),
        "request_id" => json!("01JFVQ2XA1B2C3D4E5F6G7H8J9"),
        "transfer_id" => json!(12345),
        "operation_id" | "round" => json!(871),
        "user_id" => json!("4001"),
        "asset" => json!("USDT"),
        "amount" | "available" | "users" => json!("100.000000"),
        "frozen" | "in_flight" | "clearing" => json!("0.000000"),
        "world" => json!("-100.000000"),
        "account" | "ledger" | "from" => json!("FUNDING"),
        "to" => json!("SPOT"),
        "cid" => json!("order-7"),
        "at" | "created_at" | "updated_at" | "createdAt" | "updatedAt" => {
            json!("2026-11-21T09:23:15.121Z")
        }
        "message" => json!("Transfer successful"),
        "reason" => json!("ticket 4711"),
        "reference" => json!("invoice 12"),
        "evidence" => json!({ "ticket": "4711" }),
        "value" => json!({ "status": "ACTIVE" }),
        "result" => json!({ "outcome": "STATUS_SET" }),
        "metadata" => json!({ "team": "7" }),
        "error" | "detail" | "next" | "halted" => Value::Null,
        "flow" => json!("internal"),
        "state" => json!("COMMITTED"),
        "principal" | "by" => json!("portage|ops-7"),
        "leg" => json!("DEPOSIT"),
        "hash" | "prev_hash" => {
            json!("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")
        }
        "seq" => json!(0),
        "event" => json!("CREATED"),
        "max_transfer_amount" | "daily_amount" => json!("10000.00"),
        _ => return None,
    })
}

/// An example of a form; none where a field of it has none.
pub(super) fn of(schema: &Value, schemas: &Value) -> Option<Value> {
    let schema = resolved(schemas, schema);
    if let Some(example) = schema.get("example").or_else(|| schema["examples"].get(0)) {
        return Some(example.clone());
    }
    // a word that tells alternatives apart
    if let Some([word]) = schema["enum"].as_array().map(Vec::as_slice) {
        return Some(word.clone());
    }
    if let Some(first) = schema["oneOf"].as_array().and_then(|all| all.first()) {
        return of(first, schemas);
    }
    // nothing is an example of what may be missing
    if schema["type"].as_array().is_some_and(|kinds| kinds.contains(&json!("null"))) {
        return Some(Value::Null);
    }
    match schema["type"].as_str().unwrap_or_default() {
        "object" => object(schema, schemas),
        "array" => Some(json!([of(&schema["items"], schemas)?])),
        "boolean" => Some(json!(true)),
        _ => None,
    }
}

fn object(schema: &Value, schemas: &Value) -> Option<Value> {
    let mut example = Map::new();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        // a list is made of its items: the same name may be a number elsewhere
        let listed = || (field["type"] == "array").then(|| of(field, schemas)).flatten();
        let given = field.get("example").cloned();
        let value = given.or_else(listed).or_else(|| usual(name));
        example.insert(name.clone(), value.or_else(|| of(field, schemas))?);
    }
    Some(Value::Object(example))
}

/// What the example of a request says: its path, and its body.
pub(super) fn given(operation: &Value) -> Map<String, Value> {
    let body = operation.pointer("/requestBody/content/application~1json/example");
    let mut given = body.and_then(Value::as_object).cloned().unwrap_or_default();
    for place in operation["parameters"].as_array().into_iter().flatten() {
        let name = place["name"].as_str().filter(|_| place["in"] == "path");
        // an account type is a type in a path alone
        let name = name.map(|name| if name == "type" { "account" } else { name });
        if let (Some(name), Some(value)) = (name, place.get("example")) {
            given.insert(name.to_owned(), value.clone());
        }
    }
    given
}

/// Has an answer repeat what its request said, as the server does: the status that was set, the asset that was changed.
/// Amounts come with all decimals, and ids and reasons are of their own.
pub(super) fn repeat(given: &Map<String, Value>, example: &mut Value) {
    const OWN: [&str; 5] = ["amount", "answer", "from", "id", "reason"];
    for (name, value) in given.iter().filter(|(name, _)| !OWN.contains(&name.as_str())) {
        let field = example.get_mut(name).filter(|field| !field.is_object() && !value.is_null());
        if let Some(field) = field {
            field.clone_from(value);
        }
    }
}

/// A transfer that goes on. What has no message is none: an endpoint keeps its status.
pub(super) fn pending(example: &mut Value) {
    if example.get("message").is_none() {
        return;
    }
    let said = [
        ("state", "PENDING"),
        ("status", "pending"),
        ("message", "Bringing the money to the target account"),
    ];
    for (name, value) in said {
        if let Some(field) = example.get_mut(name) {
            *field = value.into();
        }
    }
}

/// Whether a form is an error's, or has it as a part.
pub(super) fn is_problem(schema: &Value, schemas: &Value) -> bool {
    let schema = resolved(schemas, schema);
    let part = |part: &Value| is_problem(part, schemas);
    let has = |field: &str| schema["properties"].get(field).is_some();
    schema["oneOf"].as_array().is_some_and(|all| all.iter().any(part))
        || (has("code") && has("docs"))
}

/// How a transfer ends that a ledger refuses with these codes.
const ENDS: [(&[Code], &str, &str); 2] = [
    (
        &[Code::SourceAccountNotFound, Code::AccountFrozen, Code::InsufficientBalance],
        "FAILED",
        "Transfer failed, no money has moved",
    ),
    (
        &[Code::TargetAccountNotFound, Code::AccountDisabled],
        "ROLLED_BACK",
        "Transfer rolled back, the money is in the source account again",
    ),
];

/// An error with that code; where its transfer was opened, with the transfer.
pub(super) fn problem(code: Code, schema: &Value, schemas: &Value) -> Value {
    let mut body = Map::new();
    let ended = ENDS.iter().find(|(codes, ..)| codes.contains(&code));
    let parts = schema["oneOf"].as_array();
    let opened = parts.and_then(|parts| parts.first()).zip(ended);
    if let Some((form, (_, state, message))) = opened
        && let Some(Value::Object(transfer)) = of(form, schemas)
    {
        body = transfer;
        body.insert("state".to_owned(), (*state).into());
        body.insert("message".to_owned(), (*message).into());
        body.remove("outcome");
        body.remove("mismatched_fields");
        body.remove("paused");
    }
    body.insert("error".to_owned(), sentence(code).into());
    body.insert("code".to_owned(), code.name().into());
    body.insert("docs".to_owned(), errors::address(code.name()).into());
    body.insert("request_id".to_owned(), usual("request_id").unwrap_or_default());
    if code == Code::DuplicateRequest {
        body.insert("mismatched_fields".to_owned(), json!(["amount"]));
    }
    Value::Object(body)
}
