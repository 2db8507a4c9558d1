//! What the nodes of all chains here have in common: HTTP, JSON-RPC, the faults of each endpoint, the routes that
//! script them, and the clock that makes blocks.
//!
//! A chain implements `Node` and [`Lie`]; what it answers and what its blocks are is its own.

pub(crate) mod clock;
mod control;
mod edit;
mod endpoint;
mod faults;
mod http;
mod producer;
mod server;

pub use edit::{Change, Edit};
pub use endpoint::Endpoint;
pub(crate) use endpoint::EndpointState;
pub(crate) use faults::Script;
pub use faults::{Fault, Lie, Rule};
pub(crate) use http::reply;
pub use producer::Blocks;
pub(crate) use producer::Pause;
pub(crate) use server::{Server, ServerOptions};

use crate::Outcome;
use axum::body::Body;
use hyper::{Method, Response, StatusCode};
use serde_json::Value;
use std::{fmt::Debug, future::Future};

/// A request to one of a chain's own control routes, below `/devnet`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Control<'a> {
    pub(crate) method: &'a Method,
    pub(crate) path: &'a str,
    pub(crate) query: Option<&'a str>,
    pub(crate) body: &'a [u8],
}

/// The one chain behind all endpoints, as they need it.
pub(crate) trait Node: Debug + Send + Sync + Sized + 'static {
    type Lie: Lie;
    /// What a call asks, once it is read.
    type Request: Send;
    type Error: Send;

    /// Reads a call; a method that the chain does not have is an error.
    fn parse(method: &str, params: Value) -> Result<Self::Request, Self::Error>;

    /// The error of a body that is no JSON.
    fn unreadable(why: String) -> Self::Error;

    /// HTTP status and JSON-RPC error object.
    fn error(error: &Self::Error) -> (StatusCode, Value);

    /// The id of the transaction that a request is about, as text.
    fn transaction(request: &Self::Request) -> Option<String>;

    /// A method with what it asks, by which requests are counted.
    fn kind(method: &str, _params: &Value) -> String {
        method.to_owned()
    }

    /// As [`Self::kind`], in the words by which a rule may name it.
    fn asked(method: &str, params: &Value) -> String {
        Self::kind(method, params)
    }

    /// The node's answer, changed by a lie that is about its content.
    fn answer(
        endpoint: &EndpointState<Self>,
        request: Self::Request,
        fault: Option<Fault<Self::Lie>>,
    ) -> impl Future<Output = Result<Value, Self::Error>> + Send;

    /// A page beside the RPC, such as `GET /health`.
    fn page(endpoint: &EndpointState<Self>, path: &str) -> Option<Response<Body>>;

    fn height(&self) -> u64;

    /// The height of the first block.
    fn first_height(&self) -> u64;

    /// Makes one block now.
    fn produce(&self);

    fn pause(&self) -> &Pause;

    /// Lets withheld transactions reach the chain; the number of them.
    fn release(&self) -> usize;

    /// What `GET /devnet` shows of the chain, as fields of an object.
    fn overview(endpoint: &EndpointState<Self>) -> Value;

    /// A control route that only this chain has.
    fn control(endpoint: &EndpointState<Self>, control: Control<'_>) -> Option<Outcome<Value>>;
}
