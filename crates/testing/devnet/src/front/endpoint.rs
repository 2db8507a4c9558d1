//! One address of a chain: it reads a call, looks whether a rule applies, and answers as the rule says.

use super::{
    Fault, Node, Rule, Script, control,
    http::{Closed, reply, status_code},
};
use axum::body::{Body, to_bytes};
use hyper::{Method, Request as HttpRequest, Response, StatusCode, body::Incoming};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// One address of the chain: how far it lags, what it does wrong, what it was asked.
#[derive(Debug)]
pub(crate) struct EndpointState<N: Node> {
    pub(crate) node: Arc<N>,
    pub(crate) script: Script<N::Lie>,
    pub(crate) lag: AtomicU64,
    pub(crate) address: String,
    /// Requests by method, of those that reached this endpoint.
    pub(crate) requests: Mutex<BTreeMap<String, u64>>,
}

const LONGEST_BODY: usize = 16 * 1024 * 1024;
/// Longer than any client waits.
const FOR_EVER: Duration = Duration::from_secs(3_600);

type Reply = Result<Response<Body>, Closed>;

impl<N: Node> EndpointState<N> {
    pub(super) fn new(node: Arc<N>, address: String, lag: u64) -> Self {
        let (script, requests) = (Script::default(), Mutex::default());
        Self { node, script, lag: AtomicU64::new(lag), address, requests }
    }

    /// The head that this endpoint has.
    pub(crate) fn seen(&self) -> u64 {
        self.seen_at(self.node.height())
    }

    /// The same beside a chain of this height, for those who have locked it.
    pub(crate) fn seen_at(&self, height: u64) -> u64 {
        let height = height.saturating_sub(self.lag.load(Ordering::SeqCst));
        let first = self.node.first_height();
        if height < first { first } else { height }
    }

    pub(super) async fn serve(self: Arc<Self>, request: HttpRequest<Incoming>) -> Reply {
        let (parts, body) = request.into_parts();
        let Ok(body) = to_bytes(Body::new(body), LONGEST_BODY).await else { return Err(Closed) };
        let path = parts.uri.path();
        if parts.method == Method::POST && path == "/" {
            return self.call(&body).await;
        }
        if parts.method == Method::GET
            && let Some(page) = N::page(&self, path)
        {
            return Ok(page);
        }
        Ok(control::route(&self, &parts.method, path, parts.uri.query(), &body))
    }

    async fn call(&self, body: &[u8]) -> Reply {
        let call: Value = match serde_json::from_slice(body) {
            Ok(call) => call,
            Err(error) => {
                return Ok(envelope::<N>(&Value::Null, Err(N::unreadable(error.to_string()))));
            }
        };
        let id = call.get("id").cloned().unwrap_or_default();
        let method = call.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
        let params = call.get("params").cloned().unwrap_or_default();
        self.count(&method, &params);
        let asked = N::asked(&method, &params);
        let request = match N::parse(&method, params) {
            Ok(request) => request,
            Err(error) => return Ok(envelope::<N>(&id, Err(error))),
        };
        let fault = self.script.next(&method, &asked, N::transaction(&request).as_deref());
        match fault {
            Some(Fault::Refuse) => Err(Closed),
            Some(Fault::Status { code }) => {
                Ok(reply(status_code(code), &json!({"error": "scripted"})))
            }
            Some(Fault::Answer { code, body }) => Ok(reply(status_code(code), &under_id(body, id))),
            Some(Fault::DropReply) => {
                drop(N::answer(self, request, None).await);
                Err(Closed)
            }
            Some(Fault::Hang) => {
                drop(N::answer(self, request, None).await);
                tokio::time::sleep(FOR_EVER).await;
                Err(Closed)
            }
            Some(Fault::Stale { blocks }) => {
                Ok(envelope::<N>(&id, N::answer(&self.behind(blocks), request, None).await))
            }
            Some(Fault::Edited { edits }) => {
                let answer = N::answer(self, request, None).await.map(|mut answer| {
                    edits.iter().for_each(|edit| edit.apply(&mut answer));
                    answer
                });
                Ok(envelope::<N>(&id, answer))
            }
            Some(Fault::Delay { millis }) => {
                tokio::time::sleep(Duration::from_millis(millis)).await;
                Ok(envelope::<N>(&id, N::answer(self, request, None).await))
            }
            other => Ok(envelope::<N>(&id, N::answer(self, request, other).await)),
        }
    }

    /// The same endpoint with a head that is this number of blocks older.
    fn behind(&self, blocks: u64) -> Self {
        let lag = self.lag.load(Ordering::SeqCst).saturating_add(blocks);
        Self::new(Arc::clone(&self.node), self.address.clone(), lag)
    }

    fn count(&self, method: &str, params: &Value) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let count = requests.entry(N::kind(method, params)).or_default();
        *count = count.saturating_add(1);
    }
}

/// A scripted JSON-RPC answer is one to this request.
fn under_id(mut body: Value, id: Value) -> Value {
    if let Some(fields) = body.as_object_mut().filter(|fields| fields.contains_key("jsonrpc")) {
        fields.insert("id".to_owned(), id);
    }
    body
}

fn envelope<N: Node>(id: &Value, answer: Result<Value, N::Error>) -> Response<Body> {
    match answer {
        Ok(result) => reply(StatusCode::OK, &json!({"jsonrpc": "2.0", "result": result, "id": id})),
        Err(error) => {
            let (status, error) = N::error(&error);
            reply(status, &json!({"jsonrpc": "2.0", "error": error, "id": id}))
        }
    }
}

/// One address of a chain, as a test sees it.
#[derive(Debug, Clone, Copy)]
pub struct Endpoint<'a, L> {
    pub(super) address: &'a str,
    pub(super) script: &'a Script<L>,
    pub(super) lag: &'a AtomicU64,
    pub(super) requests: &'a Mutex<BTreeMap<String, u64>>,
}

impl<L: super::Lie> Endpoint<'_, L> {
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn add(&self, rule: Rule<L>) {
        self.script.add(rule);
    }

    pub fn clear(&self) {
        self.script.clear();
    }

    /// Shows the chain as it was this number of blocks ago.
    pub fn lag(&self, blocks: u64) {
        self.lag.store(blocks, Ordering::SeqCst);
    }

    /// Number of requests of each kind that came here: by method, of NEAR a `query` also by what it asks.
    pub fn requests(&self) -> BTreeMap<String, u64> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
