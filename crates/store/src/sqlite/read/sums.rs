//! Adds up stored balances and operations, for reconciliation. It adds in Rust, since SQL has no
//! integers of 128 bits.

use crate::sqlite::columns::{self, int, most};
use crate::sqlite::funding::operations::{COLUMNS, operation};
use crate::sums::{Sign, SumRow, SumsByAsset};
use kernel::ids::{AssetId, LedgerId};
use kernel::operation::{Operation, StoredOutcome};
use kernel::ports::journal::{Recount, Sums};
use kernel::ports::ledger::Totals;
use rusqlite::{Connection, Params, params};
use std::collections::BTreeMap;

fn add(sum: &mut i128, more: i128) -> rusqlite::Result<()> {
    crate::sums::add(sum, more).map_err(|what| columns::damaged(0, what))
}

/// The books of an enlisted ledger, recomputed from its balances.
pub(crate) fn books(db: &Connection, ledger: LedgerId) -> rusqlite::Result<Vec<(AssetId, Totals)>> {
    let mut totals: BTreeMap<AssetId, Totals> = BTreeMap::new();
    let sql = if ledger == LedgerId::ACCOUNT {
        "SELECT asset_id, balance, '0' FROM accounts_tb"
    } else {
        "SELECT asset_id, available, frozen FROM balances_tb WHERE account_type = 'FUNDING'"
    };
    let mut ask = db.prepare_cached(sql)?;
    let mut rows = ask.query([])?;
    while let Some(row) = rows.next()? {
        let of = totals.entry(AssetId(row.get(0)?)).or_default();
        add(&mut of.users, columns::read_signed(1, row.get_ref(1)?.as_str()?)?)?;
        add(&mut of.frozen, columns::read_signed(2, row.get_ref(2)?.as_str()?)?)?;
    }
    let sql = "SELECT asset_id, amount, book FROM books WHERE account_type = ?";
    let mut ask = db.prepare_cached(sql)?;
    let mut rows = ask.query([ledger.name()])?;
    while let Some(row) = rows.next()? {
        let of = totals.entry(AssetId(row.get(0)?)).or_default();
        let amount = columns::read_signed(1, row.get_ref(1)?.as_str()?)?;
        match row.get_ref(2)?.as_str()? {
            "CLEARING" => add(&mut of.clearing, amount)?,
            _ => add(&mut of.world, amount)?,
        }
    }
    Ok(totals.into_iter().collect())
}

/// Takes every row (ledger, asset_id, leg, result, amount, count) of an answer.
fn all(
    sign: Sign,
    places: &mut SumsByAsset,
    db: &Connection,
    sql: &str,
    key: impl Params,
) -> rusqlite::Result<()> {
    let mut ask = db.prepare_cached(sql)?;
    let mut rows = ask.query(key)?;
    while let Some(row) = rows.next()? {
        let row_sum = SumRow {
            place: (LedgerId(row.get(0)?), AssetId(row.get(1)?)),
            leg: row.get_ref(2)?.as_str()?,
            done: row.get_ref(3)?.as_str()? == "DONE",
            count: columns::uint(row.get(5)?),
            amount: columns::read_signed(4, row.get_ref(4)?.as_str()?)?,
        };
        sign.take(places, &row_sum).map_err(|what| columns::damaged(0, what))?;
    }
    Ok(())
}

/// The sums of a ledger's operations by the running sums, without those above a number.
pub(crate) fn sums(
    db: &Connection,
    ledger: LedgerId,
    upto: u64,
) -> rusqlite::Result<Vec<(AssetId, Sums)>> {
    let mut places = SumsByAsset::new();
    let running = "SELECT ledger, asset_id, leg, result, amount, count FROM running_sums \
                   WHERE ledger = ?";
    all(Sign::Add, &mut places, db, running, [ledger.0])?;
    // above the last there is nothing to take off
    if int(upto) < i64::MAX {
        let outside = if ledger == LedgerId::FUNDING { "" } else { "AND ledger <> 1" };
        let above = format!(
            "SELECT ledger, asset_id, leg, result, amount, 1 FROM operations \
             WHERE ledger = ? AND seq > ? {outside}"
        );
        all(Sign::Subtract, &mut places, db, &above, params![ledger.0, int(upto)])?;
    }
    Ok(places.into_iter().map(|((_, asset), sums)| (asset, sums)).collect())
}

/// What all rows add up to. The writer goes on meanwhile; only its log is not cut short.
pub(crate) fn recount(db: &Connection) -> rusqlite::Result<Recount> {
    let mut places = SumsByAsset::new();
    let operations = "SELECT ledger, asset_id, leg, result, amount, 1 FROM operations";
    all(Sign::Add, &mut places, db, operations, [])?;
    let externals = "SELECT iif(account_number IS NULL, 1, 10), asset_id, direction, 'DONE', \
                     amount, 1 FROM externals";
    all(Sign::Add, &mut places, db, externals, [])?;
    Ok(places.into_iter().map(|((ledger, asset), sums)| (ledger, asset, sums)).collect())
}

/// Operations of a ledger above a number, by number.
pub(crate) fn operations(
    db: &Connection,
    ledger: LedgerId,
    after: u64,
    limit: usize,
) -> rusqlite::Result<Vec<Operation>> {
    let outside = if ledger == LedgerId::FUNDING { "" } else { "AND ledger <> 1" };
    let sql = format!(
        "SELECT {COLUMNS} FROM operations WHERE ledger = ? AND seq > ? {outside} \
         ORDER BY seq LIMIT ?"
    );
    let mut ask = db.prepare_cached(&sql)?;
    let mut found: Vec<_> = ask
        .query_map(params![ledger.0, int(after), most(limit)], operation)?
        .collect::<rusqlite::Result<_>>()?;
    for operation in &mut found {
        if operation.outcome == StoredOutcome::Fenced {
            operation.op.amount = kernel::money::Amount::ZERO;
        }
    }
    Ok(found)
}
