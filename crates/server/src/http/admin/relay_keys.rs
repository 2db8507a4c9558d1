//! The operators' routes for the relay's keys: show the state of each, and retire one.

use super::admin_response;
use super::chains::{coins, genesis, lane_status, open_attempt, provider};
use crate::http::middleware::body::Body;
use crate::http::middleware::caller::{RequireOpsAct, RequireOpsRead};
use crate::http::middleware::error::Refusal;
use crate::http::middleware::path_params::PathParams;
use crate::http::relay::intake::offered;
use crate::http::{App, format, no_answer};
use api::admin::actions::{Done, ReasonBody};
use api::admin::relay_keys::{KeyRetirement, RelayKey, RelayKeys};
use api::problem::Problem;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use engine::operators::AdminAction;
use engine::{ChainReport, LaneReport};
use kernel::ids::{ChainId, Millis};
use kernel::operators::LaneName;
use std::sync::Arc;

/// The relay's keys and their open attempts.
#[utoipa::path(
    get, path = "/api/v1/ops/relay/keys", tag = "ops",
    operation_id = "list_relay_keys", security(("token" = ["ops:read"])),
    responses(
        (status = 200, body = RelayKeys, description = "As the journal has them now"),
        (status = 404, body = Problem, description = "The flow is not offered here: `NOT_FOUND`"),
    )
)]
pub(in crate::http) async fn list(
    State(app): State<Arc<App>>,
    RequireOpsRead(_): RequireOpsRead,
) -> Result<Json<RelayKeys>, Refusal> {
    let account_id = offered(&app)?.intake.account.to_string();
    let report = app.engine.chains.chain_report(ChainId::NEAR).await.map_err(no_answer("lanes"))?;
    let ChainReport { paused, unexplained, identity, providers, lanes, fees, unasked, at } = report;
    Ok(Json(RelayKeys {
        balance: fees.as_ref().map(|fees| coins(fees.units, fees)),
        balance_floor: fees.as_ref().map(|fees| coins(fees.floor, fees)),
        chain_unknown: unasked.map(|cause| cause.to_string()),
        chain: ChainId::NEAR.name().to_owned(),
        account_id,
        paused: paused.into_iter().map(|paused| paused.reason.to_string()).collect(),
        unexplained: unexplained.iter().map(ToString::to_string).collect(),
        keys: lanes.into_iter().map(|lane| key(lane, at)).collect(),
        identity: identity.map(genesis),
        providers: providers.into_iter().map(provider).collect(),
        at: format::time(at),
    }))
}

fn key(lane: LaneReport, now: Millis) -> RelayKey {
    let status = lane_status(&lane);
    let LaneReport { name, lock, usable, attempt, retired, on_chain, .. } = lane;
    RelayKey {
        key: name.to_string(),
        status: status.to_owned(),
        here: usable,
        last_nonce: lock.map(|lock| lock.to_string()),
        attempt: attempt.map(|attempt| open_attempt(&attempt, now)),
        on_chain,
        retired: retired.map(|retired| KeyRetirement {
            by: retired.by.to_string(),
            at: format::time(retired.at),
            gone_at_block: retired.gone_at,
            returned_at_block: retired.returned_at,
        }),
    }
}

/// Takes a key out of use, for ever and in every process: no attempt takes it any more. The one that has it goes on
/// to its end. Nothing is deleted on the chain: do that with your wallet, once `attempt_id` is closed, signed
/// with a key that the relay has not.
#[utoipa::path(
    post, path = "/api/v1/ops/relay/keys/{key}/retire", tag = "ops", request_body = ReasonBody,
    operation_id = "retire_relay_key", security(("token" = ["ops:act"])),
    params(
        ("key" = String, Path, description = "The public key"),
        ("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given"),
    ),
    responses(
        (status = 200, body = Done, description = "It is retired: `KEY_RETIRED`"),
        (status = 400, body = Problem, description = "`BAD_REQUEST`"),
        (status = 404, body = Problem, description = "No such key, or the flow is not offered here: `NOT_FOUND`"),
        (status = 409, body = Problem, description = "`DUPLICATE_REQUEST`, or it is retired already: `NOT_POSSIBLE`"),
    )
)]
pub(in crate::http) async fn retire(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    PathParams(key): PathParams<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let ReasonBody { reason } = body.read()?;
    let action = AdminAction::RetireLane(lane(&app, key)?);
    admin_response::run_action(&app, &caller, &headers, &reason, action).await
}

/// Asks the chain whether the account has a retired key no more, and stores that. Two providers at least have to show
/// every key of the account at final blocks without it, and none may show it. As long as it is not so the answer
/// is 409 with the sentence why, and the request may be repeated as it is.
#[utoipa::path(
    post, path = "/api/v1/ops/relay/keys/{key}/prove-gone", tag = "ops", request_body = ReasonBody,
    operation_id = "prove_relay_key_gone", security(("token" = ["ops:act"])),
    params(
        ("key" = String, Path, description = "The public key"),
        ("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given"),
    ),
    responses(
        (status = 200, body = Done, description = "The chain has it no more: `KEY_GONE`"),
        (status = 400, body = Problem, description = "`BAD_REQUEST`"),
        (status = 404, body = Problem, description = "No such key, or the flow is not offered here: `NOT_FOUND`"),
        (status = 409, body = Problem, description = "`DUPLICATE_REQUEST`; `NOT_POSSIBLE`: it is in use, an attempt has it, a provider shows it, too few answer, or it is proven already; or `WRONG_CHAIN`: what answers is another chain"),
    )
)]
pub(in crate::http) async fn prove_gone(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    PathParams(key): PathParams<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let ReasonBody { reason } = body.read()?;
    let action = AdminAction::ProveLaneGone(lane(&app, key)?);
    admin_response::run_action(&app, &caller, &headers, &reason, action).await
}

/// The lane that a path names.
fn lane(app: &App, key: String) -> Result<LaneName, Refusal> {
    offered(app)?;
    Ok(LaneName { chain: ChainId::NEAR, lane: key.into() })
}
