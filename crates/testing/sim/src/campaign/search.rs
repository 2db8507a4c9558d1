//! Searches the seeds from 0 for the first run that finds a wrong build.

use super::mutations::MutatedBuild;
use super::program::{Make, Say};
use super::{Options, run};
use crate::wrong::builds::{Found, Lie, all};
use std::sync::Arc;

/// Number of seeds that must find a wrong build; one that they do not find is a hole in the campaign.
const SEEDS: u64 = 1_000;

/// The first seed that finds a wrong build, and what the oracle says of it.
pub fn first(name: &str, make: &Make) -> Option<(u64, String)> {
    let found = |seed| {
        let mutated = Arc::new(MutatedBuild::new(make(), name));
        run(&Options::drawn(seed), mutated, None).broken.map(|what| (seed, what))
    };
    (0..SEEDS).find_map(found)
}

/// Searches for each of these; false where one is not found.
pub(super) fn search(names: &[&str], make: &Make, say: &Say) -> bool {
    let mut all = true;
    for name in names {
        if Lie::named(name).is_none() && self::names().iter().all(|known| known != name) {
            say(&format!("there is no wrong build {name}"));
            return false;
        }
        match first(name, make) {
            Some((seed, oracle)) => say(&format!("{name}: found by seed {seed}: {oracle}")),
            None => {
                all = false;
                say(&format!("{name}: not found in {SEEDS} seeds"));
            }
        }
    }
    all
}

/// The names of all that are known to be found.
pub(super) fn names() -> Vec<&'static str> {
    all().map(|Found { name, .. }| *name).collect()
}
