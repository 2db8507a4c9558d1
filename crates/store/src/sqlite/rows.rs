//! Reads a transfer's record from the columns of its row, for every query of this store.

use super::columns;
use crate::columns as shared;
use kernel::agreed::Agreed;
use kernel::answer::Evidence;
use kernel::flow::table::Flows;
use kernel::ids::{AssetId, Day, Serial};
use kernel::money::Amount;
use kernel::record::{Binding, Head, Party, Record, System, Terms};
use rusqlite::Row;
use rusqlite::types::ValueRef;
use std::sync::Arc;

/// The columns of a record, in the order of [`record`].
pub(crate) const COLUMNS: &str = "transfer_id, req_id, flow, principal, user_id, scope, cid, \
    fingerprint, asset_id, amount, fee, source_type, source_account, target_type, target_account, \
    deadline, memo, reference, metadata, state, version, error_message, error_class, retry_count, \
    rejections, alone, deaths, due_at, created_at, updated_at, limit_day, owner, target_asset, \
    target_amount, origin_chain, origin_key, terms_version, agreed, refund_fee";

/// The columns of a record, of the table under this name.
pub(crate) fn columns_of(table: &str) -> String {
    let names: Vec<_> = COLUMNS.split(", ").map(|c| format!("{table}.{}", c.trim())).collect();
    names.join(", ")
}

pub(crate) fn record(flows: &Flows, row: &Row<'_>) -> rusqlite::Result<Record> {
    let flow = row.get_ref(2)?.as_str()?;
    let flow = flows.named(flow).ok_or_else(|| columns::damaged(2, "not a flow of ours"))?;
    let state = flows.table(flow).coded(row.get(19)?);
    let head = Head {
        state: state.ok_or_else(|| columns::damaged(19, "not a state of the flow"))?,
        version: row.get(20)?,
        retries: row.get(23)?,
        rejections: row.get(24)?,
        alone: row.get(25)?,
        deaths: row.get(26)?,
        due_at: row.get::<_, Option<i64>>(27)?.map(columns::uint),
    };
    let class: Option<String> = row.get(22)?;
    let message: Option<String> = row.get(21)?;
    Ok(Record {
        id: columns::read_id(1, row.get_ref(1)?.as_str()?)?,
        flow,
        serial: Some(Serial(columns::uint(row.get(0)?))),
        created_at: columns::uint(row.get(28)?),
        updated_at: columns::uint(row.get(29)?),
        head,
        error: class.map(|code| Evidence { code: code.into(), doc: message.map(Into::into) }),
        terms: Arc::new(terms(row)?),
        agreed: agreed(row, 37)?.map(Arc::new),
    })
}

/// What a row says was agreed after the opening: NULL in most.
pub(crate) fn agreed(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Agreed>> {
    let text = row.get_ref(column)?.as_str_or_null();
    let text = text.map_err(|_| columns::damaged(column, "not text"))?;
    columns::at(column, shared::read_agreed(text))
}

fn terms(row: &Row<'_>) -> rusqlite::Result<Terms> {
    let scope: Option<String> = row.get(5)?;
    let key: Option<String> = row.get(6)?;
    let print: Option<Vec<u8>> = row.get(7)?;
    let binding = match (scope, key, print) {
        (Some(scope), Some(key), Some(print)) => Some(Binding {
            scope: scope.into(),
            key: key.into(),
            fingerprint: print.try_into().map_err(|_| columns::damaged(7, "not a hash"))?,
        }),
        _ => None,
    };
    let metadata: Option<String> = row.get(18)?;
    let metadata = metadata.map(|json| serde_json::from_str(&json)).transpose();
    let at = PartyColumns { parties: 11, amounts: 8, target: 32 };
    let [source, target] = parties(row, at)?;
    let owner = row.get_ref(31)?.as_str_or_null().map_err(|_| columns::damaged(31, "not text"))?;
    let version = shared::read_terms_version(row.get(36)?);
    Ok(Terms {
        version: columns::at(36, version)?,
        principal: row.get_ref(3)?.as_str()?.into(),
        owner: columns::at(31, shared::read_owner(row.get(4)?, owner))?,
        binding,
        source,
        target,
        fee: columns::read_amount(10, row.get_ref(10)?.as_str()?)?,
        refund_fee: read_refund_fee(row, 38)?,
        origin: shared::origin(row.get(34)?, row.get(35)?),
        deadline: row.get::<_, Option<i64>>(15)?.map(columns::uint),
        memo: row.get(16)?,
        reference: row.get(17)?,
        metadata: metadata.map_err(|_| columns::damaged(18, "not metadata"))?.unwrap_or_default(),
        day: row.get::<_, Option<u32>>(30)?.map(Day),
    })
}

/// The column `refund_fee`: NULL where it is zero, as in most rows.
pub(crate) fn read_refund_fee(row: &Row<'_>, column: usize) -> rusqlite::Result<Amount> {
    let text = row.get_ref(column)?.as_str_or_null();
    let text = text.map_err(|_| columns::damaged(column, "not text"))?;
    text.map_or(Ok(Amount::ZERO), |text| columns::read_amount(column, text))
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
pub(crate) fn parties(row: &Row<'_>, at: PartyColumns) -> rusqlite::Result<[Party; 2]> {
    let PartyColumns { parties, amounts, target } = at;
    let amount = |column: usize| columns::read_amount(column, row.get_ref(column)?.as_str()?);
    let source = (AssetId(row.get(amounts)?), amount(amounts + 1)?);
    let none = row.get_ref(target + 1)? == ValueRef::Null;
    let net = if none { None } else { Some(amount(target + 1)?) };
    let (fee, asset) = (amount(amounts + 2)?, row.get(target)?);
    let [gives, gets] = shared::read_holdings(source, fee, asset, net);
    Ok([party(row, parties, gives)?, party(row, parties + 2, gets)?])
}

fn party(
    row: &Row<'_>,
    column: usize,
    (asset, amount): shared::Holding,
) -> rusqlite::Result<Party> {
    let system = System::coded(row.get(column)?);
    let account = columns::read_account(column + 1, row.get_ref(column + 1)?.as_str()?)?;
    Ok(Party { system, account, asset, amount })
}
