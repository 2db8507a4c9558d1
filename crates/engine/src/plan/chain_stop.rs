//! The puts that stop a chain, and the names under which the engine pauses.

use kernel::ids::ChainId;
use kernel::operators::Scope;
use kernel::unit::Put;
use std::sync::Arc;

/// The caller of a pause that the engine sets on a flow after a contradiction.
pub(crate) const ENGINE: &str = "engine";
/// The caller of a pause that the engine sets on a chain that is ahead of a lane, and lifts when each lock
/// has an attempt.
pub(crate) const LANES: &str = "engine:lanes";

/// The chain has spent more locks of a lane than the journal has attempts.
pub(crate) const LANE_AHEAD: &str = kernel::ports::chain::LANE_AHEAD;

/// The row that counts the reasons for which the engine stopped a chain. A scope and a caller have one
/// pause, so a second reason under it would show in the log alone. The person who proposes to lift the
/// pause names the count, and the unit that lifts it guards the row by it.
pub(crate) fn stops_name(chain: ChainId) -> Arc<str> {
    format!("stops:{}", chain.name()).into()
}

/// Counts one more reason.
pub(crate) fn stop(chain: ChainId, reason: Arc<str>) -> Put {
    Put::Resource { name: stops_name(chain), value: reason }
}

/// The puts that stop a chain that is ahead of a lane, and count that. The unit that has them notes in the
/// row of each such lane what the chain was seen to have spent.
pub(crate) fn lane_stop(chain: ChainId, facts: &str) -> [Put; 2] {
    let reason: Arc<str> = format!("{LANE_AHEAD}: {facts}").into();
    let pause =
        Put::Pause { scope: Scope::Chain(chain), reason: reason.clone(), caller: LANES.into() };
    [pause, stop(chain, reason)]
}
