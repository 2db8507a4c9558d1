//! Reads attempts on chains, each with its forms and its members.

use crate::columns::flow_names;
use crate::sqlite::columns::{self, most, uint};
use crate::sqlite::rows;
use kernel::attempt::{Attempt, AttemptId, Form, Lock, Purpose};
use kernel::flow::table::Flows;
use kernel::ids::{ChainId, Id};
use kernel::record::Record;
use rusqlite::{Connection, Params, Row, params};
use std::collections::BTreeSet;

/// The condition that no open attempt has the transfer of the table under the name `t` as a member.
pub(crate) const UNATTEMPTED: &str = "NOT EXISTS (SELECT 1 FROM attempt_members m \
    JOIN attempts a ON a.attempt_id = m.attempt_id \
    WHERE m.transfer_id = t.transfer_id AND a.closed_at IS NULL)";

/// An attempt's id as a column takes it.
pub(crate) fn name(id: AttemptId) -> String {
    format!("{:032x}", id.0)
}

/// What a form does with the lock, as its column says.
pub(crate) const fn purpose(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Pay => "PAY",
        Purpose::Void => "VOID",
    }
}

/// The attempt of an id, where its flow is one of these.
pub(crate) fn by_id(db: &Connection, flows: &Flows, id: &str) -> rusqlite::Result<Option<Attempt>> {
    Ok(all(db, flows, "attempt_id = ?", [id])?.pop())
}

/// Every attempt that one of these transfers is a member of, oldest first.
pub(crate) fn of_transfers(
    db: &Connection,
    flows: &Flows,
    ids: &[Id],
) -> rusqlite::Result<Vec<Attempt>> {
    let sql = "SELECT a.serial FROM transfers t \
               JOIN attempt_members m ON m.transfer_id = t.transfer_id \
               JOIN attempts a ON a.attempt_id = m.attempt_id WHERE t.req_id = ?";
    let mut ask = db.prepare_cached(sql)?;
    let mut serials = BTreeSet::new();
    for id in ids {
        for serial in ask.query_map([id.to_string()], |row| row.get::<_, i64>(0))? {
            serials.insert(serial?);
        }
    }
    let mut found = Vec::with_capacity(serials.len());
    for serial in serials {
        found.extend(all(db, flows, "serial = ?", [serial])?);
    }
    Ok(found)
}

/// The open attempts on a chain, oldest first.
pub(crate) fn open(
    db: &Connection,
    flows: &Flows,
    chain: ChainId,
) -> rusqlite::Result<Vec<Attempt>> {
    all(db, flows, "closed_at IS NULL AND chain = ? ORDER BY serial", [chain.0])
}

/// The last attempts of a lane, newest first.
pub(crate) fn of_lane(
    db: &Connection,
    flows: &Flows,
    chain: ChainId,
    lane: &str,
    limit: usize,
) -> rusqlite::Result<Vec<Attempt>> {
    let rule = "chain = ? AND lane = ? AND instr(lock, '/') = 0 ORDER BY serial DESC LIMIT ?";
    all(db, flows, rule, params![chain.0, lane, most(limit)])
}

/// The attempt that has a form of that name.
pub(crate) fn of_form(
    db: &Connection,
    flows: &Flows,
    chain: ChainId,
    form: &[u8],
) -> rusqlite::Result<Option<Attempt>> {
    let rule = "chain = ? AND attempt_id IN \
                (SELECT attempt_id FROM attempt_forms WHERE name = ?) ORDER BY serial LIMIT 1";
    Ok(all(db, flows, rule, params![chain.0, form])?.pop())
}

fn all(
    db: &Connection,
    flows: &Flows,
    rule: &str,
    values: impl Params,
) -> rusqlite::Result<Vec<Attempt>> {
    let names: Vec<_> = flows.0.iter().map(|table| table.flow).collect();
    let known = flow_names(flows, &flows.ids(&names));
    let sql = format!(
        "SELECT attempt_id, version, chain, flow, state, lane, lock, sent, due_at, closed_at \
         FROM attempts WHERE flow IN ({known}) AND {rule}"
    );
    let mut ask = db.prepare_cached(&sql)?;
    ask.query_map(values, |row| attempt(db, flows, row))?.collect()
}

fn attempt(db: &Connection, flows: &Flows, row: &Row<'_>) -> rusqlite::Result<Attempt> {
    let id = u128::from_str_radix(row.get_ref(0)?.as_str()?, 16);
    let id = AttemptId(id.map_err(|_| columns::damaged(0, "not an attempt's id"))?);
    let flow = flows.named(row.get_ref(3)?.as_str()?);
    let flow = flow.ok_or_else(|| columns::damaged(3, "not a flow of ours"))?;
    let state = flows.table(flow).coded(row.get(4)?);
    Ok(Attempt {
        id,
        chain: ChainId(row.get(2)?),
        flow,
        state: state.ok_or_else(|| columns::damaged(4, "not a state of the flow"))?,
        version: row.get(1)?,
        lane: row.get_ref(5)?.as_str()?.into(),
        lock: Lock(row.get_ref(6)?.as_str()?.into()),
        members: members(db, flows, id)?.into(),
        forms: forms(db, id)?,
        sent: row.get(7)?,
        due_at: row.get::<_, Option<i64>>(8)?.map(uint),
        closed: row.get::<_, Option<i64>>(9)?.map(uint),
    })
}

/// The members as they stand now, in their order.
fn members(db: &Connection, flows: &Flows, id: AttemptId) -> rusqlite::Result<Vec<Record>> {
    let sql = format!(
        "SELECT {} FROM attempt_members m CROSS JOIN transfers t ON t.transfer_id = m.transfer_id \
         WHERE m.attempt_id = ? ORDER BY m.n",
        rows::columns_of("t")
    );
    let mut ask = db.prepare_cached(&sql)?;
    ask.query_map([name(id)], |row| rows::record(flows, row))?.collect()
}

fn forms(db: &Connection, id: AttemptId) -> rusqlite::Result<Vec<Form>> {
    let sql = "SELECT purpose, name, bytes, repeatable, expires, anchor, reference \
               FROM attempt_forms WHERE attempt_id = ? ORDER BY n";
    let read = |row: &Row<'_>| {
        Ok(Form {
            purpose: read_purpose(row.get_ref(0)?.as_str()?)?,
            name: row.get::<_, Vec<u8>>(1)?.into(),
            bytes: row.get::<_, Vec<u8>>(2)?.into(),
            repeatable: row.get(3)?,
            expires: row.get::<_, Option<i64>>(4)?.map(uint),
            anchor: row.get::<_, Option<i64>>(5)?.map(uint),
            reference: row.get::<_, Option<String>>(6)?.map(Into::into),
        })
    };
    db.prepare_cached(sql)?.query_map([name(id)], read)?.collect()
}

fn read_purpose(text: &str) -> rusqlite::Result<Purpose> {
    let known = [Purpose::Pay, Purpose::Void].into_iter().find(|known| purpose(*known) == text);
    known.ok_or_else(|| columns::damaged(0, "not a form's purpose"))
}
