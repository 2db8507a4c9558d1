//! Metrics for Prometheus, from the engine and the HTTP API, under the names of the contract.

mod chains;
mod ledger;
mod messages;
mod page;
mod process;
mod registry;
mod start;

pub use self::ledger::LedgerMetrics;
pub use self::page::PageFormat;
pub use self::registry::MetricEntry;

use self::chains::ChainMetrics;
use self::messages::MessageMetrics;
use self::registry::{MetricRegistry, labels};
use kernel::flow::table::Flows;
use kernel::ids::{AssetId, Millis};
use kernel::money::{Amount, Asset};
use kernel::operators::OpenCase;
use kernel::ports::journal::Count;
use kernel::ports::meter::{Meter, Seen};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

labels! {
    FlowState { flow, state }
    Call { flow, act, answer }
    Outcome { flow, outcome }
    FlowAct { flow, act }
    FlowSystem { flow, system }
    Station { station }
    OfAsset { asset }
    OfCase { kind, severity }
    OfFlow { flow }
    OfCode { code }
    Route { route, status }
    OfBuild { version }
    Tried { answer }
    Reason { reason }
}

type Number = Gauge<f64, AtomicU64>;

/// Every measurement of this process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    entries: Vec<MetricEntry>,
    transfers: Family<FlowState, Counter>,
    open: Family<FlowState, Gauge>,
    oldest: Family<FlowState, Number>,
    steps: Family<Call, Histogram>,
    durations: Family<Outcome, Histogram>,
    retries: Family<FlowAct, Counter>,
    batches: Family<Station, Histogram>,
    commits: Histogram,
    queues: Family<Station, Gauge>,
    in_flight: Family<OfAsset, Number>,
    drift: Family<OfAsset, Number>,
    halted: Gauge,
    cases: Family<OfCase, Gauge>,
    unknown_open: Family<FlowSystem, Gauge>,
    replays: Family<OfFlow, Counter>,
    conflicts: Family<OfFlow, Counter>,
    refused: Family<OfCode, Counter>,
    requests: Family<Route, Histogram>,
    turned_away: Family<Reason, Counter>,
    hooks: Gauge,
    hook_messages: Gauge,
    hook_tries: Family<Tried, Counter>,
    messages: MessageMetrics,
    chains: ChainMetrics,
    assets: Mutex<Vec<Asset>>,
    /// The labels of cases that were ever open here.
    kinds: Mutex<BTreeSet<OfCase>>,
}

/// 100 µs to 26 s: what a person or a network waits for.
fn waits() -> Histogram {
    Histogram::new([
        0.000_1, 0.000_2, 0.000_4, 0.000_8, 0.001_6, 0.003_2, 0.006_4, 0.012_8, 0.025_6, 0.051_2,
        0.102_4, 0.204_8, 0.409_6, 0.819_2, 1.638_4, 6.553_6, 26.214_4,
    ])
}

/// 1 µs to 26 s: a ledger in this process answers within microseconds, one behind a network within
/// milliseconds or never.
fn calls() -> Histogram {
    Histogram::new([
        0.000_001, 0.000_002, 0.000_004, 0.000_008, 0.000_016, 0.000_032, 0.000_064, 0.000_128,
        0.000_256, 0.000_512, 0.001_024, 0.002_048, 0.004_096, 0.008_192, 0.016_384, 0.032_768,
        0.065_536, 0.131_072, 0.262_144, 0.524_288, 1.048_576, 6.553_6, 26.214_4,
    ])
}

/// Name and sentence of the metrics that every process has.
const BUILD: (&str, &str) = ("build_info", "1, for the version that runs");
const REQUESTS: (&str, &str) = (
    "http_request_duration_seconds",
    "Time until a request was answered; `none` is every path without a route",
);

fn sizes() -> Histogram {
    Histogram::new([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0])
}

impl Default for Metrics {
    #[rustfmt::skip]
    fn default() -> Self {
        let mut metrics = MetricRegistry::default();
        let build: Family<OfBuild, Gauge> = metrics.gauges(BUILD.0, BUILD.1);
        build.get_or_create(&OfBuild::of(env!("CARGO_PKG_VERSION"))).set(1);
        let all = Self {
            transfers: metrics.counters("transfers", "Transfers that reached this state: their first, and their last"),
            open: metrics.gauges("transfers_open", "Transfers that stand in this state"),
            oldest: metrics.gauges("oldest_open_seconds", "Age of the oldest transfer in this state"),
            steps: metrics.histograms("step_duration_seconds", "Time until a call was answered", calls),
            durations: metrics.histograms("transfer_duration_seconds", "Time from opening to end, in whole milliseconds", waits),
            unknown_open: metrics.gauges("unknown_open", "Open transfers that wait for a clear answer of this system"),
            retries: metrics.counters("retries", "Calls without a clear answer; each is made again"),
            batches: metrics.histograms("batch_size", "Items that a station took at once", sizes),
            commits: metrics.histogram("journal_commit_seconds", "Time until a group of units was durable", calls()),
            queues: metrics.gauges("queue_depth", "Items that wait at a station"),
            in_flight: metrics.gauges("money_in_flight", "Money between two ledgers, in the asset's unit"),
            drift: metrics.gauges("conservation_drift", "Money that does not add up, in the asset's unit: 0, always"),
            halted: metrics.single("halted", "1 while no money moves", Gauge::default()),
            cases: metrics.gauges("cases_open", "Open cases, which ask for an operator's decision, by the journal"),
            replays: metrics.counters("idempotent_replays", "Keys that came again with the same body"),
            conflicts: metrics.counters("idempotent_conflicts", "Keys that came again with another body"),
            refused: metrics.counters("refused", "Creates that were refused before anything was opened"),
            requests: metrics.histograms(REQUESTS.0, REQUESTS.1, waits),
            turned_away: metrics.counters("http_connections_refused", "Connections that were closed unread: all places taken (`full`), or those of one address (`address`)"),
            hooks: metrics.single("webhooks_waiting", "Webhooks that are still to be taken by their receiver", Gauge::default()),
            hook_messages: metrics.single("webhook_messages_waiting", "Messages that the endpoints of operators have still to take", Gauge::default()),
            hook_tries: metrics.counters("webhook_tries", "Tries to post a webhook; all but `TAKEN` are made again"),
            messages: MessageMetrics::entered(&mut metrics),
            chains: ChainMetrics::entered(&mut metrics),
            assets: Mutex::default(),
            kinds: Mutex::default(),
            entries: metrics.entries,
            registry: metrics.registry,
        };
        all.start_at_zero(&flows::registry());
        all
    }
}

fn seconds(nanos: u64) -> f64 {
    Duration::from_nanos(nanos).as_secs_f64()
}

/// A count as a gauge has it.
fn whole(count: impl TryInto<i64>) -> i64 {
    count.try_into().unwrap_or(i64::MAX)
}

/// A count as a measurement; the histogram knows only such numbers.
fn number(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}

impl Metrics {
    /// Amounts are shown in the units of these assets.
    pub fn know(&self, assets: &[Asset]) {
        *self.assets.lock().unwrap_or_else(PoisonError::into_inner) = assets.to_vec();
    }

    /// A request was answered.
    pub fn request(&self, route: &str, status: u16, nanos: u64) {
        let label = Route::of(route, &status.to_string());
        self.requests.get_or_create(&label).observe(seconds(nanos));
    }

    /// A connection found no place, for that reason.
    pub fn connection_refused(&self, reason: &'static str) {
        self.turned_away.get_or_create(&Reason::of(reason)).inc();
    }

    /// Sets the number of webhooks that no receiver accepted yet.
    pub fn webhooks_waiting(&self, waiting: u64) {
        self.hooks.set(i64::try_from(waiting).unwrap_or(i64::MAX));
    }

    /// Sets the number of messages that no endpoint accepted yet.
    pub fn webhook_messages_waiting(&self, waiting: u64) {
        self.hook_messages.set(i64::try_from(waiting).unwrap_or(i64::MAX));
    }

    /// A webhook was tried: `TAKEN`, or why not, by a listed word.
    pub fn webhook_tried(&self, answer: &'static str) {
        self.hook_tries.get_or_create(&Tried::of(answer)).inc();
    }

    /// What the journal counted at `now`.
    pub fn counted(&self, flows: &Flows, counts: &[Count], now: Millis) {
        self.open.clear();
        self.oldest.clear();
        for count in counts {
            let table = flows.table(count.flow);
            let label = FlowState::of(table.flow, table.state(count.state).name);
            let transfers = i64::try_from(count.transfers).unwrap_or(i64::MAX);
            self.open.get_or_create(&label).set(transfers);
            let age = Duration::from_millis(now.saturating_sub(count.oldest)).as_secs_f64();
            self.oldest.get_or_create(&label).set(age);
        }
    }

    /// What the journal says of open cases. Kinds without one stay, at zero: a rule that waits for
    /// zero must see it.
    pub fn cases(&self, open: &[OpenCase]) {
        let mut counts: BTreeMap<(&str, &str), i64> = BTreeMap::new();
        for case in open {
            let count = counts.entry((&case.kind, case.severity.name())).or_default();
            *count = count.saturating_add(1);
        }
        let mut known = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let new = counts.keys().map(|(kind, severity)| OfCase::of(kind, severity));
        known.extend(new);
        for label in known.iter() {
            let count = counts.get(&(&*label.kind, &*label.severity)).copied().unwrap_or_default();
            self.cases.get_or_create(label).set(count);
        }
    }

    /// Every metric, by the name under which it is read.
    pub fn entries(&self) -> &[MetricEntry] {
        &self.entries
    }

    /// The page that Prometheus reads.
    pub fn page(&self, format: PageFormat) -> String {
        page::encoded(&self.registry, format)
    }

    /// The name of an asset and an amount in its unit.
    fn shown(&self, id: AssetId, units: i128) -> (OfAsset, f64) {
        let assets = self.assets.lock().unwrap_or_else(PoisonError::into_inner);
        let asset = assets.iter().find(|asset| asset.id == id);
        let (symbol, precision) = asset
            .map_or_else(|| (id.to_string(), 0), |asset| (asset.symbol.clone(), asset.precision));
        let text = Amount(units.unsigned_abs()).decimal(precision);
        let size: f64 = text.parse().unwrap_or(f64::NAN);
        (OfAsset::of(&symbol), size.copysign(if units < 0 { -1.0 } else { 1.0 }))
    }
}

impl Meter for Metrics {
    fn see(&self, seen: Seen<'_>) {
        match seen {
            Seen::Commit { nanos, units } => {
                self.commits.observe(seconds(nanos));
                self.batches.get_or_create(&Station::of("journal")).observe(number(units));
            }
            Seen::Step { flow, act, answer, nanos } => {
                self.steps.get_or_create(&Call::of(flow, act, answer)).observe(seconds(nanos));
            }
            Seen::Opened { flow, state } => {
                self.transfers.get_or_create(&FlowState::of(flow, state)).inc();
            }
            Seen::Ended { flow, state, took } => {
                self.transfers.get_or_create(&FlowState::of(flow, state)).inc();
                let took = Duration::from_millis(took).as_secs_f64();
                self.durations.get_or_create(&Outcome::of(flow, state)).observe(took);
            }
            Seen::Batch { station, items } => {
                self.batches.get_or_create(&Station::of(station)).observe(number(items));
            }
            Seen::Queue { station, items } => {
                let items = i64::try_from(items).unwrap_or(i64::MAX);
                self.queues.get_or_create(&Station::of(station)).set(items);
            }
            Seen::Retry { flow, act } => {
                self.retries.get_or_create(&FlowAct::of(flow, act)).inc();
            }
            Seen::Refused { code } => {
                self.refused.get_or_create(&OfCode::of(code.name())).inc();
            }
            Seen::Replay { flow } => {
                self.replays.get_or_create(&OfFlow::of(flow)).inc();
            }
            Seen::Conflict { flow } => {
                self.conflicts.get_or_create(&OfFlow::of(flow)).inc();
            }
            Seen::Cases { kind, severity, open } => {
                let open = i64::try_from(open).unwrap_or(i64::MAX);
                self.cases.get_or_create(&OfCase::of(kind, severity.name())).set(open);
            }
            Seen::UnknownOpen { flow, system, open } => {
                self.unknown_open.get_or_create(&FlowSystem::of(flow, system)).set(whole(open));
            }
            Seen::Round { asset, drift, in_flight } => {
                let (label, drift) = self.shown(asset, drift);
                self.drift.get_or_create(&label).set(drift);
                let (label, in_flight) = self.shown(asset, in_flight);
                self.in_flight.get_or_create(&label).set(in_flight);
            }
            Seen::Halted(halted) => {
                self.halted.set(i64::from(halted));
            }
            Seen::Consumed { .. }
            | Seen::Published { .. }
            | Seen::DeadLetter { .. }
            | Seen::Redriven { .. }
            | Seen::Outbox { .. }
            | Seen::Lag { .. }
            | Seen::Parked { .. }
            | Seen::DeadLetters { .. }
            | Seen::GroupPaused { .. } => self.messages.see(seen),
            Seen::ChainBalance { chain, asset, units } => {
                let (label, size) = self.shown(asset, i128::try_from(units).unwrap_or(i128::MAX));
                self.chains.balance(chain, &label.asset, size);
            }
            Seen::ChainCall { .. }
            | Seen::Lane { .. }
            | Seen::Lanes { .. }
            | Seen::FeeBalance { .. } => self.chains.see(seen),
        }
    }
}

#[cfg(test)]
mod tests;
