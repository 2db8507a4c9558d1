//! Sums over stored rows, added up here since SQL knows no such large numbers.

use super::funding::operations::{COLUMNS, operation};
use super::text::{self, int, most};
use kernel::ids::{AssetId, LedgerId};
use kernel::life::Leg;
use kernel::ports::journal::{Recount, Sums};
use kernel::ports::ledger::Totals;
use kernel::unit::{Operation, Outcome};
use rusqlite::{Connection, Params, Row, params};
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

/// Sums of one ledger and asset each.
type Places = BTreeMap<(LedgerId, AssetId), Sums>;

/// What is done with a row that stands for so many operations.
#[derive(Clone, Copy)]
enum Way {
    On,
    Off,
}

impl Way {
    /// Reads (ledger, asset_id, leg, result, amount, count).
    fn take(self, places: &mut Places, row: &Row<'_>) -> rusqlite::Result<()> {
        let of = places.entry((LedgerId(row.get(0)?), AssetId(row.get(1)?))).or_default();
        let (leg, count) = (row.get_ref(2)?.as_str()?, text::uint(row.get(5)?));
        let done = row.get_ref(3)?.as_str()? == "DONE";
        let amount = match self {
            _ if !done => 0,
            Self::On => text::read_signed(4, row.get_ref(4)?.as_str()?)?,
            Self::Off => text::read_signed(4, row.get_ref(4)?.as_str()?)?.saturating_neg(),
        };
        match leg {
            "IN" => return add(&mut of.external, amount),
            "OUT" => return add(&mut of.external, amount.saturating_neg()),
            _ => {}
        }
        of.count = match self {
            Self::On => of.count.saturating_add(count),
            Self::Off => of.count.saturating_sub(count),
        };
        match Leg::parse(leg) {
            _ if !done => Ok(()),
            Some(Leg::Withdraw) => add(&mut of.withdraw, amount),
            Some(Leg::Deposit) => add(&mut of.deposit, amount),
            Some(Leg::Settle) => add(&mut of.settle, amount),
            Some(Leg::Refund) => add(&mut of.refund, amount),
            Some(Leg::Move | Leg::Quarantine | Leg::Cost) | None => {
                Err(text::damaged(2, "not a leg of a ledger"))
            }
        }
    }

    /// Takes every row of an answer.
    fn all(
        self,
        places: &mut Places,
        db: &Connection,
        sql: &str,
        key: impl Params,
    ) -> rusqlite::Result<()> {
        let mut ask = db.prepare_cached(sql)?;
        let mut rows = ask.query(key)?;
        while let Some(row) = rows.next()? {
            self.take(places, row)?;
        }
        Ok(())
    }
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
    Way::On.all(&mut places, db, running, [ledger.0])?;
    // above the last there is nothing to take off
    if int(upto) < i64::MAX {
        let outside = if ledger == LedgerId::FUNDING { "" } else { "AND ledger <> 1" };
        let above = format!(
            "SELECT ledger, asset_id, leg, result, amount, 1 FROM operations \
             WHERE ledger = ? AND seq > ? {outside}"
        );
        Way::Off.all(&mut places, db, &above, params![ledger.0, int(upto)])?;
    }
    Ok(places.into_iter().map(|((_, asset), sums)| (asset, sums)).collect())
}

/// What all rows add up to. The writer goes on meanwhile; only its log is not cut short.
pub(super) fn recount(db: &Connection) -> rusqlite::Result<Recount> {
    let mut places = Places::new();
    let operations = "SELECT ledger, asset_id, leg, result, amount, 1 FROM operations";
    Way::On.all(&mut places, db, operations, [])?;
    let externals = "SELECT 1, asset_id, direction, 'DONE', amount, 1 FROM externals";
    Way::On.all(&mut places, db, externals, [])?;
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
