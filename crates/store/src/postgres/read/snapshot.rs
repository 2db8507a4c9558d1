//! Implements `Snapshot` for reconciliation: one instant of the store, as a read transaction.

use super::read_pool::{ReadPool, SnapshotTransaction, rows};
use super::{account_sums, client_keys, sums};
use crate::postgres::columns::{self, int, uint};
use crate::postgres::error::StoreError;
use crate::postgres::named_values;
use crate::postgres::rows::{PartyColumns, operation, parties, read_refund_fee};
use crate::postgres::session::connect::Pooled;
use kernel::agreed::target_party;
use kernel::answer::Cause;
use kernel::flow::table::Flows;
use kernel::ids::{AssetId, Id, LedgerId, Serial};
use kernel::operation::{Key, Operation};
use kernel::ports::Fut;
use kernel::ports::journal::{AccountSums, Line, Recount, Resource, Snapshot, Sums, UnmatchedKey};
use kernel::ports::ledger::Totals;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::Row;
use uuid::Uuid;

/// The count of all rows has no limit. At this interval the store asks, on another connection, whether the
/// server still works on it.
const LOOK: Duration = Duration::from_secs(60);

impl ReadPool {
    pub(crate) async fn snapshot(&self) -> Result<Box<dyn Snapshot>, Cause> {
        Ok(Box::new(self.instant().await?))
    }
}

impl SnapshotTransaction {
    /// Waits for what has no limit, for as long as the server is at it.
    pub(crate) async fn at_length<T>(
        &self,
        counted: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, Cause> {
        let db = self.db()?;
        let mut counted = std::pin::pin!(counted);
        loop {
            if let Ok(counted) = tokio::time::timeout(LOOK, counted.as_mut()).await {
                return Ok(counted?);
            }
            if !self.runs(db.pid()).await? {
                db.give_up();
                return Err(Cause::because("STORE_CUT", "the count goes on nowhere"));
            }
        }
    }
}

impl Snapshot for SnapshotTransaction {
    fn books(&mut self, ledger: LedgerId) -> Fut<'_, Result<Vec<(AssetId, Totals)>, Cause>> {
        self.reading = None;
        Box::pin(async move {
            if !ledger.is_enlisted() {
                return Err(Cause::of("NOT_ENLISTED"));
            }
            Ok(sums::books(self.db()?, ledger).await?)
        })
    }

    fn sums(
        &mut self,
        ledger: LedgerId,
        upto: u64,
    ) -> Fut<'_, Result<Vec<(AssetId, Sums)>, Cause>> {
        self.reading = None;
        Box::pin(async move { Ok(sums::sums(self.db()?, ledger, upto).await?) })
    }

    fn receipts(
        &mut self,
        ledger: LedgerId,
        after: u64,
        limit: usize,
    ) -> Fut<'_, Result<Vec<Operation>, Cause>> {
        self.reading = None;
        Box::pin(async move { Ok(sums::operations(self.db()?, ledger, after, limit).await?) })
    }

    fn recount(&mut self) -> Fut<'_, Result<Recount, Cause>> {
        self.reading = None;
        Box::pin(async move { self.at_length(sums::recount(self.db()?)).await })
    }

    fn unmatched_keys(&mut self, limit: usize) -> Fut<'_, Result<Vec<UnmatchedKey>, Cause>> {
        self.reading = None;
        Box::pin(async move { self.at_length(client_keys::unmatched(self.db()?, limit)).await })
    }

    fn account_sums(
        &mut self,
        ledger: LedgerId,
        upto: u64,
        limit: usize,
    ) -> Fut<'_, Result<Vec<AccountSums>, Cause>> {
        Box::pin(async move {
            if self.reading != Some(ledger) {
                self.cursors = self.cursors.saturating_add(1);
                account_sums::begin(self.db()?, self.cursors, ledger, upto).await?;
                self.reading = Some(ledger);
            }
            // the first page takes as long as the count of all rows
            let page = account_sums::page(self.db()?, self.cursors, limit);
            let page = self.at_length(page).await?;
            if page.is_empty() {
                self.reading = None;
            }
            Ok(page)
        })
    }

    fn complete(&mut self) -> Fut<'_, Result<Serial, Cause>> {
        self.reading = None;
        Box::pin(std::future::ready(Ok(self.complete)))
    }

    fn lines(&mut self, after: Serial, limit: usize) -> Fut<'_, Result<Vec<Line>, Cause>> {
        self.reading = None;
        Box::pin(async move {
            let sql = format!(
                "SELECT {COLUMNS}, {} FROM every_transfer t WHERE transfer_id > $1 \
                 ORDER BY transfer_id LIMIT $2",
                client_keys::COLUMNS
            );
            let db = self.db()?;
            let found = rows(db, &sql, &[&int(after.0), &columns::most(limit)]).await?;
            Ok(completed(db, &self.flows, &found).await?)
        })
    }

    fn lines_of(&mut self, keys: Vec<Key>) -> Fut<'_, Result<Vec<Line>, Cause>> {
        self.reading = None;
        Box::pin(async move {
            let ids: Vec<Uuid> = keys.iter().map(|key| columns::uuid(key.id)).collect();
            let sql = format!(
                "SELECT {COLUMNS}, {} FROM every_transfer t WHERE req_id = ANY($1)",
                client_keys::COLUMNS
            );
            let db = self.db()?;
            let found = rows(db, &sql, &[&ids]).await?;
            Ok(completed(db, &self.flows, &found).await?)
        })
    }

    fn resources(&mut self, prefix: Arc<str>) -> Fut<'_, Result<Vec<Resource>, Cause>> {
        self.reading = None;
        Box::pin(async move { Ok(named_values::resources(self.db()?, &prefix).await?) })
    }

    fn counters(&mut self, prefix: Arc<str>) -> Fut<'_, Result<BTreeMap<Arc<str>, u128>, Cause>> {
        self.reading = None;
        Box::pin(async move { Ok(named_values::counters(self.db()?, &prefix).await?) })
    }
}

const COLUMNS: &str = "flow, state, transfer_id, req_id, source_type, source_account, \
    target_type, target_account, asset_id, amount::text, fee::text, target_asset, \
    target_amount::text, agreed, refund_fee::text";

fn line(flows: &Flows, row: &Row) -> Result<Line, StoreError> {
    let (flow, state) = super::transfers::flow_and_state(flows, row)?;
    let at = PartyColumns { parties: 4, amounts: 8, target: 11 };
    let [source, target] = parties(row, at)?;
    let agreed = columns::read_agreed(row.try_get(13)?)?;
    Ok(Line {
        serial: Serial(uint(row.try_get(2)?)),
        id: columns::id(row.try_get(3)?),
        flow,
        state,
        source,
        target: target_party(agreed.as_ref(), &target).clone(),
        refund_fee: read_refund_fee(row, 14)?,
        key_row: client_keys::key_row(row, 15)?,
        operations: Vec::new(),
    })
}

/// The lines with their operations.
async fn completed(db: &Pooled, flows: &Flows, found: &[Row]) -> Result<Vec<Line>, StoreError> {
    let mut lines = found.iter().map(|row| line(flows, row)).collect::<Result<Vec<_>, _>>()?;
    let ids: Vec<Uuid> = lines.iter().map(|line| columns::uuid(line.id)).collect();
    let sql = format!("SELECT {} FROM operations WHERE req_id = ANY($1)", sums::COLUMNS);
    let mut operations: BTreeMap<Id, Vec<(LedgerId, Operation)>> = BTreeMap::new();
    for row in rows(db, &sql, &[&ids]).await? {
        let (ledger, operation) = operation(&row)?;
        operations.entry(operation.op.key.id).or_default().push((ledger, operation));
    }
    for line in &mut lines {
        line.operations = operations.remove(&line.id).unwrap_or_default();
    }
    Ok(lines)
}
