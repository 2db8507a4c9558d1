//! Questions to the store.

use super::deeds;
use super::lane::LANE;
use super::owner;
use super::people;
use super::rows;
use super::text::{self, int, uint};
use crate::deeds::Deeds;
use kernel::audit::proof::Stored;
use kernel::audit::{Entry, Hash, genesis};
use kernel::ids::{Id, LedgerId, Millis, UserId};
use kernel::money::{Amount, Asset, AssetStatus};
use kernel::ports::journal::{Count, Linked, Standing};
use kernel::ports::ledger::{Identity, Incarnation, Known};
use kernel::record::Record;
use kernel::table::Flows;
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Transfers by id.
pub(super) fn get(db: &Connection, flows: &Flows, ids: &[Id]) -> rusqlite::Result<Vec<Record>> {
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
pub(super) fn by_number(
    db: &Connection,
    flows: &Flows,
    number: i64,
) -> rusqlite::Result<Option<Record>> {
    let sql = format!("SELECT {} FROM transfers WHERE transfer_id = ?", rows::COLUMNS);
    db.prepare_cached(&sql)?.query_row([number], |row| rows::record(flows, row)).optional()
}

/// The transfer that a key is bound to.
pub(super) fn bound(
    db: &Connection,
    flows: &Flows,
    (flow, scope, key): (&str, &str, &str),
) -> rusqlite::Result<Option<Record>> {
    let sql = "SELECT transfer_id FROM keys WHERE flow = ? AND scope = ? AND cid = ?";
    let mut ask = db.prepare_cached(sql)?;
    let number = ask.query_row([flow, scope, key], |row| row.get(0)).optional()?;
    number.map_or(Ok(None), |number| by_number(db, flows, number))
}

/// An entry as it stands in a history.
type Line = (u32, u64, Option<i16>, i16, String, Option<String>, Option<String>, String, u64);

/// A history with its hash chain: a transfer's, or that of deeds.
pub(super) fn history(db: &Connection, flows: &Flows, id: Id) -> rusqlite::Result<Vec<Linked>> {
    if let Some(chain) = Deeds::of(id) {
        return Ok(linked(genesis(id), deeds::entries(chain, db)?));
    }
    let sql = format!("SELECT {}, history FROM transfers WHERE req_id = ?", rows::COLUMNS);
    let read =
        |row: &Row<'_>| Ok((birth(flows, row)?, entries(row.get_ref("history")?.as_str()?)?));
    let found = db.prepare_cached(&sql)?.query_row([id.to_string()], read).optional()?;
    Ok(found.map(|(birth, entries)| linked(birth, entries)).unwrap_or_default())
}

fn linked(mut prev: Hash, entries: Vec<Stored>) -> Vec<Linked> {
    let mut linked = Vec::with_capacity(entries.len());
    for Stored { entry, hash, .. } in entries {
        linked.push(Linked { entry, prev, hash });
        prev = hash;
    }
    linked
}

/// The hash before a history's first entry, from a row that begins with a record's columns.
pub(super) fn birth(flows: &Flows, row: &Row<'_>) -> rusqlite::Result<Hash> {
    let record = rows::record(flows, row)?;
    Ok(kernel::audit::birth(record.id, flows.table(record.flow).flow, &record.terms))
}

/// The entries of a history's text.
pub(super) fn entries(text: &str) -> rusqlite::Result<Vec<Stored>> {
    let lines: Vec<Line> = serde_json::from_str(&format!("[{text}]"))
        .map_err(|_| text::damaged(0, "not a history"))?;
    let entry = |(seq, at, from, to, event, caller, detail, hash, unit): Line| {
        let entry = Entry { seq, at, from, to, event, caller, detail };
        Ok(Stored { entry, hash: hash_of(&hash)?, lane: LANE, unit })
    };
    lines.into_iter().map(entry).collect()
}

fn hash_of(text: &str) -> rusqlite::Result<Hash> {
    let hash = text.get(..64).and_then(kernel::audit::unhex);
    hash.ok_or_else(|| text::damaged(0, "not a hash"))
}

/// Every open transfer, in the order of its number, until enough were taken.
pub(super) fn each_open(
    db: &Connection,
    flows: &Flows,
    filter: &str,
    mut take: impl FnMut(Record) -> ControlFlow<()>,
) -> rusqlite::Result<()> {
    let sql = format!(
        "SELECT {} FROM open_batches b CROSS JOIN transfers t \
         ON t.transfer_id BETWEEN b.lo AND b.hi WHERE {filter} ORDER BY b.batch, t.transfer_id",
        rows::COLUMNS.split(", ").map(|c| format!("t.{}", c.trim())).collect::<Vec<_>>().join(", ")
    );
    let mut ask = db.prepare_cached(&sql)?;
    let mut found = ask.query([])?;
    while let Some(row) = found.next()? {
        let record = rows::record(flows, row)?;
        if !flows.table(record.flow).ends(record.head.state) && take(record).is_break() {
            break;
        }
    }
    Ok(())
}

/// A user's open transfers.
pub(super) fn open_of(
    db: &Connection,
    flows: &Flows,
    user: UserId,
) -> rusqlite::Result<Vec<Record>> {
    let mut open = Vec::new();
    each_open(db, flows, &format!("t.user_id = {}", int(user.0)), |record| {
        open.push(record);
        ControlFlow::Continue(())
    })?;
    Ok(open)
}

/// Open transfers that were opened at or before a time, the oldest first.
pub(super) fn aged(
    db: &Connection,
    flows: &Flows,
    opened: Millis,
    limit: usize,
) -> rusqlite::Result<Vec<Record>> {
    let mut aged = Vec::new();
    // numbers rise with the time: the first one that is too young ends it
    each_open(db, flows, "1", |record| {
        if record.created_at > opened || aged.len() >= limit {
            return ControlFlow::Break(());
        }
        aged.push(record);
        ControlFlow::Continue(())
    })?;
    Ok(aged)
}

/// Open transfers at or below an id.
pub(super) fn open_below(db: &Connection, flows: &Flows, id: Id) -> rusqlite::Result<Vec<Id>> {
    let mut open = Vec::new();
    each_open(db, flows, "1", |record| {
        open.extend((record.id <= id).then_some(record.id));
        ControlFlow::Continue(())
    })?;
    Ok(open)
}

/// Open transfers by flow and state. Reads no more of a row than it counts: there may be a million.
pub(super) fn counts(db: &Connection, flows: &Flows) -> rusqlite::Result<Vec<Count>> {
    let mut counts: BTreeMap<_, Count> = BTreeMap::new();
    let sql = "SELECT t.flow, t.state, t.created_at FROM open_batches b CROSS JOIN transfers t \
               ON t.transfer_id BETWEEN b.lo AND b.hi";
    let mut ask = db.prepare_cached(sql)?;
    let mut found = ask.query([])?;
    while let Some(row) = found.next()? {
        let flow = flows.named(row.get_ref(0)?.as_str()?);
        let flow = flow.ok_or_else(|| text::damaged(0, "not a flow of ours"))?;
        let state = flows.table(flow).coded(row.get(1)?);
        let state = state.ok_or_else(|| text::damaged(1, "not a state of the flow"))?;
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
pub(super) fn standing(db: &Connection, flows: &Flows) -> rusqlite::Result<Standing> {
    let db = &*db.unchecked_transaction()?;
    let mut standing = Standing::default();
    let sql = "SELECT name, value, version FROM service_state \
               WHERE name IN ('halted', 'horizon', 'resource/assets', 'resource/proven')";
    let mut ask = db.prepare_cached(sql)?;
    let mut found = ask.query([])?;
    while let Some(row) = found.next()? {
        let (name, value) = (row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?);
        match name {
            "halted" => standing.halted = Some(value.into()),
            "resource/proven" => standing.proven = Some(value.into()),
            "horizon" => standing.horizon = Some(text::read_id(1, value)?),
            _ => standing.assets_version = row.get(2)?,
        }
    }
    let halts = "SELECT coalesce(max(halt), 0) FROM halts";
    standing.halts = db.query_row(halts, [], |row| row.get(0).map(uint))?;
    standing.owners = owner::owners(db)?;
    standing.paused = people::paused(db, flows)?;
    standing.accepted = people::accepted(db)?;
    let sql = "SELECT asset_id, symbol, precision, status, internal_transfer_enabled, \
               min_transfer_amount, max_transfer_amount, daily_amount FROM assets_tb ORDER BY asset_id";
    let mut ask = db.prepare_cached(sql)?;
    standing.assets = ask.query_map([], asset)?.collect::<rusqlite::Result<_>>()?;
    let mut ask = db.prepare_cached("SELECT ledger FROM ledgers_tb WHERE current = 1")?;
    let ledgers: Vec<u8> = ask.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    for ledger in ledgers.into_iter().map(LedgerId) {
        standing.ledgers.extend(current(db, ledger)?.map(|known| (ledger, known)));
    }
    Ok(standing)
}

fn asset(row: &Row<'_>) -> rusqlite::Result<Asset> {
    let status = AssetStatus::parse(row.get_ref(3)?.as_str()?);
    let limit = |column| -> rusqlite::Result<Option<Amount>> {
        let text: Option<String> = row.get(column)?;
        text.map(|text| text::read_amount(column, &text)).transpose()
    };
    Ok(Asset {
        id: kernel::ids::AssetId(row.get(0)?),
        symbol: row.get(1)?,
        precision: row.get(2)?,
        status: status.ok_or_else(|| text::damaged(3, "not an asset's status"))?,
        transferable: row.get(4)?,
        min: text::read_amount(5, row.get_ref(5)?.as_str()?)?,
        max: limit(6)?,
        daily: limit(7)?,
    })
}

/// What the journal holds as current of a ledger.
pub(super) fn current(db: &Connection, ledger: LedgerId) -> rusqlite::Result<Option<Known>> {
    let sql = "SELECT identity, incarnation, highest FROM ledgers_tb \
               WHERE ledger = ? AND current = 1";
    let number = |column, text: &str| {
        u128::from_str_radix(text, 16).map_err(|_| text::damaged(column, "not a number"))
    };
    let read = |row: &Row<'_>| {
        Ok(Known {
            identity: Identity(number(0, row.get_ref(0)?.as_str()?)?),
            incarnation: Incarnation(number(1, row.get_ref(1)?.as_str()?)?),
            highest: uint(row.get(2)?),
        })
    };
    db.prepare_cached(sql)?.query_row(params![ledger.0], read).optional()
}
