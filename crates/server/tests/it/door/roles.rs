//! Every route against every role: what a token does not allow is refused before anything is read.

use super::{Door, TestSetup};
use axum::body::Body;
use axum::http::{Request, header};
use serde_json::Value;
use server::auth::Scope;
use server::http::pages::openapi::description;

/// Who may: the scopes of the route's description, or `admin`. Nothing: every caller.
fn wanted(route: &Value) -> Option<Vec<String>> {
    let needs = route["security"].as_array()?;
    if needs.iter().any(|need| need.as_object().is_some_and(serde_json::Map::is_empty)) {
        return None;
    }
    let scopes = needs.iter().filter_map(|need| need["token"].as_array()).flatten();
    Some(scopes.filter_map(|scope| scope.as_str().map(str::to_owned)).collect())
}

/// A path of the description with something in its places.
fn filled(path: &str) -> String {
    path.replace("{user}", "4001")
        .replace("{type}", "SPOT")
        .replace("{number}", "ACC-1")
        .replace("{symbol}", "USDT")
        .replace("{topic}", "transfer-execution-dlt")
        .replace("{key}", "payout-7")
        .replace("{action}", "retry")
        .replace("{code}", "HALTED")
        .replace("{transferId}", "01JFVQ2X8Z0Y1M3N4P5R6S7T8V")
        .replace("{req_id}", "01JFVQ2X8Z0Y1M3N4P5R6S7T8V")
        .replace("{id}", "7")
}

#[tokio::test]
async fn each_route_opens_to_its_scope_and_to_no_other() {
    let door = Door::with(TestSetup { open_pages: false, ..TestSetup::default() }).await;
    let paths = description()["paths"].as_object().expect("paths");
    let mut guarded = 0;
    for (path, methods) in paths {
        for (method, route) in methods.as_object().expect("methods") {
            let Some(wanted) = wanted(route) else { continue };
            assert_eq!(wanted.len(), 1, "{method} {path}: one scope: {wanted:?}");
            guarded += 1;
            let send = |token: Option<String>| {
                let mut request = Request::builder()
                    .method(method.to_uppercase().as_str())
                    .uri(filled(path))
                    .header(header::CONTENT_TYPE, "application/json");
                if let Some(token) = token {
                    request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
                }
                door.send(request.body(Body::from("{}")).expect("a request"))
            };
            let stranger = send(None).await;
            assert_eq!(
                (stranger.status, stranger.code()),
                (401, "UNAUTHORIZED"),
                "{method} {path}"
            );
            for scope in Scope::ALL {
                let reply = send(Some(door.token("4001", scope.name()))).await;
                let may = scope == Scope::Admin || wanted[0] == scope.name();
                let shut = reply.status == 403
                    && reply.body["error"].as_str().is_some_and(|e| e.contains("scope"));
                assert_eq!(!shut, may, "{method} {path} with {}: {reply:?}", scope.name());
                assert_ne!(reply.status, 401, "{method} {path} with {}", scope.name());
            }
        }
    }
    assert!(guarded >= 30, "{guarded} routes are guarded");
}
