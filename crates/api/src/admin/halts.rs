//! The bodies of halts, and of a proposal to resume.

use super::actions::AcceptedBreak;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A page of halts, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Halts {
    /// The halts of this page.
    pub halts: Vec<HaltRow>,
    /// There may be more: ask with `cursor` set to this.
    pub next: Option<String>,
}

/// One halt. Each has a number of its own, also one that was raised while another stood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HaltRow {
    /// Its number. A resume is of the last one that stands.
    #[schema(example = 7)]
    pub number: u64,
    /// Why it was raised.
    #[schema(example = "conservation is broken: FUNDING/3/clearing (-1500000)")]
    pub reason: String,
    /// When it was raised, RFC 3339.
    #[schema(example = "2026-11-21T09:23:15.121Z")]
    pub at: String,
    /// When persons resumed, RFC 3339; `null` while it stands.
    pub lifted_at: Option<String>,
}

/// Why money may move again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Resume {
    /// Why, for the audit: 1 to 256 characters.
    #[schema(
        min_length = 1,
        max_length = 256,
        example = "the ledger was restored and every break is explained in ticket 4711"
    )]
    pub reason: String,
    /// The breaks of conservation that are accepted, each with its exact amount. Any other one
    /// stops money again.
    #[serde(default)]
    #[schema(example = json!([]))]
    pub accept: Vec<AcceptedBreak>,
}
