//! Reads transfers and their histories for the journal's port, by id, number, key, user and age.

use super::read_pool::{ReadPool, one, rows};
use super::{audit_chain, operators};
use crate::audit_chain::AuditChain;
use crate::columns::flow_names;
use crate::history::{birth, linked};
use crate::postgres::columns::{self, int, small, uint};
use crate::postgres::error::StoreError;
use crate::postgres::number_blocks;
use crate::postgres::rows::{COLUMNS, record};
use crate::postgres::session::connect::Pooled;
use kernel::answer::Cause;
use kernel::audit::proof::StoredEntry;
use kernel::audit::{Entry, genesis};
use kernel::flow::table::Flows;
use kernel::ids::{AssetId, Day, FlowId, Id, Millis, Serial, UserId};
use kernel::limits::DailyUsage;
use kernel::operators::{Approval, OpenCase, PastAction};
use kernel::ports::journal::{Count, Linked, TransferPage};
use kernel::record::Record;
use serde::Deserialize;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

/// Numbers and times rise together but for concurrent writes: the maximum difference between their times.
const BESIDE: Millis = 60_000;

/// Every transfer of a batch that has not ended as a whole. The planner takes a plain join of the two for one that reads
/// every transfer that ever was, or every one of a user; OFFSET has each batch read by itself.
pub(crate) const OPEN: &str = "open_batches b CROSS JOIN LATERAL \
    (SELECT * FROM transfers t WHERE t.transfer_id BETWEEN b.batch AND b.hi OFFSET 0) t";

/// Transfers as they are read.
pub(crate) fn records(flows: &Flows, rows: &[Row]) -> Result<Vec<Record>, StoreError> {
    rows.iter().map(|row| record(flows, row)).collect()
}

/// The condition of having ended, of the table under the name `t`.
pub(crate) fn ended(flows: &Flows) -> String {
    let of = |table: &kernel::flow::table::Table| {
        let ends = table.all().filter(|state| table.ends(*state));
        let codes: Vec<_> = ends.map(|state| table.state(state).code.to_string()).collect();
        format!("t.flow = '{}' AND t.state IN ({})", table.flow, codes.join(", "))
    };
    flows.0.iter().map(of).collect::<Vec<_>>().join(" OR ")
}

/// The condition of being open and of a flow that this binary knows, of the table under the name `t`.
fn open(flows: &Flows) -> String {
    let names: Vec<&str> = flows.0.iter().map(|table| table.flow).collect();
    format!("NOT ({}) AND t.flow IN ({})", ended(flows), flow_names(flows, &flows.ids(&names)))
}

pub(crate) async fn get(db: &Pooled, flows: &Flows, ids: &[Id]) -> Result<Vec<Record>, StoreError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<Uuid> = ids.iter().copied().map(columns::uuid).collect();
    let sql = format!("SELECT {COLUMNS} FROM every_transfer t WHERE t.req_id = ANY($1)");
    records(flows, &rows(db, &sql, &[&ids]).await?)
}

/// The transfer of that number.
pub(crate) async fn by_number(
    db: &Pooled,
    flows: &Flows,
    serial: Serial,
) -> Result<Option<Record>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM every_transfer t WHERE t.transfer_id = $1");
    one(db, &sql, &[&int(serial.0)]).await?.map(|row| record(flows, &row)).transpose()
}

/// The transfer that a key is bound to.
async fn bound(
    db: &Pooled,
    flows: &Flows,
    flow: &str,
    scope: &str,
    key: &str,
) -> Result<Option<Record>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM keys k JOIN every_transfer t USING (transfer_id) \
         WHERE k.flow = $1 AND k.scope = $2 AND k.cid = $3"
    );
    one(db, &sql, &[&flow, &scope, &key]).await?.map(|row| record(flows, &row)).transpose()
}

/// A history with its hash chain: a transfer's, or an audit chain's.
async fn history(db: &Pooled, flows: &Flows, id: Id) -> Result<Vec<Linked>, StoreError> {
    if let Some(chain) = AuditChain::of(id) {
        return Ok(linked(genesis(id), audit_chain::entries(chain, db).await?));
    }
    let sql = format!("SELECT {COLUMNS}, t.history FROM every_transfer t WHERE t.req_id = $1");
    let Some(row) = one(db, &sql, &[&columns::uuid(id)]).await? else { return Ok(Vec::new()) };
    Ok(linked(birth(flows, &record(flows, &row)?), entries(row.try_get("history")?)?))
}

/// An entry as it stands in a history: what it says, its hash, the number of its write, that write's
/// lane, and the hash of what was agreed, where something was.
#[derive(Deserialize)]
struct HistoryRow(
    u32,
    u64,
    Option<i16>,
    i16,
    String,
    Option<String>,
    Option<String>,
    String,
    u64,
    u64,
    #[serde(default)] Option<String>,
);

/// The entries of a history's text.
pub(crate) fn entries(text: &str) -> Result<Vec<StoredEntry>, StoreError> {
    let lines: Vec<HistoryRow> = serde_json::from_str(&format!("[{text}]"))
        .map_err(|_| StoreError::Damaged("not a history"))?;
    let read = |hash: &str| kernel::audit::unhex(hash).ok_or(StoreError::Damaged("not a hash"));
    let entry = |line: HistoryRow| {
        let HistoryRow(seq, at, from, to, event, caller, detail, hash, unit, lane, agreed) = line;
        let hash = read(&hash)?;
        let agreed = agreed.as_deref().map(read).transpose()?;
        let entry = Entry { seq, at, from, to, event, caller, detail, agreed };
        Ok(StoredEntry { entry, hash, lane, unit })
    };
    lines.into_iter().map(entry).collect()
}

/// Asks how many open transfers stand where, and since when the oldest of them is open.
pub(crate) fn counting(flows: &Flows) -> String {
    format!(
        "SELECT t.flow, t.state, count(*), min(t.created_at) FROM {OPEN} WHERE {} GROUP BY t.flow, t.state",
        open(flows)
    )
}

/// Open transfers by flow and state.
async fn counts(db: &Pooled, flows: &Flows) -> Result<Vec<Count>, StoreError> {
    let mut counts = Vec::new();
    for row in rows(db, &counting(flows), &[]).await? {
        let (flow, state) = flow_and_state(flows, &row)?;
        let (transfers, oldest) = (uint(row.try_get(2)?), uint(row.try_get(3)?));
        counts.push(Count { flow, state, transfers, oldest });
    }
    counts.sort_by_key(|count| (count.flow, count.state));
    Ok(counts)
}

/// The flow and the state that a row begins with.
pub(crate) fn flow_and_state(
    flows: &Flows,
    row: &Row,
) -> Result<(FlowId, kernel::flow::table::S), StoreError> {
    let flow = flows.named(row.try_get(0)?).ok_or(StoreError::Damaged("not a flow of ours"))?;
    let state = flows.table(flow).coded(row.try_get(1)?);
    Ok((flow, state.ok_or(StoreError::Damaged("not a state of the flow"))?))
}

async fn open_of(db: &Pooled, flows: &Flows, user: UserId) -> Result<Vec<Record>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM {OPEN} WHERE t.user_id = $1 AND t.owner IS NULL AND {} ORDER BY t.transfer_id",
        open(flows)
    );
    records(flows, &rows(db, &sql, &[&int(user.0)]).await?)
}

/// Open transfers at or below an id. What is of a flow that this binary does not know counts as open:
/// a ledger keeps its results until a binary that knows the flow has read how it ended.
async fn open_below(db: &Pooled, flows: &Flows, id: Id) -> Result<Vec<Id>, StoreError> {
    let sql = format!(
        "SELECT t.req_id FROM {OPEN} WHERE t.req_id <= $1 AND NOT ({}) ORDER BY t.transfer_id",
        ended(flows)
    );
    let found = rows(db, &sql, &[&columns::uuid(id)]).await?;
    found.iter().map(|row| Ok(columns::id(row.try_get(0)?))).collect()
}

async fn open_older_than(
    db: &Pooled,
    flows: &Flows,
    opened: Millis,
    limit: usize,
) -> Result<Vec<Record>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM {OPEN} WHERE b.batch < (SELECT portage_first_at($2)) AND t.created_at <= $1 \
         AND {} ORDER BY b.batch, t.transfer_id LIMIT $3",
        open(flows)
    );
    let until = int(opened.saturating_add(BESIDE));
    let found = rows(db, &sql, &[&int(opened), &until, &columns::most(limit)]).await?;
    records(flows, &found)
}

/// What a user has moved on a day: transfers of all assets, which are counted under a number that
/// no asset has, and the amount of one.
async fn daily_usage(
    db: &Pooled,
    user: UserId,
    day: Day,
    asset: AssetId,
) -> Result<DailyUsage, StoreError> {
    let sql = "SELECT coalesce(max(transfers) FILTER (WHERE asset_id = 0), 0), \
               coalesce(max(amount) FILTER (WHERE asset_id = $3), 0)::text FROM limits_tb \
               WHERE day = $1 AND user_id = $2 AND asset_id IN (0, $3)";
    match one(db, sql, &[&small(day.0), &int(user.0), &small(asset.0)]).await? {
        Some(row) => Ok(DailyUsage {
            transfers: uint(row.try_get(0)?),
            amount: columns::read_amount(row.try_get(1)?)?,
        }),
        None => Ok(DailyUsage::default()),
    }
}

impl ReadPool {
    pub(crate) async fn get(&self, ids: &[Id]) -> Result<Vec<Record>, Cause> {
        Ok(get(&self.question().await?, &self.flows, ids).await?)
    }

    pub(crate) async fn find_by_idempotency_key(
        &self,
        flow: FlowId,
        scope: &str,
        key: &str,
    ) -> Result<Option<Record>, Cause> {
        let flow = self.flows.table(flow).flow;
        Ok(bound(&self.question().await?, &self.flows, flow, scope, key).await?)
    }

    pub(crate) async fn history(&self, id: Id) -> Result<Vec<Linked>, Cause> {
        Ok(history(&self.question().await?, &self.flows, id).await?)
    }

    pub(crate) async fn open_below(&self, id: Id) -> Result<Vec<Id>, Cause> {
        Ok(open_below(&self.question().await?, &self.flows, id).await?)
    }

    pub(crate) async fn open_of(&self, user: UserId) -> Result<Vec<Record>, Cause> {
        Ok(open_of(&self.question().await?, &self.flows, user).await?)
    }

    pub(crate) async fn before_time(&self, at: Millis) -> Result<Serial, Cause> {
        let at = int(at.saturating_sub(BESIDE));
        let found = one(&self.search().await?, "SELECT portage_first_at($1)", &[&at]).await?;
        let row = found.ok_or_else(|| Cause::of("STORE_DAMAGED"))?;
        let first: i64 = row.try_get(0).map_err(StoreError::from)?;
        Ok(Serial(uint(first.saturating_sub(1))))
    }

    pub(crate) async fn transfers_after(
        &self,
        after: Serial,
        flow: Option<FlowId>,
        limit: usize,
    ) -> Result<TransferPage, Cause> {
        let db = self.search().await?;
        // before the statement begins, which then shows every transfer up to it
        let complete = number_blocks::complete(&db).await?;
        // a statement each: one plan for both would use no index of the flow
        let of_flow = if flow.is_some() { "AND t.flow COLLATE \"C\" = $4" } else { "" };
        let sql = format!(
            "SELECT {COLUMNS} FROM every_transfer t WHERE t.transfer_id > $1 AND t.transfer_id <= $2 \
             {of_flow} ORDER BY t.transfer_id LIMIT $3"
        );
        let bounds = (int(after.0), int(complete.0), columns::most(limit));
        let flow = flow.map(|flow| self.flows.table(flow).flow);
        let mut values: Vec<&(dyn ToSql + Sync)> = vec![&bounds.0, &bounds.1, &bounds.2];
        if let Some(flow) = &flow {
            values.push(flow);
        }
        let found = rows(&db, &sql, &values).await?;
        Ok(TransferPage { records: records(&self.flows, &found)?, complete })
    }

    pub(crate) async fn counts(&self) -> Result<Vec<Count>, Cause> {
        Ok(counts(&self.question().await?, &self.flows).await?)
    }

    pub(crate) async fn open_older_than(
        &self,
        opened: Millis,
        limit: usize,
    ) -> Result<Vec<Record>, Cause> {
        Ok(open_older_than(&self.question().await?, &self.flows, opened, limit).await?)
    }

    pub(crate) async fn open_cases(&self) -> Result<Vec<OpenCase>, Cause> {
        Ok(operators::open_cases(&self.question().await?).await?)
    }

    pub(crate) async fn past_action(
        &self,
        caller: &str,
        key: &str,
    ) -> Result<Option<PastAction>, Cause> {
        Ok(operators::past_action(&self.question().await?, caller, key).await?)
    }

    pub(crate) async fn actions_on(
        &self,
        kind: &str,
        subject: &str,
    ) -> Result<Vec<PastAction>, Cause> {
        Ok(operators::actions_on(&self.question().await?, kind, subject).await?)
    }

    pub(crate) async fn resumes(&self) -> Result<Vec<PastAction>, Cause> {
        Ok(operators::resumes(&self.question().await?).await?)
    }

    pub(crate) async fn approval(&self, id: Id) -> Result<Option<Approval>, Cause> {
        Ok(operators::approval(&self.question().await?, id, self.manual_now()).await?)
    }

    pub(crate) async fn pending_approvals(&self) -> Result<Vec<Approval>, Cause> {
        Ok(operators::pending_approvals(&self.question().await?, self.manual_now()).await?)
    }

    pub(crate) async fn daily_usage(
        &self,
        user: UserId,
        day: Day,
        asset: AssetId,
    ) -> Result<DailyUsage, Cause> {
        Ok(daily_usage(&self.question().await?, user, day, asset).await?)
    }
}
