//! Searches transfers for operators, by any of their fields, newest first.
//!
//! An operator's input reaches SQL as a parameter only; the text of the query consists of words of this
//! file.

use crate::sqlite::columns::int;
use crate::sqlite::rows;
use kernel::flow::table::Flows;
use kernel::ids::Millis;
use kernel::ports::admin_queries::{Search, SearchKey};
use kernel::record::{Account, Record};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params_from_iter};

/// The conditions of a search and their parameters.
#[derive(Default)]
struct Conditions {
    clauses: Vec<String>,
    values: Vec<Value>,
}

impl Conditions {
    fn and(&mut self, clause: &'static str, value: impl Into<Value>) {
        self.clauses.push(clause.to_owned());
        self.values.push(value.into());
    }
}

pub(crate) fn transfers(
    db: &Connection,
    flows: &Flows,
    search: &Search,
) -> rusqlite::Result<Vec<Record>> {
    let limit = super::at_most(search.limit);
    let Some(conditions) = conditions(db, flows, search)? else { return Ok(Vec::new()) };
    let columns: Vec<_> = rows::COLUMNS.split(", ").map(|c| format!("t.{}", c.trim())).collect();
    // what narrows the most: the batches that are not ended, a user's rows, the row's number
    let service = search.principal.as_deref().filter(|principal| makes_for_others(principal));
    let service = service.filter(|_| search.key.is_none());
    let from = match (search.open, search.user, service) {
        (Some(true), ..) => {
            "open_batches b CROSS JOIN transfers t ON t.transfer_id BETWEEN b.lo AND b.hi"
        }
        (_, Some(_), _) => "transfers t INDEXED BY transfers_user",
        (_, None, Some(_)) => "transfers t INDEXED BY transfers_service",
        (_, None, None) => "transfers t NOT INDEXED",
    };
    let order = if search.open == Some(true) { "b.batch DESC, " } else { "" };
    let sql = format!(
        "SELECT {} FROM {from} WHERE {} ORDER BY {order}t.transfer_id DESC LIMIT ?",
        columns.join(", "),
        conditions.clauses.join(" AND "),
    );
    let values = conditions.values.into_iter().chain([Value::Integer(limit)]);
    let mut ask = db.prepare_cached(&sql)?;
    ask.query_map(params_from_iter(values), |row| rows::record(flows, row))?.collect()
}

/// The condition of the index of services: transfers that a principal made for others.
const FOR_OTHERS: &str = "substr(t.principal, -1 - length(t.user_id)) <> '|' || t.user_id";

/// True where no transfer of the principal can be its own: then the index has all of them. One
/// whose name ends like a user's may have made some for itself.
fn makes_for_others(principal: &str) -> bool {
    let name = principal.rsplit('|').next().unwrap_or(principal);
    !name.bytes().all(|c| c.is_ascii_digit())
}

/// The conditions; `None` where nothing can fit.
fn conditions(
    db: &Connection,
    flows: &Flows,
    search: &Search,
) -> rusqlite::Result<Option<Conditions>> {
    let mut conditions = Conditions::default();
    conditions.and("t.transfer_id < ?", super::below(search.before.map(|serial| serial.0)));
    if let Some(since) = search.since {
        let Some(first) = first_at(db, since)? else { return Ok(None) };
        conditions.and("t.transfer_id >= ?", first);
    }
    if let Some(until) = search.until
        && let Some(first) = first_at(db, until)?
    {
        conditions.and("t.transfer_id < ?", first);
    }
    if let Some(user) = search.user {
        conditions.and("t.user_id = ?", int(user.0));
    }
    if let Some(flow) = search.flow {
        let table = flows.table(flow);
        // a plus keeps the index of flows out of the plan
        let clause = if search.is_of_one() { "+t.flow = ?" } else { "t.flow = ?" };
        conditions.and(clause, table.flow.to_owned());
        if let Some(state) = search.state {
            conditions.and("t.state = ?", i64::from(table.state(state).code));
        }
    }
    match search.open {
        Some(true) => ended(flows, &mut conditions, "NOT "),
        Some(false) => ended(flows, &mut conditions, ""),
        None => {}
    }
    if let Some(principal) = &search.principal {
        conditions.and("t.principal = ?", principal.as_ref().to_owned());
        if makes_for_others(principal) {
            // true of every one of them; SQLite knows by it that the index will do
            conditions.clauses.push(FOR_OTHERS.to_owned());
        }
    }
    if let Some(asset) = search.asset {
        conditions.and("t.asset_id = ?", i64::from(asset.0));
    }
    if let Some(source) = search.source {
        conditions.and("t.source_type = ?", i64::from(source.0));
    }
    if let Some(target) = search.target {
        // a target that was agreed later is not the one of the terms
        let agreed = "coalesce(json_extract(t.agreed, '$.system'), t.target_type) = ?";
        conditions.and(agreed, i64::from(target.0));
    }
    if let Some(receiver) = &search.receiver {
        let agreed = "coalesce(json_extract(t.agreed, '$.account'), t.target_account) = ?";
        conditions.and(agreed, Account::Named(receiver.clone()).key());
    }
    if let Some(key) = &search.key {
        key_condition(flows, key, search.user.is_some(), &mut conditions);
    }
    if let Some(reference) = &search.reference {
        conditions.and("t.reference = ?", reference.as_ref().to_owned());
    }
    if let Some(least) = search.min_attempts {
        conditions.and("t.retry_count >= ?", i64::from(least));
    }
    if let Some(class) = &search.error_class {
        conditions.and("t.error_class = ?", class.as_ref().to_owned());
    }
    Ok(Some(conditions))
}

/// Adds the condition of a client's key: a user's rows are few; else the place where keys are unique says which rows have
/// it, at once where the scopes are known.
fn key_condition(flows: &Flows, key: &SearchKey, of_user: bool, conditions: &mut Conditions) {
    let text = key.key.as_ref().to_owned();
    if of_user {
        return conditions.and("t.cid = ?", text);
    }
    let mut inner = "k.cid = ?".to_owned();
    conditions.values.push(text.into());
    if !key.scopes.is_empty() {
        let marks = |count: usize| vec!["?"; count].join(", ");
        let (all, scopes) = (marks(flows.0.len()), marks(key.scopes.len()));
        inner = format!("{inner} AND k.flow IN ({all}) AND k.scope IN ({scopes})");
        let names = flows.0.iter().map(|table| table.flow.to_owned());
        let scopes = key.scopes.iter().map(|scope| scope.as_ref().to_owned());
        conditions.values.extend(names.chain(scopes).map(Value::from));
    }
    let clause = format!("t.transfer_id IN (SELECT k.transfer_id FROM keys k WHERE {inner})");
    conditions.clauses.push(clause);
}

/// Adds the condition of a state that ends its flow, or its opposite.
fn ended(flows: &Flows, conditions: &mut Conditions, not: &str) {
    let mut ends = Vec::new();
    for table in &flows.0 {
        for state in table.all().filter(|state| table.ends(*state)) {
            ends.push("(t.flow = ? AND t.state = ?)");
            conditions.values.push(table.flow.to_owned().into());
            conditions.values.push(i64::from(table.state(state).code).into());
        }
    }
    conditions.clauses.push(format!("{not}({})", ends.join(" OR ")));
}

/// The number of the first transfer that was opened at or after a time. The journal's time never
/// goes back, so numbers and times rise together.
pub(crate) fn first_at(db: &Connection, at: Millis) -> rusqlite::Result<Option<i64>> {
    let sql = "SELECT transfer_id, created_at FROM transfers WHERE transfer_id >= ? \
               ORDER BY transfer_id LIMIT 1";
    let mut ask = db.prepare_cached(sql)?;
    let top = "SELECT max(transfer_id) FROM transfers";
    let top: Option<i64> = db.prepare_cached(top)?.query_row([], |row| row.get(0))?;
    let (mut low, mut high) = (1, top.unwrap_or(0).saturating_add(1));
    let mut first = None;
    while low < high {
        let middle = low + (high - low) / 2;
        let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
        match ask.query_row([middle], read).optional()? {
            Some((number, created)) if created < int(at) => low = number.saturating_add(1),
            Some((number, _)) => {
                first = Some(number);
                high = middle;
            }
            None => high = middle,
        }
    }
    Ok(first)
}
