//! Wraps every request: sets its id, writes the body of a refusal, and measures it.

use super::error::{Refusal, retry_after};
use crate::http::App;
use crate::telemetry;
use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, RETRY_AFTER, TRANSFER_ENCODING, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use kernel::code::Code;
use kernel::ids::Id;
use std::sync::Arc;
use tracing::Instrument;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'";

/// A body of which only pieces have a length: what two servers in a row take for its end may differ,
/// and the rest is then the next request. Nothing that is sent here needs it.
fn in_pieces() -> Response {
    closing(Refusal::bad("The body must come whole, with its length in `Content-Length`"))
}

/// A refusal behind which nothing is read.
fn closing(refusal: Refusal) -> Response {
    let mut response = refusal.into_response();
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Marks a request that does not name the one host that it is for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoHost;

/// True for an address that writes a control character, as `%00`: no text of ours has one, and a database refuses some.
fn writes_control(address: &str) -> bool {
    let mut parts = address.split('%').skip(1);
    parts.any(|part| {
        let byte = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        byte.is_some_and(|byte| byte.is_ascii_control())
    })
}

/// Answers a request and completes its response.
pub(crate) async fn envelope(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Response {
    let start = app.clock.ticks();
    let id = Id::new(app.clock.now(), u128::from(app.rng.next())).to_string();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let method = request.method().clone();
    let shown = request.headers().contains_key(AUTHORIZATION);
    let pieces = request.headers().contains_key(TRANSFER_ENCODING);
    let no_host = request.extensions().get::<NoHost>().is_some();
    let span = telemetry::request(&id);
    let nameless = writes_control(request.uri().path());
    let control = request.uri().query().is_some_and(writes_control);
    let answered = async {
        if pieces {
            in_pieces()
        } else if no_host {
            closing(Refusal::bad("The request must have one `Host` header"))
        } else if nameless {
            Refusal::of(Code::NotFound).into_response()
        } else if control {
            Refusal::bad("A parameter has a control character in it").into_response()
        } else {
            next.run(request).await
        }
    };
    let mut response = answered.instrument(span.clone()).await;
    let _here = span.enter();
    if let Some(refusal) = response.extensions_mut().remove::<Refusal>() {
        tracing::debug!(target: "access", code = %refusal.code, "refused: {}", refusal.sentence);
        *response.body_mut() = Body::from(refusal.body(&id));
        let headers = response.headers_mut();
        headers.remove(CONTENT_LENGTH);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let refused = (refusal.code == Code::RefusalLimitExceeded)
            .then(|| app.refused_creates.seconds_to_a_place());
        if let Some(seconds) = refused.or_else(|| retry_after(refusal.code, app.clock.now())) {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
    }
    let status = response.status();
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // a page brings its own; whatever else a browser is made to show does nothing
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(NOTHING));
    if status == StatusCode::UNAUTHORIZED {
        // RFC 6750 §3.1: no error where nothing was shown; never which one, that is for the log
        let challenge = if shown { r#"Bearer error="invalid_token""# } else { "Bearer" };
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    }
    if let Ok(value) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID, value);
    }
    let route = route.as_ref().map_or("none", MatchedPath::as_str);
    let nanos = app.clock.ticks().saturating_sub(start);
    app.metrics.request(route, status.as_u16(), nanos);
    tracing::debug!(target: "access", %method, route, status = status.as_u16(), nanos, "answered");
    response
}
