//! Operators: the audit computed again, and its seals.

use crate::http::middleware::caller::RequireOpsRead;
use crate::http::middleware::error::{Problem, Refusal};
use crate::http::middleware::query::{QueryParams, limit};
use crate::http::{App, format, silent, unknown};
use axum::Json;
use axum::extract::State;
use engine::audit::{SealText, parse_seal};
use kernel::audit::hex;
use kernel::audit::proof::Findings;
use kernel::audit::seal::Seal;
use kernel::code::Code;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// What is held against the audit.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct VerifyQuery {
    /// A seal that was kept elsewhere, as the log said it: `NUMBER:ROOT:MAC`.
    seal: Option<String>,
}

/// A seal over everything that was written before it.
#[derive(Debug, Serialize, ToSchema)]
pub struct SealRow {
    /// From 1, without a gap.
    #[schema(example = 4711)]
    pub number: u64,
    /// RFC 3339.
    pub at: String,
    /// Up to which unit each writer's lane is covered: `0:17`.
    #[schema(example = "0:8120")]
    pub covers: String,
    /// It as the log says it, to be kept elsewhere: `NUMBER:ROOT:MAC`.
    #[schema(example = "4711:9f86d081884c7d65…:60303ae22b998861…")]
    pub seal: String,
    /// The hash of the seal before it.
    #[schema(example = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae")]
    pub previous: String,
}

/// Seals, the newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct Seals {
    /// The seals.
    pub seals: Vec<SealRow>,
    /// There are older ones: ask with `before` set to this.
    pub next: Option<u64>,
}

/// The audit, computed again from its rows.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuditProof {
    /// Nothing was changed, removed or cut off.
    pub ok: bool,
    /// So many transfers.
    #[schema(example = 1500)]
    pub transfers: u64,
    /// So many entries of histories, operators' actions and external movements.
    #[schema(example = 9042)]
    pub entries: u64,
    /// So many units: journal writes with entries.
    #[schema(example = 8122)]
    pub units: u64,
    /// Of them above the last seal.
    #[schema(example = 2)]
    pub unsealed: u64,
    /// So many seals.
    #[schema(example = 4711)]
    pub seals: u64,
    /// The last seal, where there is one.
    pub last: Option<SealRow>,
    /// So many things are wrong.
    #[schema(example = 0)]
    pub wrong: u64,
    /// The first 200 of them, each as a sentence.
    #[schema(example = json!([]))]
    pub faults: Vec<String>,
}

fn row(seal: &Seal) -> SealRow {
    SealRow {
        number: seal.number,
        at: format::time(seal.at),
        covers: seal.cover.to_string(),
        seal: SealText(seal).to_string(),
        previous: hex(&seal.previous),
    }
}

/// Findings as they are shown.
pub fn proof(found: &Findings) -> AuditProof {
    AuditProof {
        ok: found.wrong == 0,
        transfers: found.transfers,
        entries: found.entries,
        units: found.units,
        unsealed: found.unsealed,
        seals: found.seals,
        last: found.last.as_ref().map(row),
        wrong: found.wrong,
        faults: found.faults.iter().map(ToString::to_string).collect(),
    }
}

/// Computes the whole audit again: it reads everything, so one is made at a time.
#[utoipa::path(
    get, path = "/api/v1/ops/audit/verify", tag = "ops", params(VerifyQuery),
    operation_id = "verify_audit", security(("token" = ["ops:read"])),
    responses(
        (status = 200, body = AuditProof, description = "What was found"),
        (status = 400, body = Problem, description = "A seal that is none: `BAD_REQUEST`"),
        (status = 503, body = Problem, description = "Another proof is being made: `OVERLOADED`"),
    )
)]
pub(crate) async fn verify(
    State(app): State<Arc<App>>,
    RequireOpsRead(_): RequireOpsRead,
    QueryParams(VerifyQuery { seal }): QueryParams<VerifyQuery>,
) -> Result<Json<AuditProof>, Refusal> {
    let kept = match seal.as_deref().map(parse_seal) {
        Some(None) => return Err(Refusal::bad("`seal`: as NUMBER:ROOT:MAC, as the log says it")),
        Some(kept) => kept,
        None => None,
    };
    match app.sealer.prove(kept).await {
        Ok(Some(found)) => Ok(Json(proof(&found))),
        Ok(None) => Err(Refusal::because(Code::Overloaded, "Another proof is being made; wait")),
        Err(cause) => {
            unknown("audit", &cause);
            Err(Refusal::because(
                Code::SystemError,
                format!("The proof could not be made: {cause}"),
            ))
        }
    }
}

/// Which seals are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct SealsQuery {
    /// Only those below this number: `next` of the page before.
    before: Option<u64>,
    /// At most so many, up to 1000; 100 where it is left out.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<usize>,
}

/// Seals, the newest first.
#[utoipa::path(
    get, path = "/api/v1/ops/audit/seals", tag = "ops", params(SealsQuery),
    operation_id = "list_seals", security(("token" = ["ops:read"])),
    responses(
        (status = 200, body = Seals, description = "A page"),
        (status = 400, body = Problem, description = "An unknown parameter: `BAD_REQUEST`"),
    )
)]
pub(crate) async fn seals(
    State(app): State<Arc<App>>,
    RequireOpsRead(_): RequireOpsRead,
    QueryParams(query): QueryParams<SealsQuery>,
) -> Result<Json<Seals>, Refusal> {
    let limit = limit(query.limit, 100, 1..=1000)?;
    let found = app.sealer.seals(query.before, limit).await.map_err(silent("seals"))?;
    let next = found.last().filter(|last| last.number > 1).map(|last| last.number);
    Ok(Json(Seals { seals: found.iter().map(row).collect(), next }))
}
