//! The Spot folder is lost, set back to what it was, or cloned: nothing may be executed there, and
//! all money stops until persons put it right.

use super::Knob;
use super::stage::Stage;
use super::witness::Halts;
use crate::disk::SimDisk;
use kernel::ids::LedgerId;
use kernel::ports::clock::Rng;

/// What became of the folder.
#[derive(Debug, Clone)]
pub(super) struct Wrong {
    /// The folder that the journal knows.
    right: SimDisk,
}

/// A copy that somebody took, and how much Spot had stored by then.
#[derive(Debug, Clone)]
pub(super) struct Copy {
    disk: SimDisk,
    cursor: u64,
}

/// Takes a copy of the folder where the run will need one.
pub(super) fn copied(stage: &Stage) -> Option<Copy> {
    let wanted = stage.options.get(Knob::Folder) > 1;
    wanted.then(|| Copy {
        disk: stage.disk.copy(Rng::next(&stage.sim)),
        cursor: stage.witness.cursor(LedgerId::SPOT),
    })
}

/// Spoils the folder between two processes. Some where the next one must not touch what it finds.
pub(super) fn spoil(stage: &mut Stage, copy: Option<&Copy>) -> Option<Wrong> {
    let standing = stage.place.standing();
    let known = standing.ledger(LedgerId::SPOT).map_or(0, |known| known.highest);
    let right = stage.disk.clone();
    match (stage.options.get(Knob::Folder), copy) {
        (1, _) => {
            stage.disk = SimDisk::new(Rng::next(&stage.sim), stage.sim.crash());
        }
        // a copy that knows all that the journal knows is the ledger itself: what is not in it was
        // answered to nobody who kept it, and is asked for again
        (2 | 3, Some(copy)) if copy.cursor < known => stage.disk = copy.disk.clone(),
        _ => return None,
    }
    stage.witness.bar(Some(0));
    stage.witness.halts(Halts::WrongLedger);
    let why = format!("the Spot folder is not what it was: {}", stage.options.get(Knob::Folder));
    stage.trace.remark(stage.sim.time(), format_args!("{why}"));
    Some(Wrong { right })
}

/// Persons put the folder back.
pub(super) fn put_right(stage: &mut Stage, wrong: &Wrong) {
    stage.disk = wrong.right.clone();
    stage.witness.bar(None);
    stage.trace.remark(stage.sim.time(), format_args!("the Spot folder is put right"));
}
