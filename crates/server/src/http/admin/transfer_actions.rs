//! The operators' routes for actions on one transfer or on many.

use super::admin_response;
use crate::auth::Caller;
use crate::http::middleware::body::Body;
use crate::http::middleware::caller::RequireOpsAct;
use crate::http::middleware::error::Refusal;
use crate::http::middleware::path_params::PathParams;
use crate::http::{App, format};
use api::admin::actions::{Done, ReasonBody};
use api::admin::transfer_actions::{
    NewTransferNote, Resolve, TransferActionResult, TransferActionResults, TransferActions,
};
use api::problem::Problem;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use engine::operators::{AdminAction, Verdict};
use kernel::code::Code;
use kernel::ids::Id;
use kernel::operators::NoteText;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The most transfers of one request.
const MANY: usize = 100;

/// The routes of this page.
pub(in crate::http) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(retry))
        .routes(routes!(ask))
        .routes(routes!(pause))
        .routes(routes!(resume))
        .routes(routes!(release))
        .routes(routes!(resolve))
        .routes(routes!(note))
        .routes(routes!(run_transfer_actions))
}

/// Makes the transfer's next attempt due now, wherever it waits.
#[utoipa::path(
    post, path = "/api/v1/ops/transfers/{id}/retry", tag = "ops", request_body = ReasonBody,
    operation_id = "retry_transfer", security(("token" = ["ops:act"])),
    params(
        ("id" = String, Path, description = "The transfer's id, in either spelling"),
        ("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given"),
    ),
    responses(
        (status = 200, body = Done, description = "Its next attempt is due: `RETRIED`"),
        (status = 400, body = Problem, description = "The body does not fit: `BAD_REQUEST`"),
        (status = 404, body = Problem, description = "No such transfer: `NOT_FOUND`"),
        (status = 409, body = Problem, description = "`NOT_POSSIBLE` in the present state, or `DUPLICATE_REQUEST`"),
        (status = 503, body = Problem, description = "`HALTED`: no call with an effect is begun"),
    )
)]
async fn retry(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    PathParams(id): PathParams<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let route = TransferRoute { app: &app, caller: &caller, headers: &headers, id: &id };
    route.run(AdminAction::Retry, &body).await
}

/// Asks the ledger of the transfer's open call what it stored. Works under HALT; where an answer is
/// stored, the transfer takes it.
#[utoipa::path(
    post, path = "/api/v1/ops/transfers/{id}/ask", tag = "ops", request_body = ReasonBody,
    operation_id = "ask_for_transfer", security(("token" = ["ops:act"])),
    params(
        ("id" = String, Path, description = "The transfer's id, in either spelling"),
        ("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given"),
    ),
    responses(
        (status = 200, body = Done, description = "What the ledger holds: `ASKED`"),
        (status = 400, body = Problem, description = "The body does not fit: `BAD_REQUEST`"),
        (status = 404, body = Problem, description = "No such transfer: `NOT_FOUND`"),
        (status = 409, body = Problem, description = "`NOT_POSSIBLE` in the present state, or `DUPLICATE_REQUEST`"),
    )
)]
async fn ask(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    PathParams(id): PathParams<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let route = TransferRoute { app: &app, caller: &caller, headers: &headers, id: &id };
    route.run(AdminAction::Ask, &body).await
}

/// Holds the transfer where it stands.
#[utoipa::path(
    post, path = "/api/v1/ops/transfers/{id}/pause", tag = "ops", request_body = ReasonBody,
    operation_id = "pause_transfer", security(("token" = ["ops:act"])),
    params(
        ("id" = String, Path, description = "The transfer's id, in either spelling"),
        ("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given"),
    ),
    responses(
        (status = 200, body = Done, description = "It stands: `PAUSED`"),
        (status = 400, body = Problem, description = "The body does not fit: `BAD_REQUEST`"),
        (status = 404, body = Problem, description = "No such transfer: `NOT_FOUND`"),
        (status = 409, body = Problem, description = "`NOT_POSSIBLE` in the present state, or `DUPLICATE_REQUEST`"),
    )
)]
async fn pause(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    PathParams(id): PathParams<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let route = TransferRoute { app: &app, caller: &caller, headers: &headers, id: &id };
    route.run(AdminAction::PauseTransfer, &body).await
}

/// Lets the transfer go on: every pause of it is lifted.
#[utoipa::path(
    post, path = "/api/v1/ops/transfers/{id}/resume", tag = "ops", request_body = ReasonBody,
    operation_id = "resume_transfer", security(("token" = ["ops:act"])),
    params(
        ("id" = String, Path, description = "The transfer's id, in either spelling"),
        ("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given"),
    ),
    responses(
        (status = 200, body = Done, description = "It goes on: `UNPAUSED`"),
        (status = 400, body = Problem, description = "The body does not fit: `BAD_REQUEST`"),
        (status = 404, body = Problem, description = "No such transfer: `NOT_FOUND`"),
        (status = 409, body = Problem, description = "`NOT_POSSIBLE` in the present state, or `DUPLICATE_REQUEST`"),
    )
)]
async fn resume(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    PathParams(id): PathParams<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let route = TransferRoute { app: &app, caller: &caller, headers: &headers, id: &id };
    route.run(AdminAction::ResumeTransfer, &body).await
}

/// Proposes one more refund of a transfer whose money is held. It is made once another person approves, where the
/// account that paid takes it.
#[utoipa::path(
    post, path = "/api/v1/ops/transfers/{id}/release", tag = "ops", request_body = ReasonBody,
    operation_id = "release_transfer", security(("token" = ["ops:act"])),
    params(
        ("id" = String, Path, description = "The transfer's id, in either spelling"),
        ("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given"),
    ),
    responses(
        (status = 200, body = Done, description = "One more refund is allowed: `REFUND_RELEASED`; with `ops.four_eyes` off"),
        (status = 202, body = Done, description = "Another person has to approve: `PROPOSED`"),
        (status = 400, body = Problem, description = "The body does not fit: `BAD_REQUEST`"),
        (status = 404, body = Problem, description = "No such transfer: `NOT_FOUND`"),
        (status = 409, body = Problem, description = "`NOT_POSSIBLE`: its money is not held; or `DUPLICATE_REQUEST`"),
    )
)]
async fn release(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    PathParams(id): PathParams<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let route = TransferRoute { app: &app, caller: &caller, headers: &headers, id: &id };
    route.run(AdminAction::ReleaseRefund, &body).await
}

/// The request for an action on one transfer.
struct TransferRoute<'a> {
    app: &'a App,
    caller: &'a Caller,
    headers: &'a HeaderMap,
    /// As the path has it.
    id: &'a str,
}

impl TransferRoute<'_> {
    async fn run(&self, action: fn(Id) -> AdminAction, body: &Body) -> Result<Response, Refusal> {
        let id = format::id(self.id).ok_or_else(|| Refusal::no_such("transfer"))?;
        let why: ReasonBody = body.read()?;
        let Self { app, caller, headers, .. } = self;
        admin_response::run_action(app, caller, headers, &why.reason, action(id)).await
    }
}

/// The same for many transfers: independent of each other, each with its own result.
#[utoipa::path(
    post, path = "/api/v1/ops/transfers/{action}", tag = "ops", request_body = TransferActions,
    operation_id = "steer_transfers", security(("token" = ["ops:act"])),
    params(
        ("action" = String, Path, description = "`retry`, `ask`, `pause` or `resume`", example = "retry"),
        ("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given"),
    ),
    responses(
        (status = 200, body = TransferActionResults, description = "What became of each"),
        (status = 400, body = Problem, description = "The body does not fit: `BAD_REQUEST`"),
        (status = 404, body = Problem, description = "No such action: `NOT_FOUND`"),
    )
)]
async fn run_transfer_actions(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    PathParams(action): PathParams<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<TransferActionResults>, Refusal> {
    let build = action_of(&action).ok_or(Code::NotFound)?;
    let TransferActions { ids, reason } = body.read()?;
    super::reason(&reason)?;
    if !(1..=MANY).contains(&ids.len()) {
        return Err(Refusal::bad(format!("field `ids`: from 1 to {MANY}")));
    }
    let key = admin_response::idempotency_key(&app, &headers)?;
    let mut results = Vec::with_capacity(ids.len());
    for id in ids {
        let performed = match format::id(&id) {
            // one key of the request, one of each item
            Some(found) => {
                admin_response::execute_once(
                    &app,
                    &caller,
                    &format!("{key}/{found}"),
                    &reason,
                    build(found),
                )
                .await
            }
            None => Err(Refusal::no_such("transfer")),
        };
        results.push(match performed {
            Ok(performed) => TransferActionResult {
                id,
                done: Some(admin_response::to_response(performed)),
                code: None,
                error: None,
            },
            Err(refusal) => TransferActionResult {
                id,
                done: None,
                code: Some(refusal.code.name().to_owned()),
                error: Some(refusal.sentence),
            },
        });
    }
    Ok(Json(TransferActionResults { results }))
}

fn action_of(action: &str) -> Option<fn(Id) -> AdminAction> {
    match action {
        "retry" => Some(AdminAction::Retry),
        "ask" => Some(AdminAction::Ask),
        "pause" => Some(AdminAction::PauseTransfer),
        "resume" => Some(AdminAction::ResumeTransfer),
        _ => None,
    }
}

/// Proposes an answer to the transfer's open call. It takes effect when another person approves,
/// and then only as far as the ledger bears it out. A transfer that waits for its first attempt on a chain, or behind
/// dead ones, or for a message of the pipeline has no open call: `rejected` ends it as `CANCELLED`, borne out by the
/// journal.
#[utoipa::path(
    post, path = "/api/v1/ops/transfers/{id}/resolve", tag = "ops", request_body = Resolve,
    operation_id = "resolve_transfer", security(("token" = ["ops:act"])),
    params(
        ("id" = String, Path, description = "The transfer's id, in either spelling"),
        ("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given"),
    ),
    responses(
        (status = 200, body = Done, description = "It took effect: `RESOLVED`, or `SUPERSEDED` where the transfer had moved on; with `ops.four_eyes` off"),
        (status = 202, body = Done, description = "Another person has to approve: `PROPOSED`"),
        (status = 400, body = Problem, description = "No such answer to this call: `BAD_REQUEST`"),
        (status = 404, body = Problem, description = "`NOT_FOUND`"),
        (status = 409, body = Problem, description = "`NOT_POSSIBLE` in the present state, or `DUPLICATE_REQUEST`"),
        (status = 503, body = Problem, description = "`HALTED`: no fence is called, and nothing is cancelled"),
    )
)]
async fn resolve(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    PathParams(id): PathParams<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let id = format::id(&id).ok_or_else(|| Refusal::no_such("transfer"))?;
    let form: Resolve = body.read()?;
    let unfit = || Refusal::bad("field `answer`: `done`, `rejected` or `dead`");
    let verdict = Verdict::parse(&form.answer).ok_or_else(unfit)?;
    let evidence = form.evidence;
    if !evidence.is_object() || evidence.to_string().len() > 4096 {
        return Err(Refusal::bad("field `evidence`: an object of at most 4 KiB"));
    }
    let action = AdminAction::Resolve { id, verdict, evidence };
    admin_response::run_action(&app, &caller, &headers, &form.reason, action).await
}

/// Adds words to a transfer in any state, also one that has ended, also under HALT. Operators read them
/// with the transfer; its user never does.
#[utoipa::path(
    post, path = "/api/v1/ops/transfers/{id}/notes", tag = "ops", request_body = NewTransferNote,
    operation_id = "note_transfer", security(("token" = ["ops:act"])),
    params(
        ("id" = String, Path, description = "The transfer's id, in either spelling"),
        ("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given"),
    ),
    responses(
        (status = 200, body = Done, description = "It is noted: `NOTED`"),
        (status = 400, body = Problem, description = "The body does not fit: `BAD_REQUEST`"),
        (status = 404, body = Problem, description = "No such transfer: `NOT_FOUND`"),
        (status = 409, body = Problem, description = "`DUPLICATE_REQUEST`"),
    )
)]
async fn note(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    PathParams(id): PathParams<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let id = format::id(&id).ok_or_else(|| Refusal::no_such("transfer"))?;
    let form: NewTransferNote = body.read()?;
    let unfit =
        || Refusal::bad("field `text`: 1 to 1000 characters, no control but the end of a line");
    let text = NoteText::parse(&form.text).ok_or_else(unfit)?;
    let action = AdminAction::NoteTransfer { id, text };
    admin_response::run_action(&app, &caller, &headers, &form.reason, action).await
}
