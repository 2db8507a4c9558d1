//! The operators' desk: what they look up, and what they do.
//!
//! Every action goes through [`done`]: one call of the engine, once for each (caller, key), in the
//! audit with who, why and when.

pub mod approvals;
pub mod assets;
pub mod audit;
pub mod cases;
pub mod done;
pub mod halts;
pub mod pauses;
pub mod search;
pub mod stats;
pub mod steer;

use super::error::Refusal;
use super::unknown;
use kernel::answer::Cause;
use kernel::code::Code;

/// The most rows of a page.
const PAGE: usize = 100;

/// How many rows are wanted.
///
/// # Errors
/// 400: none, or more than a page has.
fn limit(asked: Option<usize>) -> Result<usize, Refusal> {
    let limit = asked.unwrap_or(PAGE);
    let refuse = || Refusal::bad(format!("`limit`: from 1 to {PAGE}"));
    (1..=PAGE).contains(&limit).then_some(limit).ok_or_else(refuse)
}

/// The cursor of a page: the `next` of the one before.
///
/// # Errors
/// 400: none of ours.
fn cursor<T: std::str::FromStr>(text: Option<&str>) -> Result<Option<T>, Refusal> {
    let refuse = |_| Refusal::bad("`cursor`: the `next` of the page before, as it is");
    text.map(str::parse).transpose().map_err(refuse)
}

/// The journal did not answer a question.
fn silent(what: &'static str) -> impl Fn(Cause) -> Refusal {
    move |cause| {
        unknown(what, &cause);
        Refusal::because(Code::SystemError, "The journal does not answer at the moment")
    }
}
