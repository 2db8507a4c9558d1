//! A node of the simulated chain: it may lag behind, and it may lie, so adapters believe no single node.

use super::state::{SimChain, State};
use super::transaction::Outcome;
use std::sync::Arc;

/// How a node answers one reading of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mood {
    Honest,
    /// It has not seen this number of the last blocks.
    Lags(u64),
    /// It knows of no transaction, and says that every lock is spent and that much time has passed.
    Lies,
}

/// What one node says of the final blocks.
#[derive(Debug)]
pub(super) struct View {
    pub final_height: u64,
    /// The highest number of the lane that is spent.
    pub nonce: u64,
    /// For each form that was asked after, where it is final.
    pub found: Vec<Option<(u64, Outcome)>>,
}

impl SimChain {
    /// What two nodes say of a lane and of forms.
    pub(super) fn views(&self, lane: &str, names: &[Arc<[u8]>]) -> [View; 2] {
        let mut state = self.now();
        state.moods().map(|mood| state.view(mood, lane, names))
    }

    /// The highest number of a lane that a node knows of, the last blocks among them.
    pub(super) fn head_nonces(&self, lane: &str) -> [u64; 2] {
        let mut state = self.now();
        let lag = match state.mood() {
            Mood::Lags(lag) => lag,
            Mood::Honest | Mood::Lies => 0,
        };
        let height = state.shown(state.height);
        [state.nonce(lane, height), state.nonce(lane, height.saturating_sub(lag))]
    }
}

impl State {
    /// How two nodes answer: at most one of both misleads at a time.
    pub(super) fn moods(&mut self) -> [Mood; 2] {
        let first = self.draws.once_in(1, 2);
        let bad = self.mood();
        if first { [bad, Mood::Honest] } else { [Mood::Honest, bad] }
    }

    fn mood(&mut self) -> Mood {
        if !self.draws.once_in(1, self.rules.misleads) {
            return Mood::Honest;
        }
        let lag = 1 + self.draws.next() % (self.rules.finality * 2);
        if self.draws.once_in(1, 2) { Mood::Lags(lag) } else { Mood::Lies }
    }

    fn view(&self, mood: Mood, lane: &str, names: &[Arc<[u8]>]) -> View {
        let last = self.shown_final();
        let (upto, final_height) = match mood {
            Mood::Honest => (last, last),
            Mood::Lags(lag) => (last.saturating_sub(lag), last.saturating_sub(lag)),
            Mood::Lies => {
                let far = last + 10 * self.rules.validity;
                return View { final_height: far, nonce: u64::MAX, found: vec![None; names.len()] };
            }
        };
        let found = names.iter().map(|name| self.find(name, upto)).collect();
        View { final_height, nonce: self.nonce(lane, upto), found }
    }
}
