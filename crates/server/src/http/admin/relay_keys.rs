//! The keys of the relay: how each one's lane stands, what keeps the chain from being sent to, and how a key is
//! taken out of use.

use super::admin_response::{self, Done, ReasonBody};
use crate::http::middleware::body::Body;
use crate::http::middleware::caller::{RequireOpsAct, RequireOpsRead};
use crate::http::middleware::error::{Problem, Refusal};
use crate::http::middleware::path_params::PathParams;
use crate::http::relay::intake::offered;
use crate::http::{App, format, silent};
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use engine::operators::AdminAction;
use engine::{ChainReport, LaneReport, LaneRetirement};
use flows::relay::Act;
use kernel::flow::life::Word as _;
use kernel::ids::{ChainId, Millis};
use kernel::money::Amount;
use kernel::operators::LaneName;
use kernel::ports::chain::{ChainIdentity, FeeBalance, ProviderReport, ProviderState};
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// The keys of the relay, as the journal has them now.
#[derive(Debug, Serialize, ToSchema)]
pub struct RelayKeys {
    /// The name of the chain.
    #[schema(example = "NEAR")]
    chain: &'static str,
    /// The relay's account on it.
    #[schema(example = "relay.near")]
    account_id: String,
    /// Why nothing is claimed or sent on the chain, where something keeps it; a person lifts each.
    #[schema(example = json!(["LANE_AHEAD: ed25519:6E8s, nonce 48 is spent and no attempt is stored"]))]
    paused: Vec<String>,
    /// Why keys that the chain is ahead of are not explained yet, as this process saw it last.
    #[schema(example = json!(["ed25519:6E8s: no transaction is shown that spent it"]))]
    unexplained: Vec<String>,
    /// Every key that was used, or that this process has, by name.
    keys: Vec<RelayKey>,
    /// What the account has in NEAR, as one provider says; `null` where that is not known now.
    #[schema(example = "12.500000000000000000000000")]
    balance: Option<String>,
    /// Nothing is signed while the account has less NEAR; `null` with `balance`.
    #[schema(example = "0.500000000000000000000000")]
    balance_floor: Option<String>,
    /// Why what the chain has is not known now, where it is not.
    #[schema(example = "TIMEOUT")]
    chain_unknown: Option<String>,
    /// The chain that this store is bound to; `null` until its providers showed one.
    identity: Option<RelayChain>,
    /// The providers of this process, in the order of its settings.
    providers: Vec<RelayProvider>,
    /// When it was read, RFC 3339.
    #[schema(example = "2026-11-21T09:23:15.121Z")]
    at: String,
}

/// Which chain it is.
#[derive(Debug, Serialize, ToSchema)]
pub struct RelayChain {
    /// The name of the network, as its nodes say it.
    #[schema(example = "mainnet")]
    chain_id: String,
    /// The hash of its first block.
    #[schema(example = "EPnLgE7iEq9s7yTkos96M3cWymH5avBAPm3qx3NXqR8H")]
    genesis_hash: String,
}

/// A provider, as this process saw it last.
#[derive(Debug, Serialize, ToSchema)]
pub struct RelayProvider {
    /// Its host and port.
    #[schema(example = "rpc.example:443")]
    provider: String,
    /// `usable`; `wrong_chain`: it showed another chain, and nothing that it says counts; or `unknown`: which chain it
    /// shows is not known now.
    #[schema(example = "usable")]
    status: &'static str,
    /// The chain that it showed last; `null`: it never did.
    shows: Option<RelayChain>,
    /// So many requests in a row had no answer.
    #[schema(example = 0)]
    failures: u32,
}

/// One key. It has at most one open attempt.
#[derive(Debug, Serialize, ToSchema)]
pub struct RelayKey {
    /// The public key, which names the lane.
    #[schema(example = "ed25519:6E8sCci9badyRkXb3JoRpBj5p8C6Tw41ELDZoiihKEtp")]
    key: String,
    /// `free`, `busy` with an attempt, `unused`, `retired`: no attempt takes it any more; `gone`: retired, and the
    /// chain was proven to have it no more, and does not have it again; or `unreadable`: its row is none of this release. One that is
    /// retired is `busy` until its attempt is closed.
    #[schema(example = "busy")]
    status: &'static str,
    /// This process has it. Another process may have keys of its own.
    #[schema(example = true)]
    here: bool,
    /// The nonce of its last attempt; `null` before the first.
    #[schema(example = "47")]
    last_nonce: Option<String>,
    /// The attempt that has it, where one is open.
    attempt: Option<OpenRelayAttempt>,
    /// Whether the account on the chain has it, as any provider showed within the last seconds; `null` where that
    /// is not known now. It proves nothing.
    #[schema(example = true)]
    on_chain: Option<bool>,
    /// That it was taken out of use, where it was.
    retired: Option<KeyRetirement>,
}

/// A key that no attempt takes any more.
#[derive(Debug, Serialize, ToSchema)]
pub struct KeyRetirement {
    /// Who retired it: `issuer|sub`.
    #[schema(example = "portage|ops-7")]
    by: String,
    /// When, by the journal's time, RFC 3339.
    #[schema(example = "2026-11-21T09:23:15.121Z")]
    at: String,
    /// The final block at which two providers or more showed every key of the account without it; `null` until that
    /// is proven, and from when the account was seen to have it again.
    #[schema(example = 132_004_711)]
    gone_at_block: Option<u64>,
    /// The final block at which the account was seen to have the key again after that was proven; `null` where it was
    /// not. The key may sign, and is watched until it is proven gone again.
    #[schema(example = 132_104_711)]
    returned_at_block: Option<u64>,
}

/// An attempt that is not proven yet.
#[derive(Debug, Serialize, ToSchema)]
pub struct OpenRelayAttempt {
    /// The id of the attempt.
    #[schema(example = "01JFVQ2X8Z0Y1M3N4P5R6S7T8V")]
    id: String,
    /// How many transfers it carries.
    #[schema(example = 100)]
    transfers: usize,
    /// How many transactions were signed under its nonce; one of them lands at most.
    #[schema(example = 1)]
    forms: usize,
    /// The newest of them pays none of the transfers: it only takes the nonce.
    #[schema(example = false)]
    void: bool,
    /// A transaction may be on the wire.
    #[schema(example = true)]
    sent: bool,
    /// For so many seconds it has been open.
    #[schema(example = 4)]
    age_seconds: u64,
}

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
    let acts: Vec<&str> = Act::ALL.iter().map(|act| act.name()).collect();
    let report =
        app.engine.chains.chain_report(ChainId::NEAR, &acts).await.map_err(silent("lanes"))?;
    let ChainReport { paused, unexplained, identity, providers, lanes, fees, unasked, at } = report;
    let near = |units, fees: &FeeBalance| Amount(units).decimal(fees.precision);
    Ok(Json(RelayKeys {
        balance: fees.as_ref().map(|fees| near(fees.units, fees)),
        balance_floor: fees.as_ref().map(|fees| near(fees.floor, fees)),
        chain_unknown: unasked.map(|cause| cause.to_string()),
        chain: ChainId::NEAR.name(),
        account_id,
        paused: paused.into_iter().map(|paused| paused.reason.to_string()).collect(),
        unexplained: unexplained.iter().map(ToString::to_string).collect(),
        keys: lanes.into_iter().map(|lane| key(lane, at)).collect(),
        identity: identity.map(chain),
        providers: providers.into_iter().map(provider).collect(),
        at: format::time(at),
    }))
}

fn chain(ChainIdentity { name, genesis }: ChainIdentity) -> RelayChain {
    RelayChain { chain_id: name.to_string(), genesis_hash: genesis.to_string() }
}

fn provider(report: ProviderReport) -> RelayProvider {
    let ProviderReport { provider, state, shows, failures } = report;
    let status = match state {
        ProviderState::Usable => "usable",
        ProviderState::WrongChain => "wrong_chain",
        ProviderState::Unknown => "unknown",
    };
    RelayProvider { provider: provider.to_string(), status, shows: shows.map(chain), failures }
}

fn key(lane: LaneReport, now: Millis) -> RelayKey {
    let LaneReport { name, lock, usable, unreadable, attempt, retired, on_chain } = lane;
    let status = match (&attempt, &retired, &lock) {
        _ if unreadable => "unreadable",
        (Some(_), ..) => "busy",
        (None, Some(LaneRetirement { gone_at: Some(_), .. }), _) => "gone",
        (None, Some(LaneRetirement { gone_at: None, .. }), _) => "retired",
        (None, None, Some(_)) => "free",
        (None, None, None) => "unused",
    };
    let attempt = attempt.map(|attempt| OpenRelayAttempt {
        id: attempt.id.to_string(),
        transfers: attempt.members,
        forms: attempt.forms,
        void: attempt.void,
        sent: attempt.sent,
        age_seconds: now.saturating_sub(attempt.id.at()) / 1_000,
    });
    RelayKey {
        key: name.to_string(),
        status,
        here: usable,
        last_nonce: lock.map(|lock| lock.to_string()),
        attempt,
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
