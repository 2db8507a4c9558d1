//! The manifest that describes a backup and its files. It is written last: a folder without one is no backup.

use super::files;
use crate::file_modes;
use kernel::operation::Known;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use store::postgres::WalPosition;

/// The manifest's name in a backup.
pub(crate) const FILE: &str = "backup.json";
/// The form that this release writes and reads.
pub(super) const FORMAT: u32 = 1;

/// A backup's description of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The form of this description.
    pub format: u32,
    /// The release that made it.
    pub release: String,
    /// When it was taken, RFC 3339.
    pub at: String,
    /// The identity of the journal.
    pub journal: String,
    /// The highest number of a transfer.
    pub transfers: u64,
    /// When the journal was written last, RFC 3339.
    pub last_written: String,
    /// Spot's part of the same instant; none where Spot was elsewhere.
    pub spot: Option<SpotPoint>,
    /// The place in the log of the journal's database that belongs to it; none where the journal is
    /// in the backup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<DatabasePoint>,
    /// The last seal of the audit: `NUMBER:ROOT:MAC`.
    pub seal: Option<String>,
    /// Every file but this description.
    pub files: Vec<FileRow>,
}

/// The identity of Spot, and its last operation in the backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpotPoint {
    /// The ledger's identity, in hexadecimal digits.
    pub identity: String,
    /// The incarnation of its last start, in hexadecimal digits.
    pub incarnation: String,
    /// The highest operation that is in the backup.
    pub highest: u64,
}

impl SpotPoint {
    pub(super) fn of(known: Known) -> Self {
        Self {
            identity: format!("{:032x}", known.identity.0),
            incarnation: format!("{:032x}", known.incarnation.0),
            highest: known.highest,
        }
    }
}

/// Where the log of the journal's database was while Spot stood still. The database is recovered to
/// this place, and without what begins behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabasePoint {
    /// Which cluster, as `pg_controldata` says it.
    pub system_identifier: String,
    /// Which of its histories, as the names of its log's files begin.
    pub timeline: String,
    /// For `recovery_target_lsn`, with `recovery_target_inclusive = off`.
    pub lsn: String,
}

impl DatabasePoint {
    pub(super) fn of(point: &WalPosition) -> Self {
        Self {
            system_identifier: point.system.to_string(),
            timeline: point.timeline.clone(),
            lsn: point.lsn.to_string(),
        }
    }
}

/// One file of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRow {
    /// Its name below the backup's folder.
    pub name: String,
    /// The length in bytes.
    pub bytes: u64,
    /// The SHA-256 of its bytes, in hexadecimal digits.
    pub sha256: String,
}

impl Manifest {
    /// The size of all files, in bytes.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    pub(super) fn write(&self, dir: &Path) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(self).map_err(io::Error::other)?;
        file_modes::write_new(&dir.join(FILE), &text)
    }
}

/// Reads a backup and what is wrong with it; nothing where it is whole.
///
/// # Errors
/// It has no description that this release can read: it is none.
pub fn verified(dir: &Path) -> io::Result<(Manifest, Vec<String>)> {
    let manifest: Manifest = serde_json::from_slice(&fs::read(dir.join(FILE))?)?;
    if manifest.format != FORMAT {
        let what = format!("{FILE} is of format {}, not {FORMAT}", manifest.format);
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    let mut faults = Vec::new();
    let mut known = BTreeSet::from([FILE.to_owned()]);
    for said in &manifest.files {
        known.insert(said.name.clone());
        match files::row(&said.name, &dir.join(&said.name)) {
            Ok(row) if row == *said => {}
            Ok(row) if row.bytes != said.bytes => {
                faults.push(format!("{}: {} bytes instead of {}", said.name, row.bytes, said.bytes))
            }
            Ok(_) => {
                faults.push(format!("{}: its bytes are not those that were copied", said.name))
            }
            Err(fault) => faults.push(format!("{}: {fault}", said.name)),
        }
    }
    // a write-ahead log beside the database would change what is in it
    let mut found = Vec::new();
    inside(dir, "", &mut found)?;
    found.retain(|name| !known.contains(name));
    faults.extend(found.into_iter().map(|name| format!("{name}: does not belong to the backup")));
    Ok((manifest, faults))
}

fn inside(dir: &Path, above: &str, found: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = format!("{above}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            inside(&entry.path(), &format!("{name}/"), found)?;
        } else {
            found.push(name);
        }
    }
    Ok(())
}
