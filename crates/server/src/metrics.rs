//! Measurements for Prometheus: what the engine and the door tell, under the contract's names.

use kernel::ids::{AssetId, Millis};
use kernel::money::{Amount, Asset};
use kernel::ports::journal::Count;
use kernel::ports::meter::{Meter, Seen};
use kernel::table::Flows;
use prometheus_client::encoding::{EncodeLabelSet, text::encode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

macro_rules! labels {
    ($($name:ident { $($label:ident),+ })*) => {$(
        #[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
        struct $name { $($label: String),+ }
        impl $name {
            fn of($($label: &str),+) -> Self {
                Self { $($label: $label.to_owned()),+ }
            }
        }
    )*};
}

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
}

type Number = Gauge<f64, AtomicU64>;

/// Every measurement of this process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
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
    unclear: Family<FlowSystem, Gauge>,
    replays: Family<OfFlow, Counter>,
    conflicts: Family<OfFlow, Counter>,
    refused: Family<OfCode, Counter>,
    requests: Family<Route, Histogram>,
    assets: Mutex<Vec<Asset>>,
}

/// 100 µs to 26 s, each bound four times the one before, with a middle.
fn times() -> Histogram {
    Histogram::new([
        0.000_1, 0.000_2, 0.000_4, 0.000_8, 0.001_6, 0.003_2, 0.006_4, 0.012_8, 0.025_6, 0.051_2,
        0.102_4, 0.204_8, 0.409_6, 0.819_2, 1.638_4, 6.553_6, 26.214_4,
    ])
}

fn sizes() -> Histogram {
    Histogram::new([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0])
}

/// The registry, while metrics are being entered.
#[derive(Default)]
struct Book(Registry);

impl Book {
    fn enter<M: Metric + Clone>(&mut self, name: &str, help: &str, metric: M) -> M {
        self.0.register(format!("portage_{name}"), help, metric.clone());
        metric
    }
}

impl Default for Metrics {
    #[rustfmt::skip]
    fn default() -> Self {
        let mut book = Book::default();
        // the client library appends `_total` to the names of counters
        Self {
            transfers: book.enter("transfers", "Transfers that reached this state: their first, and their last", Family::default()),
            open: book.enter("transfers_open", "Transfers that stand in this state", Family::default()),
            oldest: book.enter("oldest_open_seconds", "Age of the oldest transfer in this state", Family::default()),
            steps: book.enter("step_duration_seconds", "Time until a call was answered", Family::new_with_constructor(times)),
            durations: book.enter("transfer_duration_seconds", "Time from opening to end", Family::new_with_constructor(times)),
            retries: book.enter("retries", "Calls without a clear answer", Family::default()),
            batches: book.enter("batch_size", "Items that a station took at once", Family::new_with_constructor(sizes)),
            commits: book.enter("journal_commit_seconds", "Time until a group of units was durable", times()),
            queues: book.enter("queue_depth", "Items that wait at a station", Family::default()),
            in_flight: book.enter("money_in_flight", "Money between two ledgers, in the asset's unit", Family::default()),
            drift: book.enter("conservation_drift", "Money that does not add up, in the asset's unit", Family::default()),
            halted: book.enter("halted", "1 while no money moves", Gauge::default()),
            cases: book.enter("cases_open", "Questions for a person that are open", Family::default()),
            unclear: book.enter("unknown_open", "Open transfers that wait for a clear answer", Family::default()),
            replays: book.enter("idempotent_replays", "Keys that came again with the same body", Family::default()),
            conflicts: book.enter("idempotent_conflicts", "Keys that came again with another body", Family::default()),
            refused: book.enter("refused", "Creates that were refused before anything was opened", Family::default()),
            requests: book.enter("http_request_duration_seconds", "Time until a request was answered", Family::new_with_constructor(times)),
            assets: Mutex::default(),
            registry: book.0,
        }
    }
}

fn seconds(nanos: u64) -> f64 {
    Duration::from_nanos(nanos).as_secs_f64()
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

    /// The page that Prometheus reads.
    pub fn page(&self) -> String {
        let mut page = String::new();
        // a String takes everything
        let _whole = encode(&mut page, &self.registry);
        page
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
            Seen::Opened { flow } => {
                self.transfers.get_or_create(&FlowState::of(flow, "INIT")).inc();
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
            Seen::Unclear { flow, system, open } => {
                let open = i64::try_from(open).unwrap_or(i64::MAX);
                self.unclear.get_or_create(&FlowSystem::of(flow, system)).set(open);
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Metrics;
    use kernel::ids::AssetId;
    use kernel::money::Asset;
    use kernel::ports::meter::{Meter, Seen};

    #[test]
    fn the_page_has_the_contract_s_names() {
        let metrics = Metrics::default();
        metrics.know(&Asset::fresh());
        metrics.see(Seen::Opened { flow: "internal" });
        metrics.see(Seen::Round { asset: AssetId(3), drift: -1_500_000, in_flight: 25 });
        metrics.see(Seen::Commit { nanos: 1_000_000, units: 3 });
        metrics.see(Seen::Replay { flow: "internal" });
        metrics.see(Seen::Halted(true));
        metrics.request("/health", 200, 5_000);
        let page = metrics.page();
        for line in [
            r#"portage_transfers_total{flow="internal",state="INIT"} 1"#,
            r#"portage_conservation_drift{asset="USDT"} -1.5"#,
            r#"portage_money_in_flight{asset="USDT"} 0.000025"#,
            r#"portage_idempotent_replays_total{flow="internal"} 1"#,
            "portage_journal_commit_seconds_count 1",
            "portage_halted 1",
            r#"portage_http_request_duration_seconds_count{route="/health",status="200"} 1"#,
        ] {
            assert!(page.contains(line), "{line}\n{page}");
        }
    }
}
