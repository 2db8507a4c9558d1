//! A transfer as a row, and back.

use super::fault::Fault;
use super::text::{self, count, uint};
use kernel::answer::Evidence;
use kernel::ids::{AssetId, Serial, UserId};
use kernel::people::Day;
use kernel::record::{Binding, Head, Party, Record, System, Terms};
use kernel::table::Flows;
use std::sync::Arc;
use tokio_postgres::Row;

/// The columns of a record, in the order of [`record`]; of the table under the name `t`.
pub(crate) const COLUMNS: &str = "t.transfer_id, t.req_id, t.flow, t.principal, t.user_id, t.scope, \
    t.cid, t.fingerprint, t.asset_id, t.amount::text, t.fee::text, t.source_type, t.source_account, \
    t.target_type, t.target_account, t.deadline, t.memo, t.reference, t.metadata, t.state, \
    t.version, t.error_message, t.error_class, t.retry_count, t.rejections, t.alone, t.deaths, \
    t.due_at, t.created_at, t.updated_at, t.limit_day";

/// Reads a record.
pub(crate) fn record(flows: &Flows, row: &Row) -> Result<Record, Fault> {
    let flow = flows.named(row.try_get(2)?).ok_or(Fault::Damaged("not a flow of ours"))?;
    let state = flows.table(flow).coded(row.try_get(19)?);
    let head = Head {
        state: state.ok_or(Fault::Damaged("not a state of the flow"))?,
        version: count(row.try_get(20)?),
        retries: count(row.try_get(23)?),
        rejections: narrow(row.try_get(24)?),
        alone: row.try_get(25)?,
        deaths: narrow(row.try_get::<_, i16>(26)?.into()),
        due_at: row.try_get::<_, Option<i64>>(27)?.map(uint),
    };
    let class: Option<String> = row.try_get(22)?;
    let message: Option<String> = row.try_get(21)?;
    Ok(Record {
        id: text::id(row.try_get(1)?),
        flow,
        serial: Some(Serial(uint(row.try_get(0)?))),
        created_at: uint(row.try_get(28)?),
        updated_at: uint(row.try_get(29)?),
        head,
        error: class.map(|code| Evidence { code: code.into(), doc: message.map(Into::into) }),
        terms: Arc::new(terms(row)?),
    })
}

fn terms(row: &Row) -> Result<Terms, Fault> {
    let scope: Option<String> = row.try_get(5)?;
    let key: Option<String> = row.try_get(6)?;
    let print: Option<Vec<u8>> = row.try_get(7)?;
    let binding = match (scope, key, print) {
        (Some(scope), Some(key), Some(print)) => Some(Binding {
            scope: scope.into(),
            key: key.into(),
            fingerprint: print.try_into().map_err(|_| Fault::Damaged("not a hash"))?,
        }),
        _ => None,
    };
    let metadata: Option<String> = row.try_get(18)?;
    let metadata = metadata.map(|json| serde_json::from_str(&json)).transpose();
    Ok(Terms {
        principal: row.try_get::<_, &str>(3)?.into(),
        user: UserId(uint(row.try_get(4)?)),
        binding,
        source: party(row, 11)?,
        target: party(row, 13)?,
        asset: AssetId(count(row.try_get(8)?)),
        amount: text::read_amount(row.try_get(9)?)?,
        fee: text::read_amount(row.try_get(10)?)?,
        deadline: row.try_get::<_, Option<i64>>(15)?.map(uint),
        memo: row.try_get(16)?,
        reference: row.try_get(17)?,
        metadata: metadata.map_err(|_| Fault::Damaged("not metadata"))?.unwrap_or_default(),
        day: row.try_get::<_, Option<i32>>(30)?.map(|day| Day(count(day))),
    })
}

/// Reads a party whose system stands at `column` and its account behind it.
pub(crate) fn party(row: &Row, column: usize) -> Result<Party, Fault> {
    let system = System::coded(narrow(row.try_get::<_, i16>(column)?.into()));
    let account = text::read_account(row.try_get(column.saturating_add(1))?)?;
    Ok(Party { system, account })
}

/// A small number that was written from one of this kind.
fn narrow<T: TryFrom<i32> + Default>(value: i32) -> T {
    T::try_from(value).unwrap_or_default()
}
