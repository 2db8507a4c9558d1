//! Sums over stored rows, added up here since SQL knows no such large numbers.

use super::funding::operations::{COLUMNS, operation};
use super::text::{self, int, most};
use crate::sums::{Places, Tally, Way};
use kernel::ids::{AssetId, LedgerId};
use kernel::ports::journal::{Recount, Sums};
use kernel::ports::ledger::Totals;
use kernel::unit::{Operation, Outcome};
use rusqlite::{Connection, Params, params};
use std::collections::BTreeMap;

fn add(sum: &mut i128, more: i128) -> rusqlite::Result<()> {
    crate::sums::add(sum, more).map_err(|what| text::damaged(0, what))
}

/// Funding's books, recomputed from its balances.
pub(super) fn books(db: &Connection) -> rusqlite::Result<Vec<(AssetId, Totals)>> {
    let mut totals: BTreeMap<AssetId, Totals> = BTreeMap::new();
    let sql = "SELECT asset_id, available, frozen FROM balances_tb WHERE account_type = 'FUNDING'";
    let mut ask = db.prepare_cached(sql)?;
    let mut rows = ask.query([])?;
    while let Some(row) = rows.next()? {
        let of = totals.entry(AssetId(row.get(0)?)).or_default();
        add(&mut of.users, text::read_signed(1, row.get_ref(1)?.as_str()?)?)?;
        add(&mut of.frozen, text::read_signed(2, row.get_ref(2)?.as_str()?)?)?;
    }
    let sql = "SELECT asset_id, amount, book FROM books WHERE account_type = 'FUNDING'";
    let mut ask = db.prepare_cached(sql)?;
    let mut rows = ask.query([])?;
    while let Some(row) = rows.next()? {
        let of = totals.entry(AssetId(row.get(0)?)).or_default();
        let amount = text::read_signed(1, row.get_ref(1)?.as_str()?)?;
        match row.get_ref(2)?.as_str()? {
            "CLEARING" => add(&mut of.clearing, amount)?,
            _ => add(&mut of.world, amount)?,
        }
    }
    Ok(totals.into_iter().collect())
}

/// Takes every row (ledger, asset_id, leg, result, amount, count) of an answer.
fn all(
    way: Way,
    places: &mut Places,
    db: &Connection,
    sql: &str,
    key: impl Params,
) -> rusqlite::Result<()> {
    let mut ask = db.prepare_cached(sql)?;
    let mut rows = ask.query(key)?;
    while let Some(row) = rows.next()? {
        let tally = Tally {
            place: (LedgerId(row.get(0)?), AssetId(row.get(1)?)),
            leg: row.get_ref(2)?.as_str()?,
            done: row.get_ref(3)?.as_str()? == "DONE",
            count: text::uint(row.get(5)?),
            amount: text::read_signed(4, row.get_ref(4)?.as_str()?)?,
        };
        way.take(places, &tally).map_err(|what| text::damaged(0, what))?;
    }
    Ok(())
}

/// What the operations of a ledger add up to by the running sums, those above a number taken off.
pub(super) fn sums(
    db: &Connection,
    ledger: LedgerId,
    upto: u64,
) -> rusqlite::Result<Vec<(AssetId, Sums)>> {
    let mut places = Places::new();
    let running = "SELECT ledger, asset_id, leg, result, amount, count FROM running_sums \
                   WHERE ledger = ?";
    all(Way::On, &mut places, db, running, [ledger.0])?;
    // above the last there is nothing to take off
    if int(upto) < i64::MAX {
        let outside = if ledger == LedgerId::FUNDING { "" } else { "AND ledger <> 1" };
        let above = format!(
            "SELECT ledger, asset_id, leg, result, amount, 1 FROM operations \
             WHERE ledger = ? AND seq > ? {outside}"
        );
        all(Way::Off, &mut places, db, &above, params![ledger.0, int(upto)])?;
    }
    Ok(places.into_iter().map(|((_, asset), sums)| (asset, sums)).collect())
}

/// What all rows add up to. The writer goes on meanwhile; only its log is not cut short.
pub(super) fn recount(db: &Connection) -> rusqlite::Result<Recount> {
    let mut places = Places::new();
    let operations = "SELECT ledger, asset_id, leg, result, amount, 1 FROM operations";
    all(Way::On, &mut places, db, operations, [])?;
    let externals = "SELECT 1, asset_id, direction, 'DONE', amount, 1 FROM externals";
    all(Way::On, &mut places, db, externals, [])?;
    Ok(places.into_iter().map(|((ledger, asset), sums)| (ledger, asset, sums)).collect())
}

/// Operations of a ledger above a number, by number.
pub(super) fn operations(
    db: &Connection,
    ledger: LedgerId,
    after: u64,
    limit: usize,
) -> rusqlite::Result<Vec<Operation>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM operations WHERE ledger = ? AND seq > ? ORDER BY seq LIMIT ?"
    );
    let mut ask = db.prepare_cached(&sql)?;
    let mut found: Vec<_> = ask
        .query_map(params![ledger.0, int(after), most(limit)], operation)?
        .collect::<rusqlite::Result<_>>()?;
    for operation in &mut found {
        if operation.outcome == Outcome::Fenced {
            operation.op.amount = kernel::money::Amount::ZERO;
        }
    }
    Ok(found)
}
