//! What users moved on a day, raised and given back within one write and written once at its end.

use super::group::Group;
use super::text::{self, int, uint};
use crate::rules::{ALL, Spend};
use kernel::ids::{AssetId, UserId};
use kernel::people::{Day, Spent};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::collections::BTreeMap;

/// So many rows are forgotten in one write: few enough that nobody waits for it.
const AT_ONCE: i64 = 10_000;

/// The rows that a write asked for: as they are stored, and as they are by now.
#[derive(Debug, Default)]
pub(super) struct Days(BTreeMap<Spend, (Spent, Spent)>);

/// What a row says; nothing where there is none.
fn row(db: &Connection, (day, user, asset): Spend) -> rusqlite::Result<Spent> {
    let sql = "SELECT transfers, amount FROM limits_tb \
               WHERE user_id = ? AND day = ? AND asset_id = ?";
    let read = |row: &Row<'_>| {
        let amount = text::read_amount(1, row.get_ref(1)?.as_str()?)?;
        Ok(Spent { transfers: uint(row.get(0)?), amount })
    };
    let key = params![int(user.0), day.0, asset.0];
    Ok(db.prepare_cached(sql)?.query_row(key, read).optional()?.unwrap_or_default())
}

/// What a user has moved on a day: transfers of all assets, and the amount of one.
pub(super) fn spent(
    db: &Connection,
    user: UserId,
    day: Day,
    asset: AssetId,
) -> rusqlite::Result<Spent> {
    let transfers = row(db, (day, user, ALL))?.transfers;
    Ok(Spent { transfers, amount: row(db, (day, user, asset))?.amount })
}

impl Days {
    /// What a row says after what this write did so far.
    pub(super) fn spent(&mut self, db: &Connection, spend: Spend) -> rusqlite::Result<Spent> {
        if let Some((_, now)) = self.0.get(&spend) {
            return Ok(*now);
        }
        let stored = row(db, spend)?;
        self.0.insert(spend, (stored, stored));
        Ok(stored)
    }

    /// Changes a row that was asked for, or forgotten.
    pub(super) fn put(&mut self, spend: Spend, spent: Spent) {
        self.0.entry(spend).or_default().1 = spent;
    }
}

impl Group<'_> {
    /// Forgets what was moved before a day, a bounded part of it in one write.
    pub(super) fn forget_days(&mut self, before: Day) -> rusqlite::Result<()> {
        self.days.0.retain(|(day, ..), _| *day >= before);
        let sql = "DELETE FROM limits_tb WHERE (day, user_id, asset_id) IN \
                     (SELECT day, user_id, asset_id FROM limits_tb WHERE day < ?1 \
                      ORDER BY day LIMIT ?2)";
        self.db.prepare_cached(sql)?.execute(params![before.0, AT_ONCE])?;
        Ok(())
    }

    /// Writes what changed.
    pub(super) fn write_days(&mut self) -> rusqlite::Result<()> {
        let sql = "INSERT INTO limits_tb VALUES (?1, ?2, ?3, ?4, ?5) \
                   ON CONFLICT DO UPDATE SET transfers = ?4, amount = ?5";
        for ((day, user, asset), (stored, now)) in std::mem::take(&mut self.days.0) {
            if stored != now {
                let (transfers, amount) = (int(now.transfers), text::amount(now.amount));
                let row = params![int(user.0), day.0, asset.0, transfers, amount];
                self.db.prepare_cached(sql)?.execute(row)?;
            }
        }
        Ok(())
    }
}
