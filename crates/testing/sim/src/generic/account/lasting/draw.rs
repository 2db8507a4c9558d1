//! Draws the faults of a run, when each begins and ends, and when the transfers are opened.

use super::super::cases::AccountCase;
use super::{FaultWindow, LastingFault, LastingRun, WrongClock};
use crate::bus::{BrokerFault, PARTITIONS, TopicPart};
use crate::generic::draws::{one_of, within};
use crate::world::SplitMix;
use kernel::ids::Millis;

/// Above this number of bytes a payload is of a stranger.
pub(super) const OURS: usize = 3_000;
/// The most faults of one run.
const FAULTS: u64 = 3;
/// A fault begins within this time.
const BEGINS: Millis = 20_000;
/// How long a fault lasts.
const LENGTHS: [Millis; 8] = [2_000, 15_000, 30_000, 60_000, 150_000, 300_000, 900_000, 3_600_000];
/// Transfers are opened within this time, from the beginning or from that of the first fault on.
const OPENED: [Millis; 3] = [3_000, 20_000, 120_000];
/// How far a clock is wrong, in milliseconds: seconds, minutes, an hour, a day, ten years.
const JUMPS: [i64; 6] = [5_000, 90_000, 3_600_000, 86_400_000, 31_536_000_000, 315_360_000_000];
/// Every topic of the flow, and one of its dead letters.
const TOPICS: [&str; 5] = [
    "transfer-validation",
    "transfer-execution",
    "transfer-completed",
    "transfer-failed",
    "transfer-validation-dlt",
];

impl LastingRun {
    /// The run of these draws.
    pub(in super::super) fn drawn(draws: &mut SplitMix, seed: u64, case: &AccountCase) -> Self {
        let fuse = draws.once_in(2, 3);
        let batch = if draws.once_in(1, 2) { 1_024 } else { 4 };
        let windows = (0..within(draws, 1, FAULTS)).map(|_| {
            let from = within(draws, 0, BEGINS);
            let length = one_of(draws, &LENGTHS).unwrap_or(0);
            FaultWindow { fault: fault(draws, case, fuse), from, until: from + length }
        });
        let windows: Vec<FaultWindow> = windows.collect();
        let late = draws.once_in(2, 3);
        let first = windows.iter().map(|window| window.from).min().filter(|_| late).unwrap_or(0);
        let spread = one_of(draws, &OPENED).unwrap_or(0);
        let opens = case.transfers.iter().map(|_| first + within(draws, 0, spread)).collect();
        Self { seed, fuse, batch, windows, opens }
    }
}

fn fault(draws: &mut SplitMix, case: &AccountCase, fuse: bool) -> LastingFault {
    let accounts: Vec<&'static str> = case.accounts.iter().map(|one| one.number).collect();
    match within(draws, 0, 7) {
        0 => LastingFault::Broker(BrokerFault::TakesNothing(part(draws, TOPICS.len()))),
        1 => LastingFault::Broker(BrokerFault::RefusesAbove(OURS)),
        // a dead letter is sent once
        2 => LastingFault::Broker(BrokerFault::Loses(part(draws, TOPICS.len() - 1))),
        3 => LastingFault::Strangers,
        // a call that is no part of its unit waits with all that are made with it
        4 | 5 if fuse => LastingFault::LockedAccount(one_of(draws, &accounts).unwrap_or_default()),
        _ => {
            let clocks = [WrongClock::Machine, WrongClock::Journal, WrongClock::Broker];
            let clock = one_of(draws, &clocks).unwrap_or(WrongClock::Machine);
            let most = one_of(draws, &JUMPS).unwrap_or(0);
            let jump =
                most / 2 + i64::try_from(draws.next() % most.unsigned_abs()).unwrap_or(0) / 2;
            LastingFault::Clock(clock, if draws.once_in(1, 2) { jump } else { -jump })
        }
    }
}

fn part(draws: &mut SplitMix, topics: usize) -> TopicPart {
    let topic = one_of(draws, TOPICS.get(..topics).unwrap_or_default()).unwrap_or_default();
    let number = within(draws, 0, u64::from(PARTITIONS));
    let number = u32::try_from(number).ok().filter(|number| *number < PARTITIONS);
    TopicPart { topic: topic.into(), number }
}
