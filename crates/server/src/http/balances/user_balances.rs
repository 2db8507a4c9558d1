//! The route that shows a user's balances at every ledger.

use crate::http::fan_out::{LedgerReply, fan_out};
use crate::http::middleware::caller::{RequireTransfersRead, own};
use crate::http::middleware::error::Refusal;
use crate::http::{App, format, no_answer};
use api::accounts::Balance;
use api::problem::Problem;
use axum::Json;
use axum::extract::State;
use kernel::accounts::{AccountsOf, NumberedAccount};
use kernel::flow::life::Place;
use kernel::ids::{AssetId, LedgerId, UserId};
use kernel::money::{Amount, Asset};
use kernel::ports::ledger::{Enlist, Holding, Whose};
use kernel::record::System;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The caller's balances in every account.
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
) -> Result<Json<Vec<Balance>>, Refusal> {
    let user = own(&caller)?;
    // who asks for another's balances must not take their own for them
    let assets = app.engine.assets();
    let flying = in_flight(&app, user).await?;
    let said = fan_out(app.user_ledgers(), |ledger| ledger.accounts(Whose::User(user))).await;
    let rows = said.into_iter().flat_map(|said| of_ledger(said, &assets, &flying));
    let numbered = app.engine.journal().numbered_accounts(AccountsOf::Owner(user)).await;
    let numbered = numbered.map_err(no_answer("balances"))?.into_iter();
    Ok(Json(rows.chain(numbered.map(|account| of_number(&account, &assets))).collect()))
}

/// A numbered account: a move changes both of its ends at once, so nothing is ever frozen or on its way.
fn of_number(account: &NumberedAccount, assets: &[Asset]) -> Balance {
    let (symbol, precision) = format::asset(assets, account.asset);
    Balance {
        account: LedgerId::ACCOUNT.name().to_owned(),
        number: Some(account.number.to_string()),
        asset: Some(symbol),
        available: Some(account.balance.decimal(precision)),
        frozen: Some(Amount::ZERO.decimal(precision)),
        in_flight: Some(Amount::ZERO.decimal(precision)),
        status: account.status.name().to_owned(),
    }
}

type Flying = BTreeMap<(LedgerId, AssetId), u128>;

fn of_ledger(
    (ledger, said): LedgerReply<Vec<Holding>>,
    assets: &[Asset],
    flying: &Flying,
) -> Vec<Balance> {
    let account = ledger.name().to_owned();
    let Ok(holdings) = said else {
        let (number, asset, available, frozen, in_flight) = (None, None, None, None, None);
        let status = "UNAVAILABLE".to_owned();
        return vec![Balance { account, number, asset, available, frozen, in_flight, status }];
    };
    let row = |holding: Holding| {
        let (symbol, precision) = format::asset(assets, holding.asset);
        let flying = flying.get(&(ledger, holding.asset)).copied().unwrap_or_default();
        Balance {
            account: account.clone(),
            number: None,
            asset: Some(symbol),
            available: Some(holding.available.decimal(precision)),
            frozen: Some(holding.frozen.decimal(precision)),
            in_flight: Some(Amount(flying).decimal(precision)),
            status: holding.status.name().to_owned(),
        }
    };
    holdings.into_iter().map(row).collect()
}

/// The amounts in flight out of ledgers that debit at once; a ledger that holds shows them as frozen.
async fn in_flight(app: &App, user: UserId) -> Result<Flying, Refusal> {
    let open = app.engine.journal().open_of(user).await.map_err(no_answer("balances"))?;
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
