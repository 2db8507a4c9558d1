//! Parses the query parameters of a route, and the limit of a page.

use super::error::Refusal;
use crate::http::pages::openapi;
use axum::extract::{FromRequestParts, MatchedPath, Query};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use std::ops::RangeInclusive;

/// A route's parameters. One that does not fit is refused, and so is an unknown one: a
/// parameter that is ignored does what the caller did not mean.
#[derive(Debug)]
pub struct QueryParams<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for QueryParams<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let read = Query::from_request_parts(parts, state).await;
        // the library's own answer is plain text, which no client of ours reads
        read.map(|Query(all)| Self(all)).map_err(|fault| {
            let text = fault.body_text();
            let text = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text);
            Refusal::bad(format!("query: {}", plainly(text)))
        })
    }
}

/// The library's sentence without its words for types.
fn plainly(text: &str) -> String {
    const OURS: [(&str, &str); 5] = [
        ("field ", "parameter "),
        ("number too large to fit in target type", "the number is too large"),
        ("invalid digit found in string", "not a whole number"),
        ("cannot parse integer from empty string", "not a whole number"),
        ("provided string was not `true` or `false`", "`true` or `false`"),
    ];
    OURS.iter().fold(text.to_owned(), |text, (theirs, ours)| text.replace(theirs, ours))
}

/// Refuses the query of a route that declares no parameter: one that is ignored changes what the caller meant, and
/// `dry_run` of another route would be done.
///
/// # Errors
/// 400.
pub(super) fn declared(parts: &Parts) -> Result<(), Refusal> {
    let path = parts.extensions.get::<MatchedPath>().map(MatchedPath::as_str);
    let has_query = parts.uri.query().is_some_and(|query| !query.is_empty());
    if path.is_some_and(|path| has_query && openapi::takes_no_parameters(&parts.method, path)) {
        return Err(Refusal::bad("this route takes no query parameters"));
    }
    Ok(())
}

/// How many rows of a page are wanted; `usual` where nothing is said.
///
/// # Errors
/// 400: outside of `range`.
pub(crate) fn limit(
    asked: Option<usize>,
    usual: usize,
    range: RangeInclusive<usize>,
) -> Result<usize, Refusal> {
    let limit = asked.unwrap_or(usual);
    let refuse = || Refusal::bad(format!("`limit`: from {} to {}", range.start(), range.end()));
    range.contains(&limit).then_some(limit).ok_or_else(refuse)
}

#[cfg(test)]
mod tests {
    use super::plainly;

    /// Turns red where the library's words for its types reach a client.
    #[test]
    fn a_refused_parameter_is_said_plainly() {
        let huge = plainly("limit: number too large to fit in target type");
        assert_eq!(huge, "limit: the number is too large");
        assert_eq!(plainly("missing field `day`"), "missing parameter `day`");
    }
}
