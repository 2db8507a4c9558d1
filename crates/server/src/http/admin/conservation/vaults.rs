//! The operators' routes for vaults: each beside its books, and the acceptance of what left one without an attempt.

use crate::http::admin::admin_response;
use crate::http::middleware::body::Body;
use crate::http::middleware::caller::{RequireOpsAct, RequireOpsRead};
use crate::http::middleware::error::Refusal;
use crate::http::middleware::path_params::PathParams;
use crate::http::{App, format, no_answer};
use api::admin::actions::{Done, ReasonBody};
use api::problem::Problem;
use api::vaults::{VaultBooks, VaultSums, VaultWithdrawal, Vaults};
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use engine::operators::AdminAction;
use engine::reconciliation::vaults::read_vaults;
use kernel::answer::Cause;
use kernel::books::ChainBook;
use kernel::books::vault::{WITHDRAWALS, Withdrawal};
use kernel::ids::ChainId;
use kernel::money::{Amount, Asset};
use kernel::ports::journal::{Resource, SnapshotSource};
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes of this page.
pub(in crate::http) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(accept))
}

/// Every vault of a store, beside its books, as it is shown.
///
/// # Errors
/// The cause for which the store does not answer.
pub async fn shown<S: SnapshotSource + ?Sized>(
    journal: &S,
    assets: &[Asset],
) -> Result<Vec<VaultBooks>, Cause> {
    let vaults = read_vaults(journal).await?;
    Ok(vaults.iter().map(|vault| books(vault, assets)).collect())
}

fn books(vault: &kernel::books::vault::VaultBooks, assets: &[Asset]) -> VaultBooks {
    let cursor = &vault.cursor;
    let (asset, precision) = format::asset(assets, cursor.asset);
    let sum = |units| Amount(units).decimal(precision);
    let says = |book| sum(vault.says(book));
    VaultBooks {
        chain: vault.chain.name().to_owned(),
        flow: vault.flow.to_string(),
        vault: cursor.vault.to_string(),
        asset,
        place: cursor.place.to_string(),
        read_to: format::time(cursor.read_to),
        balance: sum(cursor.balance.0),
        in_books: sum(vault.in_books()),
        books: VaultSums {
            inventory: says(ChainBook::Inventory),
            reserved: says(ChainBook::Reserved),
            owed: says(ChainBook::Owed),
            held: says(ChainBook::Held),
            fees: says(ChainBook::Fees),
            paid_out: says(ChainBook::PaidOut),
            taken_in: says(ChainBook::TakenIn),
            read_out: says(ChainBook::ReadOut),
            read_in: says(ChainBook::ReadIn),
        },
        difference: format::signed(vault.difference(), precision),
        equal: vault.difference() == 0,
    }
}

/// A row of a withdrawal as it is shown; `None` where it is none.
fn withdrawal(row: &Resource, assets: &[Asset]) -> Option<VaultWithdrawal> {
    let Withdrawal { chain, asset, amount, facts, accepted_by, .. } = Withdrawal::read(row).ok()?;
    let hex = row.name.rsplit(':').next()?;
    let (asset, precision) = format::asset(assets, asset);
    Some(VaultWithdrawal {
        chain: chain.name().to_owned(),
        transaction: bs58::encode(from_hex(hex)?).into_string(),
        asset,
        amount: amount.decimal(precision),
        facts: facts.to_string(),
        accepted_by: accepted_by.map(|by| by.to_string()),
    })
}

/// The bytes of a text of hexadecimal digits.
fn from_hex(text: &str) -> Option<Vec<u8>> {
    let pair = |at: usize| u8::from_str_radix(text.get(at..at.saturating_add(2))?, 16).ok();
    (0..text.len()).step_by(2).map(pair).collect()
}

/// Every vault that was ever watched, beside its books at one instant of the journal, and what left one without an attempt.
#[utoipa::path(
    get, path = "/api/v1/ops/vaults", tag = "ops",
    operation_id = "list_vaults", security(("token" = ["ops:read"])),
    responses(
        (status = 200, body = Vaults, description = "As the journal has them now"),
        (status = 500, body = Problem, description = "The journal did not answer: `SYSTEM_ERROR`"),
    )
)]
async fn list(
    State(app): State<Arc<App>>,
    RequireOpsRead(_): RequireOpsRead,
) -> Result<Json<Vaults>, Refusal> {
    let journal = app.engine.journal();
    let assets = app.engine.assets();
    let vaults = shown(&**journal, &assets).await.map_err(no_answer("vaults"))?;
    let rows = journal.resources(WITHDRAWALS.into()).await.map_err(no_answer("vaults"))?;
    let withdrawals = rows.iter().filter_map(|row| withdrawal(row, &assets)).collect();
    Ok(Json(Vaults { vaults, withdrawals, at: format::time(journal.now()) }))
}

/// Proposes that money which left a vault without an attempt was the operators' own: it is taken from the inventory once
/// another person approves. The stop of the chain is lifted for itself.
#[utoipa::path(
    post, path = "/api/v1/ops/vaults/{chain}/withdrawals/{transaction}/accept", tag = "ops",
    request_body = ReasonBody,
    operation_id = "accept_vault_withdrawal", security(("token" = ["ops:act"])),
    params(
        ("chain" = String, Path, description = "The name of the chain", example = "SOLANA"),
        ("transaction" = String, Path, description = "The transaction, in base58"),
        ("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given"),
    ),
    responses(
        (status = 200, body = Done, description = "It is taken from the inventory: `WITHDRAWAL_ACCEPTED`; with `ops.four_eyes` off"),
        (status = 202, body = Done, description = "Another person has to approve: `PROPOSED`"),
        (status = 400, body = Problem, description = "The body does not fit: `BAD_REQUEST`"),
        (status = 404, body = Problem, description = "No such transaction left a vault: `NOT_FOUND`"),
        (status = 409, body = Problem, description = "`NOT_POSSIBLE`: it is accepted already, or the inventory has less; or `DUPLICATE_REQUEST`"),
    )
)]
async fn accept(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    PathParams((chain, transaction)): PathParams<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let none = || Refusal::no_such("withdrawal");
    let chain = ChainId::parse(&chain).ok_or_else(none)?;
    let form = bs58::decode(&transaction).into_vec().map_err(|_| none())?;
    let ReasonBody { reason } = body.read()?;
    let action = AdminAction::AcceptWithdrawal(Withdrawal::name(chain, &form));
    admin_response::run_action(&app, &caller, &headers, &reason, action).await
}
