//! The settings of the flows on chains.

pub(crate) mod relay;
pub(crate) mod swap;

use kernel::ids::Millis;

/// What the rest of the settings means for a flow on a chain.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChainSurroundings {
    /// Other processes may share the journal.
    pub(super) shared: bool,
    /// Transfers are carried in this process.
    pub(super) workers: bool,
    /// How long others take this process for alive without a word of it.
    pub(super) lease_ms: Millis,
}
