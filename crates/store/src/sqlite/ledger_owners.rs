//! Encodes and reads the owner of each ledger core that runs inside a process: a row of the service's
//! state for each ledger, whose version is the epoch.

use super::columns::{damaged, uint};
use kernel::ids::{LedgerId, WorkerId};
use kernel::operation::Identity;
use kernel::ports::journal::Owner;
use rusqlite::Connection;

/// The prefix of the row's name; the ledger's number follows.
const NAME: &str = "owner/";

pub(crate) fn name(ledger: LedgerId) -> String {
    format!("{NAME}{ledger}")
}

pub(crate) fn value(worker: WorkerId, identity: Identity) -> String {
    format!("{worker} {:032x}", identity.0)
}

fn read(value: &str) -> Option<(WorkerId, Identity)> {
    let (worker, identity) = value.split_once(' ')?;
    let identity = u128::from_str_radix(identity, 16).ok()?;
    Some((WorkerId(worker.parse().ok()?), Identity(identity)))
}

/// Every owner. The rows show none as living: the folder has one process.
pub(crate) fn owners(db: &Connection) -> rusqlite::Result<Vec<Owner>> {
    let sql =
        "SELECT name, value, version FROM service_state WHERE name GLOB 'owner/*' ORDER BY name";
    let mut ask = db.prepare_cached(sql)?;
    let mut found = ask.query([])?;
    let mut owners = Vec::new();
    while let Some(row) = found.next()? {
        let (name, value) = (row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?);
        let ledger = name.strip_prefix(NAME).and_then(|number| number.parse().ok());
        let (Some(ledger), Some((worker, identity))) = (ledger, read(value)) else {
            return Err(damaged(1, "not an owner"));
        };
        let (ledger, epoch) = (LedgerId(ledger), uint(row.get(2)?));
        owners.push(Owner { ledger, epoch, worker, identity, lives: false });
    }
    Ok(owners)
}
