//! Transfers by whatever is known of them, newest first.
//!
//! What somebody typed reaches SQL as a parameter only; the text is put together from words of
//! this file.

use super::super::ask::rows;
use super::super::fault::Fault;
use super::super::read::{OPEN, ended, records};
use super::super::rows::COLUMNS;
use super::super::session::Pooled;
use super::super::statement::{Params, borrowed};
use super::super::text::{int, small};
use kernel::ports::office::Search;
use kernel::record::Record;
use kernel::table::Flows;
use tokio_postgres::types::ToSql;

/// Numbers and times rise together but for writes that were under way at once: so much in between.
const BESIDE: i64 = 60_000;

/// A question that is being put together.
#[derive(Default)]
struct Asked {
    clauses: Vec<String>,
    values: Params,
}

impl Asked {
    /// A condition on a value, whose place in the clause is `$`.
    fn and(&mut self, clause: &str, value: impl ToSql + Sync + Send + 'static) {
        self.values.push(Box::new(value));
        self.clauses.push(clause.replace('$', &format!("${}", self.values.len())));
    }
}

/// Transfers that fit.
pub(super) async fn transfers(
    db: &Pooled,
    flows: &Flows,
    search: &Search,
) -> Result<Vec<Record>, Fault> {
    let asked = asked(flows, search);
    // what narrows the most: the batches that are not ended, else an index or the row's number
    let (from, order) = match search.open {
        Some(true) => (OPEN, "b.batch DESC, "),
        Some(false) | None => ("every_transfer t", ""),
    };
    let sql = format!(
        "SELECT {COLUMNS} FROM {from} WHERE {} ORDER BY {order}t.transfer_id DESC LIMIT {}",
        asked.clauses.join(" AND "),
        super::at_most(search.limit),
    );
    records(flows, &rows(db, &sql, &borrowed(&asked.values)).await?)
}

/// What the index of services leaves out, as its own condition says it.
const FOR_OTHERS: &str =
    "right(t.principal, 1 + length(t.user_id::text)) <> '|' || t.user_id::text";

/// True where no transfer of the principal can be its own: then the index has all of them. One
/// whose name ends like a user's may have made some for itself.
fn makes_for_others(principal: &str) -> bool {
    let name = principal.rsplit('|').next().unwrap_or(principal);
    !name.bytes().all(|c| c.is_ascii_digit())
}

/// The conditions.
fn asked(flows: &Flows, search: &Search) -> Asked {
    let mut asked = Asked::default();
    asked.and("t.transfer_id < $", super::below(search.before.map(|serial| serial.0)));
    if let Some(since) = search.since.map(int) {
        asked.and("t.transfer_id >= (SELECT portage_first_at($))", since.saturating_sub(BESIDE));
        asked.and("t.created_at >= $", since);
    }
    if let Some(until) = search.until.map(int) {
        asked.and("t.transfer_id < (SELECT portage_first_at($))", until.saturating_add(BESIDE));
        asked.and("t.created_at < $", until);
    }
    if let Some(user) = search.user {
        asked.and("t.user_id = $", int(user.0));
    }
    if let Some(flow) = search.flow {
        let table = flows.table(flow);
        asked.and("t.flow = $", table.flow);
        if let Some(state) = search.state {
            asked.and("t.state = $", table.state(state).code);
        }
    }
    match search.open {
        Some(true) => asked.clauses.push(format!("NOT ({})", ended(flows))),
        Some(false) => asked.clauses.push(format!("({})", ended(flows))),
        None => {}
    }
    if let Some(principal) = &search.principal {
        asked.and("t.principal = $", principal.as_ref().to_owned());
        if makes_for_others(principal) {
            // true of every one of them; the planner knows by it that the index will do
            asked.clauses.push(FOR_OTHERS.to_owned());
        }
    }
    if let Some(asset) = search.asset {
        asked.and("t.asset_id = $", small(asset.0));
    }
    if let Some(source) = search.source {
        asked.and("t.source_type = $", i16::from(source.0));
    }
    if let Some(target) = search.target {
        asked.and("t.target_type = $", i16::from(target.0));
    }
    if let Some(least) = search.min_attempts {
        asked.and("t.retry_count >= $", small(least));
    }
    if let Some(class) = &search.error_class {
        asked.and("t.error_class = $", class.as_ref().to_owned());
    }
    asked
}
