//! Answers over HTTP, and the loop that serves connections.

use super::{EndpointState, Node, server::spawn};
use axum::body::Body;
use hyper::{
    Response, StatusCode,
    header::{CONTENT_TYPE, HeaderValue},
};
use serde_json::Value;
use std::{convert::Infallible, fmt, sync::Arc};

/// The connection is closed without an answer.
#[derive(Debug)]
pub(crate) struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "closed by the script of this endpoint")
    }
}

impl std::error::Error for Closed {}

/// Serves one connection after the other until the runtime ends.
pub(super) async fn listen<N: Node>(
    state: Arc<EndpointState<N>>,
    listener: tokio::net::TcpListener,
) -> Infallible {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        drop(stream.set_nodelay(true));
        let state = Arc::clone(&state);
        spawn(async move {
            let service =
                hyper::service::service_fn(move |request| Arc::clone(&state).serve(request));
            let io = hyper_util::rt::TokioIo::new(stream);
            let serving = hyper::server::conn::http1::Builder::new().serve_connection(io, service);
            // A connection that breaks is the client's or the script's doing.
            drop(serving.await);
        });
    }
}

pub(crate) fn reply(status: StatusCode, body: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

pub(super) fn status_code(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
