//! The oracle of the account campaign: after each kill every acknowledged transfer is there and no money was made;
//! in the end each transfer has ended once, with exactly its move, and nothing waits anywhere.

use super::clients::{ACCOUNTS, GIVEN_UNITS, Wanted, number};
use super::forged;
use super::services::Services;
use crate::Outcome;
use crate::two_servers::{Load, Sent, none_of, rests};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long everything may take to come to its end: a message that was lost is sent again after a minute.
const SETTLES: Duration = Duration::from_secs(240);

/// How the transfers ended.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Ends {
    /// They moved their money.
    pub completed: u64,
    /// They were refused, and moved nothing.
    pub failed: u64,
}

/// A transfer as the database has it.
#[derive(Debug)]
struct Row {
    id: String,
    state: i64,
    sent: Sent<Wanted>,
    /// Moves of it, and of these the ones with its accounts and its amount.
    moves: (u64, u64),
    /// Messages on the topics of its ends: completed, failed.
    told: (u64, u64),
    history: Vec<Value>,
}

/// Moves and messages are counted once for all transfers: one by one they are looked for in every row.
const ROWS: &str = "WITH moves AS ( \
      SELECT o.req_id, count(*) AS booked, count(*) FILTER (WHERE o.leg = 'MOVE' \
        AND o.amount = t.amount AND o.asset_id = t.asset_id \
        AND o.account = t.source_account AND o.other_account = t.target_account) AS agreed \
      FROM operations o JOIN transfers t USING (req_id) \
      WHERE o.ledger = 10 AND o.result = 'DONE' GROUP BY o.req_id), \
    told AS ( \
      SELECT req_id, count(*) FILTER (WHERE topic = 'transfer-completed') AS completed, \
        count(*) FILTER (WHERE topic = 'transfer-failed') AS failed FROM outbox GROUP BY req_id) \
    SELECT t.cid, t.req_id, t.state, ltrim(t.source_account, '@'), ltrim(t.target_account, '@'), t.amount, \
      coalesce(moves.booked, 0), coalesce(moves.agreed, 0), \
      coalesce(told.completed, 0), coalesce(told.failed, 0), t.history \
    FROM transfers t LEFT JOIN moves USING (req_id) LEFT JOIN told USING (req_id) \
    WHERE t.flow = 'account'";

fn rows(services: &Services) -> Outcome<BTreeMap<String, Row>> {
    let text = services.servers.database.sql(ROWS)?;
    text.lines().map(|line| row(line).ok_or_else(|| format!("no transfer: {line}"))).collect()
}

fn row(line: &str) -> Option<(String, Row)> {
    let fields: Vec<&str> = line.splitn(11, '|').collect();
    let [key, id, state, from, to, amount, moves, agreed, completed, failed, history] =
        fields.as_slice()
    else {
        return None;
    };
    let number = |text: &str| text.parse::<u64>().ok();
    let wanted = Wanted { from: (*from).to_owned(), to: (*to).to_owned(), units: number(amount)? };
    let id = (*id).to_owned();
    let row = Row {
        id: id.clone(),
        state: state.parse().ok()?,
        sent: Sent { id, wanted },
        moves: (number(moves)?, number(agreed)?),
        told: (number(completed)?, number(failed)?),
        history: serde_json::from_str(&format!("[{history}]")).ok()?,
    };
    Some(((*key).to_owned(), row))
}

/// What was acknowledged since this was asked last, or all of it, is there under its key with its id and its
/// terms; the accounts hold together what they were given.
pub(super) fn kept(services: &Services, load: &Load<Wanted>, everything: bool) -> Outcome {
    // what is acknowledged was there before the rows are read
    let known = if everything { load.all() } else { load.fresh() };
    let rows = rows(services)?;
    let faults = missing(&known, &rows);
    sum(services)?;
    none_of(&faults)
}

fn missing(known: &BTreeMap<String, Sent<Wanted>>, rows: &BTreeMap<String, Row>) -> Vec<String> {
    let mut faults = Vec::new();
    for (key, sent) in known {
        match rows.get(key) {
            None => faults.push(format!("acknowledged and gone: {key} {sent:?}")),
            Some(row) if row.sent.wanted != sent.wanted || row.id != sent.id => {
                faults.push(format!("{key} was acknowledged as {sent:?}, and is {row:?}"));
            }
            Some(_) => {}
        }
    }
    faults
}

/// One statement sees one instant.
fn sum(services: &Services) -> Outcome {
    let sum = services.servers.number("SELECT sum(balance) FROM accounts_tb")?;
    let given = ACCOUNTS * GIVEN_UNITS;
    if sum == given {
        Ok(())
    } else {
        Err(format!("the accounts hold {sum}, and were given {given}"))
    }
}

/// Waits until nothing is open and nothing waits, and holds all of it against what clients were told.
pub(super) fn settle(services: &mut Services, load: &Load<Wanted>) -> Outcome<Ends> {
    rests(SETTLES, || unrest(services))?;
    sum(services)?;
    let (known, rows) = (load.all(), rows(services)?);
    let mut faults = missing(&known, &rows);
    let strangers = rows.keys().filter(|key| !known.contains_key(*key));
    faults.extend(strangers.map(|key| format!("no client asked for {key}")));
    faults.extend(rows.values().flat_map(ended));
    faults.extend(balances(services, &rows)?);
    let strange = "SELECT count(*) FROM operations o WHERE o.ledger = 10 AND NOT EXISTS \
        (SELECT 1 FROM transfers t WHERE t.req_id = o.req_id AND t.flow = 'account')";
    let strange = services.servers.number(strange)?;
    if strange > 0 {
        faults.push(format!("{strange} moves of no transfer"));
    }
    none_of(&faults)?;
    services.servers.command(&["check"])?;
    services.servers.command(&["audit", "verify"])?;
    let count =
        |state| u64::try_from(rows.values().filter(|row| row.state == state).count()).unwrap_or(0);
    Ok(Ends { completed: count(COMPLETED), failed: count(FAILED) })
}

const COMPLETED: i64 = 40;
const FAILED: i64 = -10;

/// The way of each transfer, from the state before.
const EDGES: [(Option<i64>, i64); 7] = [
    (None, 0),
    (Some(0), 10),
    (Some(10), 20),
    (Some(10), FAILED),
    (Some(20), 30),
    (Some(30), COMPLETED),
    (Some(30), FAILED),
];

/// What is wrong with a transfer that must have ended: its end, its moves, its messages, its history.
fn ended(row: &Row) -> Vec<String> {
    let (moves, told) = match row.state {
        COMPLETED => (1, (1, 0)),
        FAILED => (0, (0, 1)),
        _ => return vec![format!("no end: {row:?}")],
    };
    let mut faults = Vec::new();
    if row.moves != (moves, moves) {
        faults.push(format!("{} is at {} and has {:?} moves", row.id, row.state, row.moves));
    }
    if row.told != told {
        faults.push(format!("{} is at {} and tells {:?}", row.id, row.state, row.told));
    }
    let state = |entry: &Value, at: usize| entry.get(at).and_then(Value::as_i64);
    let steps = row.history.iter().map(|entry| (state(entry, 2), state(entry, 3)));
    // an entry that stays is a case that opened or closed
    let steps: Vec<_> = steps.filter(|(from, to)| from != to).collect();
    let mut before = None;
    for step in &steps {
        let known = EDGES.iter().any(|(from, to)| (*from, Some(*to)) == *step);
        if !known || step.0 != before {
            faults.push(format!("{} took {steps:?}", row.id));
            break;
        }
        before = step.1;
    }
    if before != Some(row.state) {
        faults.push(format!("{} is at {} after {steps:?}", row.id, row.state));
    }
    faults
}

/// Every account holds what it was given and what the COMPLETED transfers come to.
fn balances(services: &Services, rows: &BTreeMap<String, Row>) -> Outcome<Vec<String>> {
    let mut should: BTreeMap<String, i128> =
        (0..ACCOUNTS).map(|n| (number(n), i128::from(GIVEN_UNITS))).collect();
    for row in rows.values().filter(|row| row.state == COMPLETED) {
        let wanted = &row.sent.wanted;
        *should.entry(wanted.from.clone()).or_default() -= i128::from(wanted.units);
        *should.entry(wanted.to.clone()).or_default() += i128::from(wanted.units);
    }
    let text = services.servers.database.sql("SELECT account_number, balance FROM accounts_tb")?;
    let has = text.lines().filter_map(|line| {
        let (number, balance) = line.split_once('|')?;
        Some((number.to_owned(), balance.parse::<i128>().ok()?))
    });
    let has: BTreeMap<String, i128> = has.collect();
    let same = has == should;
    Ok(if same { Vec::new() } else { vec![format!("the accounts have {has:?}, not {should:?}")] })
}

/// What has not ended, is not published, not consumed, parked, dead or asked of operators; none of it may
/// be left.
fn unrest(services: &Services) -> Outcome<Option<String>> {
    let counts = [
        ("open transfers", services.open_transfers()?),
        ("messages in the outbox", services.servers.number("SELECT count(*) FROM outbox_queue")?),
        ("parked keys", services.servers.number("SELECT count(*) FROM parked_keys")?),
        ("parked messages", services.servers.number("SELECT count(*) FROM parked")?),
        ("halts", services.servers.number("SELECT count(*) FROM halts")?),
    ];
    if let Some((what, count)) = counts.into_iter().find(|(_, count)| *count > 0) {
        return Ok(Some(format!("{count} {what}")));
    }
    let pipeline = services.servers.look("/ops/pipeline")?;
    if pipeline.get("bus").and_then(Value::as_str) != Some("connected") {
        return Ok(Some(format!("the bus: {pipeline}")));
    }
    if forged::sum(&pipeline, "groups", "lag") + forged::sum(&pipeline, "dead_letters", "messages")
        > 0
    {
        return Ok(Some(format!("messages: {pipeline}")));
    }
    forged::other_cases(services)
}
