//! The operators' routes for the message pipeline: its status, its queues, and the actions on them.

pub mod dead_letters;
pub mod export;
pub mod groups;
pub mod outbox;
pub mod parked;
pub mod status;

use crate::http::middleware::error::Refusal;
use crate::http::{App, format};
use api::admin::pipeline::{MessagesPreview, ReasonCount, SeekRow};
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use kernel::code::Code;
use kernel::ids::Millis;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;

/// The routes of the pipeline, for the description and the server.
pub(in crate::http) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .merge(status::routes())
        .merge(export::routes())
        .merge(parked::routes())
        .merge(groups::routes())
        .merge(dead_letters::routes())
        .merge(outbox::routes())
}

/// Whether an action is only tried out.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct DryRunQuery {
    /// Says what would be done, and does nothing.
    #[serde(default)]
    dry_run: bool,
}

fn previewed(preview: MessagesPreview) -> Response {
    (StatusCode::OK, Json(MessagesPreview { dry_run: true, ..preview })).into_response()
}

/// A time of a request.
///
/// # Errors
/// 400: it is none.
fn time(field: &str, text: &str) -> Result<Millis, Refusal> {
    let unfit = || Refusal::bad(format!("`{field}`: a time like 2026-01-31T09:00:00Z (RFC 3339)"));
    format::instant(text).ok_or_else(unfit)
}

fn none_offered() -> Refusal {
    Refusal::because(Code::NotFound, "No flow that messages carry is offered here")
}
