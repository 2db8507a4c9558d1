//! The keys of the relay: how each one's lane stands, and what keeps the chain from being sent to.

use crate::http::middleware::caller::RequireOpsRead;
use crate::http::middleware::error::{Problem, Refusal};
use crate::http::relay::intake::offered;
use crate::http::{App, format, silent};
use axum::Json;
use axum::extract::State;
use engine::{ChainReport, LaneReport};
use flows::relay::Act;
use kernel::flow::life::Word as _;
use kernel::ids::{ChainId, Millis};
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
    /// When it was read, RFC 3339.
    #[schema(example = "2026-11-21T09:23:15.121Z")]
    at: String,
}

/// One key. It has at most one open attempt.
#[derive(Debug, Serialize, ToSchema)]
pub struct RelayKey {
    /// The public key, which names the lane.
    #[schema(example = "ed25519:6E8sCci9badyRkXb3JoRpBj5p8C6Tw41ELDZoiihKEtp")]
    key: String,
    /// `free`, `busy` with an attempt, `unused`, or `unreadable`: its row is none of this release.
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
    let report = app.engine.chain_report(ChainId::NEAR, &acts).await.map_err(silent("lanes"))?;
    let ChainReport { paused, unexplained, lanes, at } = report;
    Ok(Json(RelayKeys {
        chain: ChainId::NEAR.name(),
        account_id,
        paused: paused.into_iter().map(|paused| paused.reason.to_string()).collect(),
        unexplained: unexplained.iter().map(ToString::to_string).collect(),
        keys: lanes.into_iter().map(|lane| key(lane, at)).collect(),
        at: format::time(at),
    }))
}

fn key(lane: LaneReport, now: Millis) -> RelayKey {
    let LaneReport { name, lock, usable, unreadable, attempt } = lane;
    let status = match (unreadable, &attempt, &lock) {
        (true, ..) => "unreadable",
        (false, Some(_), _) => "busy",
        (false, None, Some(_)) => "free",
        (false, None, None) => "unused",
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
    }
}
