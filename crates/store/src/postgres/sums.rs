//! Sums over stored rows, and operations as they are listed.

use super::ask::rows;
use super::fault::Fault;
use super::fetch::operation;
use super::text::{self, int, uint};
use deadpool_postgres::Client;
use kernel::ids::{AssetId, LedgerId};
use kernel::life::Leg;
use kernel::money::Amount;
use kernel::ports::journal::Sums;
use kernel::ports::ledger::Totals;
use kernel::unit::{Operation, Outcome};
use std::collections::BTreeMap;
use tokio_postgres::Row;

fn add(sum: &mut i128, more: i128) -> Result<(), Fault> {
    *sum = sum.checked_add(more).ok_or(Fault::Damaged("a sum too large"))?;
    Ok(())
}

/// An asset's number in a column.
fn asset(row: &Row, column: usize) -> Result<AssetId, Fault> {
    Ok(AssetId(text::count(row.try_get(column)?)))
}

/// Funding's books, recomputed from its balances.
pub(super) async fn books(db: &Client) -> Result<Vec<(AssetId, Totals)>, Fault> {
    let sql = "SELECT asset_id, 'USERS', sum(available)::text, sum(frozen)::text FROM balances_tb \
               WHERE account_type = 'FUNDING' GROUP BY asset_id \
               UNION ALL SELECT asset_id, book, sum(amount)::text, '0' FROM books \
               WHERE account_type = 'FUNDING' GROUP BY asset_id, book";
    let mut totals: BTreeMap<AssetId, Totals> = BTreeMap::new();
    for row in rows(db, sql, &[]).await? {
        let of = totals.entry(asset(&row, 0)?).or_default();
        let amount = text::read_signed(row.try_get(2)?)?;
        match row.try_get(1)? {
            "USERS" => {
                add(&mut of.users, amount)?;
                add(&mut of.frozen, text::read_signed(row.try_get(3)?)?)?;
            }
            "CLEARING" => add(&mut of.clearing, amount)?,
            _ => add(&mut of.world, amount)?,
        }
    }
    Ok(totals.into_iter().collect())
}

/// What the operation rows of a ledger add up to, those above a number left out.
pub(super) async fn sums(
    db: &Client,
    ledger: LedgerId,
    upto: u64,
) -> Result<Vec<(AssetId, Sums)>, Fault> {
    let sql = "SELECT asset_id, leg, result, count(*), sum(amount)::text FROM operations \
               WHERE ledger = $1 AND seq <= $2 GROUP BY asset_id, leg, result";
    let mut sums: BTreeMap<AssetId, Sums> = BTreeMap::new();
    for row in rows(db, sql, &[&i16::from(ledger.0), &int(upto)]).await? {
        let of = sums.entry(asset(&row, 0)?).or_default();
        of.count = of.count.saturating_add(uint(row.try_get(3)?));
        if row.try_get::<_, &str>(2)? != "DONE" {
            continue;
        }
        let amount = text::read_signed(row.try_get(4)?)?;
        match Leg::parse(row.try_get(1)?) {
            Some(Leg::Withdraw) => add(&mut of.withdraw, amount)?,
            Some(Leg::Deposit) => add(&mut of.deposit, amount)?,
            Some(Leg::Settle) => add(&mut of.settle, amount)?,
            Some(Leg::Refund) => add(&mut of.refund, amount)?,
            Some(Leg::Move | Leg::Quarantine | Leg::Cost) | None => {
                return Err(Fault::Damaged("not a leg of a ledger"));
            }
        }
    }
    if ledger == LedgerId::FUNDING {
        externals(db, &mut sums).await?;
    }
    Ok(sums.into_iter().collect())
}

async fn externals(db: &Client, sums: &mut BTreeMap<AssetId, Sums>) -> Result<(), Fault> {
    let sql = "SELECT asset_id, sum(CASE direction WHEN 'IN' THEN amount ELSE -amount END)::text \
               FROM externals GROUP BY asset_id";
    for row in rows(db, sql, &[]).await? {
        let of = sums.entry(asset(&row, 0)?).or_default();
        add(&mut of.external, text::read_signed(row.try_get(1)?)?)?;
    }
    Ok(())
}

/// The columns that [`operation`] reads.
pub(super) const COLUMNS: &str =
    "req_id, leg, result, code, seq, asset_id, amount::text, account, ledger";

/// Operations of a ledger above a number, by number.
pub(super) async fn operations(
    db: &Client,
    ledger: LedgerId,
    after: u64,
    limit: usize,
) -> Result<Vec<Operation>, Fault> {
    let sql = format!(
        "SELECT {COLUMNS} FROM operations WHERE ledger = $1 AND seq > $2 ORDER BY seq LIMIT $3"
    );
    let row = |row: &Row| {
        let (_, mut operation) = operation(row)?;
        if operation.outcome == Outcome::Fenced {
            operation.op.amount = Amount::ZERO;
        }
        Ok(operation)
    };
    let asked = rows(db, &sql, &[&i16::from(ledger.0), &int(after), &text::most(limit)]).await?;
    asked.iter().map(row).collect()
}
