//! Reads the audit chains, whose entries belong to no transfer, from their rows. Each row is at the
//! place that `entry` says: numbers of rows may have gaps and come in another order, places do not. The
//! hash covers what [`read`] makes of the row: numbers in plain digits.

use super::read_pool::rows;
use crate::audit_chain::{AuditChain, ChainTable};
use crate::postgres::columns::{int, most, uint};
use crate::postgres::error::StoreError;
use crate::postgres::session::connect::Pooled;
use kernel::audit::proof::StoredEntry;
use kernel::audit::{Hash, action_entry};
use tokio_postgres::Row;

/// Asks for rows as [`read`] takes them; `{number}` in `rest` is the row's number. A row
/// without a place, which an operator's SQL put there, reads as if it stood behind all others.
pub(crate) fn sql(chain: AuditChain, rest: &str) -> String {
    let ChainTable { table, number, event, fields } = chain.table();
    let fields: Vec<_> =
        fields.iter().map(|field| format!("coalesce({field}::text, '')")).collect();
    format!(
        "SELECT {number}, coalesce(entry, 4294967295), at, {event}, caller, \
         coalesce(hash, ''::bytea), coalesce(audit_lane, 0), coalesce(audit_unit, 0), \
         ARRAY[{}] FROM {table} {}",
        fields.join(", "),
        rest.replace("{number}", number)
    )
}

/// The row's number and its entry.
pub(crate) fn read(row: &Row) -> Result<(u64, StoredEntry), StoreError> {
    let fields: Vec<&str> = row.try_get(8)?;
    let seq = u32::try_from(row.try_get::<_, i64>(1)?).unwrap_or(u32::MAX);
    let (event, caller) = (row.try_get(3)?, row.try_get(4)?);
    let entry = action_entry(seq, uint(row.try_get(2)?), event, caller, &fields);
    let hash: &[u8] = row.try_get(5)?;
    let stored = StoredEntry {
        entry,
        // whatever is no hash reads as zeros: the proof then names whose it was
        hash: Hash::try_from(hash).unwrap_or_default(),
        lane: u64::try_from(row.try_get::<_, i32>(6)?).unwrap_or(0),
        unit: uint(row.try_get(7)?),
    };
    Ok((uint(row.try_get(0)?), stored))
}

/// Every entry of the chain, in its order.
pub(crate) async fn entries(
    chain: AuditChain,
    db: &Pooled,
) -> Result<Vec<StoredEntry>, StoreError> {
    let found = rows(db, &sql(chain, "ORDER BY entry"), &[]).await?;
    found.iter().map(|row| read(row).map(|(_, stored)| stored)).collect()
}

/// Entries by their places, each with the number one above its place: below it lies what was
/// read. Those without a place come behind all others.
pub(crate) async fn places(
    chain: AuditChain,
    db: &Pooled,
    above: u64,
    limit: usize,
) -> Result<Vec<(u64, StoredEntry)>, StoreError> {
    let both = format!(
        "({}) UNION ALL ({})",
        sql(chain, "WHERE entry >= $1 ORDER BY entry LIMIT $2"),
        sql(chain, "WHERE entry IS NULL AND $1 <= 4294967295 LIMIT $2"),
    );
    let found = rows(db, &both, &[&int(above), &most(limit)]).await?;
    let place = |row: &Row| {
        let (_, stored) = read(row)?;
        Ok((u64::from(stored.entry.seq).saturating_add(1), stored))
    };
    let mut found: Vec<(u64, StoredEntry)> =
        found.iter().map(place).collect::<Result<_, StoreError>>()?;
    found.sort_by_key(|(number, _)| *number);
    found.truncate(limit);
    Ok(found)
}
