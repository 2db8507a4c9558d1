//! Routes and their description, tokens and scopes, and what happens where nothing fits.

use super::{CREATE, Door, TestSetup, USER, movement, transfer};
use axum::body::Body;
use axum::http::{Method, Request, header};
use engine::Parts;
use kernel::answer::Cause;
use kernel::ports::Fut;
use kernel::ports::journal::Journal;
use kernel::ports::ledger::{Authority, External, Moved, World};
use kernel::unit::{Unit, Wrote};
use serde_json::{Value, json};
use server::config::Config;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use testkit::wrapper::{JournalWrapper, Wrapper};
use tower::ServiceExt;

/// Every documented route, with values for its parameters: method, path, open to all, its scope.
async fn routes(door: &Door) -> Vec<(Method, String, bool, String)> {
    let api = door.get(("x", "admin"), "/openapi.json").await.body;
    let mut found = Vec::new();
    for (path, methods) in api["paths"].as_object().expect("paths") {
        for (method, subject) in methods.as_object().expect("methods") {
            let method = method.to_uppercase().parse().expect("a method");
            let open = subject["security"].as_array().is_some_and(|all| all.contains(&json!({})));
            let path = path
                .replace("{transferId}", "01JFVQ2X8Z0Y1M3N4P5R6S7T8V")
                .replace("{req_id}", "01JFVQ2X8Z0Y1M3N4P5R6S7T8V")
                .replace("{user}", "4001")
                .replace("{type}", "FUNDING")
                .replace("{number}", "ACC-1")
                .replace("{id}", "01JFVQ2X8Z0Y1M3N4P5R6S7T8V")
                .replace("{key}", "payout-7")
                .replace("{action}", "retry")
                .replace("{symbol}", "USDT")
                .replace("{topic}", "transfer-execution-dlt")
                .replace("{chain}", "SOLANA")
                .replace("{transaction}", "5VERv8NM")
                .replace("{code}", "HALTED");
            let ways = subject["security"].as_array().into_iter().flatten();
            let scope = ways.filter_map(|way| way["token"][0].as_str()).next();
            found.push((method, path, open, scope.unwrap_or_default().to_owned()));
        }
    }
    found
}

fn bare(method: &Method, path: &str) -> Request<Body> {
    Request::builder().method(method).uri(path).body(Body::empty()).expect("a request")
}

/// Turns red where one route ignores a parameter: `dry_run` of another one would be done.
#[tokio::test]
async fn a_route_without_parameters_refuses_any() {
    let door = Door::open().await;
    let api = door.get(("x", "admin"), "/openapi.json").await.body;
    let mut refused = 0;
    for (method, path, open, scope) in routes(&door).await {
        let of = |(template, methods): (&String, &Value)| {
            let same = template.split('/').zip(path.split('/'));
            let fits = template.matches('/').count() == path.matches('/').count()
                && same.into_iter().all(|(one, other)| one == other || one.starts_with('{'));
            let operation = &methods[method.as_str().to_lowercase()];
            (fits && operation.is_object()).then(|| operation.clone())
        };
        let operation = api["paths"].as_object().expect("paths").iter().find_map(of);
        let parameters = operation.expect("the operation")["parameters"].clone();
        let declared = parameters.as_array().into_iter().flatten();
        if open || scope.is_empty() || declared.into_iter().any(|one| one["in"] == "query") {
            continue;
        }
        let mut request = bare(&method, &format!("{path}?dry_run=true"));
        let token = format!("Bearer {}", door.token("4001", &scope));
        request.headers_mut().insert(header::AUTHORIZATION, token.parse().expect("a header"));
        let reply = door.send(request).await;
        assert_eq!(reply.status, 400, "{method} {path}: {reply:?}");
        refused += 1;
    }
    assert!(refused > 40, "{refused}");
}

#[tokio::test]
async fn every_documented_route_is_there_and_asks_for_a_token() {
    let door = Door::open().await;
    let routes = routes(&door).await;
    assert!(routes.len() > 40, "{}", routes.len());
    for (method, path, open, _) in routes {
        let reply = door.send(bare(&method, &path)).await;
        if open {
            assert_eq!(reply.status, 200, "{method} {path}: {reply:?}");
        } else {
            assert_eq!((reply.status, reply.code()), (401, "UNAUTHORIZED"), "{method} {path}");
            assert_eq!(reply.headers["www-authenticate"], "Bearer");
        }
        // no route of ours takes it
        let wrong = Method::PUT;
        let reply = door.send(bare(&wrong, &path)).await;
        assert_eq!((reply.status, reply.code()), (405, "METHOD_NOT_ALLOWED"), "{wrong} {path}");
        let trace = door.send(bare(&Method::TRACE, &path)).await;
        assert_eq!(trace.status, 405, "{path}");
    }
    for path in ["/api", "/api/v1/internal_transfer/", "/api/v2/x", "/health/", "/docs/"] {
        let reply = door.send(bare(&Method::GET, path)).await;
        assert_eq!((reply.status, reply.code()), (404, "NOT_FOUND"), "{path}");
        assert!(reply.body["request_id"].is_string());
    }
    let Ok(front) = door.router.clone().oneshot(bare(&Method::GET, "/")).await;
    assert_eq!(
        (front.status().as_u16(), front.headers()["location"].as_bytes()),
        (303, &b"/docs"[..])
    );
}

#[tokio::test]
async fn each_route_needs_its_own_scope() {
    let door = Door::open().await;
    for (method, path, open, needed) in routes(&door).await {
        if open {
            continue;
        }
        let all = ["transfers:create", "transfers:read", "transfers:any", "ops:read", "ops:act"];
        let more = ["relay:create", "relay:read", "ops:approve", "admin", "", "ADMIN", "ops"];
        for scope in all.into_iter().chain(more) {
            let token = door.token("4001", scope);
            let request = Request::builder()
                .method(&method)
                .uri(&path)
                .header(header::AUTHORIZATION, format!("Bearer {token}"))
                .header(header::CONTENT_TYPE, "application/json")
                .body(Body::from("{}"));
            let reply = door.send(request.expect("a request")).await;
            let allowed = scope == needed || scope == "admin";
            let barred = reply.status == 403 && reply.code() == "FORBIDDEN";
            assert_eq!(barred, !allowed, "{method} {path} with `{scope}`: {reply:?}");
        }
    }
}

#[tokio::test]
async fn a_token_stands_once_in_the_header_and_nowhere_else() {
    let door = Door::open().await;
    let token = door.token("4001", USER);
    let bearer = format!("Bearer {token}");
    let with = |values: &[&str]| {
        let mut request = Request::get("/api/v1/balances");
        for value in values {
            request = request.header(header::AUTHORIZATION, *value);
        }
        request.body(Body::empty()).expect("a request")
    };
    assert_eq!(door.send(with(&[&bearer])).await.status, 200);
    assert_eq!(door.send(with(&[&bearer.replace("Bearer", "bearer")])).await.status, 200);
    let basic = bearer.replace("Bearer", "Basic");
    let bad: [&[&str]; 6] =
        [&[], &[&bearer, &bearer], &[&token], &[&basic], &["Bearer"], &["Bearer "]];
    for values in bad {
        assert_eq!(door.send(with(values)).await.status, 401, "{values:?}");
    }
    let query = bare(&Method::GET, &format!("/api/v1/balances?access_token={token}"));
    assert_eq!(door.send(query).await.status, 401);
}

/// Turns red where a caller without a token is told that it was a bad one, or the other way round.
#[tokio::test]
async fn a_refused_token_is_named_in_the_challenge() {
    let door = Door::open().await;
    let path = "/api/v1/balances";
    let none = door.send(bare(&Method::GET, path)).await;
    assert_eq!(
        (none.status, &none.headers[header::WWW_AUTHENTICATE]),
        (401, &"Bearer".parse().unwrap())
    );
    let request = Request::get(path).header(header::AUTHORIZATION, "Bearer x");
    let bad = door.send(request.body(Body::empty()).expect("a request")).await;
    let challenge = bad.headers[header::WWW_AUTHENTICATE].to_str().expect("a text");
    assert_eq!((bad.status, challenge), (401, "Bearer error=\"invalid_token\""));
    let good = door.get(("4001", USER), path).await;
    assert!(!good.headers.contains_key(header::WWW_AUTHENTICATE));
}

/// Turns red where a parameter that is not read is let through: the answer would be about another.
#[tokio::test]
async fn balances_are_the_callers_own() {
    let door = Door::open().await;
    door.fund(4002, "10").await;
    for query in ["user_id=4002", "asset=USDT", "x"] {
        let reply = door.get(("4001", USER), &format!("/api/v1/balances?{query}")).await;
        assert_eq!((reply.status, reply.code()), (400, "BAD_REQUEST"), "{query}: {reply:?}");
    }
    assert_eq!(door.get(("4001", USER), "/api/v1/balances").await.body, json!([]));
}

/// Turns red where a parameter's description ends before what the route takes.
#[tokio::test]
async fn a_parameter_reaches_as_far_as_it_says() {
    let door = Door::open().await;
    let api = door.get(("x", "admin"), "/openapi.json").await.body;
    for (path, name, most, format) in [
        ("/api/v1/ops/audit/seals", "before", u64::MAX, "uint64"),
        ("/api/v1/transfers", "min_attempts", u32::MAX.into(), "uint32"),
    ] {
        let said = api["paths"][path]["get"]["parameters"].as_array().expect("parameters");
        let said = said.iter().find(|one| one["name"] == name).expect("the parameter");
        assert_eq!(said["schema"]["format"], format, "{said}");
        let reply = door.get(("x", "ops:read"), &format!("{path}?{name}={most}")).await;
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
    }
}

/// Turns red where a library's own plain-text refusal reaches a caller.
#[tokio::test]
async fn a_path_that_is_no_text_is_answered_in_json() {
    let door = Door::open().await;
    let admin = ("1", "admin");
    for path in ["/api/v1/internal_transfer/%FF", "/api/v1/internal_transfer/%C0%AE", "/%FF"] {
        let reply = door.get(admin, path).await;
        assert_eq!((reply.status, reply.code()), (404, "NOT_FOUND"), "{path}: {reply:?}");
        assert!(reply.body["request_id"].is_string());
    }
    let path = "/api/v1/ops/accounts/%FF/%FE/status";
    let reply = door.post(admin, path, json!({"status": "FROZEN", "reason": "x"})).await;
    assert_eq!((reply.status, reply.code()), (404, "NOT_FOUND"), "{reply:?}");
}

#[tokio::test]
async fn pages_for_machines_can_be_closed() {
    let door = Door::with(TestSetup { open_pages: false, ..TestSetup::default() }).await;
    for path in ["/metrics", "/openapi.json", "/docs"] {
        assert_eq!(door.send(bare(&Method::GET, path)).await.status, 401, "{path}");
        assert_eq!(door.get(("4001", USER), path).await.status, 403, "{path}");
        assert_eq!(door.get(("mon", "ops:read"), path).await.status, 200, "{path}");
    }
    let health = door.send(bare(&Method::GET, "/health")).await;
    let parts = ["journal", "funding", "spot", "account"].map(|part| (part, "connected"));
    let parts = parts.into_iter().chain([("status", "healthy")]).collect::<BTreeMap<_, _>>();
    assert_eq!((health.status, health.body), (200, json!(parts)));
}

#[tokio::test]
async fn health_names_the_halt_that_stands_and_reads_stay_ready() {
    let door = Door::open().await;
    let ready = || bare(&Method::GET, "/readyz");
    let reply = door.send(ready()).await;
    assert_eq!((reply.status, &reply.body["status"]), (200, &json!("ok")), "{reply:?}");
    let body = json!({"reason": "a test"});
    for number in [1, 2] {
        let halted = door.post(("ops", "ops:act"), "/api/v1/ops/halt", body.clone()).await;
        assert_eq!(halted.status, 200, "{halted:?}");
        let reply = door.send(bare(&Method::GET, "/health")).await;
        let said = (&reply.body["status"], &reply.body["halt"], &reply.body["journal"]);
        assert_eq!(said, (&json!("halted"), &json!(number), &json!("connected")), "{reply:?}");
        assert_eq!(reply.status, 503);
        assert_eq!(door.send(ready()).await.status, 200, "reads go on");
    }
}

#[tokio::test]
async fn metrics_count_what_was_done() {
    let door = Door::open().await;
    door.fund(4001, "10").await;
    let done = door.post(("4001", USER), CREATE, super::transfer("1", "k")).await;
    assert_eq!(done.status, 200);
    let page = door.get(("x", "admin"), "/metrics").await;
    let Value::String(page) = page.body else { panic!("a text") };
    for line in [
        r#"portage_transfers_total{flow="internal",state="COMMITTED"} 1"#,
        r#"portage_http_request_duration_seconds_count{route="/api/v1/internal_transfer",status="200"} 1"#,
        "portage_halted 0",
        "# EOF",
    ] {
        assert!(page.contains(line), "{line}\n{page}");
    }
}

/// A journal whose writes take longer than a caller waits.
struct SlowWrites(Arc<dyn Journal>);

impl JournalWrapper for SlowWrites {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }

    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        Box::pin(async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            self.0.write(units).await
        })
    }
}

/// Turns red where a client that gave no key is told that a repeat is safe: it is one more transfer.
#[tokio::test]
async fn only_a_key_makes_a_repeat_safe() {
    let change = Box::new(|parts: &mut Parts| {
        parts.settings.open_timeout_ms = 0;
        parts.journal = Arc::new(Wrapper(SlowWrites(Arc::clone(&parts.journal))));
    });
    let door = Door::with(TestSetup { change, ..TestSetup::default() }).await;
    for (cid, told) in [(Some("a"), "never made twice"), (None, "may be one more transfer")] {
        let mut body = json!({"from": "FUNDING", "to": "SPOT", "asset": "USDT", "amount": "1"});
        if let (Some(fields), Some(cid)) = (body.as_object_mut(), cid) {
            fields.insert("cid".to_owned(), cid.into());
        }
        let reply = door.post(("4001", USER), CREATE, body).await;
        assert_eq!((reply.status, &reply.body["outcome"]), (500, &"unknown".into()), "{reply:?}");
        let message = reply.body["error"].to_string();
        assert!(message.contains(told), "{message}");
    }
}

/// Turns red where a create without a key is taken although the settings ask for one.
#[tokio::test]
async fn a_create_without_a_key_is_refused_where_one_is_required() {
    let mut config = Config::default();
    config.transfer.require_key = true;
    let door = Door::with(TestSetup { config, ..TestSetup::default() }).await;
    door.fund(4001, "10").await;
    let account = json!({"number": "A", "owner": 4001, "currency": "USDT", "reason": "a test"});
    let opened = door.post(("ops", "ops:act"), "/api/v1/ops/accounts/pipeline", account).await;
    assert_eq!(opened.status, 201, "{opened:?}");
    let internal = json!({"from": "FUNDING", "to": "SPOT", "asset": "USDT", "amount": "1"});
    let accounts = json!({
        "fromAccountNumber": "A", "toAccountNumber": "B", "amount": "1", "currency": "USDT",
    });
    for (route, body) in [(CREATE, internal.clone()), ("/api/transfers", accounts)] {
        let reply = door.post(("4001", USER), route, body).await;
        assert_eq!((reply.status, reply.code()), (400, "IDEMPOTENCY_KEY_REQUIRED"), "{reply:?}");
    }
    assert_eq!(door.rows().await, 0);
    // any of its three spellings will do
    for (n, name) in ["Idempotency-Key", "X-Idempotency-Key"].into_iter().enumerate() {
        let mut request = Request::post(CREATE).header(name, format!("k{n}"));
        let token = door.token("4001", USER);
        request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        request = request.header(header::CONTENT_TYPE, "application/json");
        let request = request.body(Body::from(internal.to_string())).expect("a request");
        assert_eq!(door.send(request).await.status, 200, "{name}");
    }
    let mut body = internal;
    body["cid"] = "k0".into();
    let reply = door.post(("4001", USER), CREATE, body).await;
    assert_eq!(reply.headers["idempotency-replayed"], "true", "{reply:?}");
}

/// Turns red where an address with an escaped control character comes to a store (run: 500 on PostgreSQL), or a packed
/// body is read as it is.
#[tokio::test]
async fn control_characters_and_packed_bodies_are_refused() {
    let door = Door::open().await;
    for path in [
        "/api/v1/transfers?error_class=%00",
        "/api/v1/transfers?receiver=a%1fb",
        "/api/v1/ops/audit?subject=%0A",
    ] {
        let reply = door.get(("ops", "ops:read"), path).await;
        assert_eq!((reply.status, reply.code()), (400, "BAD_REQUEST"), "{path}: {reply:?}");
    }
    // nothing is called so
    for path in ["/api/v1/ops/accounts/pipeline/A%00B", "/api/v1/ops/accounts/pipeline/A%7fB"] {
        let reply = door.get(("ops", "ops:read"), path).await;
        assert_eq!((reply.status, reply.code()), (404, "NOT_FOUND"), "{path}: {reply:?}");
    }
    // what is cut off or no digit writes nothing
    for path in ["/api/v1/transfers?error_class=%C3%A9", "/api/v1/transfers?error_class=a%20b"] {
        assert_eq!(door.get(("ops", "ops:read"), path).await.status, 200, "{path}");
    }
    let token = door.token("4001", USER);
    for (coding, status) in [("gzip", 415), ("br", 415), ("identity", 422)] {
        let request = Request::post(CREATE)
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::CONTENT_ENCODING, coding);
        let body = Body::from(transfer("1", coding).to_string());
        let reply = door.send(request.body(body).expect("a request")).await;
        assert_eq!(reply.status, status, "{coding}: {reply:?}");
    }
}

/// A world that dies of being asked.
struct Dying;

impl World for Dying {
    fn book(&self, _: External, _: Authority) -> Fut<'_, Result<Moved, Cause>> {
        Box::pin(async { panic!("on purpose") })
    }

    fn booked(&self, _: External) -> Fut<'_, Result<Option<Moved>, Cause>> {
        Box::pin(async { panic!("on purpose") })
    }
}

#[tokio::test]
async fn a_broken_handler_is_an_unknown_outcome() {
    let change = Box::new(|parts: &mut Parts| parts.world = Arc::new(Dying));
    let door = Door::with(TestSetup { change, ..TestSetup::default() }).await;
    let body = movement(4001, "1", "r");
    let reply = door.post(("ops", "ops:act"), "/api/v1/ops/deposits", body).await;
    assert_eq!((reply.status, reply.code()), (500, "SYSTEM_ERROR"));
    assert_eq!(reply.body["outcome"], "unknown");
    assert_eq!(reply.body["request_id"], reply.headers["x-request-id"].to_str().expect("it"));
}
