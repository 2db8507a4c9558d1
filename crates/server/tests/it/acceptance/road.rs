//! The road of a transfer: which writes and calls it makes, and where its row stands after each.
//!
//! Written down here by hand, so that a crash point is known to have been where it was meant.

use crate::fixture::points::{At, Point, When};
use crate::fixture::{Direction, Setup};
use kernel::flow::life::Leg;
use kernel::ids::LedgerId;

/// The numbers of the states, as they are stored.
pub(super) const INIT: i16 = 0;
pub(super) const SOURCE_PENDING: i16 = 10;
pub(super) const SOURCE_DONE: i16 = 20;
pub(super) const TARGET_PENDING: i16 = 30;
pub(super) const COMMITTED: i16 = 40;
pub(super) const COMPENSATING: i16 = -20;
pub(super) const ROLLED_BACK: i16 = -30;

/// One write or call.
#[derive(Debug)]
struct Step {
    tells: &'static [&'static str],
    makes: Option<(LedgerId, Leg)>,
    /// Where the row stands after it; `None`: a call writes no row.
    row: Option<i16>,
}

const fn write(tells: &'static [&'static str], row: i16) -> Step {
    Step { tells, makes: None, row: Some(row) }
}

const fn call(ledger: LedgerId, leg: Leg) -> Step {
    Step { tells: &[], makes: Some((ledger, leg)), row: None }
}

/// A write that makes a leg at Funding in the same breath.
const fn fused(tells: &'static [&'static str], leg: Leg, row: i16) -> Step {
    Step { tells, makes: Some((LedgerId::FUNDING, leg)), row: Some(row) }
}

/// The steps to the end, committed or (the target refuses) rolled back.
fn steps(fuse: bool, way: Direction, back: bool) -> Vec<Step> {
    let (source, target) = (way.source(), way.target());
    let opening = ["CREATED", "SOURCE_CALL", "SOURCE_OK", "TARGET_CALL"].as_slice();
    let ending: &[&str] = if back { &["TARGET_FAIL"] } else { &["TARGET_OK"] };
    let end = if back { COMPENSATING } else { COMMITTED };
    let mut steps = Vec::new();
    if fuse && way == Direction::ToSpot {
        steps.push(fused(opening, Leg::Withdraw, TARGET_PENDING));
    } else {
        steps.push(write(&opening[..2], SOURCE_PENDING));
        steps.push(call(source, Leg::Withdraw));
    }
    if fuse && way == Direction::ToFunding {
        let all = &["SOURCE_OK", "TARGET_CALL", "TARGET_OK", "TARGET_FAIL"];
        steps.push(fused(all, Leg::Deposit, end));
    } else {
        if !fuse || way == Direction::ToFunding {
            steps.push(write(&opening[2..], TARGET_PENDING));
        }
        steps.push(call(target, Leg::Deposit));
        if fuse && back {
            steps.push(fused(&["TARGET_FAIL", "ROLLBACK_OK"], Leg::Refund, ROLLED_BACK));
            return steps;
        }
        steps.push(write(ending, end));
    }
    if back {
        steps.push(call(source, Leg::Refund));
        steps.push(write(&["ROLLBACK_OK"], ROLLED_BACK));
    }
    steps
}

/// Where the row stands after a crash at that point; `None`: there is no row.
pub(super) fn row(setup: &Setup, way: Direction, back: bool, point: Point) -> Option<i16> {
    let here = |step: &Step| match point.at {
        At::Write(what) | At::Commit(what) => step.tells.contains(&what),
        At::Call(ledger, leg) => step.makes == Some((ledger, leg)),
        At::Step(_) => false,
    };
    let mut row = None;
    for step in steps(setup.fuse, way, back) {
        if here(&step) {
            return if point.when == When::After { step.row.or(row) } else { row };
        }
        row = step.row.or(row);
    }
    panic!("{point:?} is not on the road {way:?}");
}
