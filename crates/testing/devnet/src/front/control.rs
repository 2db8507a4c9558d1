//! `/devnet/…`: scripting faults and blocks over HTTP, for users and for tests in other languages.

use super::{Control, EndpointState, Node, Rule, reply};
use axum::body::Body;
use hyper::{Method, Response, StatusCode};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;

#[derive(Deserialize)]
struct Count {
    blocks: u64,
}

/// No more blocks than this by one request.
const MOST_BLOCKS: u64 = 100_000;

pub(super) fn route<N: Node>(
    endpoint: &EndpointState<N>,
    method: &Method,
    path: &str,
    query: Option<&str>,
    body: &[u8],
) -> Response<Body> {
    let answer = match (method, path) {
        (&Method::GET, "/devnet") => Ok(overview(endpoint)),
        (&Method::GET, "/devnet/faults") => Ok(json!(endpoint.script.list())),
        (&Method::POST, "/devnet/faults") => read::<Rule<N::Lie>>(body).map(|rule| {
            endpoint.script.add(rule);
            json!(endpoint.script.list())
        }),
        (&Method::DELETE, "/devnet/faults") => {
            endpoint.script.clear();
            Ok(json!([]))
        }
        (&Method::POST, "/devnet/lag") => read::<Count>(body).map(|lag| {
            endpoint.lag.store(lag.blocks, Ordering::SeqCst);
            overview(endpoint)
        }),
        (&Method::POST, "/devnet/blocks") => read::<Count>(body).map(|count| {
            let blocks = if count.blocks > MOST_BLOCKS { MOST_BLOCKS } else { count.blocks };
            for _ in 0..blocks {
                endpoint.node.produce();
            }
            overview(endpoint)
        }),
        (&Method::POST, "/devnet/pause") => {
            endpoint.node.pause().set(true);
            Ok(overview(endpoint))
        }
        (&Method::POST, "/devnet/resume") => {
            endpoint.node.pause().set(false);
            Ok(overview(endpoint))
        }
        (&Method::POST, "/devnet/release") => Ok(json!({"released": endpoint.node.release()})),
        _ => match N::control(endpoint, Control { method, path, query, body }) {
            Some(answer) => answer,
            None => return reply(StatusCode::NOT_FOUND, &json!({"error": "no such route"})),
        },
    };
    match answer {
        Ok(value) => reply(StatusCode::OK, &value),
        Err(error) => reply(StatusCode::BAD_REQUEST, &json!({"error": error})),
    }
}

fn overview<N: Node>(endpoint: &EndpointState<N>) -> Value {
    let mut shown = N::overview(endpoint);
    if let Some(fields) = shown.as_object_mut() {
        fields.insert("seen_here".to_owned(), json!(endpoint.seen()));
        fields.insert("faults".to_owned(), json!(endpoint.script.list()));
    }
    shown
}

impl Control<'_> {
    /// Reads the body of a request.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, String> {
        read(self.body)
    }
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    serde_json::from_slice(body).map_err(|error| error.to_string())
}
