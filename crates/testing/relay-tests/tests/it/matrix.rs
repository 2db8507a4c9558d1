//! A process dies once at each crash point of the relay's table that the simulated chain's cases come to, and the next
//! one goes on: the local chain's cases come to the same rows.

use super::case::NearTrial;
use super::local_chain::RULES;
use super::whole_set;
use sim::generic::chain::{crash_at_every_row, unplayed_rows};

fn dies_at_every_row(fuse: bool) {
    let trial = NearTrial { fuse: vec![fuse], ..NearTrial::new(RULES) };
    let played = crash_at_every_row(&trial, "relay").reached();
    let faults = unplayed_rows("relay", played.iter().map(String::as_str));
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn relay_dies_at_every_row_fused() {
    dies_at_every_row(true);
}

/// The plain path has the same rows; it is played in the campaign.
#[test]
fn relay_dies_at_every_row_plain() {
    if whole_set().is_some() {
        dies_at_every_row(false);
    }
}
