//! The JSON-RPC of a node, behind the front of all chains.
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
    faults::{Fault, Lie},
    node::Node,
};
use crate::{
    Outcome,
    front::{self, Control, Pause, reply},
};
use axum::body::Body;
use hyper::{Response, StatusCode};
use near_jsonrpc_primitives::{
    errors::{RpcError, RpcErrorKind},
    types::transactions::RpcTransactionError,
};
use request::Request;
use serde_json::{Value, json};

/// One address of the chain.
pub(crate) type EndpointState = front::EndpointState<Node>;

impl front::Node for Node {
    type Lie = Lie;
    type Request = Request;
    type Error = RpcError;

    fn parse(method: &str, params: Value) -> Result<Request, RpcError> {
        request::parse(method, params)
    }

    fn unreadable(why: String) -> RpcError {
        RpcError::parse_error(why)
    }

    fn error(error: &RpcError) -> (StatusCode, Value) {
        (http_status(error), json!(error))
    }

    fn transaction(request: &Request) -> Option<String> {
        request.transaction().map(|hash| hash.to_string())
    }

    fn kind(method: &str, params: &Value) -> String {
        kind(method, params)
    }

    fn asked(method: &str, params: &Value) -> String {
        asked(method, params)
    }

    async fn answer(
        endpoint: &EndpointState,
        request: Request,
        fault: Option<Fault>,
    ) -> Result<Value, RpcError> {
        match fault {
            Some(Fault::Lie(Lie::Timeout)) => {
                drop(endpoint.answer(request.without_waiting(), None).await);
                Err(RpcTransactionError::TimeoutError.into())
            }
            Some(Fault::Lie(Lie::Refused { name })) => Err(endpoint.refusal(&name)),
            other => endpoint.answer(request, other).await,
        }
    }

    fn page(endpoint: &EndpointState, path: &str) -> Option<Response<Body>> {
        match path {
            "/status" => Some(match blocks::status(endpoint, None) {
                Ok(status) => reply(StatusCode::OK, &status),
                Err(error) => reply(http_status(&error), &json!(error)),
            }),
            "/health" => Some(reply(StatusCode::OK, &Value::Null)),
            _ => None,
        }
    }

    fn height(&self) -> u64 {
        self.chain().height()
    }

    fn first_height(&self) -> u64 {
        self.genesis_height
    }

    fn produce(&self) {
        self.produce();
    }

    fn pause(&self) -> &Pause {
        &self.pause
    }

    fn release(&self) -> usize {
        self.release()
    }

    fn overview(endpoint: &EndpointState) -> Value {
        control::overview(endpoint)
    }

    fn control(endpoint: &EndpointState, control: Control<'_>) -> Option<Outcome<Value>> {
        control::route(endpoint, control)
    }
}

impl EndpointState {
    fn seen_of(&self, chain: &Chain) -> u64 {
        self.seen_at(chain.height())
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

    fn refusal(&self, name: &str) -> RpcError {
        let chain = self.node.chain();
        let block = chain.block(chain.final_height(self.seen_of(&chain)));
        let info =
            block.map(|block| json!({"block_height": block.height, "block_hash": block.hash}));
        let cause = json!({"name": name, "info": info});
        RpcError::new_internal_or_handler_error(Some(json!(name)), cause)
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
