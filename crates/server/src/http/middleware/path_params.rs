//! Parses the path parameters of a route.

use super::error::Refusal;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use kernel::code::Code;
use serde::de::DeserializeOwned;

/// The path parameters of a route. A parameter that cannot be parsed names nothing that exists.
#[derive(Debug)]
pub struct PathParams<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for PathParams<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let read = Path::from_request_parts(parts, state).await;
        // the library's own answer is plain text, which no client of ours reads
        read.map(|Path(all)| Self(all)).map_err(|_| Refusal::of(Code::NotFound))
    }
}
