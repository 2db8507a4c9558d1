//! Buffers users' daily usage while the writer fills one write: raises it, gives it back, and writes
//! each row once at the end.

use super::batch::WriteBatch;
use crate::sqlite::columns::{self, int, uint};
use kernel::ids::{AssetId, Day, UserId};
use kernel::limits::DailyUsage;
use kernel::ports::ledger::External;
use kernel::rules::{ALL_ASSETS, UsageKey};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::collections::BTreeMap;

/// The number of rows that one write forgets: few enough that no write waits long for it.
const AT_ONCE: i64 = 10_000;

/// The rows that a write has read: as they are stored, and as the units so far left them.
#[derive(Debug, Default)]
pub(crate) struct UsageBuffer(BTreeMap<UsageKey, (DailyUsage, DailyUsage)>);

/// Reads a row; zero where there is none.
fn row(db: &Connection, (day, user, asset): UsageKey) -> rusqlite::Result<DailyUsage> {
    let sql = "SELECT transfers, amount FROM limits_tb \
               WHERE user_id = ? AND day = ? AND asset_id = ?";
    let read = |row: &Row<'_>| {
        let amount = columns::read_amount(1, row.get_ref(1)?.as_str()?)?;
        Ok(DailyUsage { transfers: uint(row.get(0)?), amount })
    };
    let key = params![int(user.0), day.0, asset.0];
    Ok(db.prepare_cached(sql)?.query_row(key, read).optional()?.unwrap_or_default())
}

/// A user's usage on a day: the number of transfers of all assets, and the amount of one asset.
pub(crate) fn daily_usage(
    db: &Connection,
    user: UserId,
    day: Day,
    asset: AssetId,
) -> rusqlite::Result<DailyUsage> {
    let transfers = row(db, (day, user, ALL_ASSETS))?.transfers;
    Ok(DailyUsage { transfers, amount: row(db, (day, user, asset))?.amount })
}

impl UsageBuffer {
    /// The usage after the units of this write so far.
    pub(crate) fn daily_usage(
        &mut self,
        db: &Connection,
        spend: UsageKey,
    ) -> rusqlite::Result<DailyUsage> {
        if let Some((_, now)) = self.0.get(&spend) {
            return Ok(*now);
        }
        let stored = row(db, spend)?;
        self.0.insert(spend, (stored, stored));
        Ok(stored)
    }

    /// Changes a row that was asked for, or forgotten.
    pub(crate) fn put(&mut self, spend: UsageKey, spent: DailyUsage) {
        self.0.entry(spend).or_default().1 = spent;
    }
}

impl WriteBatch<'_> {
    /// Forgets the usage of the days before a day, a bounded part of it in one write.
    pub(crate) fn forget_days(&mut self, before: Day) -> rusqlite::Result<()> {
        self.days.0.retain(|(day, ..), _| *day >= before);
        let sql = "DELETE FROM limits_tb WHERE (day, user_id, asset_id) IN \
                     (SELECT day, user_id, asset_id FROM limits_tb WHERE day < ?1 \
                      ORDER BY day LIMIT ?2)";
        self.db.prepare_cached(sql)?.execute(params![before.0, AT_ONCE])?;
        let sql =
            "DELETE FROM service_state WHERE name >= 'counter/' || ?1 AND name < 'counter/' || ?2";
        for (from, to) in External::forgotten_counters(before) {
            self.db.prepare_cached(sql)?.execute(params![from, to])?;
        }
        Ok(())
    }

    pub(crate) fn write_days(&mut self) -> rusqlite::Result<()> {
        let sql = "INSERT INTO limits_tb VALUES (?1, ?2, ?3, ?4, ?5) \
                   ON CONFLICT DO UPDATE SET transfers = ?4, amount = ?5";
        for ((day, user, asset), (stored, now)) in std::mem::take(&mut self.days.0) {
            if stored != now {
                let (transfers, amount) = (int(now.transfers), columns::amount(now.amount));
                let row = params![int(user.0), day.0, asset.0, transfers, amount];
                self.db.prepare_cached(sql)?.execute(row)?;
            }
        }
        Ok(())
    }
}
