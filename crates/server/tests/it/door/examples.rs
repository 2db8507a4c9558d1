//! The examples of the description, which `/docs` sends with a click, against a server.

use super::{Door, Reply};
use axum::body::Body;
use axum::http::{Request, header};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// May do everything, as the reader of `/docs` with a development key.
const READER: (&str, &str) = ("4001", "admin");

/// The requests in the order in which a server can answer them all, with values for places in the path that have no
/// example: they are of this server.
const ORDER: [(&str, &str); 31] = [
    ("post", "/api/v1/ops/deposits"),
    ("post", "/api/v1/ops/withdrawals"),
    ("post", "/api/v1/internal_transfer"),
    ("post", "/api/v1/internal_transfers"),
    ("post", "/api/v1/transfer"),
    ("post", "/api/v1/ops/transfers/{id}/notes"),
    ("post", "/api/v1/ops/transfers/{action}"),
    ("post", "/api/v1/ops/accounts/pipeline"),
    ("post", "/api/v1/ops/accounts/pipeline/{number}/deposits"),
    ("post", "/api/v1/ops/accounts/pipeline/{number}/withdrawals"),
    ("post", "/api/v1/ops/accounts/pipeline/{number}/status"),
    ("post", "/api/transfers"),
    ("post", "/api/v1/ops/accounts/{user}/{type}/status"),
    ("post", "/api/v1/ops/assets"),
    ("patch", "/api/v1/ops/assets/{symbol}"),
    ("post", "/api/v1/ops/outbox/reemit"),
    ("post", "/api/v1/ops/dlt/{topic}/redrive"),
    ("post", "/api/v1/ops/pipeline/seek"),
    ("post", "/api/v1/ops/pauses"),
    ("post", "/api/v1/webhooks"),
    ("post", "/api/v1/webhooks/{id}/test"),
    ("post", "/api/v1/webhooks/{id}/rotate"),
    ("post", "/api/v1/webhooks/{id}/replay"),
    ("patch", "/api/v1/webhooks/{id}"),
    ("delete", "/api/v1/webhooks/{id}"),
    ("get", "/health"),
    ("post", "/api/v1/ops/halt"),
    ("get", "/health"),
    ("post", "/api/v1/cases/{id}/assign"),
    ("post", "/api/v1/cases/{id}/comment"),
    ("post", "/api/v1/ops/resume"),
];

/// What must be there before, by the path: a transfer that waits, a message that is parked, a relay, a folder for backups.
const ELSEWHERE: [&str; 16] = [
    "/api/v1/ops/transfers/{id}/ask",
    "/api/v1/ops/transfers/{id}/pause",
    "/api/v1/ops/transfers/{id}/release",
    "/api/v1/ops/transfers/{id}/resolve",
    "/api/v1/ops/transfers/{id}/resume",
    "/api/v1/ops/transfers/{id}/retry",
    "/api/v1/ops/approvals/{id}/approve",
    "/api/v1/ops/approvals/{id}/reject",
    "/api/v1/ops/backup",
    "/api/v1/ops/pipeline/parked/unpark",
    "/api/v1/ops/relay/keys/{key}/prove-gone",
    "/api/v1/ops/relay/keys/{key}/retire",
    "/api/v1/ops/vaults/{chain}/withdrawals/{transaction}/accept",
    "/api/v1/webhooks/{id}/deliveries/{number}/resend",
    "/transfer",
    "/transfers",
];

/// Fields whose value a reader may take from the example: words and sums, no ids, times and counts.
const SAID: [&str; 36] = [
    "account",
    "amount",
    "asset",
    "cid",
    "channel",
    "currency",
    "daily_amount",
    "description",
    "detail",
    "dry_run",
    "events",
    "flow",
    "flows",
    "from",
    "fromAccountNumber",
    "funding",
    "internal_transfer_enabled",
    "journal",
    "max_transfer_amount",
    "metadata",
    "number",
    "on_wire",
    "outcome",
    "owner",
    "precision",
    "quiet",
    "reference",
    "spot",
    "state",
    "status",
    "stored",
    "symbol",
    "target",
    "to",
    "toAccountNumber",
    "user_id",
];

/// Where an answer says otherwise than its example.
fn contradictions(example: &Value, answer: &Value, at: &str, found: &mut Vec<String>) {
    let sum = |value: &Value| value.as_str().and_then(|text| text.parse::<f64>().ok());
    match (example, answer) {
        (Value::Object(example), Value::Object(answer)) => {
            for (name, value) in example {
                let at = format!("{at}.{name}");
                match answer.get(name) {
                    Some(other)
                        if value.is_object() || value.is_array() || SAID.contains(&&**name) =>
                    {
                        contradictions(value, other, &at, found);
                    }
                    Some(_) | None => {}
                }
            }
        }
        (Value::Array(example), Value::Array(answer)) => {
            for (one, other) in example.iter().zip(answer) {
                contradictions(one, other, at, found);
            }
        }
        (example, answer) => {
            let same = example == answer || (sum(example).is_some() && sum(example) == sum(answer));
            if !same {
                found.push(format!("{at}: {example}, and the server says {answer}"));
            }
        }
    }
}

impl Door {
    async fn asks(&self, method: &str, path: &str, body: Option<&Value>) -> Reply {
        let token = self.token(READER.0, READER.1);
        let request = Request::builder()
            .method(method.to_uppercase().as_str())
            .uri(path)
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .header(header::CONTENT_TYPE, "application/json");
        let body = body.map_or_else(String::new, Value::to_string);
        self.send(request.body(Body::from(body)).expect("a request")).await
    }

    /// What the examples take for granted: money, two numbered accounts, a group that is paused, an open case.
    async fn furnished() -> Self {
        let door = Self::open().await;
        door.fund(4001, "1000").await;
        let coins = json!({"user_id": "4001", "asset": "BTC", "amount": "2", "ref": "coins", "reason": "a test"});
        let mut before = vec![("ops/deposits", coins)];
        for (number, owner) in [("DE-4001-USD", "4001"), ("DE-4002-USD", "4002")] {
            let new =
                json!({"number": number, "owner": owner, "currency": "USD", "reason": "a test"});
            before.push(("ops/accounts/pipeline", new));
        }
        let money = json!({"currency": "USD", "amount": "500", "ref": "usd", "reason": "a test"});
        before.push(("ops/accounts/pipeline/DE-4001-USD/deposits", money));
        let pause = json!({"kind": "group", "name": "audit-group", "reason": "a test"});
        before.push(("ops/pauses", pause));
        for (path, body) in before {
            let reply = door.post(("ops", "admin"), &format!("/api/v1/{path}"), body).await;
            assert!((200..300).contains(&reply.status), "{path}: {reply:?}");
        }
        door
    }
}

/// Turns red where an example of a request is refused, and where the example of its answer says otherwise than the server.
#[tokio::test]
async fn every_example_is_answered_as_it_is_described() {
    let door = Door::furnished().await;
    let api = door.asks("get", "/openapi.json", None).await.body;
    let mut wrong = Vec::new();
    let mut ids = BTreeMap::from([("user", "4001".to_owned())]);
    for (method, template) in ORDER {
        let operation = &api["paths"][template][method];
        let mut path = template.to_owned();
        for place in operation["parameters"].as_array().into_iter().flatten() {
            let name = place["name"].as_str().expect("a name");
            let kind = template.split('/').rev().skip_while(|part| !part.contains("{id}")).nth(1);
            let own = ids.get(if name == "id" { kind.expect("a kind") } else { name });
            let value = place["example"].as_str().or_else(|| own.map(String::as_str));
            if place["in"] == "path" {
                let value = value.unwrap_or_else(|| panic!("{template}: {name} has no example"));
                path = path.replace(&format!("{{{name}}}"), value);
            }
        }
        let body = &operation["requestBody"]["content"]["application/json"]["example"];
        let body = Some(body).filter(|body| !body.is_null());
        if method == "get" && door.app.engine.halted().is_some() {
            // the case that the next requests are about
            door.halt().await;
            let cases = door.asks("get", "/api/v1/cases", None).await.body;
            ids.insert("cases", cases["cases"][0]["id"].to_string());
        }
        let reply = door.asks(method, &path, body).await;
        let health = template == "/health";
        if !health && !(200..300).contains(&reply.status) {
            wrong.push(format!("{method} {path}: {} {}", reply.status, reply.body));
            continue;
        }
        let described = &operation["responses"][reply.status.to_string()];
        let example = &described["content"]["application/json"]["example"];
        contradictions(example, &reply.body, &format!("{method} {template}"), &mut wrong);
        match template {
            "/api/v1/internal_transfer" => {
                drop(ids.insert("transfers", reply.text("req_id").to_owned()))
            }
            "/api/v1/webhooks" => drop(ids.insert("webhooks", reply.text("id").to_owned())),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Turns red where a new route with a body has no place in the test above.
#[tokio::test]
async fn every_request_with_a_body_is_sent_or_needs_what_is_not_there() {
    let door = Door::open().await;
    let api = door.asks("get", "/openapi.json", None).await.body;
    for (path, methods) in api["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            let sent = ORDER.contains(&(&**method, &**path));
            let elsewhere = ELSEWHERE.contains(&&**path);
            let has_body = operation["requestBody"].is_object();
            assert!(!has_body || sent || elsewhere, "{method} {path}");
        }
    }
}
