//! The drawn campaign of the relay and the swaps over simulated chains.

use super::{DrawnCampaign, DrawnRun, WORKERS};
use crate::chain::Locking;
use crate::generic::chain::{ChainPlay, ChainRun, DrawnCase};
use crate::generic::{Played, WorkerEnd};
use crate::wrong;

const ROUGH: &str = "on rough chains";
const REFUSING: &str = "with a contract that refuses all for some blocks";
const NONCES: &str = "of the relay with nonces";
const MARKERS: &str = "of the relay with markers";
const REFERENCES: &str = "of the relay with references";
const SWAP_IN: &str = "of swap_in";
const SWAP_OUT: &str = "of swap_out";

pub(super) const CAMPAIGN: DrawnCampaign = DrawnCampaign {
    flag: "--chains",
    what: "the flows that send",
    draw: |seed| Box::new(ChainRun::of(seed)),
    knows_wrong: |name| wrong::chains(name).is_some(),
    kinds: ChainRun::kinds,
    sorts: &[WORKERS, ROUGH, REFUSING, NONCES, MARKERS, REFERENCES, SWAP_IN, SWAP_OUT],
};

impl DrawnRun for ChainRun {
    fn transfers(&self) -> usize {
        self.transfers()
    }

    fn sorts(&self) -> Vec<&'static str> {
        let flow = match &self.case {
            DrawnCase::Relay(_) => match self.rules.locking {
                Locking::Nonce => NONCES,
                Locking::Marker => MARKERS,
                Locking::Reference => REFERENCES,
            },
            DrawnCase::Swaps(case) if case.flow == "swap_in" => SWAP_IN,
            DrawnCase::Swaps(_) => SWAP_OUT,
        };
        let two = matches!(self.play, ChainPlay::Workers(_)).then_some(WORKERS);
        let rough = self.rules.is_rough().then_some(ROUGH);
        let refuses = (self.rules.refuses_from > 0).then_some(REFUSING);
        [two, rough, refuses, Some(flow)].into_iter().flatten().collect()
    }

    fn kills(&self) -> bool {
        matches!(&self.play, ChainPlay::Workers(run) if run.end == WorkerEnd::Killed)
    }

    fn play(&self, wrong: Option<&str>) -> Played {
        self.play(&wrong.and_then(wrong::chains).unwrap_or_default())
    }
}
