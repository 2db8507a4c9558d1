//! Metrics of chains: calls of providers, the keys of the pool, the balances of the accounts.

use super::registry::{MetricRegistry, labels};
use super::{Number, whole};
use kernel::money::Amount;
use kernel::ports::meter::Seen;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use std::time::Duration;

labels! {
    ProviderCall { chain, provider, method, outcome }
    Provider { chain, provider }
    OfLane { chain, lane }
    LaneStatus { chain, status }
    OfChain { chain }
    ChainAsset { chain, asset }
}

/// The methods that providers of chains are called with.
const METHODS: &[&str] = &["status", "block", "chunk", "query", "tx", "send_tx"];

/// The metrics of chains.
#[derive(Debug)]
pub(super) struct ChainMetrics {
    calls: Family<ProviderCall, Counter>,
    durations: Family<Provider, Histogram>,
    ages: Family<OfLane, Number>,
    lanes: Family<LaneStatus, Gauge>,
    fees: Family<OfChain, Number>,
    balances: Family<ChainAsset, Number>,
}

impl ChainMetrics {
    #[rustfmt::skip]
    pub(super) fn entered(metrics: &mut MetricRegistry) -> Self {
        Self {
            calls: metrics.counters("rpc_calls", "Calls of a chain's provider: `answered`, `refused` by the node, or why there was no answer"),
            durations: metrics.histograms("rpc_duration_seconds", "Time until a call of a provider ended, its wait for the rate included", super::waits),
            ages: metrics.gauges("lane_attempt_age_seconds", "Time for which the attempt of a key has been open in this process, in seconds; 0 where the key is free"),
            lanes: metrics.gauges("lanes", "Keys of this process that carry an attempt of it (`busy`), and those that carry none (`free`)"),
            fees: metrics.gauges("fee_balance", "What the account that pays for transactions had in the chain's coin when it was read last"),
            balances: metrics.gauges("chain_balance", "What the account had of an asset that it pays when it was read last, in the asset's unit"),
        }
    }

    /// Makes the series of a provider: each method with the ends that most calls have.
    pub(super) fn start_at_zero(&self, chain: &str, provider: &str) {
        for method in METHODS {
            for outcome in ["answered", "refused", "TIMEOUT", "UNREACHABLE"] {
                let label = ProviderCall::of(chain, provider, method, outcome);
                let _series = self.calls.get_or_create(&label);
            }
        }
    }

    /// What the account has of an asset, under the asset's name and in its unit.
    pub(super) fn balance(&self, chain: &str, asset: &str, size: f64) {
        self.balances.get_or_create(&ChainAsset::of(chain, asset)).set(size);
    }

    pub(super) fn see(&self, seen: Seen<'_>) {
        match seen {
            Seen::ChainCall { chain, provider, method, outcome, nanos } => {
                let label = ProviderCall::of(chain, provider, method, outcome);
                self.calls.get_or_create(&label).inc();
                let took = super::seconds(nanos);
                self.durations.get_or_create(&Provider::of(chain, provider)).observe(took);
            }
            Seen::Lane { chain, lane, open_for } => {
                let age = Duration::from_millis(open_for.unwrap_or_default()).as_secs_f64();
                self.ages.get_or_create(&OfLane::of(chain, lane)).set(age);
            }
            Seen::Lanes { chain, free, busy } => {
                for (status, lanes) in [("free", free), ("busy", busy)] {
                    let label = LaneStatus::of(chain, status);
                    self.lanes.get_or_create(&label).set(whole(lanes));
                }
            }
            Seen::FeeBalance { chain, units, precision } => {
                let size = Amount(units).decimal(precision).parse().unwrap_or(f64::NAN);
                self.fees.get_or_create(&OfChain::of(chain)).set(size);
            }
            Seen::ChainBalance { .. }
            | Seen::Commit { .. }
            | Seen::Step { .. }
            | Seen::Opened { .. }
            | Seen::Ended { .. }
            | Seen::Batch { .. }
            | Seen::Queue { .. }
            | Seen::Retry { .. }
            | Seen::Refused { .. }
            | Seen::Replay { .. }
            | Seen::Conflict { .. }
            | Seen::Cases { .. }
            | Seen::UnknownOpen { .. }
            | Seen::Round { .. }
            | Seen::Consumed { .. }
            | Seen::Published { .. }
            | Seen::DeadLetter { .. }
            | Seen::Redriven { .. }
            | Seen::Outbox { .. }
            | Seen::Lag { .. }
            | Seen::Parked { .. }
            | Seen::DeadLetters { .. }
            | Seen::GroupPaused { .. }
            | Seen::Halted(_) => {}
        }
    }
}
