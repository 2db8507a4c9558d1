//! Endpoints of webhooks over HTTP, as operators keep them.
//!
//! Wrong builds that turn a test red: see the line above it. None of them was run.

use super::{CREATE, Door, Reply, USER, transfer};
use axum::body::Body;
use axum::http::{Request, header};
use kernel::ids::Id;
use kernel::ports::webhooks::{MessageBatch, NewMessage};
use serde_json::{Value, json};

const OPS: (&str, &str) = ("ops-1", "ops:read ops:act");
const HOOKS: &str = "/api/v1/webhooks";

fn new(target: &str) -> Value {
    json!({"target": target, "events": ["transfer.*", "case.opened"], "description": "a bot",
        "reason": "a test"})
}

fn refused(reply: &Reply, status: u16, code: &str) {
    assert_eq!((reply.status, reply.code()), (status, code), "{reply:?}");
}

impl Door {
    async fn added(&self) -> (String, Value) {
        let reply = self.post(OPS, HOOKS, new("https://hooks.example/x")).await;
        assert_eq!(reply.status, 201, "{reply:?}");
        let id = reply.body["id"].as_str().expect("an id").to_owned();
        (id, reply.body)
    }

    async fn changes(&self, method: &str, path: &str, body: Value) -> Reply {
        let token = self.token(OPS.0, OPS.1);
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .header(header::CONTENT_TYPE, "application/json");
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.send(request.body(Body::from(body)).expect("a request")).await
    }

    async fn actions(&self) -> String {
        self.get(OPS, "/api/v1/ops/audit").await.body.to_string()
    }
}

/// Turns red where a repeat shows the secret again, where the audit has it, and where the id of an endpoint
/// is part of what a key is bound to.
#[tokio::test]
async fn an_endpoint_is_added_once_for_each_key_and_its_secret_shown_once() {
    let door = Door::open().await;
    let key = [("Idempotency-Key", "k")];
    let first = door.post_with(OPS, HOOKS, &key, new("https://hooks.example/x")).await;
    assert_eq!(first.status, 201, "{first:?}");
    let secret = first.body["secret"].as_str().expect("a secret").to_owned();
    assert!(secret.starts_with("whsec_") && secret.len() == 50, "{secret}");
    let again = door.post_with(OPS, HOOKS, &key, new("https://hooks.example/x")).await;
    assert_eq!((again.status, &again.body["secret"]), (200, &Value::Null), "{again:?}");
    assert_eq!(again.body["id"], first.body["id"]);
    assert_eq!(again.headers["idempotency-replayed"], "true");
    let other = door.post_with(OPS, HOOKS, &key, new("https://hooks.example/y")).await;
    refused(&other, 409, "DUPLICATE_REQUEST");
    let id = first.body["id"].as_str().expect("an id");
    let shown = door.get(OPS, &format!("{HOOKS}/{id}")).await;
    let mut should = first.body.clone();
    should.as_object_mut().expect("fields").remove("secret");
    assert_eq!((shown.status, &shown.body), (200, &should), "{shown:?}");
    let list = door.get(OPS, HOOKS).await;
    assert_eq!(list.body["webhooks"], json!([should]), "{list:?}");
    let rotated =
        door.post(OPS, &format!("{HOOKS}/{id}/rotate"), json!({"reason": "a test"})).await;
    let second = rotated.body["secret"].as_str().expect("a secret");
    assert!(second != secret && rotated.body["rotating_until"].is_string(), "{rotated:?}");
    let audit = door.actions().await;
    assert!(audit.contains("ADD_WEBHOOK") && audit.contains("ROTATE_WEBHOOK"), "{audit}");
    assert!(!audit.contains("whsec_"), "{audit}");
}

/// Turns red where a filter takes every text, where a channel is not asked whether e-mail is sent, and where
/// numbers in a host are not looked at.
#[tokio::test]
async fn what_an_endpoint_may_be() {
    let door = Door::open().await;
    for (name, value) in [
        ("target", json!("http://hooks.example/x")),
        ("target", json!("https://10.0.0.1/x")),
        ("target", json!("https://[::ffff:127.0.0.1]/x")),
        ("target", json!("https://user:word@hooks.example/x")),
        ("target", json!(format!("https://hooks.example/{}", "x".repeat(1_024)))),
        ("channel", json!("sms")),
        ("channel", json!("email")),
        ("events", json!([])),
        ("events", json!(["transfer.paid"])),
        ("events", json!(["*", ""])),
        ("flows", json!(["nothing"])),
        // known, and not offered
        ("flows", json!(["swap_in"])),
        ("owner", json!("4001")),
        ("description", json!("two\nlines")),
        ("reason", json!("")),
        ("secret", json!("whsec_mine")),
    ] {
        let mut body = new("https://hooks.example/x");
        body[name] = value.clone();
        refused(&door.post(OPS, HOOKS, body).await, 400, "BAD_REQUEST");
    }
    assert_eq!(door.get(OPS, HOOKS).await.body["webhooks"], json!([]));
    for n in 0..100 {
        let reply = door.post(OPS, HOOKS, new(&format!("https://hooks.example/{n}"))).await;
        assert_eq!(reply.status, 201, "{reply:?}");
    }
    refused(&door.post(OPS, HOOKS, new("https://hooks.example/x")).await, 409, "NOT_POSSIBLE");
}

/// Turns red where what is left out of a change is set back, where `null` leaves the owner, where another host is told
/// the secret of the one before (the release before), and where a disabled endpoint is sent a test.
#[tokio::test]
async fn an_endpoint_is_changed_disabled_and_deleted() {
    let door = Door::open().await;
    let (id, first) = door.added().await;
    let path = format!("{HOOKS}/{id}");
    let change = async |body: Value| {
        let mut body = body;
        body["reason"] = json!("a test");
        door.changes("PATCH", &path, body).await
    };
    let narrowed = json!({"owner": "user:4001", "flows": ["internal"], "events": ["*"]});
    let narrowed = change(narrowed).await;
    assert_eq!(narrowed.body["owner"], "user:4001", "{narrowed:?}");
    let other = change(json!({"description": "another"})).await;
    let fields = ["owner", "flows", "events", "description"].map(|name| other.body[name].clone());
    assert_eq!(json!(fields), json!(["user:4001", ["internal"], ["*"], "another"]), "{other:?}");
    assert_eq!(change(json!({"owner": null})).await.body["owner"], Value::Null);
    refused(&change(json!({"status": "GONE"})).await, 400, "BAD_REQUEST");
    refused(&change(json!({"events": ["x"]})).await, 400, "BAD_REQUEST");
    let near = change(json!({"target": "https://hooks.example/y"})).await;
    assert_eq!(near.body["secret"], Value::Null, "{near:?}");
    let moved = change(json!({"target": "https://other.example/y"})).await;
    let new = moved.body["secret"].as_str().unwrap_or_default();
    assert!(new.starts_with("whsec_") && first["secret"] != new, "{moved:?}");
    let before = change(json!({"status": "DISABLED"})).await;
    assert_eq!(before.body["status"], "DISABLED");
    let reason = json!({"reason": "a test"});
    refused(&door.post(OPS, &format!("{path}/test"), reason.clone()).await, 409, "NOT_POSSIBLE");
    let enabled = change(json!({"status": "ACTIVE"})).await;
    assert!(enabled.body["enabled_at"].as_str() >= before.body["enabled_at"].as_str());
    assert_eq!(door.post(OPS, &format!("{path}/test"), reason.clone()).await.status, 202);
    let gone = door.changes("DELETE", &format!("{path}?reason=a%20test"), Value::Null).await;
    assert_eq!((gone.status, &gone.body["outcome"]), (200, &json!("WEBHOOK_DELETED")), "{gone:?}");
    assert_eq!(door.get(OPS, HOOKS).await.body["webhooks"], json!([]));
    for (method, below) in [("GET", ""), ("DELETE", ""), ("GET", "/deliveries")] {
        let reply = door.changes(method, &format!("{path}{below}"), Value::Null).await;
        refused(&reply, 404, "NOT_FOUND");
    }
    refused(&change(json!({"description": "x"})).await, 404, "NOT_FOUND");
    for below in ["test", "rotate", "deliveries/1/resend"] {
        refused(
            &door.post(OPS, &format!("{path}/{below}"), reason.clone()).await,
            404,
            "NOT_FOUND",
        );
    }
    refused(&door.get(OPS, &format!("{HOOKS}/none")).await, 404, "NOT_FOUND");
}

/// Turns red where a page begins with the row that the page before ended with, and where a preview counts
/// what the endpoint does not want.
#[tokio::test]
async fn the_log_is_paged_and_a_replay_has_a_preview() {
    let door = Door::open().await;
    door.fund(4001, "5").await;
    let (id, _) = door.added().await;
    let path = format!("{HOOKS}/{id}");
    for n in 0..3 {
        let reply = door.post(("4001", USER), CREATE, transfer("1", &format!("t-{n}"))).await;
        assert_eq!(reply.status, 200, "{reply:?}");
    }
    let preview = async |since: &str| {
        let body = json!({"since": since, "dry_run": true, "reason": "a test"});
        door.post(OPS, &format!("{path}/replay"), body).await
    };
    let all = preview("2020-01-01T00:00:00Z").await;
    assert_eq!(
        (all.status, &all.body),
        (200, &json!({"messages": 3, "complete": true})),
        "{all:?}"
    );
    assert_eq!(preview("2100-01-01T00:00:00Z").await.body["messages"], 0);
    refused(&preview("yesterday").await, 400, "BAD_REQUEST");
    let failed = json!({"events": ["transfer.failed"], "reason": "a test"});
    assert_eq!(door.changes("PATCH", &path, failed).await.status, 200);
    assert_eq!(preview("2020-01-01T00:00:00Z").await.body["messages"], 0);
    let endpoint: Id = id.parse().expect("an id");
    let message = |n: u32| NewMessage {
        endpoint,
        id: format!("msg_{n}").into(),
        kind: "transfer.failed".into(),
        subject: "a test".into(),
        body: "{}".into(),
        again: false,
    };
    let messages = (0..5).map(message).collect();
    let batch = MessageBatch { messages, ..MessageBatch::default() };
    assert!(door.service.store.queue(batch).await.expect("an answer"));
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = door.get(OPS, &format!("{path}/deliveries?limit=2{cursor}")).await;
        assert_eq!(page.status, 200, "{page:?}");
        let rows = page.body["deliveries"].as_array().expect("rows").clone();
        seen.extend(rows.iter().map(|row| row["id"].as_str().expect("an id").to_owned()));
        assert!(rows.iter().all(|row| row["status"] == "QUEUED"), "{page:?}");
        let Some(next) = page.body["next"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(seen, ["msg_4", "msg_3", "msg_2", "msg_1", "msg_0"]);
    for limit in ["0", "101", "x"] {
        let page = door.get(OPS, &format!("{path}/deliveries?limit={limit}")).await;
        refused(&page, 400, "BAD_REQUEST");
    }
    let reason = json!({"reason": "a test"});
    let log = door.get(OPS, &format!("{path}/deliveries?limit=1")).await;
    let number = log.body["deliveries"][0]["number"].as_u64().expect("a number");
    let key = [("Idempotency-Key", "resend-1")];
    let resend = format!("{path}/deliveries/{number}/resend");
    assert_eq!(door.post_with(OPS, &resend, &key, reason.clone()).await.status, 202);
    assert_eq!(door.post_with(OPS, &resend, &key, reason.clone()).await.status, 200);
    let none = format!("{path}/deliveries/{}/resend", number + 1);
    refused(&door.post(OPS, &none, reason).await, 404, "NOT_FOUND");
}
