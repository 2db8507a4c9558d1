//! The bodies of the health routes, for machines.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// How the whole is, and each part by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    /// `healthy`, `degraded` or `halted`.
    #[schema(example = "healthy")]
    pub status: String,
    /// The number of the halt that stands last in the journal, which a resume names; only while one
    /// stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 3)]
    pub halt: Option<u64>,
    /// The relay's providers, as this process saw them last; only where it asks any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub providers: Option<ProviderHealth>,
    /// `connected`, `unavailable`, for a store without room `full`, for one that takes no writes of this process `not writing`, for the providers of a chain `wrong chain`; by the part's name: `journal`, `keys`, `kafka`, `rpc` (the relay's providers), `solana` (those of the swaps), `funding`, `spot`, …
    #[serde(flatten)]
    pub parts: BTreeMap<String, String>,
}

/// How the providers of the relay's chain do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProviderHealth {
    /// The number of providers that the settings name.
    #[schema(example = 3)]
    pub configured: usize,
    /// The number of them that answer and show the chain that the store is bound to.
    #[schema(example = 2)]
    pub usable: usize,
    /// The number of them that show another chain: nothing that they say counts.
    #[schema(example = 1)]
    pub wrong_chain: usize,
}

/// Whether the process is up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Alive {
    /// `ok`, or why not.
    #[schema(example = "ok")]
    pub status: String,
}
