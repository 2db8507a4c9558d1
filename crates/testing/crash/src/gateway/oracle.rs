//! The oracle of the gateway campaign: once everything has ended, each effect is where its transfer says, once, and
//! no money was made or lost. It reads the simple ledger's rows directly, beside the service that wrote them.

use super::clients::{ALL_GIVEN, Sent};
use super::services::Services;
use crate::Outcome;
use crate::create::units;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const SIMPLE: &str = "MARGIN";
const ASSET: &str = "USDT";

/// The rows of the ledger of the simple form.
struct Rows {
    /// Which legs of which transfers are done.
    done: BTreeSet<(String, String)>,
    /// What all users have, in base units.
    has: i128,
}

impl Rows {
    fn read(services: &Services) -> Outcome<Self> {
        let fault = |fault: rusqlite::Error| format!("the simple ledger's rows: {fault}");
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(services.rows(), flags).map_err(fault)?;
        let ask = "SELECT req_id, leg FROM operations WHERE answer = '{\"success\": true}'";
        let mut ask = db.prepare(ask).map_err(fault)?;
        let rows = ask.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(fault)?;
        let done = rows.collect::<Result<_, _>>().map_err(fault)?;
        let sum = "SELECT coalesce(sum(CAST(available AS INTEGER)), 0) FROM balances";
        let has: i64 = db.query_row(sum, [], |row| row.get(0)).map_err(fault)?;
        Ok(Self { done, has: i128::from(has) })
    }

    fn holds(&self, id: &str, leg: &str) -> bool {
        self.done.contains(&(id.to_owned(), leg.to_owned()))
    }
}

/// Holds every transfer against the rows, and the sums against each other; how many ended in each state.
pub(super) fn judge(services: &Services, sent: &[Sent]) -> Outcome<BTreeMap<String, u64>> {
    let rows = Rows::read(services)?;
    let mut ended = BTreeMap::<String, u64>::new();
    let mut faults = Faults::default();
    for one in sent {
        let now = services.look(&format!("/transfers/{}", one.id))?;
        let state = now.get("state").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut expects = |leg: &str, should: bool| {
            if rows.holds(&one.id, leg) != should {
                let is = if should { "does not hold" } else { "holds" };
                faults.add(format!("{state}, and {SIMPLE} {is} its {leg}"), &one.id);
            }
        };
        if one.from == SIMPLE {
            expects("WITHDRAW", state != "FAILED");
            expects("REFUND", state == "ROLLED_BACK");
        }
        if one.to == SIMPLE {
            expects("DEPOSIT", state == "COMMITTED");
        }
        *ended.entry(state).or_default() += 1;
    }
    let known: BTreeSet<&str> = sent.iter().map(|one| one.id.as_str()).collect();
    let strange = rows.done.iter().filter(|(id, _)| !known.contains(id.as_str()));
    strange.for_each(|(id, leg)| faults.add(format!("never sent, and {SIMPLE} holds a {leg}"), id));
    let sums = sums(services, rows.has)?;
    if faults.0.is_empty() && sums.is_empty() {
        return Ok(ended);
    }
    Err([faults.shown(), sums, vec![format!("{ended:?}")]].concat().join("\n"))
}

/// Transfers by what is wrong with them: how many, and the first.
#[derive(Debug, Default)]
struct Faults(BTreeMap<String, (u64, String)>);

impl Faults {
    fn add(&mut self, what: String, id: &str) {
        self.0.entry(what).or_insert_with(|| (0, id.to_owned())).0 += 1;
    }

    fn shown(&self) -> Vec<String> {
        let one = |(what, (times, id)): (&String, &(u64, String))| {
            format!("{times} transfers are {what}; the first: {id}")
        };
        self.0.iter().map(one).collect()
    }
}

/// What all ledgers hold is what was given; the service's own proof holds, twice.
fn sums(services: &Services, simple: i128) -> Outcome<Vec<String>> {
    let mut faults = Vec::new();
    let proof = || services.runtime().block_on(services.client().conservation());
    let mut has = simple;
    for round in 0..2 {
        let proof = proof().map_err(|fault| format!("no proof: {fault}"))?;
        if !proof.ok || proof.halted.is_some() {
            faults.push(format!("the service's own proof fails: {proof:?}"));
        }
        if round > 0 {
            continue;
        }
        for books in proof.assets.iter().filter(|books| books.asset == ASSET) {
            has += i128::from(units(&books.users)?) + i128::from(units(&books.frozen)?);
        }
    }
    if has != i128::from(ALL_GIVEN) {
        let more = has - i128::from(ALL_GIVEN);
        faults.push(format!("{ALL_GIVEN} were given, and {has} are there: {more} more"));
    }
    Ok(faults)
}
