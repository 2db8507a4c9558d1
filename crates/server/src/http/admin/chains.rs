//! The operators' route that shows a chain: its lanes, their open attempts and the providers.

use crate::http::middleware::caller::RequireOpsRead;
use crate::http::middleware::error::Refusal;
use crate::http::middleware::path_params::PathParams;
use crate::http::{App, format, no_answer};
use api::admin::chains::{ChainGenesis, ChainLane, ChainProvider, ChainStatus, OpenChainAttempt};
use api::problem::Problem;
use axum::Json;
use axum::extract::State;
use engine::{ChainReport, LaneReport, LaneRetirement, OpenAttempt};
use kernel::code::Code;
use kernel::ids::{ChainId, Millis};
use kernel::money::Amount;
use kernel::ports::chain::{ChainIdentity, FeeBalance, ProviderReport, ProviderState};
use std::sync::Arc;

/// A chain, with its lanes and their open attempts.
#[utoipa::path(
    get, path = "/api/v1/ops/chains/{chain}", tag = "ops",
    operation_id = "read_chain", security(("token" = ["ops:read"])),
    params(("chain" = String, Path, description = "The name of the chain: `NEAR` or `SOLANA`")),
    responses(
        (status = 200, body = ChainStatus, description = "As the journal has it now"),
        (status = 404, body = Problem, description = "No such chain, or this process does not reach it: `NOT_FOUND`"),
    )
)]
pub(in crate::http) async fn read(
    State(app): State<Arc<App>>,
    RequireOpsRead(_): RequireOpsRead,
    PathParams(name): PathParams<String>,
) -> Result<Json<ChainStatus>, Refusal> {
    let chains = &app.engine.chains;
    let chain = ChainId::parse(&name).filter(|chain| chains.reaches(*chain));
    let chain = chain.ok_or_else(|| Refusal::of(Code::NotFound))?;
    let report = chains.chain_report(chain).await.map_err(no_answer("lanes"))?;
    let ChainReport { paused, unexplained, identity, providers, lanes, fees, unasked, at } = report;
    Ok(Json(ChainStatus {
        chain: chain.name().to_owned(),
        paused: paused.into_iter().map(|paused| paused.reason.to_string()).collect(),
        unexplained: unexplained.iter().map(ToString::to_string).collect(),
        lanes: lanes.into_iter().map(|one| lane(one, at)).collect(),
        balance: fees.as_ref().map(|fees| coins(fees.units, fees)),
        balance_floor: fees.as_ref().map(|fees| coins(fees.floor, fees)),
        chain_unknown: unasked.map(|cause| cause.to_string()),
        identity: identity.map(genesis),
        providers: providers.into_iter().map(provider).collect(),
        at: format::time(at),
    }))
}

fn lane(lane: LaneReport, now: Millis) -> ChainLane {
    let status = lane_status(&lane).to_owned();
    let LaneReport { name, lock, usable, attempt, .. } = lane;
    ChainLane {
        lane: name.to_string(),
        status,
        here: usable,
        last_lock: lock.map(|lock| lock.to_string()),
        attempt: attempt.map(|attempt| open_attempt(&attempt, now)),
    }
}

/// An amount of the coin that pays fees.
pub(super) fn coins(units: u128, fees: &FeeBalance) -> String {
    Amount(units).decimal(fees.precision)
}

pub(super) fn genesis(ChainIdentity { name, genesis }: ChainIdentity) -> ChainGenesis {
    ChainGenesis { chain_id: name.to_string(), genesis_hash: genesis.to_string() }
}

pub(super) fn provider(report: ProviderReport) -> ChainProvider {
    let ProviderReport { provider, state, shows, failures } = report;
    let status = match state {
        ProviderState::Usable => "usable",
        ProviderState::WrongChain => "wrong_chain",
        ProviderState::Unknown => "unknown",
    };
    ChainProvider {
        provider: provider.to_string(),
        status: status.to_owned(),
        shows: shows.map(genesis),
        failures,
    }
}

/// The word for the state of a lane.
pub(super) const fn lane_status(lane: &LaneReport) -> &'static str {
    let LaneReport { lock, unreadable, attempt, retired, .. } = lane;
    match (attempt, retired, lock) {
        _ if *unreadable => "unreadable",
        (Some(_), ..) => "busy",
        (None, Some(LaneRetirement { gone_at: Some(_), .. }), _) => "gone",
        (None, Some(LaneRetirement { gone_at: None, .. }), _) => "retired",
        (None, None, Some(_)) => "free",
        (None, None, None) => "unused",
    }
}

pub(super) fn open_attempt(attempt: &OpenAttempt, now: Millis) -> OpenChainAttempt {
    OpenChainAttempt {
        id: attempt.id.to_string(),
        transfers: attempt.members,
        forms: attempt.forms,
        void: attempt.void,
        sent: attempt.sent,
        age_seconds: now.saturating_sub(attempt.id.at()) / 1_000,
    }
}
