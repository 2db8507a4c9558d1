//! A process dies once at each crash point of the swaps' tables that a case comes to, and the next one goes on, where what
//! is sent arrives, is lost at first, or comes late.

use super::case::{SolanaCase, SolanaTrial};
use super::providers::Sends;
use super::solana::RULES;
use super::whole_set;
use sim::generic::chain::{ChainCase as _, crash_at_every_row, unplayed_rows};

/// The rows that no case reaches: a person allows one more refund, which the product does not offer yet.
const RELEASED: &str = "| to be quarantined | no → to be refunded |";

/// Plays each row of a flow once on one path: its cases come to all of them.
fn dies_at_every_row(flow: &str, fuse: bool) {
    let mut trial = SolanaTrial { fuse: vec![fuse], ..SolanaTrial::new(RULES) };
    trial.cases.retain(|case| case.flow() == flow);
    let played = crash_at_every_row(&trial, flow).reached();
    let mut faults = unplayed_rows(flow, played.iter().map(String::as_str));
    faults.retain(|row| !row.starts_with(RELEASED));
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn swap_in_dies_at_every_row() {
    dies_at_every_row("swap_in", true);
}

#[test]
fn swap_out_dies_at_every_row() {
    dies_at_every_row("swap_out", true);
}

/// The plain path has the same rows; it is played in the campaign.
#[test]
fn swaps_die_at_every_row_plain() {
    if whole_set().is_some() {
        dies_at_every_row("swap_in", false);
        dies_at_every_row("swap_out", false);
    }
}

/// Plays each row that one deposit comes to, or in the campaign all cases, where what is sent fares so.
fn dies_while(sends: Sends) {
    let all = SolanaTrial::new(RULES).cases;
    let one = vec![SolanaCase::given_back(), SolanaCase::paid_out()];
    let mut cases = if whole_set().is_some() { all } else { one };
    cases.iter_mut().for_each(|case| case.setup.sends = sends);
    let trial = SolanaTrial { cases, fuse: vec![true], ..SolanaTrial::new(RULES) };
    for flow in ["swap_in", "swap_out"] {
        crash_at_every_row(&trial, flow);
    }
}

#[test]
fn swaps_die_while_what_is_sent_is_lost() {
    dies_while(Sends::Lost { until: 25 });
}

#[test]
fn swaps_die_while_what_is_sent_comes_late() {
    dies_while(Sends::Late { blocks: 12 });
}
