//! Reads the table of clients' keys beside the transfers, for reconciliation.

use crate::columns;
use crate::postgres::columns::{most, uint};
use crate::postgres::error::StoreError;
use crate::postgres::session::connect::Pooled;
use kernel::ids::Serial;
use kernel::ports::journal::{KeyRow, UnmatchedKey};
use tokio_postgres::Row;

/// The columns that [`key_row`] reads, of a row of `every_transfer`.
pub(super) const COLUMNS: &str = "cid IS NOT NULL, (SELECT k.transfer_id FROM keys k \
    WHERE k.flow = t.flow AND k.scope = t.scope AND k.cid = t.cid) AS named";

/// The two tables are read from end to end and compared by their sums; only where these differ are they joined, which
/// takes room for temporary files.
const UNMATCHED: &str = "SELECT flow, scope, cid, transfer_id FROM keys k \
    WHERE (SELECT (count(*), sum(hashtextextended(concat_ws('|', flow, scope, cid, transfer_id), 0))) FROM keys) \
    IS DISTINCT FROM (SELECT (count(*), sum(hashtextextended(concat_ws('|', flow, scope, cid, transfer_id), 0))) \
    FROM every_transfer WHERE cid IS NOT NULL) \
    AND NOT EXISTS (SELECT FROM every_transfer t WHERE t.transfer_id = k.transfer_id \
    AND t.flow = k.flow AND t.scope = k.scope AND t.cid = k.cid)";

/// Reads the two columns from this one on.
pub(super) fn key_row(row: &Row, at: usize) -> Result<KeyRow, StoreError> {
    Ok(columns::key_row(row.try_get(at)?, row.try_get(at.saturating_add(1))?))
}

/// Rows to which no transfer belongs. It has no limit of time.
pub(super) async fn unmatched(db: &Pooled, limit: usize) -> Result<Vec<UnmatchedKey>, StoreError> {
    db.batch("SET LOCAL statement_timeout = 0").await?;
    let sql = format!("{UNMATCHED} LIMIT {}", most(limit));
    let read = |row: &Row| {
        let serial = Serial(uint(row.try_get(3)?));
        let (flow, scope, key) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        Ok(UnmatchedKey { flow, scope, key, serial })
    };
    db.query_at_length(&sql).await?.iter().map(read).collect()
}
