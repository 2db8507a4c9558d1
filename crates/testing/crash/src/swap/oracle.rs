//! The oracle of the swap campaign. After each kill: no deposit was given back twice, or otherwise than its terms say. In
//! the end each deposit that is final on the chain has one transfer that has ended: dust is kept, the rest was given back
//! less the fee, and the vault holds what it had and the fees.

use super::chain::Movement;
use super::customers::{Deposits, MINIMUM};
use super::services::{ENDED, Services};
use crate::Outcome;
use crate::two_servers::{none_of, rests};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long everything may take to come to its end once the chain is fair.
const SETTLES: Duration = Duration::from_secs(300);
/// How long until each case is closed: that of a process that was killed is closed by another one, once it
/// notices that the first is gone.
const CASES_CLOSE: Duration = Duration::from_secs(300);
/// What is kept of a refund, in base units.
const REFUND_FEE: u64 = 100_000;

const KEPT: i64 = 70;
const GIVEN_BACK: i64 = -30;

/// How the deposits ended.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Ends {
    /// They were given back once each.
    pub given_back: u64,
    /// They were dust, and are kept as fees.
    pub kept: u64,
}

/// A deposit as the database has it.
#[derive(Debug, Clone)]
struct Row {
    /// The signature of its payment.
    signature: String,
    state: i64,
    units: u64,
}

/// Transfers by their ids, with which the memos of their refunds end.
fn rows(services: &Services) -> Outcome<BTreeMap<String, Row>> {
    let sql =
        "SELECT portage_ulid(req_id), cid, state, amount FROM transfers WHERE flow = 'swap_in'";
    let text = services.servers.database.sql(sql)?;
    text.lines().map(|line| row(line).ok_or_else(|| format!("no swap: {line}"))).collect()
}

fn row(line: &str) -> Option<(String, Row)> {
    let fields: Vec<&str> = line.split('|').collect();
    let [id, key, state, units] = fields.as_slice() else { return None };
    let (signature, _) = key.split_once('/')?;
    let (state, units) = (state.parse().ok()?, units.parse().ok()?);
    Some(((*id).to_owned(), Row { signature: signature.to_owned(), state, units }))
}

/// No deposit was given back twice, or otherwise than it asks.
pub(super) fn kept(services: &Services) -> Outcome {
    // what is final was there before the rows are read
    let movements = services.chain.movements()?;
    let rows = rows(services)?;
    none_of(&refunds(&movements, &rows)?.1)
}

/// The refunds by their transfers, and what is wrong with them.
fn refunds(
    movements: &[Movement],
    rows: &BTreeMap<String, Row>,
) -> Outcome<(BTreeMap<String, u64>, Vec<String>)> {
    let (mut refunds, mut faults) = (BTreeMap::new(), Vec::new());
    for movement in movements {
        let change = movement.change()?;
        if change >= 0 {
            continue;
        }
        let left = change.unsigned_abs();
        let id = movement.memos.iter().find_map(|memo| memo.split_whitespace().last());
        let id = id.unwrap_or_default();
        match rows.get(id) {
            None => faults.push(format!("a refund of no deposit: {movement:?}")),
            Some(row) if row.units.saturating_sub(REFUND_FEE) != left => {
                faults.push(format!("{id} is {row:?}, and {movement:?} was given back"));
            }
            Some(_) => {}
        }
        if refunds.insert(id.to_owned(), left).is_some() {
            faults.push(format!("{id} was given back twice: {movement:?}"));
        }
    }
    Ok((refunds, faults))
}

/// Waits until nothing is open and nothing waits, and holds all of it against what customers paid and what the chain
/// holds.
pub(super) fn settle(services: &Services, paid: &Deposits) -> Outcome<Ends> {
    let ended = rests(SETTLES, || unrest(services, paid));
    if ended.is_err() {
        kept(services)?;
    }
    ended?;
    rests(CASES_CLOSE, || services.servers.open_cases())?;
    let (movements, rows) = (services.chain.movements()?, rows(services)?);
    let (refunds, mut faults) = refunds(&movements, &rows)?;
    let mut by_signature: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (id, row) in &rows {
        by_signature.entry(&row.signature).or_default().push(id);
        if paid.get(&row.signature) != Some(&row.units) {
            faults.push(format!("no customer paid {row:?}"));
        }
        let fits = match row.state {
            KEPT => row.units < MINIMUM && !refunds.contains_key(id),
            GIVEN_BACK => row.units >= MINIMUM && refunds.contains_key(id),
            _ => false,
        };
        if !fits {
            faults.push(format!("{id} is {row:?}, and given back was {:?}", refunds.get(id)));
        }
    }
    for movement in movements.iter().filter(|one| one.change().is_ok_and(|by| by > 0)) {
        let opened = by_signature.get(movement.signature.as_str()).map_or(0, Vec::len);
        let is_deposit = paid.contains_key(&movement.signature);
        if is_deposit && opened != 1 {
            faults.push(format!("{opened} swaps of {movement:?}"));
        }
    }
    none_of(&faults)?;
    books(services, &movements)?;
    services.servers.command(&["check"])?;
    services.servers.command(&["audit", "verify"])?;
    let count =
        |state| u64::try_from(rows.values().filter(|row| row.state == state).count()).unwrap_or(0);
    Ok(Ends { given_back: count(GIVEN_BACK), kept: count(KEPT) })
}

/// The books of the vault are what the chain shows of it.
fn books(services: &Services, movements: &[Movement]) -> Outcome {
    let sum = "SELECT coalesce(sum(value::numeric), 0) FROM service_state WHERE name ~ \
        '^counter/books/SOLANA/[0-9]+/(inventory|reserved|owed|held|fees)$'";
    let books = services.servers.number(sum)?;
    let mut vault: i64 = 0;
    for movement in movements {
        vault = vault.saturating_add(movement.change()?);
    }
    if i64::try_from(books).is_ok_and(|books| books == vault) {
        return Ok(());
    }
    Err(format!("the books have {books}, and the vault has {vault}"))
}

/// What has not ended or is not closed; none of it may be left.
fn unrest(services: &Services, paid: &Deposits) -> Outcome<Option<String>> {
    let wanted = u64::try_from(paid.len()).unwrap_or(u64::MAX);
    let found = services.servers.number("SELECT count(*) FROM transfers WHERE flow = 'swap_in'")?;
    let counts = [
        ("deposits not opened", wanted.saturating_sub(found)),
        ("open swaps", services.open_swaps()?),
        ("open attempts", services.attempts()?.open),
        ("halts", services.servers.number("SELECT count(*) FROM halts")?),
    ];
    if let Some((what, count)) = counts.into_iter().find(|(_, count)| *count > 0) {
        let by_state = format!(
            "SELECT state, count(*), min(updated_at) FROM transfers \
             WHERE flow = 'swap_in' AND state NOT IN {ENDED} GROUP BY state"
        );
        let by_state = services.servers.database.sql(&by_state)?;
        return Ok(Some(format!("{count} {what}, by their states: {by_state}")));
    }
    Ok(None)
}
