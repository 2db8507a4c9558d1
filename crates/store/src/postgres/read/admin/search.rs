//! Searches transfers for operators, by any of their fields, newest first.
//!
//! An operator's input reaches SQL as a parameter only; the text of the query consists of words of this
//! file.

use crate::postgres::columns::{int, small};
use crate::postgres::error::StoreError;
use crate::postgres::read::read_pool::rows;
use crate::postgres::read::transfers::{OPEN, ended, records};
use crate::postgres::rows::COLUMNS;
use crate::postgres::session::connect::Pooled;
use crate::postgres::write::statement::{Params, borrowed};
use kernel::flow::table::Flows;
use kernel::ports::admin_queries::{Search, SearchKey};
use kernel::record::{Account, Record};
use tokio_postgres::types::ToSql;

/// Numbers and times rise together but for concurrent writes: the maximum difference between their times.
const BESIDE: i64 = 60_000;

/// The conditions of a search and their parameters.
#[derive(Default)]
struct Conditions {
    clauses: Vec<String>,
    values: Params,
}

impl Conditions {
    /// A condition on a value, whose place in the clause is `$`.
    fn and(&mut self, clause: &str, value: impl ToSql + Sync + Send + 'static) {
        self.values.push(Box::new(value));
        self.clauses.push(clause.replace('$', &format!("${}", self.values.len())));
    }
}

pub(crate) async fn transfers(
    db: &Pooled,
    flows: &Flows,
    search: &Search,
) -> Result<Vec<Record>, StoreError> {
    let conditions = conditions(flows, search);
    // what narrows the most: the batches that are not ended, else an index or the row's number
    let (from, order) = match search.open {
        Some(true) => (OPEN, "b.batch DESC, "),
        Some(false) | None => ("every_transfer t", ""),
    };
    let limit = super::at_most(search.limit);
    let select = |clauses: &str| {
        format!(
            "SELECT {COLUMNS} FROM {from} WHERE {clauses} ORDER BY {order}t.transfer_id DESC LIMIT {limit}"
        )
    };
    let clauses = conditions.clauses.join(" AND ");
    let own = search.principal.as_deref().and_then(own_user).filter(|_| order.is_empty());
    let sql = match own {
        // two indexes, and no transfer is in both: each has its newest rows first
        Some(user) => format!(
            "SELECT * FROM (({}) UNION ALL ({})) t ORDER BY transfer_id DESC LIMIT {limit}",
            select(&format!("{clauses} AND t.user_id = {user} AND NOT ({FOR_OTHERS})")),
            select(&format!("{clauses} AND {FOR_OTHERS}")),
        ),
        None => select(&clauses),
    };
    records(flows, &rows(db, &sql, &borrowed(&conditions.values)).await?)
}

/// The condition of the index of services: transfers that a principal made for others.
const FOR_OTHERS: &str =
    "right(t.principal, 1 + length(t.user_id::text)) <> '|' || t.user_id::text";

/// The user whose own transfers a principal may have made: one whose name is a user's. The index of services has all
/// that it made for others.
fn own_user(principal: &str) -> Option<i64> {
    let name = principal.rsplit('|').next().unwrap_or(principal);
    name.parse().ok().filter(|_| name.bytes().all(|c| c.is_ascii_digit()))
}

fn conditions(flows: &Flows, search: &Search) -> Conditions {
    let mut conditions = Conditions::default();
    conditions.and("t.transfer_id < $", super::below(search.before.map(|serial| serial.0)));
    if let Some(since) = search.since.map(int) {
        conditions
            .and("t.transfer_id >= (SELECT portage_first_at($))", since.saturating_sub(BESIDE));
        conditions.and("t.created_at >= $", since);
    }
    if let Some(until) = search.until.map(int) {
        conditions
            .and("t.transfer_id < (SELECT portage_first_at($))", until.saturating_add(BESIDE));
        conditions.and("t.created_at < $", until);
    }
    if let Some(user) = search.user {
        conditions.and("t.user_id = $", int(user.0));
    }
    if let Some(flow) = search.flow {
        let table = flows.table(flow);
        // compared as the index of flows sorts, where that index is to be read
        let clause = if search.is_of_one() { "t.flow = $" } else { "t.flow COLLATE \"C\" = $" };
        conditions.and(clause, table.flow);
        if let Some(state) = search.state {
            conditions.and("t.state = $", table.state(state).code);
        }
    }
    match search.open {
        Some(true) => conditions.clauses.push(format!("NOT ({})", ended(flows))),
        Some(false) => conditions.clauses.push(format!("({})", ended(flows))),
        None => {}
    }
    if let Some(principal) = &search.principal {
        conditions.and("t.principal = $", principal.as_ref().to_owned());
        if own_user(principal).is_none() {
            // true of every one of them; the planner knows by it that the index will do
            conditions.clauses.push(FOR_OTHERS.to_owned());
        }
    }
    if let Some(asset) = search.asset {
        conditions.and("t.asset_id = $", small(asset.0));
    }
    if let Some(source) = search.source {
        conditions.and("t.source_type = $", i16::from(source.0));
    }
    if let Some(target) = search.target {
        // a target that was agreed later is not the one of the terms
        let agreed = "coalesce((t.agreed::jsonb ->> 'system')::smallint, t.target_type) = $";
        conditions.and(agreed, i16::from(target.0));
    }
    if let Some(receiver) = &search.receiver {
        let agreed = "coalesce(t.agreed::jsonb ->> 'account', t.target_account) = $";
        conditions.and(agreed, Account::Named(receiver.clone()).key());
    }
    if let Some(key) = &search.key {
        key_condition(flows, key, search.user.is_some(), &mut conditions);
    }
    if let Some(reference) = &search.reference {
        conditions.and("t.reference = $", reference.as_ref().to_owned());
    }
    if let Some(least) = search.min_attempts {
        conditions.and("t.retry_count >= $", small(least));
    }
    if let Some(class) = &search.error_class {
        conditions.and("t.error_class = $", class.as_ref().to_owned());
    }
    conditions
}

/// Adds the condition of a client's key: a user's rows are few; else the place where keys are unique says which rows have
/// it, at once where the scopes are known. It is read first, as a whole, so that no plan scans the transfers for it.
fn key_condition(flows: &Flows, key: &SearchKey, of_user: bool, conditions: &mut Conditions) {
    let text = key.key.as_ref().to_owned();
    if of_user {
        return conditions.and("t.cid = $", text);
    }
    if key.scopes.is_empty() {
        return conditions.and(
            "t.transfer_id = ANY (ARRAY(SELECT k.transfer_id FROM keys k WHERE k.cid = $))",
            text,
        );
    }
    let names: Vec<String> = flows.0.iter().map(|table| table.flow.to_owned()).collect();
    let scopes: Vec<String> = key.scopes.iter().map(|scope| scope.as_ref().to_owned()).collect();
    let values: [Box<dyn ToSql + Sync + Send>; 3] =
        [Box::new(text), Box::new(names), Box::new(scopes)];
    let mut clause = "t.transfer_id = ANY (ARRAY(SELECT k.transfer_id FROM keys k \
                      WHERE k.cid = {} AND k.flow = ANY ({}) AND k.scope = ANY ({})))"
        .to_owned();
    for value in values {
        conditions.values.push(value);
        clause = clause.replacen("{}", &format!("${}", conditions.values.len()), 1);
    }
    conditions.clauses.push(clause);
}
