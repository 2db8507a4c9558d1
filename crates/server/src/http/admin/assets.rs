//! The operators' routes for assets: list, add and change.

use super::admin_response;
use crate::http::middleware::body::Body;
use crate::http::middleware::caller::{RequireOpsAct, RequireOpsRead};
use crate::http::middleware::error::Refusal;
use crate::http::middleware::path_params::PathParams;
use crate::http::transfers::create;
use crate::http::{App, name_errors};
use api::admin::assets::{AddAsset, AssetRow, Assets, ChangeAsset};
use api::problem::Problem;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use engine::operators::{ActionResult, AdminAction, AssetChange, NewAsset, PerformedAction};
use kernel::ids::AssetId;
use kernel::money::{Amount, Asset, AssetStatus};
use std::sync::Arc;

/// Every asset, in whatever status.
#[utoipa::path(
    get, path = "/api/v1/ops/assets", tag = "ops",
    operation_id = "list_assets", security(("token" = ["ops:read"])),
    responses((status = 200, body = Assets, description = "All of them"))
)]
pub(in crate::http) async fn list(
    State(app): State<Arc<App>>,
    RequireOpsRead(_): RequireOpsRead,
) -> Json<Assets> {
    Json(Assets { assets: app.engine.assets().iter().map(shown).collect() })
}

fn shown(asset: &Asset) -> AssetRow {
    let text = |amount: Amount| amount.decimal(asset.precision);
    AssetRow {
        asset_id: asset.id.0,
        symbol: asset.symbol.clone(),
        precision: asset.precision,
        status: asset.status.name().to_owned(),
        internal_transfer_enabled: asset.transferable,
        min_transfer_amount: text(asset.min),
        max_transfer_amount: asset.max.map(text),
        daily_amount: asset.daily.map(text),
    }
}

/// Adds an asset. It can be deposited and transferred at once.
#[utoipa::path(
    post, path = "/api/v1/ops/assets", tag = "ops", request_body = AddAsset,
    operation_id = "add_asset", security(("token" = ["ops:act"])),
    params(("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given")),
    responses(
        (status = 201, body = AssetRow, description = "It is there"),
        (status = 200, body = AssetRow, description = "It had been added under the same key before"),
        (status = 400, body = Problem, description = "`BAD_REQUEST`, `INVALID_AMOUNT`, `PRECISION_OVERFLOW` or `OVERFLOW`"),
        (status = 409, body = Problem, description = "The name or number is in use: `NOT_POSSIBLE`; or `DUPLICATE_REQUEST`"),
    )
)]
pub(in crate::http) async fn add(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let form: AddAsset = body.read()?;
    if form.precision > 38 {
        return Err(Refusal::bad("field `precision`: at most 38"));
    }
    let unit = Asset::plain(0, &form.symbol, form.precision);
    let read = |text: Option<&str>| text.map(|text| amount(&unit, text)).transpose();
    let new = NewAsset {
        id: form.asset_id.map(AssetId),
        symbol: form.symbol.clone(),
        precision: form.precision,
        transferable: form.internal_transfer_enabled.unwrap_or(true),
        min: read(form.min_transfer_amount.as_deref())?.unwrap_or(Amount(1)),
        max: read(form.max_transfer_amount.as_deref())?,
        daily: read(form.daily_amount.as_deref())?,
    };
    let did =
        admin_response::execute(&app, &caller, &headers, &form.reason, AdminAction::AddAsset(new))
            .await?;
    Ok(answer(did, StatusCode::CREATED))
}

/// Suspends, delists or limits an asset. What was accepted before goes on.
#[utoipa::path(
    patch, path = "/api/v1/ops/assets/{symbol}", tag = "ops", request_body = ChangeAsset,
    operation_id = "change_asset", security(("token" = ["ops:act"])),
    params(
        ("symbol" = String, Path, description = "The asset", example = "USDT"),
        ("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given"),
    ),
    responses(
        (status = 200, body = AssetRow, description = "The asset as it is now"),
        (status = 400, body = Problem, description = "`BAD_REQUEST`, `INVALID_AMOUNT`, `PRECISION_OVERFLOW` or `OVERFLOW`"),
        (status = 404, body = Problem, description = "No such asset: `NOT_FOUND`"),
        (status = 409, body = Problem, description = "`NOT_POSSIBLE` or `DUPLICATE_REQUEST`"),
    )
)]
pub(in crate::http) async fn change(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    PathParams(symbol): PathParams<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let form: ChangeAsset = body.read()?;
    let asset = app.engine.asset(&symbol).ok_or_else(|| Refusal::no_such("asset"))?;
    let unfit = || Refusal::bad("field `status`: `ACTIVE`, `SUSPENDED` or `DELISTED`");
    let status = form.status.as_deref().map(|text| AssetStatus::parse(text).ok_or_else(unfit));
    let read = |text: Option<&str>| text.map(|text| amount(&asset, text)).transpose();
    let limit = |given: Option<Option<String>>| match given {
        Some(text) => read(text.as_deref()).map(Some),
        None => Ok(None),
    };
    let change = AssetChange {
        status: status.transpose()?,
        transferable: form.internal_transfer_enabled,
        min: read(form.min_transfer_amount.as_deref())?,
        max: limit(form.max_transfer_amount)?,
        daily: limit(form.daily_amount)?,
        symbol,
    };
    let action = AdminAction::ChangeAsset(change);
    let did = admin_response::execute(&app, &caller, &headers, &form.reason, action).await?;
    Ok(answer(did, StatusCode::OK))
}

fn amount(asset: &Asset, text: &str) -> Result<Amount, Refusal> {
    asset.amount(text).map_err(|code| name_errors::of_asset(asset, code))
}

fn answer(did: PerformedAction, first: StatusCode) -> Response {
    let status = if did.replayed { StatusCode::OK } else { first };
    let replayed = did.replayed;
    let response = if let ActionResult::Asset { asset } = &did.outcome {
        (status, Json(shown(asset))).into_response()
    } else {
        (status, Json(admin_response::to_response(did))).into_response()
    };
    create::mark_replayed(response, replayed)
}
