//! Reads transfers and their histories for the journal's port, by id, number, key, user and age.

use super::operators;
use crate::audit_chain::AuditChain;
use crate::history::{birth, linked};
use crate::sqlite::columns::{self, int, uint};
use crate::sqlite::write::audit_chain;
use crate::sqlite::write::writer_state::LANE;
use crate::sqlite::{ledger_owners, rows};
use kernel::audit::proof::StoredEntry;
use kernel::audit::{Entry, Hash, genesis};
use kernel::flow::table::Flows;
use kernel::ids::{Id, LedgerId, Millis, UserId};
use kernel::money::{Amount, Asset, AssetStatus};
use kernel::operation::{Identity, Incarnation, Known};
use kernel::ports::journal::{Count, Linked, ServiceStatus};
use kernel::record::Record;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

pub(crate) fn get(db: &Connection, flows: &Flows, ids: &[Id]) -> rusqlite::Result<Vec<Record>> {
    let sql = format!("SELECT {} FROM transfers WHERE req_id = ?", rows::COLUMNS);
    let mut ask = db.prepare_cached(&sql)?;
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        let one = ask.query_row([id.to_string()], |row| rows::record(flows, row)).optional()?;
        found.extend(one);
    }
    Ok(found)
}

/// The transfer of that number.
pub(crate) fn by_number(
    db: &Connection,
    flows: &Flows,
    number: i64,
) -> rusqlite::Result<Option<Record>> {
    let sql = format!("SELECT {} FROM transfers WHERE transfer_id = ?", rows::COLUMNS);
    db.prepare_cached(&sql)?.query_row([number], |row| rows::record(flows, row)).optional()
}

/// The transfer that a key is bound to.
pub(crate) fn bound(
    db: &Connection,
    flows: &Flows,
    flow: &str,
    scope: &str,
    key: &str,
) -> rusqlite::Result<Option<Record>> {
    let sql = "SELECT transfer_id FROM keys WHERE flow = ? AND scope = ? AND cid = ?";
    let mut ask = db.prepare_cached(sql)?;
    let number = ask.query_row([flow, scope, key], |row| row.get(0)).optional()?;
    number.map_or(Ok(None), |number| by_number(db, flows, number))
}

/// An entry as it stands in a history; at its end the hash of what was agreed, where something was.
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
    #[serde(default)] Option<String>,
);

/// A history with its hash chain: a transfer's, or an audit chain's.
pub(crate) fn history(db: &Connection, flows: &Flows, id: Id) -> rusqlite::Result<Vec<Linked>> {
    if let Some(chain) = AuditChain::of(id) {
        return Ok(linked(genesis(id), audit_chain::entries(chain, db)?));
    }
    let sql = format!("SELECT {}, history FROM transfers WHERE req_id = ?", rows::COLUMNS);
    let read = |row: &Row<'_>| {
        let birth = birth(flows, &rows::record(flows, row)?);
        Ok((birth, entries(row.get_ref("history")?.as_str()?)?))
    };
    let found = db.prepare_cached(&sql)?.query_row([id.to_string()], read).optional()?;
    Ok(found.map(|(birth, entries)| linked(birth, entries)).unwrap_or_default())
}

/// The entries of a history's text.
pub(crate) fn entries(text: &str) -> rusqlite::Result<Vec<StoredEntry>> {
    let lines: Vec<HistoryRow> = serde_json::from_str(&format!("[{text}]"))
        .map_err(|_| columns::damaged(0, "not a history"))?;
    let entry = |line: HistoryRow| {
        let HistoryRow(seq, at, from, to, event, caller, detail, hash, unit, agreed) = line;
        let agreed = agreed.map(|agreed| hash_of(&agreed)).transpose()?;
        let entry = Entry { seq, at, from, to, event, caller, detail, agreed };
        Ok(StoredEntry { entry, hash: hash_of(&hash)?, lane: LANE, unit })
    };
    lines.into_iter().map(entry).collect()
}

fn hash_of(text: &str) -> rusqlite::Result<Hash> {
    let hash = text.get(..64).and_then(kernel::audit::unhex);
    hash.ok_or_else(|| columns::damaged(0, "not a hash"))
}

/// Every open transfer of a flow that this binary knows, in the order of its number, until enough were
/// taken.
pub(crate) fn each_open(
    db: &Connection,
    flows: &Flows,
    filter: &str,
    mut take: impl FnMut(Record) -> ControlFlow<()>,
) -> rusqlite::Result<()> {
    let sql = format!(
        "SELECT {} FROM open_batches b CROSS JOIN transfers t \
         ON t.transfer_id BETWEEN b.lo AND b.hi WHERE {filter} ORDER BY b.batch, t.transfer_id",
        rows::columns_of("t")
    );
    let mut ask = db.prepare_cached(&sql)?;
    let mut found = ask.query([])?;
    while let Some(row) = found.next()? {
        if flows.named(row.get_ref(2)?.as_str()?).is_none() {
            continue;
        }
        let record = rows::record(flows, row)?;
        if !flows.table(record.flow).ends(record.head.state) && take(record).is_break() {
            break;
        }
    }
    Ok(())
}

/// A user's open transfers.
pub(crate) fn open_of(
    db: &Connection,
    flows: &Flows,
    user: UserId,
) -> rusqlite::Result<Vec<Record>> {
    let mut open = Vec::new();
    each_open(db, flows, &format!("t.user_id = {} AND t.owner IS NULL", int(user.0)), |record| {
        open.push(record);
        ControlFlow::Continue(())
    })?;
    Ok(open)
}

/// Open transfers that were opened at or before a time, the oldest first.
pub(crate) fn open_older_than(
    db: &Connection,
    flows: &Flows,
    opened: Millis,
    limit: usize,
) -> rusqlite::Result<Vec<Record>> {
    let mut found = Vec::new();
    // numbers rise with the time: the first one that is too young ends it
    each_open(db, flows, "1", |record| {
        if record.created_at > opened || found.len() >= limit {
            return ControlFlow::Break(());
        }
        found.push(record);
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// Open transfers at or below an id. What is of a flow that this binary does not know counts as open:
/// a ledger keeps its results until a binary that knows the flow has read how it ended.
pub(crate) fn open_below(db: &Connection, flows: &Flows, id: Id) -> rusqlite::Result<Vec<Id>> {
    let mut open = Vec::new();
    let sql = "SELECT t.req_id, t.flow, t.state FROM open_batches b CROSS JOIN transfers t \
               ON t.transfer_id BETWEEN b.lo AND b.hi ORDER BY b.batch, t.transfer_id";
    let mut ask = db.prepare_cached(sql)?;
    let mut found = ask.query([])?;
    while let Some(row) = found.next()? {
        let one = columns::read_id(0, row.get_ref(0)?.as_str()?)?;
        let ended = match flows.named(row.get_ref(1)?.as_str()?) {
            Some(flow) => {
                let state = flows.table(flow).coded(row.get(2)?);
                let state = state.ok_or_else(|| columns::damaged(2, "not a state of the flow"))?;
                flows.table(flow).ends(state)
            }
            None => false,
        };
        if one <= id && !ended {
            open.push(one);
        }
    }
    Ok(open)
}

/// Open transfers by flow and state, of the flows that this binary knows. Reads no more of a row than it counts: there may be a million.
pub(crate) fn counts(db: &Connection, flows: &Flows) -> rusqlite::Result<Vec<Count>> {
    let mut counts: BTreeMap<_, Count> = BTreeMap::new();
    let sql = "SELECT t.flow, t.state, t.created_at FROM open_batches b CROSS JOIN transfers t \
               ON t.transfer_id BETWEEN b.lo AND b.hi";
    let mut ask = db.prepare_cached(sql)?;
    let mut found = ask.query([])?;
    while let Some(row) = found.next()? {
        let Some(flow) = flows.named(row.get_ref(0)?.as_str()?) else { continue };
        let state = flows.table(flow).coded(row.get(1)?);
        let state = state.ok_or_else(|| columns::damaged(1, "not a state of the flow"))?;
        if flows.table(flow).ends(state) {
            continue;
        }
        let oldest = uint(row.get(2)?);
        let count =
            counts.entry((flow, state)).or_insert(Count { flow, state, transfers: 0, oldest });
        count.transfers += 1;
        if oldest < count.oldest {
            count.oldest = oldest;
        }
    }
    Ok(counts.into_values().collect())
}

/// Flags, pauses, assets, ledgers, all of one instant.
pub(crate) fn service_status(db: &Connection, flows: &Flows) -> rusqlite::Result<ServiceStatus> {
    let db = &*db.unchecked_transaction()?;
    let mut status = ServiceStatus::default();
    let sql = "SELECT name, value, version FROM service_state \
               WHERE name IN ('halted', 'horizon', 'identity', 'resource/assets', 'resource/proven')";
    let mut ask = db.prepare_cached(sql)?;
    let mut found = ask.query([])?;
    while let Some(row) = found.next()? {
        let (name, value) = (row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?);
        match name {
            "halted" => status.halted = Some(value.into()),
            "resource/proven" => status.proven = Some(value.into()),
            "horizon" => status.horizon = Some(columns::read_id(1, value)?),
            "identity" => status.identity = Identity(number(1, value)?),
            _ => status.assets_version = row.get(2)?,
        }
    }
    let halts = "SELECT coalesce(max(halt), 0) FROM halts";
    status.halts = db.query_row(halts, [], |row| row.get(0).map(uint))?;
    status.owners = ledger_owners::owners(db)?;
    status.paused = operators::paused(db, flows)?;
    status.accepted = operators::accepted(db)?;
    let sql = "SELECT asset_id, symbol, precision, status, internal_transfer_enabled, \
               min_transfer_amount, max_transfer_amount, daily_amount FROM assets_tb ORDER BY asset_id";
    let mut ask = db.prepare_cached(sql)?;
    status.assets = ask.query_map([], asset)?.collect::<rusqlite::Result<_>>()?;
    let mut ask = db.prepare_cached("SELECT ledger FROM ledgers_tb WHERE current = 1")?;
    let ledgers: Vec<u8> = ask.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    for ledger in ledgers.into_iter().map(LedgerId) {
        status.ledgers.extend(current(db, ledger)?.map(|known| (ledger, known)));
    }
    Ok(status)
}

fn asset(row: &Row<'_>) -> rusqlite::Result<Asset> {
    let status = AssetStatus::parse(row.get_ref(3)?.as_str()?);
    let limit = |column| -> rusqlite::Result<Option<Amount>> {
        let text: Option<String> = row.get(column)?;
        text.map(|text| columns::read_amount(column, &text)).transpose()
    };
    Ok(Asset {
        id: kernel::ids::AssetId(row.get(0)?),
        symbol: row.get(1)?,
        precision: row.get(2)?,
        status: status.ok_or_else(|| columns::damaged(3, "not an asset's status"))?,
        transferable: row.get(4)?,
        min: columns::read_amount(5, row.get_ref(5)?.as_str()?)?,
        max: limit(6)?,
        daily: limit(7)?,
    })
}

fn number(column: usize, text: &str) -> rusqlite::Result<u128> {
    u128::from_str_radix(text, 16).map_err(|_| columns::damaged(column, "not a number"))
}

/// What the journal holds as current of a ledger.
pub(crate) fn current(db: &Connection, ledger: LedgerId) -> rusqlite::Result<Option<Known>> {
    let sql = "SELECT identity, incarnation, highest FROM ledgers_tb \
               WHERE ledger = ? AND current = 1";
    let read = |row: &Row<'_>| {
        Ok(Known {
            identity: Identity(number(0, row.get_ref(0)?.as_str()?)?),
            incarnation: Incarnation(number(1, row.get_ref(1)?.as_str()?)?),
            highest: uint(row.get(2)?),
        })
    };
    db.prepare_cached(sql)?.query_row(params![ledger.0], read).optional()
}
