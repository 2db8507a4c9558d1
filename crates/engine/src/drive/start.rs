//! Starts the tasks that drive attempts.

use crate::chains::Chains;
use crate::drive::lane_watch::LaneWatch;
use crate::drive::prove::Prover;
use crate::state::tasks::Background;
use std::sync::Arc;

/// How many batches of a chain's attempts the provers look at at once.
const PROVERS: usize = 2;

/// Starts the provers and the lane watch of every chain.
pub(crate) fn begin_provers(chains: &Chains, prover: &Arc<Prover>, lane_watch: &Arc<LaneWatch>) {
    let parts = &chains.shared.parts;
    if !parts.settings.workers {
        return;
    }
    for pool in chains.pools() {
        for _ in 0..PROVERS {
            let proves = prover.clone().run_prover(pool.clone());
            parts.spawn.spawn(Background::Prover.task(), Box::pin(proves));
        }
        let watches = lane_watch.clone().run_lane_watch(pool.clone());
        parts.spawn.spawn(Background::LaneWatch.task(), Box::pin(watches));
    }
}
