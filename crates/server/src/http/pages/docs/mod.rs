//! Serves the documentation pages for people: the API and the error codes. The pages load no other files and run no
//! scripts.

mod api;
pub mod errors;
mod markdown;

use crate::http::middleware::caller::RequirePageAccess;
use crate::http::middleware::error::Refusal;
use crate::http::middleware::path_params::PathParams;
use ::api::problem::Problem;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kernel::code::Code;
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

const STYLE: &str = include_str!("style.css");

/// The API for people.
#[utoipa::path(
    get, path = "/docs", tag = "machine", operation_id = "read_api_page",
    security((), ("token" = ["ops:read"])),
    responses((status = 200, body = String, content_type = "text/html",
        description = "A page", example = "<!doctype html>"))
)]
pub(super) async fn api(_: RequirePageAccess) -> Response {
    static PAGE: LazyLock<String> =
        LazyLock::new(|| whole("Portage API", &api::page(super::openapi::description())));
    page(&PAGE)
}

/// Every error code, for people.
#[utoipa::path(
    get, path = "/docs/errors", tag = "machine", operation_id = "list_error_pages", security(()),
    responses((status = 200, body = String, content_type = "text/html",
        description = "A page", example = "<!doctype html>"))
)]
pub(super) async fn codes() -> Response {
    static PAGE: LazyLock<String> = LazyLock::new(|| told("Error codes", &errors::index()));
    page(&PAGE)
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
    Ok(page(&told(name, text)))
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
    whole(title, &format!("{back}\n{}", markdown::html(text, &link)))
}

fn whole(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        markdown::escaped(title),
    )
}

/// A page may be shown and nothing else: its own style by its hash, no script, no frame, no form.
fn page(html: &str) -> Response {
    static POLICY: LazyLock<String> = LazyLock::new(|| {
        let hash = STANDARD.encode(Sha256::digest(STYLE));
        format!(
            "default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'; \
             frame-ancestors 'none'"
        )
    });
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, POLICY.as_str()),
        (REFERRER_POLICY, "no-referrer"),
    ];
    (headers, html.to_owned()).into_response()
}
