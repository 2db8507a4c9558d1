//! Requests to the relay, one connection each.

use super::chain::DemoTransfer;
use super::product::Product;
use super::view::Progress;
use crate::Outcome;
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum number of tries of a request that gets no answer: the same keys pay once.
const TRIES: usize = 5;

/// Posts transfers in one request; each of them is taken in, or was before.
pub(super) fn post_batch(
    product: &Product,
    transfers: impl Iterator<Item = DemoTransfer>,
) -> Outcome {
    let item = |one: DemoTransfer| json!({ "key": one.key, "receiver_id": one.receiver, "amount": one.amount.to_string() });
    let body = json!({ "transfers": transfers.map(item).collect::<Vec<_>>() });
    let mut last = String::new();
    for _ in 0..TRIES {
        match exchange(product, "POST", "/transfers", Some(&body)) {
            Ok(reply) => return taken_in(&reply),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn taken_in(reply: &Value) -> Outcome {
    let results = reply.get("results").and_then(Value::as_array);
    let results = results.ok_or_else(|| format!("not understood: {reply}"))?;
    let refused = results.iter().find(|row| {
        let status = row.get("http_status").and_then(Value::as_u64);
        !matches!(status, Some(200 | 201))
    });
    refused.map_or(Ok(()), |row| Err(format!("a transfer was not taken in: {row}")))
}

/// How many transfers of the relay are where.
pub(super) fn stats(product: &Product) -> Outcome<Progress> {
    let reply = exchange(product, "GET", "/api/v1/stats", None)?;
    let mut seen = Progress::default();
    for row in reply.get("states").and_then(Value::as_array).into_iter().flatten() {
        if row.get("flow").and_then(Value::as_str) != Some("relay") {
            continue;
        }
        let count = row.get("transfers").and_then(Value::as_u64).unwrap_or_default();
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let place = match row.get("state").and_then(Value::as_str).unwrap_or_default() {
            "COMPLETED" => &mut seen.completed,
            "FAILED" => &mut seen.failed,
            "SUBMITTED" | "QUEUED_VERIFICATION" => &mut seen.sent,
            _ => &mut seen.queued,
        };
        *place = place.saturating_add(count);
    }
    let keys = exchange(product, "GET", "/api/v1/ops/relay/keys", None)?;
    let keys = keys.get("keys").and_then(Value::as_array).into_iter().flatten();
    seen.attempts = keys.filter(|key| key.get("attempt").is_some_and(Value::is_object)).count();
    Ok(seen)
}

fn exchange(product: &Product, method: &str, path: &str, body: Option<&Value>) -> Outcome<Value> {
    let failed = |error: std::io::Error| format!("{method} {path}: {error}");
    let mut stream = TcpStream::connect(&product.address).map_err(failed)?;
    stream.set_read_timeout(Some(TIMEOUT)).map_err(failed)?;
    let body = body.map(ToString::to_string).unwrap_or_default();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        product.address,
        product.token,
        body.len()
    );
    stream.write_all(request.as_bytes()).map_err(failed)?;
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).map_err(failed)?;
    let reply = String::from_utf8_lossy(&reply);
    let (head, body) = reply.split_once("\r\n\r\n").ok_or_else(|| format!("{path}: no answer"))?;
    let status = head.lines().next().unwrap_or_default();
    if !status.contains(" 200 ") && !status.contains(" 201 ") {
        return Err(format!("{method} {path}: {status} {body}"));
    }
    serde_json::from_str(body).map_err(|error| format!("{path}: {error}: {body}"))
}
