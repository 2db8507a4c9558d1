//! Shrinks a failing run: turns off kinds of faults and halves numbers while the run still fails and time is left.

use super::{Build, Knob, Options, Verdict, run, within};
use std::sync::Arc;

/// Most runs that are spent on it.
const TRIES: u32 = 400;

/// The smallest failing run that was found, with what is wrong in it.
pub fn shrunk(
    options: &Options,
    build: &dyn Fn() -> Arc<dyn Build>,
    patient: &dyn Fn() -> bool,
) -> (Options, Verdict) {
    let mut best = (options.clone(), run(options, build(), None));
    let mut tries = 0;
    loop {
        let before = best.0.clone();
        for knob in Knob::ALL {
            for value in smaller(*knob, best.0.get(*knob)) {
                tries += 1;
                if tries > TRIES || !patient() {
                    return best;
                }
                let smaller = best.0.clone().with(*knob, value);
                let verdict = within(&smaller, build(), None, patient);
                if verdict.broken.is_some() {
                    best = (smaller, verdict);
                    break;
                }
            }
        }
        if best.0 == before {
            return best;
        }
    }
}

/// Values that do less, those that do the least first.
fn smaller(knob: Knob, value: u64) -> Vec<u64> {
    let calm = knob.calm();
    if value == calm {
        return Vec::new();
    }
    let halved = [Knob::Transfers, Knob::Users, Knob::Clients, Knob::Delay];
    if !halved.contains(&knob) {
        return vec![calm];
    }
    let mut values = vec![calm, value / 8, value / 4, value / 2, value.saturating_sub(1)];
    values.retain(|smaller| *smaller >= calm && *smaller < value);
    values.dedup();
    values
}
