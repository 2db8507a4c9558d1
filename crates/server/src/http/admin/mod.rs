//! The operators' routes, most of them under `/api/v1/ops`: reads and actions.
//!
//! Every action goes through [`admin_response`]: one call of the engine, once for each (caller, key),
//! in the audit with who, why and when.

pub mod admin_response;
pub mod agreed;
pub mod approvals;
pub mod assets;
pub mod audit_proof;
pub mod backup;
pub mod cases;
pub mod chains;
pub mod conservation;
pub mod external_movement;
pub mod halts;
pub mod movements;
pub mod numbered_accounts;
pub mod numbered_movements;
pub mod past_actions;
pub mod pauses;
pub mod pipeline;
pub mod relay_keys;
pub mod search;
pub mod stats;
pub mod transfer_actions;
pub mod webhooks;

use super::middleware::error::Refusal;
use super::middleware::query;

/// The most rows of a page.
const PAGE: usize = 100;

/// How many rows are wanted.
///
/// # Errors
/// 400: none, or more than a page has.
fn limit(asked: Option<usize>) -> Result<usize, Refusal> {
    query::limit(asked, PAGE, 1..=PAGE)
}

/// The cursor of a page: the `next` of the one before.
///
/// # Errors
/// 400: none of ours.
fn cursor<T: std::str::FromStr>(text: Option<&str>) -> Result<Option<T>, Refusal> {
    let refuse = |_| Refusal::bad("`cursor`: the `next` of the page before, as it is");
    text.map(str::parse).transpose().map_err(refuse)
}

/// A reason that people can read later.
///
/// # Errors
/// 400.
fn reason(text: &str) -> Result<(), Refusal> {
    let refuse = || Refusal::bad("field `reason`: 1 to 256 characters, none of them a control");
    if fits_as_reason(text) { Ok(()) } else { Err(refuse()) }
}

/// True for 1 to 256 characters, none of them a control, and not all of them spaces.
pub(crate) fn fits_as_reason(text: &str) -> bool {
    let fits = (1..=256).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    fits && !text.trim().is_empty()
}
