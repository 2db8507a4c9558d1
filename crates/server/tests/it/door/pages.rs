//! Pages for people and for machines: whole, harmless, and without an end to their labels.

use super::{CREATE, Door, TestSetup, USER, transfer};
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use server::http::pages::openapi::description;
use std::collections::BTreeSet;

const ADMIN: (&str, &str) = ("1", "admin");

/// The one thing that a page loads, and the one page that does.
const SCRIPT: &str = "<script src=\"/docs/try.js\" defer></script>";

async fn page(door: &Door, path: &str) -> String {
    let reply = door.get(ADMIN, path).await;
    assert_eq!(reply.status, 200, "{path}");
    let policy = reply.headers["content-security-policy"].to_str().expect("a text");
    for part in ["default-src 'none'", "style-src 'sha256-", "frame-ancestors 'none'"] {
        assert!(policy.contains(part), "{path}: {policy}");
    }
    assert!(!policy.contains("-inline") && !policy.contains("-eval"), "{policy}");
    let tries = policy.ends_with("; script-src 'self'; connect-src 'self'");
    assert_eq!(policy.contains("script-src"), tries, "{policy}");
    assert_eq!(tries, path == "/docs", "{path}: {policy}");
    assert_eq!(reply.headers["x-content-type-options"], "nosniff");
    let Value::String(page) = reply.body else { panic!("{path}: a text") };
    assert_eq!(page.matches(SCRIPT).count(), usize::from(tries), "{path}");
    page.replace(SCRIPT, "")
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
        // the address in the example of an endpoint is a text
        let page = page(&door, path).await.replace("https://hooks.example.com/portage", "");
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
}

/// Turns red where a route is left out of the page, or comes without its curl line or without a field that it needs to
/// be tried.
#[tokio::test]
async fn each_route_can_be_read_and_tried() {
    let door = Door::open().await;
    let page = page(&door, "/docs").await;
    let mut count: usize = 0;
    for (path, methods) in description()["paths"].as_object().expect("paths") {
        for (method, subject) in methods.as_object().expect("methods") {
            let id = subject["operationId"].as_str().expect("an id");
            let verb = method.to_uppercase();
            let begin = format!("<section class=\"op\" id=\"{id}\">");
            let (_, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("{verb} {path}"));
            let (route, _) = rest.split_once("</section>").expect("an end");
            assert!(route.contains("<pre class=\"curl\">curl -s"), "{verb} {path}");
            let tried = format!("data-method=\"{verb}\" data-path=\"{path}\"");
            assert!(route.contains(&tried), "{tried}");
            for one in subject["parameters"].as_array().into_iter().flatten() {
                let (name, place) = (one["name"].as_str(), one["in"].as_str());
                let (name, place) = (name.expect("a name"), place.expect("a place"));
                let is_choice = one["schema"]["type"].to_string().contains("\"boolean\"");
                let element = if is_choice { "select" } else { "input" };
                let field = format!("<{element} data-in=\"{place}\" data-name=\"{name}\"");
                assert!(route.contains(&field), "{verb} {path}: {field}");
            }
            let body = route.contains("<textarea data-in=\"body\"");
            assert_eq!(body, subject["requestBody"].is_object(), "{verb} {path}");
            // the page says once what an error looks like
            assert!(!route.contains("request_id&quot;") || body, "{verb} {path}");
            count += 1;
        }
    }
    assert!(count > 80 && page.matches("<section class=\"op\"").count() == count, "{count}");
    assert_eq!(page.matches("&quot;code&quot;: &quot;AMOUNT_TOO_SMALL&quot;").count(), 1);
    assert!(page.len() < 500_000, "{} bytes", page.len());
}

/// Without a token, since a browser cannot show one for a script; also where the pages need one.
#[tokio::test]
async fn the_script_is_open_and_is_a_script() {
    let door = Door::with(TestSetup { open_pages: false, ..TestSetup::default() }).await;
    let request = Request::get("/docs/try.js").body(Body::empty()).expect("a request");
    let reply = door.send(request).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.headers["content-type"], "text/javascript; charset=utf-8");
    assert_eq!(reply.headers["x-content-type-options"], "nosniff");
    let Value::String(script) = reply.body else { panic!("a text") };
    assert!(script.contains("'use strict';") && !script.contains("://"));
    for stored in ["localStorage", "sessionStorage", "document.cookie", "innerHTML", "eval("] {
        assert!(!script.contains(stored), "{stored}");
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
