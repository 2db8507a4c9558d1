//! The operators' route that counts transfers by state, their time in each state, and their refunds.

use crate::http::middleware::caller::RequireOpsRead;
use crate::http::middleware::error::Refusal;
use crate::http::{App, format, no_answer};
use axum::Json;
use axum::extract::State;
use kernel::flow::life::Outcome;
use kernel::ids::FlowId;
use kernel::ports::admin_queries::{Search, Stat};
use kernel::ports::journal::Linked;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::ToSchema;

/// The number of transfers, those that ended last, whose histories show how long they stood in each state.
const RECENT: usize = 100;

/// How many transfers stand where, and for how long.
#[derive(Debug, Serialize, ToSchema)]
pub struct Stats {
    /// When they were counted, RFC 3339.
    #[schema(example = "2026-11-21T09:23:15.121Z")]
    pub at: String,
    /// Transfers by flow and state, ended ones too.
    pub states: Vec<StateCount>,
    /// By flow: what became of the ended ones.
    pub flows: Vec<FlowStats>,
    /// How long the newest ended transfers stood in each state.
    pub dwell: Vec<Dwell>,
}

/// Transfers of one flow in one state.
#[derive(Debug, Serialize, ToSchema)]
pub struct StateCount {
    /// The flow of the transfers.
    #[schema(example = "internal")]
    pub flow: &'static str,
    /// The state in which they stand.
    #[schema(example = "TARGET_PENDING")]
    pub state: &'static str,
    /// How many transfers stand there.
    #[schema(example = 2)]
    pub transfers: u64,
    /// Since when the oldest of them is open, in seconds; none for ended ones.
    #[schema(example = 61)]
    pub oldest_seconds: Option<u64>,
}

/// What became of a flow's transfers. Ratios are decimals with four places; none where nothing
/// ended.
#[derive(Debug, Serialize, ToSchema)]
pub struct FlowStats {
    /// The flow of the transfers.
    #[schema(example = "internal")]
    pub flow: &'static str,
    /// The number of open transfers.
    #[schema(example = 3)]
    pub open: u64,
    /// How many have ended, in whatever state.
    #[schema(example = 3)]
    pub ended: u64,
    /// Ended ones whose money was given back.
    #[schema(example = "0.0213")]
    pub refund_ratio: Option<String>,
    /// Ended ones whose money is kept for a person; no flow of this release does that.
    #[schema(example = "0.0000")]
    pub quarantine_ratio: Option<String>,
}

/// How long transfers stood in a state.
#[derive(Debug, Serialize, ToSchema)]
pub struct Dwell {
    /// The flow of the transfers.
    #[schema(example = "internal")]
    pub flow: &'static str,
    /// The state in which they stood.
    #[schema(example = "TARGET_PENDING")]
    pub state: &'static str,
    /// The number of transfers that were looked at.
    #[schema(example = 100)]
    pub transfers: u64,
    /// On average, in milliseconds.
    #[schema(example = 3)]
    pub mean_ms: u64,
    /// The longest, in milliseconds.
    #[schema(example = 3)]
    pub max_ms: u64,
}

/// Everything in numbers. Counts every transfer: ask seldom where there are millions.
#[utoipa::path(
    get, path = "/api/v1/stats", tag = "ops",
    operation_id = "get_stats", security(("token" = ["ops:read"])),
    responses((status = 200, body = Stats, description = "The numbers"))
)]
pub(in crate::http) async fn stats(
    State(app): State<Arc<App>>,
    RequireOpsRead(_): RequireOpsRead,
) -> Result<Json<Stats>, Refusal> {
    let counted = app.admin_queries.stats().await.map_err(no_answer("stats"))?;
    let now = app.engine.journal().now();
    let flows = app.engine.flows();
    let age = |at: u64| now.saturating_sub(at) / 1000;
    let states = counted.iter().map(|stat| StateCount {
        flow: flows.table(stat.flow).flow,
        state: flows.table(stat.flow).state(stat.state).name,
        transfers: stat.transfers,
        oldest_seconds: stat.oldest.map(age),
    });
    Ok(Json(Stats {
        at: format::time(now),
        states: states.collect(),
        flows: by_flow(&app, &counted),
        dwell: dwell(&app).await?,
    }))
}

fn by_flow(app: &App, counted: &[Stat]) -> Vec<FlowStats> {
    let mut ids: Vec<FlowId> = counted.iter().map(|stat| stat.flow).collect();
    ids.dedup();
    let one = |flow: FlowId| {
        let table = app.engine.flows().table(flow);
        let sum = |fits: &dyn Fn(&Stat) -> bool| -> u64 {
            counted.iter().filter(|s| s.flow == flow && fits(s)).map(|s| s.transfers).sum()
        };
        let ended = sum(&|stat| table.ends(stat.state));
        let became = |outcome: Outcome| {
            sum(&|stat| table.ends(stat.state) && table.state(stat.state).outcome == Some(outcome))
        };
        FlowStats {
            flow: table.flow,
            open: sum(&|stat| !table.ends(stat.state)),
            ended,
            refund_ratio: ratio(became(Outcome::GivenBack), ended),
            quarantine_ratio: ratio(became(Outcome::Held), ended),
        }
    };
    ids.into_iter().map(one).collect()
}

/// A part of a whole, to four places.
fn ratio(part: u64, whole: u64) -> Option<String> {
    let parts = u128::from(part).checked_mul(10_000)?.checked_div(u128::from(whole))?;
    Some(format!("{}.{:04}", parts / 10_000, parts % 10_000))
}

async fn dwell(app: &App) -> Result<Vec<Dwell>, Refusal> {
    let search = Search { open: Some(false), limit: RECENT, ..Search::default() };
    let recent = app.admin_queries.transfers(search).await.map_err(no_answer("stats"))?;
    let mut all: BTreeMap<(FlowId, i16), Vec<u64>> = BTreeMap::new();
    for record in recent {
        let history = app.engine.journal().history(record.id).await.map_err(no_answer("stats"))?;
        for (state, stood) in stood(&history) {
            all.entry((record.flow, state)).or_default().push(stood);
        }
    }
    let shown = |((flow, code), times): ((FlowId, i16), Vec<u64>)| {
        let table = app.engine.flows().table(flow);
        let count = u64::try_from(times.len()).unwrap_or(u64::MAX);
        Some(Dwell {
            flow: table.flow,
            state: table.state(table.coded(code)?).name,
            transfers: count,
            mean_ms: times.iter().sum::<u64>().checked_div(count)?,
            max_ms: times.iter().copied().max()?,
        })
    };
    Ok(all.into_iter().filter_map(shown).collect())
}

/// How long a transfer stood in each state before it left it.
fn stood(history: &[Linked]) -> BTreeMap<i16, u64> {
    let mut times = BTreeMap::new();
    for pair in history.windows(2) {
        let [before, after] = pair else { continue };
        let time = after.entry.at.saturating_sub(before.entry.at);
        let sum: &mut u64 = times.entry(before.entry.to).or_default();
        *sum = sum.saturating_add(time);
    }
    times
}

#[cfg(test)]
mod tests {
    use super::ratio;

    #[test]
    fn a_ratio_has_four_places() {
        assert_eq!(ratio(0, 0), None);
        assert_eq!(ratio(1, 3).as_deref(), Some("0.3333"));
        assert_eq!(ratio(7, 7).as_deref(), Some("1.0000"));
    }
}
