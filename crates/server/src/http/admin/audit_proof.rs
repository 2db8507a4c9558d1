//! The operators' routes that verify the audit and list its seals.

use crate::http::middleware::caller::RequireOpsRead;
use crate::http::middleware::error::Refusal;
use crate::http::middleware::query::{QueryParams, limit};
use crate::http::{App, format, no_answer, unknown};
use api::audit::{AuditProof, SealRow, Seals};
use api::problem::Problem;
use axum::Json;
use axum::extract::State;
use engine::audit::{SealText, parse_seal};
use kernel::audit::hex;
use kernel::audit::proof::Findings;
use kernel::audit::seal::Seal;
use kernel::code::Code;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// What is held against the audit.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct VerifyQuery {
    /// A seal that was kept elsewhere, as the log said it: `NUMBER:ROOT:MAC`.
    seal: Option<String>,
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
        unproven: found.unproven.clone(),
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
    /// Maximum number of seals, up to 1000; the default is 100.
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
    let found = app.sealer.seals(query.before, limit).await.map_err(no_answer("seals"))?;
    let next = found.last().filter(|last| last.number > 1).map(|last| last.number);
    Ok(Json(Seals { seals: found.iter().map(row).collect(), next }))
}
