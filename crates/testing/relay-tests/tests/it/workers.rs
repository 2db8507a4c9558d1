//! Two workers over one journal and the local chain.

use super::case::NearTrial;
use super::local_chain::{RULES, Setup};
use super::providers::Sends;
use sim::chain::ChainRules;
use sim::generic::WorkerEnd;
use sim::generic::chain::{ChainPlay, ChainWorkers};

/// The first worker sends a form that does not arrive, and stands still for longer than its lease. The second one goes on:
/// the form expires, another one is signed under its nonce, and lands. Turns red where the first worker goes on with the
/// form that it knows: its nonce is spent, no provider finds it, and a person is called again and again.
#[test]
fn a_worker_that_stood_still_does_not_ask_after_an_old_form() {
    let rules = ChainRules { validity: 20, ..RULES };
    let mut trial = NearTrial::new(rules);
    trial.cases.truncate(1);
    let sends = Sends::Withheld { until: 25 };
    let play = ChainWorkers {
        end: WorkerEnd::Paused,
        after: 1_500,
        troubles: Vec::new(),
        apart: false,
        paused: None,
        fails_over: None,
    };
    for case in &mut trial.cases {
        case.setup = Setup { sends, ..Setup::default() };
        for seed in 0..3 {
            ChainPlay::Workers(play.clone()).of_case(&NearTrial::new(rules), case, seed);
        }
    }
}
