//! A user's balances at every ledger.

use crate::http::fan_out::{LedgerReply, fan_out};
use crate::http::middleware::body;
use crate::http::middleware::caller::{RequireTransfersRead, own};
use crate::http::middleware::error::{Problem, Refusal};
use crate::http::{App, format, silent};
use axum::Json;
use axum::extract::{RawQuery, State};
use kernel::flow::life::Place;
use kernel::ids::{AssetId, LedgerId, UserId};
use kernel::money::Asset;
use kernel::ports::ledger::{Enlist, Holding, Whose};
use kernel::record::System;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::ToSchema;

/// One asset of one account. Amounts are in the asset's unit.
#[derive(Debug, Serialize, ToSchema)]
pub struct Balance {
    /// The account type.
    pub account: &'static str,
    /// The asset's symbol; none where the ledger does not answer.
    pub asset: Option<String>,
    /// What may be used.
    pub available: Option<String>,
    /// What is held for withdrawals under way.
    pub frozen: Option<String>,
    /// What was withdrawn from here and has neither arrived nor come back, without what is still
    /// in `frozen`.
    pub in_flight: Option<String>,
    /// `ACTIVE`, `FROZEN`, `DISABLED`; `UNAVAILABLE` where the ledger does not answer.
    #[schema(example = "ACTIVE")]
    pub status: &'static str,
}

/// The caller's balances.
#[utoipa::path(
    get, path = "/api/v1/balances", tag = "transfers",
    operation_id = "read_balances", security(("token" = ["transfers:read"])),
    responses(
        (status = 200, body = Vec<Balance>, description = "One row for each account and asset"),
        (status = 400, body = Problem, description = "A query parameter: `BAD_REQUEST`"),
    )
)]
pub(crate) async fn balances(
    State(app): State<Arc<App>>,
    RequireTransfersRead(caller): RequireTransfersRead,
    RawQuery(query): RawQuery,
) -> Result<Json<Vec<Balance>>, Refusal> {
    let user = own(&caller)?;
    // who asks for another's balances must not take their own for them
    body::no_parameters(query.as_deref())?;
    let assets = app.engine.assets();
    let flying = in_flight(&app, user).await?;
    let said = fan_out(&app, |ledger| ledger.accounts(Whose::User(user))).await;
    let rows = said.into_iter().flat_map(|said| of_ledger(said, &assets, &flying));
    Ok(Json(rows.collect()))
}

type Flying = BTreeMap<(LedgerId, AssetId), u128>;

fn of_ledger(
    (ledger, said): LedgerReply<Vec<Holding>>,
    assets: &[Asset],
    flying: &Flying,
) -> Vec<Balance> {
    let account = ledger.name();
    let Ok(holdings) = said else {
        let (asset, available, frozen, in_flight) = (None, None, None, None);
        let status = "UNAVAILABLE";
        return vec![Balance { account, asset, available, frozen, in_flight, status }];
    };
    let row = |holding: Holding| {
        let (symbol, precision) = format::asset(assets, holding.asset);
        let flying = flying.get(&(ledger, holding.asset)).copied().unwrap_or_default();
        Balance {
            account,
            asset: Some(symbol),
            available: Some(holding.available.decimal(precision)),
            frozen: Some(holding.frozen.decimal(precision)),
            in_flight: Some(kernel::money::Amount(flying).decimal(precision)),
            status: holding.status.name(),
        }
    };
    holdings.into_iter().map(row).collect()
}

/// What is on its way out of ledgers that debit at once; one that holds shows it as frozen.
async fn in_flight(app: &App, user: UserId) -> Result<Flying, Refusal> {
    let open = app.engine.journal().open_of(user).await.map_err(silent("balances"))?;
    let mut flying = Flying::new();
    for record in open {
        let System::Ledger(source) = record.terms.source.system else { continue };
        let holds =
            app.engine.ledger(source).is_some_and(|l| l.enlist().is_some_and(Enlist::holds));
        let place = app.engine.flows().table(record.flow).state(record.head.state).money;
        if place == Place::InFlight && !holds {
            let sum: &mut u128 = flying.entry((source, record.terms.source.asset)).or_default();
            *sum = sum.saturating_add(record.terms.source.amount.0);
        }
    }
    Ok(flying)
}
