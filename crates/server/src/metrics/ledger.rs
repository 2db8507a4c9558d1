//! The metrics of a Spot core that is served by itself: its version, and how it answers.

use super::registry::MetricRegistry;
use super::{BUILD, OfBuild, PageFormat, REQUESTS, Route, calls, seconds};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Every measurement of a ledger's process.
#[derive(Debug)]
pub struct LedgerMetrics {
    registry: Registry,
    requests: Family<Route, Histogram>,
}

impl Default for LedgerMetrics {
    fn default() -> Self {
        let mut metrics = MetricRegistry::default();
        let build: Family<OfBuild, Gauge> = metrics.gauges(BUILD.0, BUILD.1);
        build.get_or_create(&OfBuild::of(env!("CARGO_PKG_VERSION"))).set(1);
        let requests = metrics.histograms(REQUESTS.0, REQUESTS.1, calls);
        Self { registry: metrics.registry, requests }
    }
}

impl LedgerMetrics {
    /// A request was answered.
    pub fn request(&self, route: &str, status: u16, nanos: u64) {
        let label = Route::of(route, &status.to_string());
        self.requests.get_or_create(&label).observe(seconds(nanos));
    }

    /// The page that Prometheus reads.
    pub fn page(&self, format: PageFormat) -> String {
        super::page::encoded(&self.registry, format)
    }
}
