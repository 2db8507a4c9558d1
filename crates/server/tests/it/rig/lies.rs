//! Wrong builds of the door: each lets through what one of its checks must stop.
//!
//! The door is no part of the simulation, so these lies stand beside the rig and not in `sim`. Each
//! changes the one kind of request that its check is about, and no other.

use super::life::KEY;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use kernel::money::Asset;
use serde_json::{Value, json};
use server::auth::token::Minted;

/// What is left of a body after the lie; true where whoever is refused is let in as well.
type Lie = fn(&mut Value) -> bool;

/// The door, with the lie of that name where it is one about the door.
pub(super) fn door(name: Option<&str>, router: Router, now_ms: fn() -> u64) -> Router {
    let lie: Lie = match name {
        Some("user-in-the-body-counts") => another_user,
        Some("sign-is-dropped") => |body| amount(body, |text| text.trim_start_matches('-').into()),
        Some("zero-is-the-least") => |body| {
            amount(body, |text| match text.bytes().all(|byte| matches!(byte, b'0' | b'.')) {
                true => "0.000001".into(),
                false => text.into(),
            })
        },
        Some("decimals-are-cut") => |body| {
            amount(body, |text| match text.split_once('.') {
                Some((whole, rest)) if rest.len() > 6 && whole != "0" => whole.into(),
                _ => text.into(),
            })
        },
        Some("amount-saturates") => {
            |body| amount(body, |text| if text.len() > 12 { "5".into() } else { text.into() })
        }
        Some("same-account-is-another") => |body| {
            let same = body["from"] == body["to"];
            if same {
                body["to"] = json!(if body["from"] == "SPOT" { "FUNDING" } else { "SPOT" });
            }
            false
        },
        Some("any-account-type") => |body| {
            for (end, known) in [("from", "FUNDING"), ("to", "SPOT")] {
                if !matches!(body[end].as_str(), Some("FUNDING" | "SPOT" | "FUTURE" | "MARGIN")) {
                    body[end] = json!(known);
                }
            }
            false
        },
        Some("any-asset") => |body| {
            let known = |asset: &Asset| body["asset"] == asset.symbol.as_str();
            if !Asset::fresh().iter().any(known) {
                body["asset"] = json!("USDT");
            }
            false
        },
        Some("key-is-forgotten") => |body| {
            if let Some(fields) = body.as_object_mut() {
                fields.remove("cid");
            }
            false
        },
        Some("token-is-not-read") => |_| true,
        _ => return router,
    };
    router.layer(from_fn_with_state((lie, now_ms), lied))
}

fn amount(body: &mut Value, other: fn(&str) -> String) -> bool {
    if let Some(text) = body["amount"].as_str() {
        body["amount"] = json!(other(text));
    }
    false
}

fn another_user(body: &mut Value) -> bool {
    body["user_id"].as_u64().is_some()
}

async fn lied(
    State((lie, now)): State<(Lie, fn() -> u64)>,
    request: Request,
    next: Next,
) -> Response {
    if request.uri().path() != "/api/v1/internal_transfer" {
        return next.run(request).await;
    }
    let (mut parts, body) = request.into_parts();
    let bytes = to_bytes(body, 1 << 20).await.unwrap_or_default();
    let Ok(mut value) = serde_json::from_slice::<Value>(&bytes) else {
        return next.run(Request::from_parts(parts, Body::from(bytes))).await;
    };
    let anyway = lie(&mut value);
    let first = Request::from_parts(parts.clone(), Body::from(value.to_string()));
    let response = next.clone().run(first).await;
    if !anyway || !matches!(response.status().as_u16(), 401 | 403) {
        return response;
    }
    let user = value["user_id"].as_u64().unwrap_or(4001);
    value["user_id"] = json!(user);
    let header = format!("Bearer {}", anybody(user, now() / 1_000));
    parts.headers.insert("authorization", header.parse().expect("a header"));
    next.run(Request::from_parts(parts, Body::from(value.to_string()))).await
}

/// A token of a service that acts for whomever it names.
fn anybody(user: u64, iat: u64) -> String {
    let (iss, aud) = ("portage".to_owned(), "portage".to_owned());
    let scope = "transfers:create transfers:any".to_owned();
    let minted = Minted { iss, aud, sub: user.to_string(), scope, iat, nbf: iat, exp: iat + 600 };
    minted.sign("at+jwt", KEY).expect("a token can be signed")
}
