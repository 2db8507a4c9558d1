//! Adds up stored balances and operations, for reconciliation, and lists operations.

use super::read_pool::rows;
use crate::postgres::columns::{self, int, uint};
use crate::postgres::error::StoreError;
use crate::postgres::rows::operation;
use crate::postgres::session::connect::Pooled;
use crate::sums::{Sign, SumRow, SumsByAsset};
use kernel::ids::{AssetId, LedgerId};
use kernel::money::Amount;
use kernel::operation::{Operation, StoredOutcome};
use kernel::ports::journal::{Recount, Sums};
use kernel::ports::ledger::Totals;
use std::collections::BTreeMap;
use tokio_postgres::Row;

fn add(sum: &mut i128, more: i128) -> Result<(), StoreError> {
    crate::sums::add(sum, more).map_err(StoreError::Damaged)
}

/// An asset's number in a column.
fn asset(row: &Row, column: usize) -> Result<AssetId, StoreError> {
    Ok(AssetId(columns::count(row.try_get(column)?)))
}

/// The books of an enlisted ledger, recomputed from its balances.
pub(crate) async fn books(
    db: &Pooled,
    ledger: LedgerId,
) -> Result<Vec<(AssetId, Totals)>, StoreError> {
    let users = if ledger == LedgerId::ACCOUNT {
        "SELECT asset_id, 'USERS', sum(balance)::text, '0' FROM accounts_tb GROUP BY asset_id"
    } else {
        "SELECT asset_id, 'USERS', sum(available)::text, sum(frozen)::text FROM balances_tb \
         WHERE account_type = 'FUNDING' GROUP BY asset_id"
    };
    let sql = format!(
        "{users} UNION ALL SELECT asset_id, book, sum(amount)::text, '0' FROM books \
         WHERE account_type = $1 GROUP BY asset_id, book"
    );
    let mut totals: BTreeMap<AssetId, Totals> = BTreeMap::new();
    for row in rows(db, &sql, &[&ledger.name()]).await? {
        let of = totals.entry(asset(&row, 0)?).or_default();
        let amount = columns::read_signed(row.try_get(2)?)?;
        match row.try_get(1)? {
            "USERS" => {
                add(&mut of.users, amount)?;
                add(&mut of.frozen, columns::read_signed(row.try_get(3)?)?)?;
            }
            "CLEARING" => add(&mut of.clearing, amount)?,
            _ => add(&mut of.world, amount)?,
        }
    }
    Ok(totals.into_iter().collect())
}

/// Takes a row (ledger, asset_id, leg, result, count, amount).
fn take(sign: Sign, places: &mut SumsByAsset, row: &Row) -> Result<(), StoreError> {
    let ledger: i16 = row.try_get(0)?;
    let ledger = u8::try_from(ledger).map_err(|_| StoreError::Damaged("not a ledger"))?;
    let row_sum = SumRow {
        place: (LedgerId(ledger), asset(row, 1)?),
        leg: row.try_get(2)?,
        done: row.try_get::<_, &str>(3)? == "DONE",
        count: uint(row.try_get(4)?),
        amount: columns::read_signed(row.try_get(5)?)?,
    };
    sign.take(places, &row_sum).map_err(StoreError::Damaged)
}

/// Above it there is no number.
const EVERY: i64 = i64::MAX;

/// The sums of a ledger's operations by the running sums, without those above a number.
pub(crate) async fn sums(
    db: &Pooled,
    ledger: LedgerId,
    upto: u64,
) -> Result<Vec<(AssetId, Sums)>, StoreError> {
    let mut places = SumsByAsset::new();
    let running = "SELECT ledger, asset_id, leg, result, sum(count)::bigint, sum(amount)::text \
                   FROM running_sums WHERE ledger = $1 GROUP BY ledger, asset_id, leg, result";
    for row in rows(db, running, &[&i16::from(ledger.0)]).await? {
        take(Sign::Add, &mut places, &row)?;
    }
    if int(upto) < EVERY {
        // what it looks for lies in an index, however large the table was when it was planned
        let outside = if ledger.is_enlisted() { "" } else { "AND ledger <> 1 AND ledger <> 10" };
        let above = format!(
            "SELECT ledger, asset_id, leg, result, count(*), \
             coalesce(sum(amount) FILTER (WHERE result = 'DONE'), 0)::text FROM operations \
             WHERE ledger = $1 AND seq > $2 {outside} GROUP BY ledger, asset_id, leg, result"
        );
        db.batch("SET LOCAL enable_seqscan = off").await?;
        for row in rows(db, &above, &[&i16::from(ledger.0), &int(upto)]).await? {
            take(Sign::Subtract, &mut places, &row)?;
        }
        db.batch("SET LOCAL enable_seqscan = on").await?;
    }
    Ok(places.into_iter().map(|((_, asset), sums)| (asset, sums)).collect())
}

/// What all rows add up to. It reads them from end to end, so no limit for a statement holds; it
/// locks nothing that a writer needs.
pub(crate) async fn recount(db: &Pooled) -> Result<Recount, StoreError> {
    let sql = "SELECT ledger, asset_id, leg, result, count(*), \
               coalesce(sum(amount) FILTER (WHERE result = 'DONE'), 0)::text \
               FROM operations GROUP BY ledger, asset_id, leg, result \
               UNION ALL SELECT (CASE WHEN account_number IS NULL THEN 1 ELSE 10 END)::smallint, \
               asset_id, direction, 'DONE', count(*), sum(amount)::text \
               FROM externals GROUP BY account_number IS NULL, asset_id, direction";
    db.batch("SET LOCAL statement_timeout = 0").await?;
    let mut places = SumsByAsset::new();
    for row in db.query_at_length(sql).await? {
        take(Sign::Add, &mut places, &row)?;
    }
    Ok(places.into_iter().map(|((ledger, asset), sums)| (ledger, asset, sums)).collect())
}

/// The columns that [`operation`] reads.
pub(crate) const COLUMNS: &str =
    "req_id, leg, result, code, seq, asset_id, amount::text, account, ledger, other_account";

/// Operations of a ledger above a number, by number.
pub(crate) async fn operations(
    db: &Pooled,
    ledger: LedgerId,
    after: u64,
    limit: usize,
) -> Result<Vec<Operation>, StoreError> {
    let outside = if ledger.is_enlisted() { "" } else { "AND ledger <> 1 AND ledger <> 10" };
    let sql = format!(
        "SELECT {COLUMNS} FROM operations WHERE ledger = $1 AND seq > $2 {outside} \
         ORDER BY seq LIMIT $3"
    );
    let row = |row: &Row| {
        let (_, mut operation) = operation(row)?;
        if operation.outcome == StoredOutcome::Fenced {
            operation.op.amount = Amount::ZERO;
        }
        Ok(operation)
    };
    let asked = rows(db, &sql, &[&i16::from(ledger.0), &int(after), &columns::most(limit)]).await?;
    asked.iter().map(row).collect()
}
