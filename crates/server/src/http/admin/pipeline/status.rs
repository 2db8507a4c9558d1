//! The operators' route that shows the status of the pipeline: lag, the outbox, parked keys, dead letters and
//! paused groups.

use super::none_offered;
use crate::http::middleware::caller::RequireOpsRead;
use crate::http::middleware::error::Refusal;
use crate::http::{App, format, no_answer};
use api::admin::pipeline::{DeadLetterRow, GroupRow, OutboxRow, PartitionRow, Pipeline};
use api::problem::Problem;
use axum::Json;
use axum::extract::State;
use engine::messaging::{GroupStatus, PipelineStatus};
use kernel::ids::Millis;
use kernel::ports::bus::PartitionLag;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The route, for the description and the server.
pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(status))
}

/// Lag of each group and partition in messages and seconds, what waits in the outbox, parked keys, dead
/// letters and paused groups.
#[utoipa::path(
    get, path = "/api/v1/ops/pipeline", tag = "ops",
    operation_id = "read_pipeline", security(("token" = ["ops:read"])),
    responses(
        (status = 200, body = Pipeline, description = "As it is now"),
        (status = 404, body = Problem, description = "No flow that messages carry is offered here: `NOT_FOUND`"),
    )
)]
async fn status(
    State(app): State<Arc<App>>,
    RequireOpsRead(_): RequireOpsRead,
) -> Result<Json<Pipeline>, Refusal> {
    let status = app.engine.messaging.pipeline_status().await.map_err(no_answer("pipeline"))?;
    Ok(Json(shown(&status.ok_or_else(none_offered)?)))
}

fn shown(status: &PipelineStatus) -> Pipeline {
    let silent = status.groups.iter().find_map(|group| group.lag.as_ref().err());
    let seconds = |since: Option<Millis>| status.age(since) / 1_000;
    let letters = status.dead_letters.iter().flatten();
    Pipeline {
        at: format::time(status.at),
        bus: silent.map_or_else(|| "connected".to_owned(), ToString::to_string),
        outbox: OutboxRow {
            pending: status.outbox.messages,
            oldest_age_seconds: seconds(status.outbox.oldest),
        },
        groups: status.groups.iter().map(|group| group_row(status, group)).collect(),
        dead_letters: letters
            .map(|letters| DeadLetterRow {
                topic: letters.topic.to_string(),
                messages: letters.messages,
                in_journal: letters.in_journal,
                oldest_age_seconds: seconds(letters.oldest),
            })
            .collect(),
    }
}

fn group_row(status: &PipelineStatus, group: &GroupStatus) -> GroupRow {
    let row = |lag: &PartitionLag| PartitionRow {
        topic: lag.partition.topic.to_string(),
        partition: lag.partition.number,
        next: lag.next,
        end: lag.end,
        lag: lag.messages(),
        lag_seconds: status.age(lag.oldest.filter(|_| lag.messages() > 0)) / 1_000,
    };
    GroupRow {
        group: group.name.to_owned(),
        status: if group.paused { "paused" } else { "running" }.to_owned(),
        lag: group.messages(),
        lag_seconds: status.age(group.oldest()) / 1_000,
        parked_keys: u64::try_from(group.parked.len()).unwrap_or(u64::MAX),
        parked_messages: group.parked.iter().map(|key| key.messages).sum(),
        partitions: group.lag.iter().flatten().map(row).collect(),
    }
}
