//! Clients' keys: which are bound, and which somebody may be about to bind.

use super::board::Board;
use super::fault::Fault;
use super::fetch::Ask;
use super::flush::column;
use super::lane::Lane;
use super::needs::{Bound, Needs};
use super::statement::{Params, params};
use kernel::table::Flows;
use std::collections::BTreeSet;
use tokio_postgres::Row;

const BOUND: &str = "SELECT n.place FROM unnest($1::text[], $2::text[], $3::text[]) \
    WITH ORDINALITY AS n(flow, scope, cid, place) JOIN keys k USING (flow, scope, cid)";

/// A row that is never kept: to insert it waits for whoever inserted the same before.
const TRIED: &str = "INSERT INTO keys (flow, scope, cid, transfer_id) \
    SELECT flow, scope, cid, 0 FROM unnest($1::text[], $2::text[], $3::text[]) AS n(flow, scope, cid) \
    ON CONFLICT DO NOTHING";

/// The question which of them are bound.
pub(crate) fn asked(flows: &Flows, needs: &Needs) -> Option<Ask> {
    (!needs.keys.is_empty()).then(|| (BOUND.to_owned(), names(flows, &needs.keys)))
}

/// Its answer.
pub(crate) fn read(board: &mut Board, needs: &Needs, rows: Vec<Row>) -> Result<(), Fault> {
    let asked: Vec<_> = needs.keys.iter().collect();
    for row in rows {
        let place: i64 = row.try_get(0)?;
        let place = usize::try_from(place.saturating_sub(1)).unwrap_or(usize::MAX);
        board.bound.extend(asked.get(place).map(|bound| (*bound).clone()));
    }
    Ok(())
}

impl Lane {
    /// Waits until nobody else is about to bind one of these keys, as long as the session allows.
    ///
    /// # Errors
    /// [`Fault::Locked`]: somebody still is.
    pub(crate) async fn keys_let_go(
        &self,
        flows: &Flows,
        keys: &BTreeSet<Bound>,
    ) -> Result<(), Fault> {
        self.waited_for(TRIED, &names(flows, keys)).await
    }
}

/// A column for each part of a key.
fn names(flows: &Flows, keys: &BTreeSet<Bound>) -> Params {
    params![
        column(keys, |(flow, ..)| flows.table(*flow).flow),
        column(keys, |(_, scope, _)| scope.to_string()),
        column(keys, |(.., key)| key.to_string()),
    ]
}
