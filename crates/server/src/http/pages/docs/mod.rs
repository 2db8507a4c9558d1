//! Serves the documentation pages for people: the API and the error codes. They load nothing from elsewhere. The page
//! of the API runs one script of ours, which searches it and sends what a reader tries.

mod api;
pub mod errors;
mod forms;
mod groups;
mod markdown;
mod operation;

use crate::http::middleware::caller::RequirePageAccess;
use crate::http::middleware::error::Refusal;
use crate::http::middleware::path_params::PathParams;
use ::api::problem::Problem;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kernel::code::Code;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("try.js");

/// Where the script is served. It holds no secret, and a browser cannot show a token for it.
const SCRIPT_ADDRESS: &str = "/docs/try.js";

/// What a page may do beside being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ability {
    Nothing,
    /// Run our script, which sends requests to this server.
    Try,
}

/// The API for people.
#[utoipa::path(
    get, path = "/docs", tag = "machine", operation_id = "read_api_page",
    security((), ("token" = ["ops:read"])),
    responses((status = 200, body = String, content_type = "text/html",
        description = "A page", example = "<!doctype html>"))
)]
pub(super) async fn api(_: RequirePageAccess) -> Response {
    static PAGE: LazyLock<String> = LazyLock::new(|| {
        whole("Portage API", &api::page(super::openapi::description()), Ability::Try)
    });
    page(&PAGE, Ability::Try)
}

/// The script of the page of the API.
#[utoipa::path(
    get, path = "/docs/try.js", tag = "machine", operation_id = "read_api_script", security(()),
    responses((status = 200, body = String, content_type = "text/javascript",
        description = "A script", example = "'use strict';"))
)]
pub(super) async fn script() -> Response {
    ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], SCRIPT).into_response()
}

/// Every error code, for people.
#[utoipa::path(
    get, path = "/docs/errors", tag = "machine", operation_id = "list_error_pages", security(()),
    responses((status = 200, body = String, content_type = "text/html",
        description = "A page", example = "<!doctype html>"))
)]
pub(super) async fn codes() -> Response {
    static PAGE: LazyLock<String> = LazyLock::new(|| told("Error codes", &errors::index()));
    page(&PAGE, Ability::Nothing)
}

/// What one error code means, whether the money is safe, and what to do.
#[utoipa::path(
    get, path = "/docs/errors/{code}", tag = "machine", operation_id = "read_error_page",
    security(()), params(("code" = String, Path, description = "The code", example = "HALTED")),
    responses(
        (status = 200, body = String, content_type = "text/html",
        description = "A page", example = "<!doctype html>"),
        (status = 404, body = Problem),
    )
)]
pub(super) async fn code(PathParams(code): PathParams<String>) -> Result<Response, Refusal> {
    let (name, text) = errors::page_of(&code).ok_or(Code::NotFound)?;
    Ok(page(&told(name, text), Ability::Nothing))
}

/// A Markdown page of ours, under a way back.
fn told(title: &str, text: &str) -> String {
    let link = |to: &str| match to {
        "/docs" => Some(to.to_owned()),
        _ => {
            let page = to.strip_suffix(".md").and_then(errors::page_of);
            page.map(|(name, _)| errors::address(name))
        }
    };
    let back = "<p class=\"faint\"><a href=\"/docs\">API</a> · <a href=\"/docs/errors\">Error codes</a></p>";
    let html = format!("{back}\n<main>{}</main>\n", markdown::html(text, &link));
    whole(title, &html, Ability::Nothing)
}

/// A sentence of the description, with its `code`; an error's code leads to its page.
fn sentence(value: &Value) -> String {
    let html = markdown::inline(value.as_str().unwrap_or_default(), &|_| None);
    let linked = html.split("<code>").map(|part| match part.split_once("</code>") {
        Some((word, rest)) if errors::page_of(word).is_some() => {
            format!("<a href=\"/docs/errors/{word}\"><code>{word}</code></a>{rest}")
        }
        Some((word, rest)) => format!("<code>{word}</code>{rest}"),
        None => part.to_owned(),
    });
    linked.collect()
}

fn whole(title: &str, body: &str, ability: Ability) -> String {
    let script = match ability {
        Ability::Nothing => String::new(),
        Ability::Try => format!("<script src=\"{SCRIPT_ADDRESS}\" defer></script>\n"),
    };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n{script}</head>\n<body>\n{body}</body>\n</html>\n",
        markdown::escaped(title),
    )
}

/// A page may be shown: its own style by its hash, no script, no frame, no form. One to try the API may also run
/// scripts that this server sends, and these may talk to this server alone.
fn page(html: &str, ability: Ability) -> Response {
    static POLICY: LazyLock<String> = LazyLock::new(|| {
        let hash = STANDARD.encode(Sha256::digest(STYLE));
        format!(
            "default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'; \
             frame-ancestors 'none'"
        )
    });
    static TRY: LazyLock<String> =
        LazyLock::new(|| format!("{}; script-src 'self'; connect-src 'self'", *POLICY));
    let policy = match ability {
        Ability::Nothing => &POLICY,
        Ability::Try => &TRY,
    };
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, policy.as_str()),
        (REFERRER_POLICY, "no-referrer"),
    ];
    (headers, html.to_owned()).into_response()
}
