//! Attempts on chains, as they are read.

use super::read_pool::rows;
use super::transfers;
use crate::postgres::columns::{self, count, uint};
use crate::postgres::error::StoreError;
use crate::postgres::session::connect::Pooled;
use kernel::attempt::{Attempt, AttemptId, Form, Purpose};
use kernel::flow::table::Flows;
use kernel::ids::{ChainId, Id};
use kernel::record::Record;
use tokio_postgres::Row;
use uuid::Uuid;

/// Attempts of these flows whose time has come, with their members as they stand.
pub(crate) async fn due(
    db: &Pooled,
    flows: &Flows,
    (now, names): (Option<i64>, &str),
    limit: usize,
) -> Result<Vec<Attempt>, StoreError> {
    let sql = format!(
        "SELECT attempt_id, version, chain, flow, state, lane, lock, members, due_at \
         FROM attempts WHERE due_at <= (SELECT coalesce($1::bigint, portage_now())) \
         AND flow IN ({names}) LIMIT $2"
    );
    let mut due = Vec::new();
    for row in rows(db, &sql, &[&now, &columns::most(limit)]).await? {
        let members: Vec<Uuid> = row.try_get(7)?;
        let ids: Vec<Id> = members.into_iter().map(columns::id).collect();
        let members = transfers::get(db, flows, &ids).await?;
        due.push(attempt(db, flows, &row, in_order(&ids, members)).await?);
    }
    Ok(due)
}

fn in_order(ids: &[Id], mut members: Vec<Record>) -> Vec<Record> {
    members.sort_by_key(|record| ids.iter().position(|id| *id == record.id));
    members
}

async fn attempt(
    db: &Pooled,
    flows: &Flows,
    row: &Row,
    members: Vec<Record>,
) -> Result<Attempt, StoreError> {
    let uuid: Uuid = row.try_get(0)?;
    let flow = flows.named(row.try_get(3)?).ok_or(StoreError::Damaged("not a flow of ours"))?;
    let state = flows.table(flow).coded(row.try_get(4)?);
    let chain = u8::try_from(row.try_get::<_, i16>(2)?);
    Ok(Attempt {
        id: AttemptId(uuid.as_u128()),
        chain: ChainId(chain.map_err(|_| StoreError::Damaged("not a chain"))?),
        flow,
        state: state.ok_or(StoreError::Damaged("not a state of the flow"))?,
        version: count(row.try_get(1)?),
        lane: row.try_get::<_, &str>(5)?.into(),
        lock: uint(row.try_get(6)?),
        members: members.into(),
        forms: forms(db, uuid).await?,
        due_at: row.try_get::<_, Option<i64>>(8)?.map(uint),
    })
}

async fn forms(db: &Pooled, attempt: Uuid) -> Result<Vec<Form>, StoreError> {
    let sql = "SELECT purpose, hash, bytes, repeatable, expires FROM attempt_forms \
               WHERE attempt_id = $1 ORDER BY n";
    let form = |row: &Row| {
        let purpose: &str = row.try_get(0)?;
        let hash: &[u8] = row.try_get(1)?;
        Ok(Form {
            purpose: if purpose == "PAY" { Purpose::Pay } else { Purpose::Void },
            hash: hash.try_into().map_err(|_| StoreError::Damaged("not a hash"))?,
            bytes: row.try_get::<_, Vec<u8>>(2)?.into(),
            repeatable: row.try_get(3)?,
            expires: uint(row.try_get(4)?),
        })
    };
    rows(db, sql, &[&attempt]).await?.iter().map(form).collect()
}
