//! Loses, resets or clones the Spot folder: then Spot may execute nothing there, and all money stops until
//! operators repair it.

use super::Knob;
use super::env::Env;
use super::oracles::Halts;
use crate::disk::SimDisk;
use kernel::ids::LedgerId;
use kernel::ports::clock::Rng;

/// What became of the folder.
#[derive(Debug, Clone)]
pub(super) struct Wrong {
    /// The folder that the journal knows.
    right: SimDisk,
}

/// A copy that an operator took, and how much Spot had stored by then.
#[derive(Debug, Clone)]
pub(super) struct Copy {
    disk: SimDisk,
    cursor: u64,
}

/// Takes a copy of the folder where the run will need one.
pub(super) fn copied(env: &Env) -> Option<Copy> {
    let wanted = env.options.get(Knob::Folder) > 1;
    wanted.then(|| Copy {
        disk: env.disk.copy(Rng::next(&env.sim)),
        cursor: env.oracles.cursor(LedgerId::SPOT),
    })
}

/// Spoils the folder between two processes. Some where the next one must not touch what it finds.
pub(super) fn spoil(env: &mut Env, copy: Option<&Copy>) -> Option<Wrong> {
    let status = env.place.status();
    let known = status.ledger(LedgerId::SPOT).map_or(0, |known| known.highest);
    let right = env.disk.clone();
    match (env.options.get(Knob::Folder), copy) {
        (1, _) => {
            env.disk = SimDisk::new(Rng::next(&env.sim), env.sim.crash());
        }
        // a copy that knows all that the journal knows is the ledger itself: what is not in it was
        // answered to no process that kept it, and is asked for again
        (2 | 3, Some(copy)) if copy.cursor < known => env.disk = copy.disk.clone(),
        _ => return None,
    }
    env.oracles.bar(Some(0));
    env.oracles.halts(Halts::WrongLedger);
    let why = format!("the Spot folder is not what it was: {}", env.options.get(Knob::Folder));
    env.trace.remark(env.sim.time(), format_args!("{why}"));
    Some(Wrong { right })
}

/// Persons put the folder back.
pub(super) fn put_right(env: &mut Env, wrong: &Wrong) {
    env.disk = wrong.right.clone();
    env.oracles.bar(None);
    env.trace.remark(env.sim.time(), format_args!("the Spot folder is put right"));
}
