//! The drawn campaign of the relay and the swaps over simulated chains.

use super::{DrawnCampaign, DrawnRun, WORKERS};
use crate::chain::Locking;
use crate::generic::chain::{ChainPlay, ChainRun, DrawnCase};
use crate::generic::{Played, WorkerEnd};
use crate::wrong;

const ROUGH: &str = "on rough chains";
const REFUSING: &str = "with a contract that refuses all for some blocks";
const WALLETS: &str = "with wallets that use our keys";
const PAYING: &str = "with wallets that pay what waits";
const HIDING: &str = "whose nodes do not show what wallets did";
const APART: &str = "with workers of different keys";
const PAUSED: &str = "that a person pauses";
const FAILED_OVER: &str = "whose journal fails over";
const SET_BACK: &str = "whose journal is set back";
const HELD: &str = "with a lane that is held back";
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
    sorts: &[
        WORKERS,
        APART,
        PAUSED,
        FAILED_OVER,
        SET_BACK,
        HELD,
        ROUGH,
        REFUSING,
        WALLETS,
        PAYING,
        HIDING,
        NONCES,
        MARKERS,
        REFERENCES,
        SWAP_IN,
        SWAP_OUT,
    ],
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
        let rules = &self.rules;
        let wallets = flow == NONCES && rules.strangers > 0;
        let workers = match &self.play {
            ChainPlay::Workers(workers) => Some(workers),
            ChainPlay::Processes { .. } | ChainPlay::SetBack(_) | ChainPlay::HeldLane(_) => None,
        };
        let apart = rules.lanes > 1 && workers.is_some_and(|workers| workers.apart);
        let sorts = [
            (true, flow),
            (workers.is_some(), WORKERS),
            (apart, APART),
            (workers.is_some_and(|workers| workers.paused.is_some()), PAUSED),
            (workers.is_some_and(|workers| workers.fails_over.is_some()), FAILED_OVER),
            (matches!(self.play, ChainPlay::SetBack(_)), SET_BACK),
            (matches!(self.play, ChainPlay::HeldLane(_)), HELD),
            (rules.is_rough(), ROUGH),
            (rules.refuses_from > 0, REFUSING),
            (wallets, WALLETS),
            (wallets && rules.wallets_pay, PAYING),
            (wallets && rules.hides_from > 0, HIDING),
        ];
        sorts.into_iter().filter_map(|(is, sort)| is.then_some(sort)).collect()
    }

    fn kills(&self) -> bool {
        match &self.play {
            ChainPlay::Workers(run) => run.end == WorkerEnd::Killed,
            ChainPlay::SetBack(_) => true,
            ChainPlay::Processes { .. } | ChainPlay::HeldLane(_) => false,
        }
    }

    fn play(&self, wrong: Option<&str>) -> Played {
        self.play(&wrong.and_then(wrong::chains).unwrap_or_default())
    }
}
