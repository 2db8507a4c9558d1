//! The audit as an outsider proves it: from the rows alone, without the store.

use crate::fixture::{COIN, Fixture, id};
use crate::folder_store::fund;
use crate::operator_actions::action;
use kernel::audit::{
    Entry, Hash, OPERATORS, UnitDigest, WORLD, action_entry, birth, genesis, hex, link,
};
use kernel::ids::Id;
use kernel::money::Amount;
use kernel::operators::PastAction;
use kernel::ports::journal::{TransferQueries as _, UnitWriter as _};
use kernel::record::Record;
use kernel::unit::{Put, Unit};
use rusqlite::Connection;
use std::collections::BTreeMap;

/// An entry with its place: the group write, the transfer's number, its number there.
struct ProvenRow {
    transfer: Id,
    unit: u64,
    number: u64,
    entry: Entry,
    prev: Option<String>,
    hash: String,
}

fn told(db: &Connection) -> Vec<ProvenRow> {
    let sql = "SELECT e.req_id, e.audit_unit, t.transfer_id, e.seq, e.at, e.from_state, \
               e.to_state, e.event, e.caller, e.detail, e.prev_hash, e.hash \
               FROM transfer_events e JOIN transfers_tb t USING (req_id)";
    let nat = |n: i64| u64::try_from(n).expect("not below zero");
    let mut ask = db.prepare(sql).expect("the view");
    let read = |row: &rusqlite::Row<'_>| {
        Ok(ProvenRow {
            transfer: row.get::<_, String>(0)?.parse().expect("an id"),
            unit: nat(row.get(1)?),
            number: nat(row.get(2)?),
            entry: Entry {
                seq: row.get(3)?,
                at: nat(row.get(4)?),
                from: row.get(5)?,
                to: row.get(6)?,
                event: row.get(7)?,
                caller: row.get(8)?,
                detail: row.get(9)?,
                agreed: None,
            },
            prev: row.get(10)?,
            hash: row.get(11)?,
        })
    };
    ask.query_map([], read).expect("rows").collect::<rusqlite::Result<_>>().expect("rows")
}

/// What operators did, as the history of the id 0.
fn past_action(db: &Connection) -> Vec<ProvenRow> {
    let sql = "SELECT action_id, at, caller, idempotency_key, action, subject, value, reason, \
               result, audit_unit, lag(lower(hex(hash))) OVER (ORDER BY action_id), \
               lower(hex(hash)), entry FROM operator_actions ORDER BY action_id";
    let nat = |n: i64| u64::try_from(n).expect("not below zero");
    let read = |row: &rusqlite::Row<'_>| {
        let past_action = PastAction {
            number: nat(row.get(0)?),
            at: nat(row.get(1)?),
            caller: row.get(2)?,
            key: row.get(3)?,
            kind: row.get(4)?,
            subject: row.get(5)?,
            value: row.get(6)?,
            reason: row.get(7)?,
            result: row.get(8)?,
        };
        Ok(ProvenRow {
            transfer: OPERATORS,
            unit: nat(row.get(9)?),
            number: 0,
            entry: past_action.entry(row.get(12)?),
            prev: row.get(10)?,
            hash: row.get(11)?,
        })
    };
    let mut ask = db.prepare(sql).expect("the table");
    ask.query_map([], read).expect("rows").collect::<rusqlite::Result<_>>().expect("rows")
}

/// External movements, each with the number of its group write and its hash.
fn moved(db: &Connection) -> Vec<(u64, Entry, Hash)> {
    let sql = "SELECT audit_unit, entry, at, direction, caller, hash, operation_id, reference, \
               user_id, asset_id, amount, available, reason FROM externals ORDER BY operation_id";
    let nat = |n: i64| u64::try_from(n).expect("not below zero");
    let mut ask = db.prepare(sql).expect("the table");
    let read = |row: &rusqlite::Row<'_>| {
        let text = |n| row.get::<_, String>(n);
        let number = |n| Ok::<_, rusqlite::Error>(row.get::<_, i64>(n)?.to_string());
        let fields =
            [number(6)?, text(7)?, number(8)?, number(9)?, text(10)?, text(11)?, text(12)?];
        let fields = fields.each_ref().map(String::as_str);
        let entry = action_entry(row.get(1)?, nat(row.get(2)?), &text(3)?, &text(4)?, &fields);
        Ok((nat(row.get(0)?), entry, row.get(5)?))
    };
    ask.query_map([], read).expect("rows").collect::<rusqlite::Result<_>>().expect("rows")
}

/// What is wrong with the rows; nothing where all of it can be computed again.
fn faults(db: &Connection, births: &BTreeMap<Id, Hash>) -> Vec<String> {
    let mut told = told(db);
    told.extend(past_action(db));
    told.sort_by_key(|t| (t.number, t.entry.seq));
    let mut faults = Vec::new();
    let mut last: BTreeMap<Id, Hash> = BTreeMap::new();
    let mut units: BTreeMap<u64, UnitDigest> = BTreeMap::new();
    let mut world = genesis(WORLD);
    for (unit, entry, hash) in moved(db) {
        world = link(world, &entry);
        if world != hash {
            faults.push(format!("external movement {}", entry.seq));
        }
        units.entry(unit).or_default().push(world);
    }
    for ProvenRow { transfer, unit, entry, prev, hash, .. } in told {
        let before = last.get(&transfer).copied();
        if prev != before.as_ref().map(hex) {
            faults.push(format!("{transfer} {}: the hash before", entry.seq));
        }
        let now = link(before.unwrap_or_else(|| births[&transfer]), &entry);
        if hash != hex(&now) {
            faults.push(format!("{transfer} {}: its hash", entry.seq));
        }
        last.insert(transfer, now);
        units.entry(unit).or_default().push(now);
    }
    let sql = "SELECT n, count, digest FROM audit_units WHERE lane = 0 ORDER BY n";
    let mut ask = db.prepare(sql).expect("the table");
    let mut rows = ask.query([]).expect("rows");
    let mut next = 1;
    while let Some(row) = rows.next().expect("a row") {
        let (n, count, digest): (u64, u32, Hash) = (
            u64::try_from(row.get::<_, i64>(0).expect("n")).expect("n"),
            row.get(1).expect("count"),
            row.get(2).expect("digest"),
        );
        if n != next {
            faults.push(format!("unit {next} is missing"));
        }
        next = n + 1;
        let found = units.remove(&n).unwrap_or_default();
        if found.count != count || found.finish(0, n) != digest {
            faults.push(format!("unit {n}"));
        }
    }
    faults.extend(units.keys().map(|n| format!("unit {n} has no row")));
    faults
}

#[tokio::test(flavor = "multi_thread")]
async fn chains_and_units_can_be_computed_again() {
    let fixture = Fixture::new();
    let mut store = fixture.open();
    for user in 1..4 {
        fund(&*store.funding(), user, COIN, Amount(100)).await;
    }
    for round in 0..4_u64 {
        // several writes of one millisecond, of transfers in no order
        let of = |k: u64| (round * 20 + (k * 7) % 20, 1 + k % 3);
        let open = (0..20).map(|k| fixture.opening(of(k).0, of(k).1, 3)).collect();
        store.write(open).await;
        let end = (0..15).rev().map(|k| fixture.ending(of(k).0, of(k).1, 3)).collect();
        store.write(end).await;
        let end: Vec<_> = (15..20).map(|k| fixture.ending(of(k).0, of(k).1, 3)).collect();
        // beside transfers' entries of the same write, and alone
        let act = |n| Put::Action(action(&format!("{round}-{n}"), "service"));
        let beside = Unit::puts(vec![act(0), act(1)]);
        store.write(end.into_iter().chain([beside]).collect()).await;
        store.write(vec![Unit::puts(vec![act(2)])]).await;
        if round == 2 {
            drop(store);
            store = fixture.open();
        }
    }
    let records = store.get((0..80).map(id).collect()).await.expect("records");
    let birth = |record: &Record| (record.id, birth(record.id, "internal", &record.terms));
    let operators = (OPERATORS, genesis(OPERATORS));
    let births: BTreeMap<Id, Hash> = records.iter().map(birth).chain([operators]).collect();
    let tool = fixture.tool();
    assert_eq!(faults(&tool, &births), [""; 0]);
    let spoil = [
        (
            "one word",
            format!(
                "UPDATE transfers SET history = replace(history, 'SOURCE_OK', 'SOURCE_KO') WHERE req_id = '{}'",
                id(3)
            ),
        ),
        ("a transfer", format!("DELETE FROM transfers WHERE req_id = '{}'", id(8))),
        (
            "money from outside",
            "UPDATE externals SET user_id = 9 WHERE operation_id = 2".to_owned(),
        ),
        ("an action", "DELETE FROM operator_actions WHERE action_id = 12".to_owned()),
        ("a unit's row", "DELETE FROM audit_units WHERE n = 4".to_owned()),
        ("a digest", "UPDATE audit_units SET digest = zeroblob(32) WHERE n = 5".to_owned()),
    ];
    let columns = [
        "action",
        "subject",
        "value",
        "reason",
        "result",
        "caller",
        "idempotency_key",
        "at",
        "entry",
        "audit_unit",
        "hash",
    ];
    let spoil = spoil.into_iter().chain(columns.map(|column| {
        let sql = format!("UPDATE operator_actions SET {column} = 77 WHERE action_id = 5");
        (column, sql)
    }));
    for (what, sql) in spoil {
        let change = tool.unchecked_transaction().expect("a transaction");
        assert_eq!(change.execute(&sql, []).expect(&sql), 1, "{what}");
        assert!(!faults(&change, &births).is_empty(), "{what} was not found");
        change.rollback().expect("a rollback");
    }
    assert_eq!(faults(&tool, &births), [""; 0]);
}
