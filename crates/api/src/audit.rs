//! The bodies of the audit's verification and its seals.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A seal over everything that was written before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SealRow {
    /// From 1, without a gap.
    #[schema(example = 4711)]
    pub number: u64,
    /// When it was made, RFC 3339.
    pub at: String,
    /// Up to which unit each writer's lane is covered: `0:17`.
    #[schema(example = "0:8120")]
    pub covers: String,
    /// It as the log says it, to be kept elsewhere: `NUMBER:ROOT:MAC`.
    #[schema(example = "4711:9f86d081884c7d65…:60303ae22b998861…")]
    pub seal: String,
    /// The hash of the seal before it.
    #[schema(example = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae")]
    pub previous: String,
}

/// Seals, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Seals {
    /// The seals of this page, newest first.
    pub seals: Vec<SealRow>,
    /// There are older ones: ask with `before` set to this.
    pub next: Option<u64>,
}

/// The audit, computed again from its rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditProof {
    /// Nothing was changed, removed or cut off.
    pub ok: bool,
    /// The number of transfers whose history was computed again.
    #[schema(example = 1500)]
    pub transfers: u64,
    /// The number of entries of histories, operators' actions and external movements.
    #[schema(example = 9042)]
    pub entries: u64,
    /// The number of units: journal writes with entries.
    #[schema(example = 8122)]
    pub units: u64,
    /// Of them above the last seal.
    #[schema(example = 2)]
    pub unsealed: u64,
    /// The number of seals that were checked.
    #[schema(example = 4711)]
    pub seals: u64,
    /// The last seal, where there is one.
    pub last: Option<SealRow>,
    /// The number of faults that were found.
    #[schema(example = 0)]
    pub wrong: u64,
    /// The first 200 of them, each as a sentence.
    #[schema(example = json!([]))]
    pub faults: Vec<String>,
    /// Rows that no action of an operator proves, each kind as a sentence. They are no faults.
    #[schema(example = json!([]))]
    #[serde(default)]
    pub unproven: Vec<String>,
}
