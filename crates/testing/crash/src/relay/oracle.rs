//! The oracle of the relay campaign. After each kill: every acknowledged transfer is there, and the chain paid each
//! at most once, its amount to its receiver. In the end each transfer has ended, a COMPLETED one was paid, a FAILED
//! one was not, and nothing waits anywhere.

use super::chain::Payment;
use super::clients::Payout;
use super::services::Services;
use crate::Outcome;
use crate::two_servers::{Load, Sent, none_of, rests};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long everything may take to come to its end once the chain is fair.
const SETTLES: Duration = Duration::from_secs(300);

/// How long until each case is closed: that of a process that was killed is closed by another one, once it
/// notices that the first is gone.
const CASES_CLOSE: Duration = Duration::from_secs(300);

const COMPLETED: i64 = 60;
const FAILED: i64 = -10;

/// How the transfers ended.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Ends {
    /// They were paid once each.
    pub completed: u64,
    /// The chain never paid them.
    pub failed: u64,
}

/// A transfer as the database has it.
#[derive(Debug, Clone)]
struct Row {
    key: String,
    state: i64,
    payout: Payout,
}

/// Transfers by their ids, which are the memos of their payments.
fn rows(services: &Services) -> Outcome<BTreeMap<String, Row>> {
    let sql = "SELECT portage_ulid(req_id), cid, state, ltrim(target_account, '@'), amount \
        FROM transfers WHERE flow = 'relay'";
    let text = services.servers.database.sql(sql)?;
    text.lines().map(|line| row(line).ok_or_else(|| format!("no transfer: {line}"))).collect()
}

fn row(line: &str) -> Option<(String, Row)> {
    let fields: Vec<&str> = line.split('|').collect();
    let [id, key, state, receiver, units] = fields.as_slice() else { return None };
    let payout = Payout { receiver: (*receiver).to_owned(), units: units.parse().ok()? };
    let row = Row { key: (*key).to_owned(), state: state.parse().ok()?, payout };
    Some(((*id).to_owned(), row))
}

/// What was acknowledged since this was asked last, or all of it, is there under its key with its terms; and
/// no transfer was paid twice, or otherwise than it asks.
pub(super) fn kept(services: &Services, load: &Load<Payout>, everything: bool) -> Outcome {
    // what is acknowledged and what is final was there before the rows are read
    let known = if everything { load.all() } else { load.fresh() };
    let payments = services.chain.payments()?;
    let rows = rows(services)?;
    let mut faults = missing(&known, &rows);
    faults.extend(paid(&payments, &rows).1);
    none_of(&faults)
}

fn missing(known: &BTreeMap<String, Sent<Payout>>, rows: &BTreeMap<String, Row>) -> Vec<String> {
    let by_key: BTreeMap<&str, &Row> = rows.values().map(|row| (row.key.as_str(), row)).collect();
    let mut faults = Vec::new();
    for (key, sent) in known {
        match by_key.get(key.as_str()) {
            None => faults.push(format!("acknowledged and gone: {key} {sent:?}")),
            Some(row) if row.payout != sent.wanted => {
                faults.push(format!("{key} was acknowledged as {sent:?}, and is {row:?}"));
            }
            Some(_) => {}
        }
    }
    faults
}

/// The ids that were paid, and what is wrong with the payments.
fn paid<'a>(
    payments: &'a [Payment],
    rows: &BTreeMap<String, Row>,
) -> (BTreeSet<&'a str>, Vec<String>) {
    let (mut paid, mut faults) = (BTreeSet::new(), Vec::new());
    for payment in payments {
        let id = payment.memo.as_deref().unwrap_or_default();
        match rows.get(id) {
            None => faults.push(format!("a payment of no transfer: {payment:?}")),
            Some(row) => {
                let as_asked = payment.to.as_deref() == Some(row.payout.receiver.as_str())
                    && payment.amount == row.payout.units.to_string();
                if !as_asked {
                    faults.push(format!("{id} asks for {row:?}, and {payment:?} was paid"));
                }
            }
        }
        if !paid.insert(id) {
            faults.push(format!("{id} was paid twice: {payment:?}"));
        }
    }
    (paid, faults)
}

/// Waits until nothing is open and nothing waits, and holds all of it against what clients were told and
/// what the chain holds.
pub(super) fn settle(services: &Services, load: &Load<Payout>) -> Outcome<Ends> {
    let ended = rests(SETTLES, || unrest(services));
    if ended.is_err() {
        kept(services, load, true)?;
    }
    ended?;
    rests(CASES_CLOSE, || services.servers.open_cases())?;
    let (known, rows, payments) = (load.all(), rows(services)?, services.chain.payments()?);
    let mut faults = missing(&known, &rows);
    let (paid, wrong) = paid(&payments, &rows);
    faults.extend(wrong);
    for (id, row) in &rows {
        if !known.contains_key(&row.key) {
            faults.push(format!("no client asked for {row:?}"));
        }
        let should = match row.state {
            COMPLETED => row.payout.can_be_paid() && paid.contains(id.as_str()),
            FAILED => !row.payout.can_be_paid() && !paid.contains(id.as_str()),
            _ => false,
        };
        if !should {
            let paid = if paid.contains(id.as_str()) { "paid" } else { "not paid" };
            faults.push(format!("{id} is {row:?}, and was {paid}"));
        }
    }
    none_of(&faults)?;
    services.servers.command(&["check"])?;
    services.servers.command(&["audit", "verify"])?;
    let count =
        |state| u64::try_from(rows.values().filter(|row| row.state == state).count()).unwrap_or(0);
    Ok(Ends { completed: count(COMPLETED), failed: count(FAILED) })
}

/// What has not ended or is not closed; none of it may be left.
fn unrest(services: &Services) -> Outcome<Option<String>> {
    let counts = [
        ("open transfers", services.open_transfers()?),
        ("open attempts", services.attempts()?.open),
        ("halts", services.servers.number("SELECT count(*) FROM halts")?),
    ];
    if let Some((what, count)) = counts.into_iter().find(|(_, count)| *count > 0) {
        let by_state = "SELECT state, count(*), min(updated_at) FROM transfers \
            WHERE flow = 'relay' AND state NOT IN (60, -10) GROUP BY state";
        let by_state = services.servers.database.sql(by_state)?;
        return Ok(Some(format!("{count} {what}, by their states: {by_state}")));
    }
    Ok(None)
}
