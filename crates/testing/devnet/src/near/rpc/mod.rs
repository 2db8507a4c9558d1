//! The JSON-RPC of a node over HTTP, one listener for each endpoint.
//!
//! `request` reads what is asked, the other modules answer it in NEAR's own types, and the endpoint's
//! script decides what of that the caller gets to see.

mod blocks;
mod control;
mod query;
mod request;
mod transactions;

use super::{
    chain::Chain,
    faults::{Fault, Script},
    node::Node,
};
use axum::body::{Body, to_bytes};
use hyper::{
    Method, Request as HttpRequest, Response, StatusCode,
    body::Incoming,
    header::{CONTENT_TYPE, HeaderValue},
};
use near_jsonrpc_primitives::errors::{RpcError, RpcErrorKind};
use request::Request;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    convert::Infallible,
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// One address of the chain: how far it lags, what it does wrong, what it was asked.
#[derive(Debug)]
pub(crate) struct EndpointState {
    pub(crate) node: Arc<Node>,
    pub(crate) script: Script,
    pub(crate) lag: AtomicU64,
    pub(crate) address: String,
    pub(crate) poll_limit: Duration,
    /// Requests by method, of those that reached this endpoint.
    pub(crate) requests: Mutex<BTreeMap<String, u64>>,
}

/// The connection is closed without an answer.
#[derive(Debug)]
pub(crate) struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "closed by the script of this endpoint")
    }
}

impl std::error::Error for Closed {}

const LONGEST_BODY: usize = 16 * 1024 * 1024;
/// Longer than any client waits.
const FOR_EVER: Duration = Duration::from_secs(3_600);

type Reply = Result<Response<Body>, Closed>;

impl EndpointState {
    /// The head that this endpoint has.
    pub(crate) fn seen(&self) -> u64 {
        self.seen_of(&self.node.chain())
    }

    fn seen_of(&self, chain: &Chain) -> u64 {
        let height = chain.height().saturating_sub(self.lag.load(Ordering::SeqCst));
        let first = chain.options.genesis_height;
        if height < first { first } else { height }
    }

    pub(crate) async fn serve(self: Arc<Self>, request: HttpRequest<Incoming>) -> Reply {
        let (parts, body) = request.into_parts();
        let Ok(body) = to_bytes(Body::new(body), LONGEST_BODY).await else { return Err(Closed) };
        match (&parts.method, parts.uri.path()) {
            (&Method::POST, "/") => self.call(&body).await,
            (&Method::GET, "/status") => match blocks::status(&self, None) {
                Ok(status) => Ok(reply(StatusCode::OK, &status)),
                Err(error) => Ok(reply(http_status(&error), &json!(error))),
            },
            (&Method::GET, "/health") => Ok(reply(StatusCode::OK, &Value::Null)),
            (method, path) => Ok(control::route(&self, method, path, parts.uri.query(), &body)),
        }
    }

    async fn call(&self, body: &[u8]) -> Reply {
        let call: Value = match serde_json::from_slice(body) {
            Ok(call) => call,
            Err(error) => {
                let error = RpcError::parse_error(error.to_string());
                return Ok(envelope(&Value::Null, Err(error)));
            }
        };
        let id = call.get("id").cloned().unwrap_or_default();
        let method = call.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
        let params = call.get("params").cloned().unwrap_or_default();
        self.count(&method, &params);
        let asked = asked(&method, &params);
        let request = match request::parse(&method, params) {
            Ok(request) => request,
            Err(error) => return Ok(envelope(&id, Err(error))),
        };
        let fault = self.script.next(&method, &asked, request.transaction());
        match fault {
            Some(Fault::Refuse) => Err(Closed),
            Some(Fault::Status { code }) => {
                Ok(reply(status_code(code), &json!({"error": "scripted"})))
            }
            Some(Fault::Answer { code, body }) => Ok(reply(status_code(code), &under_id(body, id))),
            Some(Fault::DropReply) => {
                drop(self.answer(request, None).await);
                Err(Closed)
            }
            Some(Fault::Hang) => {
                drop(self.answer(request, None).await);
                tokio::time::sleep(FOR_EVER).await;
                Err(Closed)
            }
            Some(Fault::Timeout) => {
                drop(self.answer(request.without_waiting(), None).await);
                let error =
                    near_jsonrpc_primitives::types::transactions::RpcTransactionError::TimeoutError;
                Ok(envelope(&id, Err(error.into())))
            }
            Some(Fault::Refused { name }) => Ok(envelope(&id, Err(self.refusal(&name)))),
            Some(Fault::Stale { blocks }) => {
                Ok(envelope(&id, self.behind(blocks).answer(request, None).await))
            }
            Some(Fault::Edited { edits }) => {
                let answer = self.answer(request, None).await.map(|mut answer| {
                    edits.iter().for_each(|edit| edit.apply(&mut answer));
                    answer
                });
                Ok(envelope(&id, answer))
            }
            Some(Fault::Delay { millis }) => {
                tokio::time::sleep(Duration::from_millis(millis)).await;
                Ok(envelope(&id, self.answer(request, None).await))
            }
            other => Ok(envelope(&id, self.answer(request, other).await)),
        }
    }

    async fn answer(&self, request: Request, lie: Option<Fault>) -> Result<Value, RpcError> {
        match request {
            Request::Send { signed, wait } => self.send(*signed, wait, lie).await,
            Request::SendAsync { signed } => Ok(self.send_async(*signed, lie.as_ref())),
            Request::Transaction { hash, signed, wait, with_receipts } => {
                let request = transactions::StatusRequest { hash, signed, wait, with_receipts };
                self.transaction(request, lie.as_ref()).await
            }
            Request::Query(query) => query::answer(self, &query, lie.as_ref()),
            Request::Block(reference) => blocks::block(self, &reference),
            Request::Chunk(reference) => blocks::chunk(self, &reference),
            Request::ProtocolConfig(reference) => blocks::protocol_config(self, &reference),
            Request::GasPrice(block_id) => blocks::gas_price(self, block_id),
            Request::Status => blocks::status(self, lie.as_ref()),
        }
    }

    /// The same endpoint with a head that is this number of blocks older.
    fn behind(&self, blocks: u64) -> Self {
        Self {
            node: Arc::clone(&self.node),
            script: Script::default(),
            lag: AtomicU64::new(self.lag.load(Ordering::SeqCst).saturating_add(blocks)),
            address: self.address.clone(),
            poll_limit: self.poll_limit,
            requests: Mutex::default(),
        }
    }

    fn refusal(&self, name: &str) -> RpcError {
        let chain = self.node.chain();
        let block = chain.block(chain.final_height(self.seen_of(&chain)));
        let info =
            block.map(|block| json!({"block_height": block.height, "block_hash": block.hash}));
        let cause = json!({"name": name, "info": info});
        RpcError::new_internal_or_handler_error(Some(json!(name)), cause)
    }

    fn count(&self, method: &str, params: &Value) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let count = requests.entry(kind(method, params)).or_default();
        *count = count.saturating_add(1);
    }
}

/// A method with what a query asks.
fn kind(method: &str, params: &Value) -> String {
    let asked = ["request_type", "method_name"];
    let asked = asked.into_iter().filter_map(|field| params.get(field)?.as_str());
    let kind: Vec<&str> = std::iter::once(method).chain(asked).collect();
    kind.join(" ")
}

/// As [`kind`], and how a block is named: `block final`, `block hash`, `block height`.
fn asked(method: &str, params: &Value) -> String {
    let by = match params.get("block_id") {
        Some(Value::Number(_)) => "height",
        Some(_) => "hash",
        None => "final",
    };
    if method == "block" { format!("{method} {by}") } else { kind(method, params) }
}

/// Serves one connection after the other until the runtime ends.
pub(crate) async fn listen(
    state: Arc<EndpointState>,
    listener: tokio::net::TcpListener,
) -> Infallible {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        drop(stream.set_nodelay(true));
        let state = Arc::clone(&state);
        super::devnet::spawn(async move {
            let service =
                hyper::service::service_fn(move |request| Arc::clone(&state).serve(request));
            let io = hyper_util::rt::TokioIo::new(stream);
            let serving = hyper::server::conn::http1::Builder::new().serve_connection(io, service);
            // A connection that breaks is the client's or the script's doing.
            drop(serving.await);
        });
    }
}

/// A scripted JSON-RPC answer is one to this request.
fn under_id(mut body: Value, id: Value) -> Value {
    if let Some(fields) = body.as_object_mut().filter(|fields| fields.contains_key("jsonrpc")) {
        fields.insert("id".to_owned(), id);
    }
    body
}

fn envelope(id: &Value, answer: Result<Value, RpcError>) -> Response<Body> {
    match answer {
        Ok(result) => reply(StatusCode::OK, &json!({"jsonrpc": "2.0", "result": result, "id": id})),
        Err(error) => {
            let status = http_status(&error);
            reply(status, &json!({"jsonrpc": "2.0", "error": error, "id": id}))
        }
    }
}

fn http_status(error: &RpcError) -> StatusCode {
    match &error.error_struct {
        Some(RpcErrorKind::RequestValidationError(_)) => StatusCode::BAD_REQUEST,
        Some(RpcErrorKind::InternalError(_)) => StatusCode::INTERNAL_SERVER_ERROR,
        Some(RpcErrorKind::HandlerError(cause)) => {
            match cause.get("name").and_then(Value::as_str) {
                Some("TIMEOUT_ERROR") => StatusCode::REQUEST_TIMEOUT,
                _ => StatusCode::OK,
            }
        }
        None => StatusCode::OK,
    }
}

fn reply(status: StatusCode, body: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn status_code(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
