//! `?dry_run=true`: predicts the result of a create. It writes nothing and counts nothing.

use super::create;
use super::create::RequestedTransfer;
use super::response::{self, Outcome};
use super::validate::TransferRequest;
use crate::http::App;
use crate::http::middleware::error::Refusal;
use api::transfers::DryRun;
use axum::Json;
use axum::response::{IntoResponse, Response};
use kernel::code::Code;
use kernel::flow::life;
use kernel::record::Record;

/// A dry run with this result and no further fields.
fn foreseen(name: &str) -> DryRun {
    DryRun {
        dry_run: true,
        would: name.to_owned(),
        req_id: None,
        mismatched_fields: None,
        unasked: None,
    }
}

/// Runs every check of a create, in the same order.
///
/// # Errors
/// 500: the journal or a ledger does not answer.
pub(super) async fn would(app: &App, ask: &TransferRequest) -> Result<Response, Refusal> {
    if let Some(bound) = create::bound(app, ask).await? {
        let replay = replay_of(app, ask, &bound);
        return Ok(create::mark_replayed(Json(&replay).into_response(), replay.req_id.is_some()));
    }
    let answer = match ask.terms(app) {
        Ok(_) if !app.refused_creates.would(ask.user, app.clock.ticks()) => {
            Err(Code::RefusalLimitExceeded)
        }
        Ok(terms) if app.rate_limit.would(ask.user, app.clock.ticks()) => {
            app.engine.checks.would(app.internal, &terms).await
        }
        Ok(_) => Err(Code::RateLimitExceeded),
        Err(code) => Err(code),
    };
    let run = match answer {
        Ok(unasked) => {
            let names: Vec<_> = unasked.iter().map(|ledger| ledger.name().to_owned()).collect();
            let unasked = (!names.is_empty()).then_some(names);
            let table = app.engine.flows().table(app.internal);
            let paid = table.ending(life::Outcome::Paid);
            let paid = paid.map_or("", |state| table.state(state).name);
            DryRun { unasked, ..foreseen(paid) }
        }
        Err(Code::SystemError) => {
            let sentence =
                "The journal or a ledger does not answer at the moment; nothing was begun";
            return Err(Refusal::because(Code::SystemError, sentence));
        }
        Err(code) => foreseen(code.name()),
    };
    Ok(Json(run).into_response())
}

/// The answer to a repeat of a bound key, without the wait.
fn replay_of(app: &App, ask: &TransferRequest, bound: &Record) -> DryRun {
    let differs = ask.mismatched(app, bound);
    if !differs.is_empty() {
        let conflict = foreseen(Code::DuplicateRequest.name());
        return DryRun { mismatched_fields: Some(differs), ..conflict };
    }
    let would = match Outcome::of(app, bound) {
        (Outcome::Committed | Outcome::Pending, state) => foreseen(state),
        (Outcome::Failed, _) => foreseen(response::code(bound)),
    };
    DryRun { req_id: Some(bound.id.to_string()), ..would }
}
