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

use super::asked;
use super::error::Refusal;

/// The most rows of a page.
const PAGE: usize = 100;

/// How many rows are wanted.
///
/// # Errors
/// 400: none, or more than a page has.
fn limit(asked: Option<usize>) -> Result<usize, Refusal> {
    asked::limit(asked, PAGE, 1..=PAGE)
}

/// The cursor of a page: the `next` of the one before.
///
/// # Errors
/// 400: none of ours.
fn cursor<T: std::str::FromStr>(text: Option<&str>) -> Result<Option<T>, Refusal> {
    let refuse = |_| Refusal::bad("`cursor`: the `next` of the page before, as it is");
    text.map(str::parse).transpose().map_err(refuse)
}
