//! Reads a transfer, and an operation of a ledger, from the columns of its row, for every query of this
//! store.

use super::columns::{self, count, uint};
use super::error::StoreError;
use crate::columns as shared;
use kernel::answer::Evidence;
use kernel::flow::life::Leg;
use kernel::flow::table::Flows;
use kernel::ids::{AssetId, Day, LedgerId, Serial};
use kernel::money::Amount;
use kernel::operation::{Key, Op, Operation};
use kernel::record::{Binding, Head, Party, Record, System, Terms};
use std::sync::Arc;
use tokio_postgres::Row;

/// The columns of a record, in the order of [`record`]; of the table under the name `t`.
pub(crate) const COLUMNS: &str = "t.transfer_id, t.req_id, t.flow, t.principal, t.user_id, t.scope, \
    t.cid, t.fingerprint, t.asset_id, t.amount::text, t.fee::text, t.source_type, t.source_account, \
    t.target_type, t.target_account, t.deadline, t.memo, t.reference, t.metadata, t.state, \
    t.version, t.error_message, t.error_class, t.retry_count, t.rejections, t.alone, t.deaths, \
    t.due_at, t.created_at, t.updated_at, t.limit_day, t.owner, t.target_asset, \
    t.target_amount::text, t.origin_chain, t.origin_key, t.terms_version, t.agreed, \
    t.refund_fee::text";

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
        agreed: columns::read_agreed(row.try_get(37)?)?.map(Arc::new),
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
    let at = PartyColumns { parties: 11, amounts: 8, target: 32 };
    let [source, target] = parties(row, at)?;
    let version = row.try_get::<_, Option<i16>>(36)?.map(i64::from);
    let chain = row.try_get::<_, Option<i16>>(34)?;
    Ok(Terms {
        version: columns::read_terms_version(version)?,
        principal: row.try_get::<_, &str>(3)?.into(),
        owner: columns::read_owner(row.try_get(4)?, row.try_get(31)?)?,
        binding,
        source,
        target,
        fee: columns::read_amount(row.try_get(10)?)?,
        refund_fee: read_refund_fee(row, 38)?,
        origin: shared::origin(chain.map(|chain| narrow(chain.into())), row.try_get(35)?),
        deadline: row.try_get::<_, Option<i64>>(15)?.map(uint),
        memo: row.try_get(16)?,
        reference: row.try_get(17)?,
        metadata: metadata.map_err(|_| StoreError::Damaged("not metadata"))?.unwrap_or_default(),
        day: row.try_get::<_, Option<i32>>(30)?.map(|day| Day(count(day))),
    })
}

/// The column `refund_fee`: NULL where it is zero, as in most rows.
pub(crate) fn read_refund_fee(row: &Row, column: usize) -> Result<Amount, StoreError> {
    let stored = row.try_get::<_, Option<&str>>(column)?.map(columns::read_amount).transpose()?;
    Ok(stored.unwrap_or(Amount::ZERO))
}

/// Where the columns of both parties stand in a row that was asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PartyColumns {
    /// `source_type`; then `source_account`, `target_type`, `target_account`.
    pub(crate) parties: usize,
    /// `asset_id`; then `amount`, `fee`.
    pub(crate) amounts: usize,
    /// `target_asset`; behind it `target_amount`, both of them NULL in most rows.
    pub(crate) target: usize,
}

/// Reads both parties, the source first.
pub(crate) fn parties(row: &Row, at: PartyColumns) -> Result<[Party; 2], StoreError> {
    let PartyColumns { parties, amounts, target } = at;
    let amount = |behind: usize| {
        columns::read_amount(row.try_get(amounts.saturating_add(behind))?).map_err(StoreError::from)
    };
    let source = (AssetId(count(row.try_get(amounts)?)), amount(1)?);
    let asset = row.try_get::<_, Option<i32>>(target)?.map(count);
    let net = row.try_get::<_, Option<&str>>(target.saturating_add(1))?;
    let net = net.map(columns::read_amount).transpose()?;
    let [gives, gets] = shared::read_holdings(source, amount(2)?, asset, net);
    Ok([party(row, parties, gives)?, party(row, parties.saturating_add(2), gets)?])
}

fn party(row: &Row, column: usize, (asset, amount): shared::Holding) -> Result<Party, StoreError> {
    let system = System::coded(narrow(row.try_get::<_, i16>(column)?.into()));
    let account = columns::read_account(row.try_get(column.saturating_add(1))?)?;
    Ok(Party { system, account, asset, amount })
}

/// A small number that was written from one of this kind.
fn narrow<T: TryFrom<i32> + Default>(value: i32) -> T {
    T::try_from(value).unwrap_or_default()
}

/// A ledger by its column.
pub(crate) fn ledger(number: i16) -> LedgerId {
    LedgerId(u8::try_from(number).unwrap_or(0))
}

/// Reads an operation from (req_id, leg, result, code, seq, asset_id, amount, account, ledger,
/// other_account).
pub(crate) fn operation(row: &Row) -> Result<(LedgerId, Operation), StoreError> {
    let leg = Leg::parse(row.try_get(1)?).ok_or(StoreError::Damaged("not a leg"))?;
    let operation = Operation {
        seq: uint(row.try_get(4)?),
        op: Op {
            key: Key { id: columns::id(row.try_get(0)?), leg },
            account: columns::read_account(row.try_get(7)?)?,
            other: row.try_get::<_, Option<&str>>(9)?.map(columns::read_account).transpose()?,
            asset: AssetId(count(row.try_get(5)?)),
            amount: columns::read_amount(row.try_get(6)?)?,
        },
        outcome: columns::read_outcome(row.try_get(2)?, row.try_get(3)?)?,
    };
    Ok((ledger(row.try_get(8)?), operation))
}
