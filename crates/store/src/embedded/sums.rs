//! Sums over stored rows, added up here since SQL knows no such large numbers.

use super::funding::operations::{COLUMNS, operation};
use super::text::{self, int, most};
use kernel::ids::{AssetId, LedgerId};
use kernel::life::Leg;
use kernel::ports::journal::Sums;
use kernel::ports::ledger::Totals;
use kernel::unit::{Operation, Outcome};
use rusqlite::{Connection, params};
use std::collections::BTreeMap;

fn add(sum: &mut i128, more: i128) -> rusqlite::Result<()> {
    *sum = sum.checked_add(more).ok_or_else(|| text::damaged(0, "a sum too large"))?;
    Ok(())
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

/// What the operation rows of a ledger add up to, those above a number left out.
pub(super) fn sums(
    db: &Connection,
    ledger: LedgerId,
    upto: u64,
) -> rusqlite::Result<Vec<(AssetId, Sums)>> {
    let mut sums: BTreeMap<AssetId, Sums> = BTreeMap::new();
    let sql = "SELECT asset_id, leg, result, amount FROM operations WHERE ledger = ? AND seq <= ?";
    let mut ask = db.prepare_cached(sql)?;
    let mut rows = ask.query(params![ledger.0, int(upto)])?;
    while let Some(row) = rows.next()? {
        let of = sums.entry(AssetId(row.get(0)?)).or_default();
        of.count += 1;
        if row.get_ref(2)?.as_str()? != "DONE" {
            continue;
        }
        let amount = text::read_signed(3, row.get_ref(3)?.as_str()?)?;
        match Leg::parse(row.get_ref(1)?.as_str()?) {
            Some(Leg::Withdraw) => add(&mut of.withdraw, amount)?,
            Some(Leg::Deposit) => add(&mut of.deposit, amount)?,
            Some(Leg::Settle) => add(&mut of.settle, amount)?,
            Some(Leg::Refund) => add(&mut of.refund, amount)?,
            Some(Leg::Move | Leg::Quarantine | Leg::Cost) | None => {
                return Err(text::damaged(1, "not a leg of a ledger"));
            }
        }
    }
    if ledger == LedgerId::FUNDING {
        externals(db, &mut sums)?;
    }
    Ok(sums.into_iter().collect())
}

fn externals(db: &Connection, sums: &mut BTreeMap<AssetId, Sums>) -> rusqlite::Result<()> {
    let mut ask = db.prepare_cached("SELECT asset_id, direction, amount FROM externals")?;
    let mut rows = ask.query([])?;
    while let Some(row) = rows.next()? {
        let of = sums.entry(AssetId(row.get(0)?)).or_default();
        let amount = text::read_signed(2, row.get_ref(2)?.as_str()?)?;
        let signed = if row.get_ref(1)?.as_str()? == "IN" { amount } else { -amount };
        add(&mut of.external, signed)?;
    }
    Ok(())
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
