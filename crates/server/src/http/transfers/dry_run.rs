//! `?dry_run=true`: what would become of a create. Writes nothing and counts nothing.

use super::create;
use super::create::RequestedTransfer;
use super::response::{self, Outcome};
use super::validate::TransferRequest;
use crate::http::App;
use crate::http::middleware::error::Refusal;
use axum::Json;
use axum::response::{IntoResponse, Response};
use kernel::code::Code;
use kernel::flow::life;
use kernel::record::Record;
use serde::Serialize;
use utoipa::ToSchema;

/// What would become of a create, as things stand.
#[derive(Debug, Serialize, ToSchema)]
pub struct DryRun {
    /// Always: nothing was done.
    #[schema(example = true)]
    pub dry_run: bool,
    /// `COMMITTED`, or the code that would be answered. `PENDING` where the key is bound to a
    /// transfer that is under way.
    #[schema(example = "COMMITTED")]
    pub would: String,
    /// The transfer that the key is bound to: a create would tell of it and make nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub req_id: Option<String>,
    /// With `DUPLICATE_REQUEST`: the fields in which this request differs from the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mismatched_fields: Option<Vec<String>>,
    /// Ledgers in the simple form, which show no accounts: whether they would refuse is not in
    /// `would`, because it cannot be known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unasked: Option<Vec<&'static str>>,
}

impl DryRun {
    fn would(name: &str) -> Self {
        Self {
            dry_run: true,
            would: name.to_owned(),
            req_id: None,
            mismatched_fields: None,
            unasked: None,
        }
    }
}

/// Asks everything that a create asks, in the same order.
///
/// # Errors
/// 500: the journal or a ledger does not answer.
pub(super) async fn would(app: &App, ask: &TransferRequest) -> Result<Response, Refusal> {
    if let Some(bound) = create::bound(app, ask).await? {
        let replay = again(app, ask, &bound);
        return Ok(create::mark_replayed(Json(&replay).into_response(), replay.req_id.is_some()));
    }
    let foreseen = match ask.terms(app) {
        Ok(terms) if app.rate_limit.would(ask.user, app.clock.ticks()) => {
            app.engine.checks.would(app.internal, &terms).await
        }
        Ok(_) => Err(Code::RateLimitExceeded),
        Err(code) => Err(code),
    };
    let run = match foreseen {
        Ok(unasked) => {
            let names: Vec<_> = unasked.iter().map(|ledger| ledger.name()).collect();
            let unasked = (!names.is_empty()).then_some(names);
            let table = app.engine.flows().table(app.internal);
            let paid = table.ending(life::Outcome::Paid);
            let paid = paid.map_or("", |state| table.state(state).name);
            DryRun { unasked, ..DryRun::would(paid) }
        }
        Err(Code::SystemError) => {
            let sentence =
                "The journal or a ledger does not answer at the moment; nothing was begun";
            return Err(Refusal::because(Code::SystemError, sentence));
        }
        Err(code) => DryRun::would(code.name()),
    };
    Ok(Json(run).into_response())
}

/// What a repeat of a bound key would be told, without the wait.
fn again(app: &App, ask: &TransferRequest, bound: &Record) -> DryRun {
    let differs = ask.mismatched(app, bound);
    if !differs.is_empty() {
        let conflict = DryRun::would(Code::DuplicateRequest.name());
        return DryRun { mismatched_fields: Some(differs), ..conflict };
    }
    let would = match Outcome::of(app, bound) {
        (Outcome::Committed | Outcome::Pending, state) => DryRun::would(state),
        (Outcome::Failed, _) => DryRun::would(response::code(bound)),
    };
    DryRun { req_id: Some(bound.id.to_string()), ..would }
}
