//! Each wrong build of the relay is found over the local chain: its trial fails, and the right build passes the same
//! trial.

use super::builds;
use super::case::NearTrial;
use super::local_chain::{RULES, Setup};
use super::providers::Sends;
use sim::generic::chain::{ChainCase, every_step_failed, undisturbed};
use sim::service::PortWraps;
use sim::wrong;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The case of that name, with that setup.
fn trial(words: &str, setup: Setup) -> NearTrial {
    let mut trial = NearTrial { fuse: vec![true], ..NearTrial::new(RULES) };
    trial.cases.retain(|case| case.words() == words);
    trial.cases.iter_mut().for_each(|case| case.setup = setup.clone());
    trial
}

/// Plays the trial with a wrong build around the adapter; why it failed.
#[track_caller]
fn fails(trial: &NearTrial, wraps: PortWraps, play: fn(&NearTrial)) -> String {
    let trial = NearTrial { wraps, ..trial.clone() };
    let played = catch_unwind(AssertUnwindSafe(|| play(&trial)));
    let Err(why) = played else { panic!("it was not found") };
    why.downcast_ref::<String>().cloned().unwrap_or_default()
}

fn build(name: &str) -> PortWraps {
    wrong::chains(name).unwrap_or_else(|| panic!("no wrong build {name}"))
}

const ALL_HOLD: &str = "all hold the token";

#[test]
fn new_nonce_on_retry() {
    let sends = Sends::Late { blocks: 34 };
    let mut trial = trial(ALL_HOLD, Setup { outlives: 10_000, sends, ..Setup::default() });
    trial.rules.validity = 20;
    let why = fails(&trial, builds::new_nonce_on_retry(), undisturbed);
    assert!(why.contains("was paid 2 times"), "{why}");
    undisturbed(&trial);
}

#[test]
fn sent_before_stored() {
    let trial = trial(ALL_HOLD, Setup::default());
    let why = fails(&trial, build("sent-before-stored"), every_step_failed);
    let found = ["was paid 2 times", "LOCK_SPENT", "LANE_AHEAD"];
    assert!(found.iter().any(|fault| why.contains(fault)), "{why}");
}

#[test]
fn poll_count_fails() {
    let sends = Sends::Late { blocks: 30 };
    let mut trial = trial(ALL_HOLD, Setup { sends, ..Setup::default() });
    trial.cases.iter_mut().for_each(|case| case.relay.receivers = vec!["alice"].into());
    let why = fails(&trial, builds::poll_count_fails(), undisturbed);
    assert!(why.contains("alice is FAILED and was paid 1 times"), "{why}");
    undisturbed(&trial);
}

#[test]
fn culprit_condemned_by_index_alone() {
    let trial = trial("one spoils its attempt", Setup::default());
    let why = fails(&trial, build("culprit-condemned"), undisturbed);
    assert!(why.contains("VERDICT_REFUSED"), "{why}");
}

/// A contract that refuses whatever comes for some blocks condemns no receiver.
#[test]
fn refused_alone_condemned() {
    let mut trial = trial(ALL_HOLD, Setup::default());
    trial.rules.refuses_from = 2;
    let why = fails(&trial, build("refused-alone-condemned"), undisturbed);
    assert!(why.contains("is FAILED and was paid 0 times"), "{why}");
    undisturbed(&trial);
}

#[test]
fn memo_trusted() {
    let sends = Sends::Withheld { until: 30 };
    let setup = Setup { sends, stranger: true, ..Setup::default() };
    let (trial, last) = (trial(ALL_HOLD, setup.clone()), setup.last);
    let why = fails(&trial, builds::memo_trusted(&last), undisturbed);
    assert!(why.contains("is COMPLETED and was paid 0 times"), "{why}");
    undisturbed(&trial);
}

#[test]
fn one_provider_believed() {
    let sends = Sends::Withheld { until: 30 };
    let right = Setup { sends, liar_until: 30, events: false, ..Setup::default() };
    let one = Setup { providers_needed: 1, ..right.clone() };
    let why = fails(&trial(ALL_HOLD, one), PortWraps::default(), undisturbed);
    assert!(why.contains("is COMPLETED and was paid 0 times"), "{why}");
    undisturbed(&trial(ALL_HOLD, right));
}
