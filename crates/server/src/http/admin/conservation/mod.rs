//! The operators' route that shows reconciliation's proof that no money was lost, or runs it again.

pub mod vaults;

use crate::http::middleware::caller::RequireOpsRead;
use crate::http::middleware::error::Refusal;
use crate::http::middleware::query::QueryParams;
use crate::http::{App, format, no_answer, unknown};
use api::problem::Problem;
use api::proof::{Books, Break, LedgerProof, Proof, Proving, Unproven};
use axum::Json;
use axum::extract::State;
use engine::reconciliation::Report;
use kernel::code::Code;
use kernel::ports::ledger::{Ledger, LedgerForm};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// Which proof is wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConservationQuery {
    /// Prove now, instead of showing the last round.
    #[serde(default)]
    fresh: bool,
    /// Prove now, add up every operation row, and hold every account against its own operations, as
    /// is done at start and once a day. It reads everything, so it may take long.
    #[serde(default)]
    full: bool,
}

/// The facts that these ledgers state without a proof.
pub fn unproven(ledgers: impl IntoIterator<Item = Arc<dyn Ledger>>) -> Vec<Unproven> {
    let all = ledgers.into_iter().filter_map(|ledger| {
        let what: &[&str] = match (ledger.form(), ledger.own_world()) {
            (LedgerForm::Simple, _) => &["sums", "operations", "world", "accounts"],
            (LedgerForm::Full, true) => &["world", "accounts"],
            (LedgerForm::Full, false) => return None,
        };
        let what = what.iter().map(|what| (*what).to_owned()).collect();
        Some(Unproven { ledger: ledger.id().name().to_owned(), what })
    });
    all.collect()
}

/// The last proof, or a fresh one.
#[utoipa::path(
    get, path = "/api/v1/ops/conservation", tag = "ops", params(ConservationQuery),
    operation_id = "read_conservation", security(("token" = ["ops:read"])),
    responses(
        (status = 200, body = Proof, description = "What was found"),
        (status = 400, body = Problem, description = "An unknown parameter: `BAD_REQUEST`"),
        (status = 500, body = Problem, description = "The journal did not answer: `SYSTEM_ERROR`"),
    )
)]
pub(crate) async fn conservation(
    State(app): State<Arc<App>>,
    RequireOpsRead(_): RequireOpsRead,
    QueryParams(query): QueryParams<ConservationQuery>,
) -> Result<Json<Proof>, Refusal> {
    if query.full {
        app.engine.reconciler.count_all().await;
    }
    let last = app.engine.reconciler.report().filter(|_| !query.fresh && !query.full);
    let report = match last {
        Some(report) => report,
        None => app.engine.reconciler.check_now().await.map_err(|cause| {
            unknown("conservation", &cause);
            Refusal::because(Code::SystemError, format!("The proof could not be made: {cause}"))
        })?,
    };
    let unproven = unproven(app.ledgers());
    let proof = proof(&report, unproven, &app.engine.assets(), app.engine.halted().as_deref());
    let proving = app.engine.reconciler.proving();
    let vaults = vaults::shown(&**app.engine.journal(), &app.engine.assets()).await;
    Ok(Json(Proof {
        vaults: vaults.map_err(no_answer("vaults"))?,
        proving: proving.map(|(proven, transfers)| Proving { proven, transfers }),
        ..proof
    }))
}

/// A report as it is shown.
pub fn proof(
    report: &Report,
    unproven: Vec<Unproven>,
    assets: &[kernel::money::Asset],
    halted: Option<&str>,
) -> Proof {
    let books = report.assets.iter().map(|line| {
        let (asset, precision) = format::asset(assets, line.asset);
        let sum = |units| format::signed(units, precision);
        let totals = &line.totals;
        Books {
            ledger: line.ledger.name().to_owned(),
            asset,
            users: sum(totals.users),
            frozen: sum(totals.frozen),
            clearing: sum(totals.clearing),
            world: sum(totals.world),
        }
    });
    let shown = |found: &kernel::reconcile::Break| Break {
        key: found.key.clone(),
        amount: found.amount.to_string(),
        what: found.what.clone(),
    };
    Proof {
        ok: report.ok && report.is_whole() && halted.is_none(),
        halted: halted.map(str::to_owned),
        at: format::time(report.at),
        round: report.round,
        proving: None,
        waiting: report.waiting,
        ledgers: report.ledgers.iter().map(line).collect(),
        assets: books.collect(),
        breaks: report.breaks.iter().map(shown).collect(),
        accepted: report.accepted.iter().map(shown).collect(),
        vaults: Vec::new(),
        unproven,
    }
}

fn line(proof: &engine::reconciliation::LedgerProof) -> LedgerProof {
    LedgerProof {
        ledger: proof.ledger.name().to_owned(),
        proven_at: proof.proven_at.map(format::time),
        why_not: proof.silent.as_ref().map(ToString::to_string),
        accounts_at: proof.accounts.map(|accounts| format::time(accounts.at)),
        accounts: proof.accounts.map(|accounts| accounts.rows),
        accounts_why_not: proof.unlisted.as_ref().map(ToString::to_string),
    }
}
