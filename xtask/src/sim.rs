//! Simulated runs: `crates/testing/sim/examples/sim.rs`, which is built and called here.

use crate::{Outcome, run, tree};
use std::time::{SystemTime, UNIX_EPOCH};

/// Seeds that found something once, each with a word why.
const KEPT: &str = "crates/testing/sim/seeds.txt";
/// The first of the others that are always played, and how many they are.
const FIXED: (&str, &str) = ("5000", "40");

/// How long new seeds are played, in seconds.
const SECONDS: &str = "60";
/// The campaigns of drawn cases, by their flags. The same seeds are always played, then new ones for
/// [`DRAWN_SECONDS`].
const DRAWN: [&str; 2] = ["--account", "--chains"];
const DRAWN_SECONDS: &str = "10";
/// Number of seeds for each second of the clock.
const EACH: u64 = 1_000;

/// Passes a call on to the campaign, built as a release.
pub(crate) fn run(args: &[String]) -> Outcome {
    let mut cargo = run::cargo(&["run", "--release", "--locked", "--package", "sim"]);
    cargo.args(["--example", "sim", "--"]).args(args);
    run::must(cargo)
}

/// With the program that was built with the tests: the kept seeds and some that are always the same,
/// then new ones for as long as there is time.
pub(crate) fn after_tests() -> Outcome {
    let (first, many) = FIXED;
    println!("the kept seeds, then {many} from {first} on");
    play(&["--kept", KEPT, "--from", first, "--runs", many])?;
    let new = fresh(clock()).to_string();
    println!("new seeds, by the clock: from {new} on");
    play(&["--from", &new, "--seconds", SECONDS])?;
    for flag in DRAWN {
        println!("{flag}: {many} runs from {first} on, then new seeds");
        play(&[flag, "--from", first, "--runs", many])?;
        play(&[flag, "--from", &new, "--seconds", DRAWN_SECONDS])?;
    }
    Ok(())
}

fn play(args: &[&str]) -> Outcome {
    let mut sim = run::program(tree::target().join("debug/examples/sim"));
    sim.args(args);
    run::must(sim)
}

#[expect(clippy::disallowed_methods, reason = "seeds that were never played")]
fn clock() -> SystemTime {
    SystemTime::now()
}

/// No two seconds have a seed in common, and what is found has a line that replays it.
fn fresh(now: SystemTime) -> u64 {
    now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() * EACH)
}

#[cfg(test)]
mod tests {
    use super::{EACH, fresh};
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn each_second_has_seeds_of_its_own() {
        let at = |secs| fresh(UNIX_EPOCH + Duration::from_secs(secs));
        assert_eq!(at(7), 7 * EACH);
        assert_eq!(at(1_800_000_001) - at(1_800_000_000), EACH);
        assert_eq!(fresh(UNIX_EPOCH - Duration::from_secs(1)), 0);
    }
}
