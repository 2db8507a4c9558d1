//! A transfer, and an operation of a ledger, as the rows that they are read from.

use super::columns::{self, count, uint};
use super::error::StoreError;
use kernel::answer::Evidence;
use kernel::flow::life::Leg;
use kernel::flow::table::Flows;
use kernel::ids::{AssetId, Day, LedgerId, Serial, UserId};
use kernel::operation::{Key, Op, Operation};
use kernel::record::{Binding, Head, Party, Record, System, Terms};
use std::sync::Arc;
use tokio_postgres::Row;

/// The columns of a record, in the order of [`record`]; of the table under the name `t`.
pub(crate) const COLUMNS: &str = "t.transfer_id, t.req_id, t.flow, t.principal, t.user_id, t.scope, \
    t.cid, t.fingerprint, t.asset_id, t.amount::text, t.fee::text, t.source_type, t.source_account, \
    t.target_type, t.target_account, t.deadline, t.memo, t.reference, t.metadata, t.state, \
    t.version, t.error_message, t.error_class, t.retry_count, t.rejections, t.alone, t.deaths, \
    t.due_at, t.created_at, t.updated_at, t.limit_day";

pub(crate) fn record(flows: &Flows, row: &Row) -> Result<Record, StoreError> {
    let flow = flows.named(row.try_get(2)?).ok_or(StoreError::Damaged("not a flow of ours"))?;
    let state = flows.table(flow).coded(row.try_get(19)?);
    let head = Head {
        state: state.ok_or(StoreError::Damaged("not a state of the flow"))?,
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
        id: columns::id(row.try_get(1)?),
        flow,
        serial: Some(Serial(uint(row.try_get(0)?))),
        created_at: uint(row.try_get(28)?),
        updated_at: uint(row.try_get(29)?),
        head,
        error: class.map(|code| Evidence { code: code.into(), doc: message.map(Into::into) }),
        terms: Arc::new(terms(row)?),
    })
}

fn terms(row: &Row) -> Result<Terms, StoreError> {
    let scope: Option<String> = row.try_get(5)?;
    let key: Option<String> = row.try_get(6)?;
    let print: Option<Vec<u8>> = row.try_get(7)?;
    let binding = match (scope, key, print) {
        (Some(scope), Some(key), Some(print)) => Some(Binding {
            scope: scope.into(),
            key: key.into(),
            fingerprint: print.try_into().map_err(|_| StoreError::Damaged("not a hash"))?,
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
        amount: columns::read_amount(row.try_get(9)?)?,
        fee: columns::read_amount(row.try_get(10)?)?,
        deadline: row.try_get::<_, Option<i64>>(15)?.map(uint),
        memo: row.try_get(16)?,
        reference: row.try_get(17)?,
        metadata: metadata.map_err(|_| StoreError::Damaged("not metadata"))?.unwrap_or_default(),
        day: row.try_get::<_, Option<i32>>(30)?.map(|day| Day(count(day))),
    })
}

/// Reads a party whose system stands at `column` and its account behind it.
pub(crate) fn party(row: &Row, column: usize) -> Result<Party, StoreError> {
    let system = System::coded(narrow(row.try_get::<_, i16>(column)?.into()));
    let account = columns::read_account(row.try_get(column.saturating_add(1))?)?;
    Ok(Party { system, account })
}

/// A small number that was written from one of this kind.
fn narrow<T: TryFrom<i32> + Default>(value: i32) -> T {
    T::try_from(value).unwrap_or_default()
}

/// A ledger by its column.
pub(crate) fn ledger(number: i16) -> LedgerId {
    LedgerId(u8::try_from(number).unwrap_or(0))
}

/// Reads an operation from (req_id, leg, result, code, seq, asset_id, amount, account, ledger).
pub(crate) fn operation(row: &Row) -> Result<(LedgerId, Operation), StoreError> {
    let leg = Leg::parse(row.try_get(1)?).ok_or(StoreError::Damaged("not a leg"))?;
    let operation = Operation {
        seq: uint(row.try_get(4)?),
        op: Op {
            key: Key { id: columns::id(row.try_get(0)?), leg },
            account: columns::read_account(row.try_get(7)?)?,
            other: None,
            asset: AssetId(count(row.try_get(5)?)),
            amount: columns::read_amount(row.try_get(6)?)?,
        },
        outcome: columns::read_outcome(row.try_get(2)?, row.try_get(3)?)?,
    };
    Ok((ledger(row.try_get(8)?), operation))
}
