//! The pipeline of messages: how it does, what waits in it, and what operators do about that.

pub mod dead_letters;
pub mod export;
pub mod groups;
pub mod outbox;
pub mod parked;
pub mod status;

use crate::http::middleware::error::Refusal;
use crate::http::{App, format};
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use kernel::code::Code;
use kernel::ids::Millis;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};
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

/// What an action on messages would do.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct MessagesPreview {
    /// Always true: nothing was done yet.
    pub dry_run: bool,
    /// So many messages would be sent, or so many partitions would go on elsewhere.
    #[schema(example = 12)]
    pub messages: u64,
    /// A redrive: so many would be passed over, since they went back too often.
    #[schema(example = 0)]
    pub passed_over: u64,
    /// A redrive: by the reason for which each message is dead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<ReasonCount>,
    /// A seek: where each partition that moves would go on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub partitions: Vec<SeekRow>,
}

/// How many dead letters have a reason.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReasonCount {
    /// The reason code that the consumer gave.
    #[schema(example = "UNKNOWN_TRANSFER")]
    pub reason: String,
    /// So many would go back.
    #[schema(example = 12)]
    pub messages: u64,
    /// So many would be passed over.
    #[schema(example = 0)]
    pub passed_over: u64,
}

/// Where a group would go on in a partition.
#[derive(Debug, Serialize, ToSchema)]
pub struct SeekRow {
    /// The topic that the group consumes.
    #[schema(example = "transfer-execution")]
    pub topic: String,
    /// The number of the partition.
    #[schema(example = 3)]
    pub partition: u32,
    /// The offset from which it would go on without the seek.
    #[schema(example = 120)]
    pub from: u64,
    /// The offset from which it goes on behind the seek.
    #[schema(example = 100)]
    pub to: u64,
}

fn previewed(preview: MessagesPreview) -> Response {
    (StatusCode::OK, Json(MessagesPreview { dry_run: true, ..preview })).into_response()
}

/// A time of a request.
///
/// # Errors
/// 400: it is none.
fn time(field: &str, text: &str) -> Result<Millis, Refusal> {
    format::instant(text).ok_or_else(|| Refusal::bad(format!("`{field}`: a time by RFC 3339")))
}

fn none_offered() -> Refusal {
    Refusal::because(Code::NotFound, "No flow that messages carry is offered here")
}
