//! The registry of metrics: each is registered once, with its labels and its help text, and can be listed.

use prometheus_client::encoding::{EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};
use std::fmt::Debug;
use std::hash::Hash;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricEntry {
    /// Its name, without `portage_`, and without the `_total` of a counter.
    pub name: &'static str,
    /// The type of the metric for Prometheus.
    pub kind: MetricKind,
    /// The labels of the metric.
    pub labels: &'static [&'static str],
    /// The sentence that Prometheus shows with it.
    pub help: &'static str,
}

/// The type of a metric for Prometheus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// Only rises, while the process lives.
    Counter,
    /// As it is now.
    Gauge,
    /// Counts by size, with sum and number.
    Histogram,
}

impl MetricEntry {
    /// The name under which it is read.
    pub fn exported(&self) -> String {
        let total = if self.kind == MetricKind::Counter { "_total" } else { "" };
        format!("portage_{}{total}", self.name)
    }
}

/// The names of a label set.
pub(super) trait Labels:
    EncodeLabelSet + Clone + Debug + Eq + Hash + Send + Sync + 'static
{
    /// The labels in the order of the fields.
    const NAMES: &'static [&'static str];
}

macro_rules! labels {
    ($($name:ident { $($label:ident),+ })*) => {$(
        #[derive(
            Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash,
            prometheus_client::encoding::EncodeLabelSet,
        )]
        struct $name { $($label: String),+ }
        impl $name {
            fn of($($label: &str),+) -> Self {
                Self { $($label: $label.to_owned()),+ }
            }
        }
        impl $crate::metrics::registry::Labels for $name {
            const NAMES: &'static [&'static str] = &[$(stringify!($label)),+];
        }
    )*};
}
pub(super) use labels;

/// The registry, while metrics are being entered.
#[derive(Debug, Default)]
pub(super) struct MetricRegistry {
    pub(super) registry: Registry,
    pub(super) entries: Vec<MetricEntry>,
}

impl MetricRegistry {
    fn enter<M: Metric + Clone>(&mut self, entry: MetricEntry, metric: M) -> M {
        // the client library appends `_total` to the names of counters, and a stop to the help
        self.registry.register(format!("portage_{}", entry.name), entry.help, metric.clone());
        self.entries.push(entry);
        metric
    }

    pub(super) fn counters<L: Labels>(
        &mut self,
        name: &'static str,
        help: &'static str,
    ) -> Family<L, Counter> {
        let entry = MetricEntry { name, kind: MetricKind::Counter, labels: L::NAMES, help };
        self.enter(entry, Family::default())
    }

    pub(super) fn gauges<L: Labels, G>(
        &mut self,
        name: &'static str,
        help: &'static str,
    ) -> Family<L, G>
    where
        G: Default + Debug + EncodeMetric + prometheus_client::metrics::TypedMetric + Send + Sync,
        G: 'static,
    {
        let entry = MetricEntry { name, kind: MetricKind::Gauge, labels: L::NAMES, help };
        self.enter(entry, Family::default())
    }

    pub(super) fn histograms<L: Labels>(
        &mut self,
        name: &'static str,
        help: &'static str,
        bounds: fn() -> Histogram,
    ) -> Family<L, Histogram> {
        let entry = MetricEntry { name, kind: MetricKind::Histogram, labels: L::NAMES, help };
        self.enter(entry, Family::new_with_constructor(bounds))
    }

    pub(super) fn histogram(
        &mut self,
        name: &'static str,
        help: &'static str,
        histogram: Histogram,
    ) -> Histogram {
        self.enter(MetricEntry { name, kind: MetricKind::Histogram, labels: &[], help }, histogram)
    }

    pub(super) fn single<M: Metric + Clone>(
        &mut self,
        name: &'static str,
        help: &'static str,
        gauge: M,
    ) -> M {
        self.enter(MetricEntry { name, kind: MetricKind::Gauge, labels: &[], help }, gauge)
    }
}
