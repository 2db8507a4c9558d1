//! Reads attempts for the journal's port, each with its forms and with its members as they are now.

use crate::columns::flow_names;
use crate::postgres::columns::{self, count, uint};
use crate::postgres::error::StoreError;
use crate::postgres::read::read_pool::{ReadPool, rows};
use crate::postgres::rows::{COLUMNS, record};
use crate::postgres::session::connect::Pooled;
use kernel::answer::Cause;
use kernel::attempt::{Attempt, AttemptId, Form, Lock, Purpose};
use kernel::flow::table::Flows;
use kernel::ids::{ChainId, Id};
use kernel::record::Record;
use std::collections::HashMap;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

/// What a form does with the lock, as its column says.
pub(crate) const fn purpose(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Pay => "PAY",
        Purpose::Void => "VOID",
    }
}

/// The attempts `a` that a rule finds, of the flows that this binary knows, in the rule's order.
pub(crate) async fn all(
    db: &Pooled,
    flows: &Flows,
    rule: &str,
    params: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Attempt>, StoreError> {
    let names: Vec<_> = flows.0.iter().map(|table| table.flow).collect();
    let known = flow_names(flows, &flows.ids(&names));
    let sql = format!(
        "SELECT a.attempt_id, a.version, a.chain, a.flow, a.state, a.lane, a.lock, a.sent, \
         a.due_at, a.closed_at FROM attempts a WHERE a.flow IN ({known}) AND {rule}"
    );
    let found = rows(db, &sql, params).await?;
    let ids: Vec<Uuid> =
        found.iter().map(|row| row.try_get(0)).collect::<Result<_, tokio_postgres::Error>>()?;
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut forms = forms(db, &ids).await?;
    let mut members = members(db, flows, &ids).await?;
    let whole = |row: &Row| {
        let id: Uuid = row.try_get(0)?;
        let (members, forms) = (members.remove(&id), forms.remove(&id));
        attempt(flows, row, members.unwrap_or_default(), forms.unwrap_or_default())
    };
    found.iter().map(whole).collect()
}

fn attempt(
    flows: &Flows,
    row: &Row,
    members: Vec<Record>,
    forms: Vec<Form>,
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
        lock: Lock(row.try_get::<_, &str>(6)?.into()),
        members: members.into(),
        forms,
        sent: row.try_get(7)?,
        due_at: row.try_get::<_, Option<i64>>(8)?.map(uint),
        closed: row.try_get::<_, Option<i64>>(9)?.map(uint),
    })
}

/// The members of each, in their order.
async fn members(
    db: &Pooled,
    flows: &Flows,
    ids: &[Uuid],
) -> Result<HashMap<Uuid, Vec<Record>>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS}, m.attempt_id FROM attempt_members m \
         JOIN every_transfer t ON t.transfer_id = m.transfer_id \
         WHERE m.attempt_id = ANY($1) ORDER BY m.attempt_id, m.n"
    );
    let mut found: HashMap<Uuid, Vec<Record>> = HashMap::new();
    for row in rows(db, &sql, &[&ids]).await? {
        found.entry(row.try_get("attempt_id")?).or_default().push(record(flows, &row)?);
    }
    Ok(found)
}

/// The forms of each, in the order of signing.
async fn forms(db: &Pooled, ids: &[Uuid]) -> Result<HashMap<Uuid, Vec<Form>>, StoreError> {
    let sql = "SELECT purpose, name, bytes, repeatable, expires, anchor, reference, attempt_id \
               FROM attempt_forms WHERE attempt_id = ANY($1) ORDER BY attempt_id, n";
    let mut found: HashMap<Uuid, Vec<Form>> = HashMap::new();
    for row in rows(db, sql, &[&ids]).await? {
        let form = Form {
            purpose: read_purpose(row.try_get(0)?)?,
            name: row.try_get::<_, Vec<u8>>(1)?.into(),
            bytes: row.try_get::<_, Vec<u8>>(2)?.into(),
            repeatable: row.try_get(3)?,
            expires: row.try_get::<_, Option<i64>>(4)?.map(uint),
            anchor: row.try_get::<_, Option<i64>>(5)?.map(uint),
            reference: row.try_get::<_, Option<&str>>(6)?.map(Into::into),
        };
        found.entry(row.try_get(7)?).or_default().push(form);
    }
    Ok(found)
}

fn read_purpose(text: &str) -> Result<Purpose, StoreError> {
    let known = [Purpose::Pay, Purpose::Void].into_iter().find(|known| purpose(*known) == text);
    known.ok_or(StoreError::Damaged("not a form's purpose"))
}

impl ReadPool {
    /// Every attempt that one of these transfers is a member of, oldest first.
    pub(crate) async fn attempts_of(&self, ids: &[Id]) -> Result<Vec<Attempt>, Cause> {
        let ids: Vec<Uuid> = ids.iter().copied().map(columns::uuid).collect();
        let rule = "a.attempt_id IN (SELECT m.attempt_id FROM every_transfer t \
                      JOIN attempt_members m ON m.transfer_id = t.transfer_id \
                      WHERE t.req_id = ANY($1)) ORDER BY a.serial";
        Ok(all(&self.question().await?, &self.flows, rule, &[&ids]).await?)
    }

    /// The open attempts on a chain, oldest first.
    pub(crate) async fn open_attempts(&self, chain: ChainId) -> Result<Vec<Attempt>, Cause> {
        let rule = "a.closed_at IS NULL AND a.chain = $1 ORDER BY a.serial";
        let chain = i16::from(chain.0);
        Ok(all(&self.question().await?, &self.flows, rule, &[&chain]).await?)
    }

    /// The last attempts of a lane, newest first.
    pub(crate) async fn attempts_of_lane(
        &self,
        chain: ChainId,
        lane: &str,
        limit: usize,
    ) -> Result<Vec<Attempt>, Cause> {
        let rule = "a.chain = $1 AND a.lane = $2 AND strpos(a.lock, '/') = 0 \
                    ORDER BY a.serial DESC LIMIT $3";
        let (chain, most) = (i16::from(chain.0), columns::most(limit));
        Ok(all(&self.question().await?, &self.flows, rule, &[&chain, &lane, &most]).await?)
    }

    /// The attempt that has a form of that name.
    pub(crate) async fn attempt_of_form(
        &self,
        chain: ChainId,
        name: &[u8],
    ) -> Result<Option<Attempt>, Cause> {
        let rule = "a.chain = $1 AND a.attempt_id IN \
                    (SELECT f.attempt_id FROM attempt_forms f WHERE f.name = $2) \
                    ORDER BY a.serial LIMIT 1";
        let chain = i16::from(chain.0);
        Ok(all(&self.question().await?, &self.flows, rule, &[&chain, &name]).await?.pop())
    }
}
