//! The bodies of a backup that the server takes while it runs.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A backup that is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewBackup {
    /// Its name below `backup.dir`: 1 to 64 letters, digits, `.`, `_` and `-`, the first a letter or
    /// a digit. It leads nowhere else.
    #[schema(example = "2026-11-21")]
    pub dir: String,
}

/// A backup that is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BackupMade {
    /// Where it is on the server's machine.
    #[schema(example = "/var/backups/portage/2026-11-21")]
    pub dir: String,
    /// When it was taken, RFC 3339.
    pub at: String,
    /// The highest number of a transfer in it.
    #[schema(example = 1500)]
    pub transfers: u64,
    /// Spot's highest operation in it; none where Spot is elsewhere.
    #[schema(example = 3021)]
    pub spot: Option<u64>,
    /// To where the database's log belongs to it: `recovery_target_lsn`; none where the journal is in
    /// it.
    #[schema(example = "0/16B3748")]
    pub lsn: Option<String>,
    /// How many bytes it has.
    #[schema(example = 2_621_440)]
    pub bytes: u64,
    /// How long calls at Spot waited, in microseconds.
    #[schema(example = 850)]
    pub stood_still_us: u64,
}
