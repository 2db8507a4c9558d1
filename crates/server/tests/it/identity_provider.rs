//! What becomes of a running service when its identity provider changes its name, or goes away.

use crate::fixture::process::{binary, minted, settings};
use crate::pairs::{ED, jwk, sign};
use crate::release::server::{Answer, Server, until};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kernel::ports::clock::Clock;
use serde_json::{Value, json};
use server::runtime::SystemClock;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const TRANSFERS: &str = "transfers:create transfers:read";
const OPS: &str = "ops:read ops:act";

/// A token of the folder's development key, under this issuer.
fn token(dir: &Path, issuer: &str, sub: &str, scope: &str) -> String {
    let mut command = binary();
    command.arg("--data-dir").arg(dir).env("PORTAGE_AUTH__ISSUER", issuer);
    minted(command, sub, scope)
}

fn deposit(server: &Server, ops: &str) {
    let body = json!({
        "user_id": 4001, "asset": "USDT", "amount": "100", "ref": "seed", "reason": "a test",
    });
    let booked = server.must("POST", "/api/v1/ops/deposits", ops, Some(body));
    assert_eq!(booked.status, 201, "{booked:?}");
}

fn create(server: &Server, token: &str, cid: &str) -> Answer {
    let ends = ("FUNDING", "SPOT");
    server.transfer(token, ends, "1", cid).expect("an answer")
}

fn replayed(answer: &Answer) -> bool {
    answer.head.contains("idempotency-replayed: true")
}

/// Red where a client's key counts under the present issuer alone: the repeat moved the money a second
/// time (run: `Intake::key_scopes` that gives the principal alone).
#[test]
fn a_create_that_is_repeated_after_the_issuer_changed_is_the_same_transfer() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
    let issuer = |name: &str, former: &str| {
        settings(&[("PORTAGE_AUTH__ISSUER", name), ("PORTAGE_AUTH__FORMER_ISSUERS", former)])
    };
    let server = Server::with(dir, &settings(&[("PORTAGE_AUTH__ISSUER", "https://a.example")]));
    deposit(&server, &token(dir, "https://a.example", "ops", OPS));
    let service = "transfers:any transfers:create transfers:read";
    let of_service = |server: &Server, token: &str| {
        let body = json!({
            "from": "FUNDING", "to": "SPOT", "asset": "USDT", "amount": "1", "cid": "s", "user_id": 4001,
        });
        server.must("POST", "/api/v1/internal_transfer", token, Some(body))
    };
    let first = create(&server, &token(dir, "https://a.example", "4001", TRANSFERS), "c");
    assert_eq!((first.status, replayed(&first)), (200, false), "{first:?}");
    let made = of_service(&server, &token(dir, "https://a.example", "auth0|svc", service));
    server.kill();

    // two changes, each noted as it was made
    for (name, former) in [
        ("https://b.example", "https://a.example"),
        ("https://c.example", "https://a.example,https://b.example"),
    ] {
        let server = Server::with(dir, &issuer(name, former));
        let user = token(dir, name, "4001", TRANSFERS);
        let again = create(&server, &user, "c");
        assert_eq!(again.text("req_id"), first.text("req_id"), "{name}: {again:?}");
        assert_eq!((again.status, replayed(&again)), (200, true), "{name}: {again:?}");
        let old = server.must(
            "GET",
            "/api/v1/balances",
            &token(dir, "https://a.example", "4001", TRANSFERS),
            None,
        );
        assert_eq!(old.status, 401, "no token of a former issuer is taken");
        // what is made now is found by those who come after the next change
        let fresh = create(&server, &user, "new");
        assert_eq!(replayed(&fresh), name != "https://b.example", "{name}: {fresh:?}");
        let svc = token(dir, name, "auth0|svc", service);
        let again = of_service(&server, &svc);
        assert_eq!(
            (again.text("req_id"), replayed(&again)),
            (made.text("req_id"), true),
            "{again:?}"
        );
        let path = format!("/api/v1/internal_transfer/{}", made.text("req_id"));
        assert_eq!(server.must("GET", &path, &svc, None).status, 200, "it reads what it made");
        let other = token(dir, name, "auth0|other", service);
        assert_eq!(server.must("GET", &path, &other, None).status, 404);
        server.kill();
    }
}

/// Keys that were made before the list named their issuer count too, wherever they stand in it.
#[test]
fn a_list_of_issuers_that_comes_late_finds_the_keys_of_all() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
    let mut made = Vec::new();
    for name in ["a", "b"] {
        let server = Server::with(dir, &settings(&[("PORTAGE_AUTH__ISSUER", name)]));
        if name == "a" {
            deposit(&server, &token(dir, name, "ops", OPS));
        }
        let answer = create(&server, &token(dir, name, "4001", TRANSFERS), name);
        assert!(!replayed(&answer), "{answer:?}");
        made.push((name, answer.text("req_id").to_owned()));
        server.kill();
    }
    let late = [("PORTAGE_AUTH__ISSUER", "b"), ("PORTAGE_AUTH__FORMER_ISSUERS", "a")];
    let server = Server::with(dir, &settings(&late));
    for (key, id) in made {
        let again = create(&server, &token(dir, "b", "4001", TRANSFERS), key);
        assert_eq!((again.text("req_id"), replayed(&again)), (&*id, true), "{key}: {again:?}");
    }
}

/// A provider of one set of keys, until it is told to fail.
struct Provider {
    at: SocketAddr,
    up: Arc<AtomicBool>,
}

impl Provider {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let at = listener.local_addr().expect("its number");
        let up = Arc::new(AtomicBool::new(true));
        let answers = Arc::clone(&up);
        std::thread::spawn(move || {
            let set = json!({ "keys": [jwk(ED, "k")] }).to_string();
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let _head = stream.read(&mut [0; 2048]);
                let status = if answers.load(Ordering::SeqCst) { "200 OK" } else { "503 Down" };
                let length = set.len();
                let answer = format!(
                    "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{set}"
                );
                let _sent = stream.write_all(answer.as_bytes());
            }
        });
        Self { at, up }
    }

    fn token(sub: &str, scope: &str) -> String {
        let now = SystemClock::default().now() / 1000;
        let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let header = part(json!({ "alg": ED.alg, "typ": "at+jwt", "kid": "k" }));
        let claims = part(json!({
            "iss": "portage", "aud": "portage", "sub": sub, "scope": scope,
            "iat": now, "nbf": now, "exp": now + 600,
        }));
        let message = format!("{header}.{claims}");
        format!("{message}.{}", sign(ED, &message))
    }
}

/// Red where the last good set counts for ever (run: `Keys::stale` that is always false), and where it counts no more
/// for HALT (run: the release before).
#[test]
fn a_set_of_keys_that_is_not_read_again_opens_a_case_and_then_counts_no_more() {
    let dir = tempfile::tempdir().expect("a folder");
    let provider = Provider::start();
    let url = format!("http://{}/keys", provider.at);
    let server = Server::with(
        dir.path(),
        &settings(&[
            ("PORTAGE_AUTH__JWKS_URL", &url),
            ("PORTAGE_AUTH__JWKS_REFRESH_SECONDS", "1"),
            ("PORTAGE_AUTH__JWKS_MAX_STALE_SECONDS", "6"),
        ]),
    );
    let ops = Provider::token("ops", OPS);
    let cases = |status: &str| {
        let path = format!("/api/v1/cases?status={status}");
        let answer = server.must("GET", &path, &ops, None);
        let all = answer.body["cases"].as_array().cloned().unwrap_or_default();
        let found = all.into_iter().find(|case| case["kind"] == "JWKS_STALE");
        (answer.status, found)
    };
    let health = || server.must("GET", "/health", "", None).body["keys"].clone();
    assert_eq!((cases("open"), health()), ((200, None), json!("connected")));

    provider.up.store(false, Ordering::SeqCst);
    let mut seen = None;
    let pause = || server.must("POST", "/api/v1/ops/pauses", &ops, Some(json!({})));
    assert!(until(|| {
        let (_, found) = cases("open");
        seen = seen.take().or(found);
        pause().status == 503
    }));
    let case = seen.expect("the case stood before the end");
    assert_eq!(case["severity"], "CRITICAL", "{case}");
    assert!(case["facts"].to_string().contains("status 503"), "{case}");
    let denied = pause();
    assert_eq!((denied.status, denied.text("code")), (503, "OVERLOADED"), "{denied:?}");
    // a provider that is out of reach takes neither reads nor the kill switch from persons
    assert_eq!(cases("open").0, 200);
    let why = || Some(json!({"reason": "a test"}));
    let halted = server.must("POST", "/api/v1/ops/halt", &ops, why());
    assert_eq!((halted.status, halted.text("outcome")), (200, "HALTED"), "{halted:?}");
    assert_eq!(server.must("POST", "/api/v1/ops/resume", &ops, why()).status, 503);
    assert_eq!(server.must("GET", "/api/v1/cases", "", None).status, 401, "no token is no token");
    let ready = server.must("GET", "/readyz", "", None);
    assert_eq!((ready.status, ready.text("status")), (503, "stale keys"));
    assert_eq!(health(), "unavailable");
    assert_eq!(server.must("GET", "/livez", "", None).status, 200);

    provider.up.store(true, Ordering::SeqCst);
    assert!(until(|| cases("open") == (200, None)), "read again, and over");
    assert!(cases("all").1.is_some_and(|case| case["status"] == "CLOSED"));
    assert_eq!(health(), "connected");
    assert_eq!(server.must("GET", "/readyz", "", None).status, 200);
}
