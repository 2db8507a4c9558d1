//! Makes the series of counters at zero before anything is counted: a rate sees nothing of a counter that appears with
//! its first count, and so nothing of the first fault.

use super::{FlowAct, FlowState, Metrics, OfCode, OfFlow, Reason, Route, Tried};
use kernel::code::Code;
use kernel::flow::table::Flows;

/// The routes that create transfers, and every path without a route.
const WATCHED_ROUTES: &[&str] = &[
    "none",
    "/api/v1/internal_transfer",
    "/api/v1/internal_transfers",
    "/api/v1/transfer",
    "/api/transfers",
    "/transfer",
    "/transfers",
];
/// The ends of a try to post a webhook.
const TRIES: &[&str] = &["TAKEN", "GONE", "STATUS", "TIMEOUT", "UNREACHABLE", "CONNECTION_LOST"];

impl Metrics {
    /// Makes the series of what every process may count, over these flows.
    pub(super) fn start_at_zero(&self, flows: &Flows) {
        for table in &flows.0 {
            let flow = table.flow;
            let counted = table.all().filter(|state| *state == table.start || table.ends(*state));
            for state in counted {
                let label = FlowState::of(flow, table.state(state).name);
                let _series = self.transfers.get_or_create(&label);
            }
            for act in &table.acts {
                let _series = self.retries.get_or_create(&FlowAct::of(flow, act.name));
            }
            let _series = self.replays.get_or_create(&OfFlow::of(flow));
            let _series = self.conflicts.get_or_create(&OfFlow::of(flow));
            self.messages.start_at_zero(table.groups());
        }
        for code in Code::ALL {
            let _series = self.refused.get_or_create(&OfCode::of(code.name()));
        }
        for reason in ["full", "address"] {
            let _series = self.turned_away.get_or_create(&Reason::of(reason));
        }
        for answer in TRIES {
            let _series = self.hook_tries.get_or_create(&Tried::of(answer));
        }
        for route in WATCHED_ROUTES {
            let _series = self.requests.get_or_create(&Route::of(route, "500"));
        }
    }

    /// Makes the series of a chain's providers, by host and port.
    pub fn know_providers(&self, chain: &str, providers: impl Iterator<Item = String>) {
        for provider in providers {
            self.chains.start_at_zero(chain, &provider);
        }
    }
}
