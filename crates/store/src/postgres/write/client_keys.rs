//! Reads, for a batch, which clients' keys are bound, and waits for keys that another transaction may
//! be about to bind.

use super::connection::WriteConnection;
use super::read_rows::Query;
use super::row_set::{ClientKey, RowSet};
use super::statement::{Params, params};
use super::workspace::BatchWorkspace;
use super::write_rows::column;
use crate::postgres::error::StoreError;
use kernel::flow::table::Flows;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio_postgres::Row;

const BOUND: &str = "SELECT n.place FROM unnest($1::text[], $2::text[], $3::text[]) \
    WITH ORDINALITY AS n(flow, scope, cid, place) JOIN keys k USING (flow, scope, cid)";

/// A row that is never kept: to insert it waits for the transaction that inserted the same before.
const TRIED: &str = "INSERT INTO keys (flow, scope, cid, transfer_id) \
    SELECT flow, scope, cid, 0 FROM unnest($1::text[], $2::text[], $3::text[]) AS n(flow, scope, cid) \
    ON CONFLICT DO NOTHING";

/// The query for the keys that are bound.
pub(crate) fn query(flows: &Flows, row_set: &RowSet) -> Option<Query> {
    (!row_set.keys.is_empty()).then(|| (BOUND.to_owned(), key_columns(flows, &row_set.keys)))
}

pub(crate) fn read(
    workspace: &mut BatchWorkspace,
    row_set: &RowSet,
    rows: Vec<Row>,
) -> Result<(), StoreError> {
    let asked: Vec<_> = row_set.keys.iter().collect();
    for row in rows {
        let place: i64 = row.try_get(0)?;
        let place = usize::try_from(place.saturating_sub(1)).unwrap_or(usize::MAX);
        workspace.bound_keys.extend(asked.get(place).map(|bound| (*bound).clone()));
    }
    Ok(())
}

impl WriteConnection {
    /// Waits until no other transaction is about to bind one of these keys, as long as the session
    /// allows.
    ///
    /// # Errors
    /// [`StoreError::Locked`]: one still is.
    pub(crate) async fn wait_for_keys(
        &self,
        flows: &Flows,
        keys: &BTreeSet<ClientKey>,
        limit: Duration,
    ) -> Result<(), StoreError> {
        self.wait_for_lock(TRIED, &key_columns(flows, keys), limit).await
    }
}

/// A column for each part of a key.
fn key_columns(flows: &Flows, keys: &BTreeSet<ClientKey>) -> Params {
    params![
        column(keys, |(flow, ..)| flows.table(*flow).flow),
        column(keys, |(_, scope, _)| scope.to_string()),
        column(keys, |(.., key)| key.to_string()),
    ]
}
