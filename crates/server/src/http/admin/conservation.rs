//! The proof that nothing was lost, as operators read it.

use crate::http::middleware::caller::RequireOpsRead;
use crate::http::middleware::error::{Problem, Refusal};
use crate::http::middleware::query::QueryParams;
use crate::http::{App, format, unknown};
use axum::Json;
use axum::extract::State;
use engine::reconciliation::Report;
use kernel::code::Code;
use kernel::ports::ledger::{Form, Ledger};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

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

/// The proof that nothing was lost: each ledger's books, and what does not add up.
#[derive(Debug, Serialize, ToSchema)]
pub struct Proof {
    /// Everything adds up, every ledger was proven, and money may move.
    pub ok: bool,
    /// Why no money moves, where it does not.
    pub halted: Option<String>,
    /// When it was proven, RFC 3339.
    pub at: String,
    /// Rounds so far in this process.
    pub round: u64,
    /// How far the proof for a resume is that is being made now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = json!({ "proven": 871_000, "transfers": 1_200_000 }))]
    pub proving: Option<Proving>,
    /// Receipts that wait for the next round.
    #[schema(example = 0)]
    pub waiting: usize,
    /// Each ledger that can be proven: since when it is, or why not now.
    pub ledgers: Vec<LedgerProof>,
    /// The books per asset of each ledger that was proven in this round.
    pub assets: Vec<Books>,
    /// What does not add up.
    #[schema(example = json!([]))]
    pub breaks: Vec<Break>,
    /// Breaks that two persons accepted when they resumed: still there, and no part of `breaks`.
    #[schema(example = json!([]))]
    pub accepted: Vec<Break>,
    /// What is no part of this proof, because it cannot be proven.
    #[schema(example = json!([]))]
    pub unproven: Vec<Unproven>,
}

/// How far a proof is.
#[derive(Debug, Serialize, ToSchema)]
pub struct Proving {
    /// The number of the transfer that it has come to.
    #[schema(example = 871_000)]
    pub proven: u64,
    /// The number of the last transfer.
    #[schema(example = 1_200_000)]
    pub transfers: u64,
}

/// One ledger's part in the proof: a silent one keeps no other from being proven.
#[derive(Debug, Serialize, ToSchema)]
pub struct LedgerProof {
    /// The ledger.
    #[schema(example = "SPOT")]
    pub ledger: &'static str,
    /// When its books were proven last, RFC 3339; none where they never were in this process.
    #[schema(example = "2026-11-21T09:23:15.121Z")]
    pub proven_at: Option<String>,
    /// Why they were not in this round.
    #[schema(example = json!(null))]
    pub why_not: Option<String>,
    /// When each of its accounts was held against its own operations last, RFC 3339: at start, once
    /// a day, after a break, and where it is asked for.
    #[schema(example = "2026-11-21T03:00:02.007Z")]
    pub accounts_at: Option<String>,
    /// So many accounts there were then, each asset of one for itself.
    #[schema(example = 120_000)]
    pub accounts: Option<u64>,
    /// Why they were not at the last count; the books are proven all the same.
    #[schema(example = json!(null))]
    pub accounts_why_not: Option<String>,
}

/// What a ledger is believed on its word.
#[derive(Debug, Serialize, ToSchema)]
pub struct Unproven {
    /// The ledger.
    pub ledger: &'static str,
    /// `world`: what comes to it and leaves it by doors of its own; then also `accounts`, since one
    /// account's operations are not all that it had. In the simple form also `sums` and
    /// `operations`: then only our own rows of it are proven.
    #[schema(example = json!(["world", "accounts"]))]
    pub what: &'static [&'static str],
}

impl Unproven {
    /// Of these ledgers.
    pub fn of(ledgers: impl IntoIterator<Item = Arc<dyn Ledger>>) -> Vec<Self> {
        let all = ledgers.into_iter().filter_map(|ledger| {
            let what: &[&str] = match (ledger.form(), ledger.own_world()) {
                (Form::Simple, _) => &["sums", "operations", "world", "accounts"],
                (Form::Full, true) => &["world", "accounts"],
                (Form::Full, false) => return None,
            };
            Some(Self { ledger: ledger.id().name(), what })
        });
        all.collect()
    }
}

/// One asset at one ledger, in the asset's unit; the four add up to zero.
#[derive(Debug, Serialize, ToSchema)]
pub struct Books {
    /// The ledger.
    pub ledger: &'static str,
    /// The asset's symbol.
    pub asset: String,
    /// What users may use.
    pub users: String,
    /// What is held.
    pub frozen: String,
    /// Money between two ledgers.
    pub clearing: String,
    /// The outside: below zero what came in.
    pub world: String,
}

/// Something that does not add up.
#[derive(Debug, Serialize, ToSchema)]
pub struct Break {
    /// Its name, the same in every round.
    #[schema(example = "receipt/01JFVQ2X8Z0Y1M3N4P5R6S7T8V/DEPOSIT")]
    pub key: String,
    /// By how much, in base units.
    pub amount: String,
    /// What it is, for a person.
    #[schema(example = "the ledger has no such operation")]
    pub what: String,
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
        app.engine.count_all().await;
    }
    let last = app.engine.report().filter(|_| !query.fresh && !query.full);
    let report = match last {
        Some(report) => report,
        None => app.engine.check_now().await.map_err(|cause| {
            unknown("conservation", &cause);
            Refusal::because(Code::SystemError, format!("The proof could not be made: {cause}"))
        })?,
    };
    let unproven = Unproven::of(app.ledgers());
    let proof = proof(&report, unproven, &app.engine.assets(), app.engine.halted().as_deref());
    let proving = app.engine.proving();
    Ok(Json(Proof {
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
            ledger: line.ledger.name(),
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
        ok: report.ok && report.silent().is_none() && halted.is_none(),
        halted: halted.map(str::to_owned),
        at: format::time(report.at),
        round: report.round,
        proving: None,
        waiting: report.waiting,
        ledgers: report.ledgers.iter().map(line).collect(),
        assets: books.collect(),
        breaks: report.breaks.iter().map(shown).collect(),
        accepted: report.accepted.iter().map(shown).collect(),
        unproven,
    }
}

fn line(proof: &engine::reconciliation::LedgerProof) -> LedgerProof {
    LedgerProof {
        ledger: proof.ledger.name(),
        proven_at: proof.proven_at.map(format::time),
        why_not: proof.silent.as_ref().map(ToString::to_string),
        accounts_at: proof.accounts.map(|accounts| format::time(accounts.at)),
        accounts: proof.accounts.map(|accounts| accounts.rows),
        accounts_why_not: proof.unlisted.as_ref().map(ToString::to_string),
    }
}
