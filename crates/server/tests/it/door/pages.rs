//! Pages for people and for machines: whole, harmless, and without an end to their labels.

use super::{CREATE, Door, USER, transfer};
use serde_json::{Value, json};
use server::http::pages::openapi::description;
use std::collections::BTreeSet;

const ADMIN: (&str, &str) = ("1", "admin");

async fn page(door: &Door, path: &str) -> String {
    let reply = door.get(ADMIN, path).await;
    assert_eq!(reply.status, 200, "{path}");
    let policy = reply.headers["content-security-policy"].to_str().expect("a text");
    for part in ["default-src 'none'", "style-src 'sha256-", "frame-ancestors 'none'"] {
        assert!(policy.contains(part), "{path}: {policy}");
    }
    assert!(!policy.contains("-inline") && !policy.contains("script-src"), "{policy}");
    assert_eq!(reply.headers["x-content-type-options"], "nosniff");
    let Value::String(page) = reply.body else { panic!("{path}: a text") };
    page
}

/// What stands between `before` and the next quotation mark, everywhere.
fn all<'a>(page: &'a str, before: &str) -> BTreeSet<&'a str> {
    page.split(before).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// Turns red where a page loads something, or leads nowhere.
#[tokio::test]
async fn html_pages_bring_everything_along() {
    let door = Door::open().await;
    let mut leads = BTreeSet::new();
    for path in [
        "/docs",
        "/docs/errors",
        "/docs/errors/HALTED",
        "/docs/errors/DUPLICATE_REQUEST",
        "/docs/errors/RECEIVER_NOT_FOUND",
    ] {
        let page = page(&door, path).await;
        for outside in ["<script", "src=", "://", "url(", "@import", "<link", "<iframe", "onload"] {
            assert!(!page.contains(outside), "{path}: {outside}");
        }
        assert_eq!(page.matches("<style>").count(), 1, "{path}");
        let ids = all(&page, " id=\"");
        for lead in all(&page, "href=\"") {
            match lead.strip_prefix('#') {
                Some(id) => assert!(ids.contains(id), "{path}: #{id}"),
                None => drop(leads.insert(lead.to_owned())),
            }
        }
    }
    assert!(leads.len() > 30, "{leads:?}");
    for end in ["RECEIVER_NOT_FOUND", "REGISTRATION_REFUSED", "RECEIVER_REFUSED", "CANCELLED"] {
        assert!(leads.contains(&format!("/docs/errors/{end}")), "{end}");
    }
    for lead in leads {
        assert_eq!(door.get(ADMIN, &lead).await.status, 200, "{lead}");
    }
    let page = page(&door, "/docs").await;
    for (path, methods) in description()["paths"].as_object().expect("paths") {
        for subject in methods.as_object().expect("methods").values() {
            let id = subject["operationId"].as_str().expect("an id");
            assert!(page.contains(&format!("<section class=\"op\" id=\"{id}\">")), "{path}");
        }
    }
}

#[tokio::test]
async fn no_page_of_a_code_that_there_is_not() {
    let door = Door::open().await;
    for path in
        ["/docs/errors/halted", "/docs/errors/X", "/docs/errors/..%2f", "/docs/errors/HALTED.md"]
    {
        let reply = door.get(ADMIN, path).await;
        assert_eq!((reply.status, reply.code()), (404, "NOT_FOUND"), "{path}");
    }
}

#[tokio::test]
async fn a_refused_name_comes_with_those_that_there_are() {
    let door = Door::open().await;
    let ask = |field: &str, value: &str| {
        let mut body = transfer("1", "k");
        body[field] = json!(value);
        body
    };
    for (path, body, code, says) in [
        (CREATE, ask("asset", "DOGE"), "INVALID_ASSET", "there are BTC, ETH, USDT, USDC, USD"),
        (CREATE, ask("to", "Spot"), "INVALID_ACCOUNT_TYPE", "FUNDING, SPOT, FUTURE, MARGIN"),
        (CREATE, ask("to", "MARGIN"), "UNSUPPORTED_ACCOUNT_TYPE", "there are FUNDING, SPOT"),
        (
            "/api/v1/transfer",
            json!({"from": "funding", "to": "margin", "asset": "USDT", "amount": "1"}),
            "UNSUPPORTED_ACCOUNT_TYPE",
            "there are funding, trading",
        ),
    ] {
        let reply = door.post(("4001", USER), path, body).await;
        let said = reply.body["error"].as_str().expect("a sentence");
        assert_eq!(reply.code(), code);
        assert!(said.ends_with(says), "{said}");
        assert_eq!(reply.body["docs"], format!("/docs/errors/{code}"));
    }
}

/// Turns red where a path that a stranger makes up becomes a label.
#[tokio::test]
async fn what_strangers_ask_for_is_one_label() {
    let door = Door::open().await;
    for n in 0..50 {
        for path in [format!("/{n}"), format!("/api/v1/internal_transfer/{n}")] {
            assert_eq!(door.get(ADMIN, &path).await.status, 404);
        }
    }
    let reply = door.get(ADMIN, "/metrics").await;
    let Value::String(page) = reply.body else { panic!("a text") };
    let paths = description()["paths"].as_object().expect("paths");
    for route in all(&page, "route=\"") {
        assert!(route == "none" || paths.contains_key(route), "{route}");
    }
    let none = r#"portage_http_request_duration_seconds_count{route="none",status="404"} 50"#;
    assert!(page.contains(none), "{page}");
}
