//! Gathers running sums while the writer fills a write, and writes them with it: what the rows of
//! `operations` and `externals` add up to. So no reader has to read all rows for a sum.

use super::batch::WriteBatch;
use crate::sqlite::columns;
use kernel::ids::{AssetId, LedgerId};
use kernel::money::Amount;
use rusqlite::{OptionalExtension, params};
use std::collections::BTreeMap;

/// What is added up together: ledger, asset, leg and result, as they are spelt in a row.
type SumKey = (LedgerId, AssetId, &'static str, &'static str);

/// How many rows, and what the DONE ones among them moved.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    count: u64,
    amount: i128,
}

/// The sums that one write adds.
#[derive(Debug, Default)]
pub(crate) struct RunningSums(BTreeMap<SumKey, Sum>);

impl RunningSums {
    pub(crate) fn add(&mut self, place: SumKey, amount: Amount) -> rusqlite::Result<()> {
        let sum = self.0.entry(place).or_default();
        let more = if place.3 == "DONE" { amount.signed() } else { Some(0) };
        let all = more.and_then(|more| sum.amount.checked_add(more)).ok_or_else(large)?;
        *sum = Sum { count: sum.count.saturating_add(1), amount: all };
        Ok(())
    }
}

fn large() -> rusqlite::Error {
    columns::damaged(0, "a sum too large")
}

impl WriteBatch<'_> {
    /// Writes what was gathered; the text of a sum is added up here, not by SQL.
    pub(crate) fn write_running(&self) -> rusqlite::Result<()> {
        let ask = "SELECT amount FROM running_sums \
                   WHERE ledger = ? AND asset_id = ? AND leg = ? AND result = ?";
        let put = "INSERT INTO running_sums (ledger, asset_id, leg, result, count, amount) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
                   ON CONFLICT DO UPDATE SET count = count + ?5, amount = ?6";
        let read = |row: &rusqlite::Row<'_>| columns::read_signed(0, row.get_ref(0)?.as_str()?);
        for ((ledger, asset, leg, result), sum) in &self.running.0 {
            let key = params![ledger.0, asset.0, leg, result];
            let before = self.db.prepare_cached(ask)?.query_row(key, read).optional()?;
            let all = before.unwrap_or(0).checked_add(sum.amount).ok_or_else(large)?.to_string();
            let row = params![ledger.0, asset.0, leg, result, columns::int(sum.count), all];
            self.db.prepare_cached(put)?.execute(row)?;
        }
        Ok(())
    }
}
