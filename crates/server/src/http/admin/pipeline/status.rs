//! How the pipeline does: lag, what waits in the outbox, parked keys, dead letters, paused groups.

use super::none_offered;
use crate::http::middleware::caller::RequireOpsRead;
use crate::http::middleware::error::{Problem, Refusal};
use crate::http::{App, format, silent};
use axum::Json;
use axum::extract::State;
use engine::messaging::{GroupStatus, PipelineStatus};
use kernel::ids::Millis;
use kernel::ports::bus::PartitionLag;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// How the pipeline does, at one time.
#[derive(Debug, Serialize, ToSchema)]
pub struct Pipeline {
    /// When this was read, RFC 3339.
    #[schema(example = "2026-11-21T09:23:15.121Z")]
    pub at: String,
    /// `connected`, or the cause for which the bus does not answer.
    #[schema(example = "connected")]
    pub bus: String,
    /// What is not published yet.
    pub outbox: OutboxRow,
    /// Every group of consumers.
    pub groups: Vec<GroupRow>,
    /// Every topic of dead letters.
    pub dead_letters: Vec<DeadLetterRow>,
}

/// What is not published yet.
#[derive(Debug, Serialize, ToSchema)]
pub struct OutboxRow {
    /// How many messages wait in the outbox.
    #[schema(example = 0)]
    pub pending: u64,
    /// For so long the oldest of them waits.
    #[schema(example = 0)]
    pub oldest_age_seconds: u64,
}

/// A group of consumers.
#[derive(Debug, Serialize, ToSchema)]
pub struct GroupRow {
    /// The name of the group of consumers.
    #[schema(example = "execution-group")]
    pub group: &'static str,
    /// `running`, or `paused` by an operator.
    #[schema(example = "running")]
    pub status: &'static str,
    /// So many messages are not consumed, in all partitions.
    #[schema(example = 0)]
    pub lag: u64,
    /// For so long the oldest of them waits.
    #[schema(example = 0)]
    pub lag_seconds: u64,
    /// So many keys are parked.
    #[schema(example = 0)]
    pub parked_keys: u64,
    /// So many messages wait under them.
    #[schema(example = 0)]
    pub parked_messages: u64,
    /// Each partition of its topics.
    pub partitions: Vec<PartitionRow>,
}

/// How far a group is in a partition.
#[derive(Debug, Serialize, ToSchema)]
pub struct PartitionRow {
    /// The topic that the group consumes.
    #[schema(example = "transfer-execution")]
    pub topic: String,
    /// The number of the partition.
    #[schema(example = 3)]
    pub partition: u32,
    /// The offset of the first message that is not consumed.
    #[schema(example = 120)]
    pub next: u64,
    /// The offset that the next published message gets.
    #[schema(example = 120)]
    pub end: u64,
    /// So many messages lie between the two.
    #[schema(example = 0)]
    pub lag: u64,
    /// For so long the oldest of them waits.
    #[schema(example = 0)]
    pub lag_seconds: u64,
}

/// What waits on a topic of dead letters.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeadLetterRow {
    /// The topic of the dead letters.
    #[schema(example = "transfer-execution-dlt")]
    pub topic: String,
    /// So many messages wait.
    #[schema(example = 0)]
    pub messages: u64,
    /// For so long the oldest of them waits.
    #[schema(example = 0)]
    pub oldest_age_seconds: u64,
}

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
    let status = app.engine.messaging.pipeline_status().await.map_err(silent("pipeline"))?;
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
        group: group.name,
        status: if group.paused { "paused" } else { "running" },
        lag: group.messages(),
        lag_seconds: status.age(group.oldest()) / 1_000,
        parked_keys: u64::try_from(group.parked.len()).unwrap_or(u64::MAX),
        parked_messages: group.parked.iter().map(|key| key.messages).sum(),
        partitions: group.lag.iter().flatten().map(row).collect(),
    }
}
