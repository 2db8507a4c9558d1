//! Campaigns: what takes too long for every change. Drawn bytes at everything that reads bytes, changed
//! code that some test must notice, faults on PostgreSQL for as long as they last elsewhere, the relay's flow over the
//! local chain, the swaps' over Solana's, and both local chains beside the networks' own machines.

use clap::Subcommand;
use std::path::PathBuf;

use crate::separate::{BANK, GAS};
use crate::{Outcome, run, tree};

/// What is played for longer.
#[derive(Debug, Subcommand)]
pub(crate) enum Campaign {
    /// Drawn bytes at every reader: `cargo xtask campaign fuzz --minutes 60`.
    Fuzz {
        /// How long, over all targets.
        #[arg(long, default_value_t = 10)]
        minutes: u64,
        /// One of them alone; without it all, one after the other.
        #[arg(long)]
        target: Option<String>,
        /// The same inputs again as in the run that named this seed.
        #[arg(long)]
        seed: Option<u64>,
    },
    /// The faults on PostgreSQL with the default lengths: a row is held for 90 s.
    Faults,
    /// The token on the local chain and on NEAR's own virtual machine: results, storage, gas, and what the
    /// relay attaches. Builds the machine first: ten minutes, two gigabytes.
    Gas,
    /// The relay with its real adapter over the local chain: each case fused and plain with each thing that goes wrong in
    /// it, each crash, and cases drawn from seeds. A quarter of an hour on two cores.
    Near {
        /// Number of seeds that are drawn.
        #[arg(long, default_value_t = 200)]
        seeds: u64,
        /// This seed alone, which a run before named.
        #[arg(long, conflicts_with = "seeds")]
        seed: Option<u64>,
    },
    /// The swaps with the real adapter to Solana over its local chain and the simulated Nexus: each case fused and plain with
    /// each thing that goes wrong in it, and each crash.
    Swaps {
        /// Number of schedules on which both chains have a bad day.
        #[arg(long, default_value_t = 40)]
        seeds: u64,
    },
    /// The bytes that the product's adapter signs, on the local Solana and on Agave's own Bank: outcome, fee, nonce,
    /// balances. Builds the Bank first: up to half an hour, 2.2 gigabytes; needs OpenSSL's headers.
    Solana,
    /// Changed code that no test notices: `cargo xtask campaign mutants --part check`.
    Mutants {
        /// One of the parts alone; without it all, one after the other.
        #[arg(long)]
        part: Option<String>,
        /// Handed to cargo-mutants as they are.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
}

/// A fuzz target: its name, the package that its test is in, and the test.
#[derive(Debug)]
struct Target {
    name: &'static str,
    package: &'static str,
    test: &'static str,
}

const TARGETS: [Target; 11] = [
    Target { name: "amounts", package: "sim", test: "an_amount_is_what_its_digits_say" },
    Target { name: "ids", package: "sim", test: "an_id_has_one_spelling" },
    Target { name: "names", package: "sim", test: "a_name_is_one_of_the_list" },
    Target { name: "answers", package: "ledgers", test: "what_counts_as_an_answer_is_one" },
    Target { name: "simple", package: "ledgers", test: "what_counts_as_a_simple_answer" },
    Target { name: "requests", package: "ledgers", test: "what_is_asked_for_has_one_spelling" },
    Target { name: "sums", package: "ledgers", test: "what_is_read_as_a_sum" },
    Target { name: "records", package: "ledgers", test: "a_record_that_is_read" },
    Target { name: "batches", package: "ledgers", test: "a_batch_that_counts" },
    Target { name: "tokens", package: "server", test: "only_a_signed_token_is_let_in" },
    Target { name: "bodies", package: "server", test: "a_form_that_is_taken" },
];

/// A part of the code whose mutants are tried: its files, and the package whose tests must notice.
#[derive(Debug)]
struct Part {
    name: &'static str,
    package: &'static str,
    files: &'static [&'static str],
}

const PARTS: [Part; 8] = [
    Part { name: "check", package: "kernel", files: &["crates/kernel/src/flow/check/**/*.rs"] },
    Part { name: "amounts", package: "kernel", files: &["crates/kernel/src/money.rs"] },
    Part {
        name: "classifiers",
        package: "ledgers",
        files: &[
            "crates/ledgers/src/remote/classify.rs",
            "crates/ledgers/src/remote/wire.rs",
            "crates/ledgers/src/remote/json.rs",
            "crates/ledgers/src/remote/queries.rs",
        ],
    },
    Part {
        name: "audit",
        package: "kernel",
        files: &["crates/kernel/src/audit/**/*.rs", "crates/kernel/src/hmac.rs"],
    },
    Part { name: "reconcile", package: "kernel", files: &["crates/kernel/src/reconcile/**/*.rs"] },
    Part { name: "kernel", package: "kernel", files: &["crates/kernel/src/**/*.rs"] },
    Part { name: "flows", package: "flows", files: &["crates/flows/src/**/*.rs"] },
    Part { name: "spot", package: "ledgers", files: &["crates/ledgers/src/spot/**/*.rs"] },
];

pub(crate) fn run(campaign: &Campaign) -> Outcome {
    match campaign {
        Campaign::Fuzz { minutes, target, seed } => fuzz(*minutes, target.as_deref(), *seed),
        Campaign::Faults => faults(),
        Campaign::Gas => GAS.run(),
        Campaign::Solana => BANK.run(),
        Campaign::Near { seeds, seed } => near(*seeds, *seed),
        Campaign::Swaps { seeds } => swaps(*seeds),
        Campaign::Mutants { part, args } => mutants(part.as_deref(), args),
    }
}

fn fuzz(minutes: u64, name: Option<&str>, seed: Option<u64>) -> Outcome {
    let chosen = chosen(&TARGETS, name, |target| target.name)?;
    let many = u64::try_from(chosen.len()).unwrap_or(1);
    let seconds = 1 + (minutes * 60).checked_div(many).unwrap_or(0);
    for Target { package, test, .. } in chosen {
        let mut cargo = run::cargo(&["test", "--quiet", "--locked", "--package", package, "--lib"]);
        cargo.args([test, "--", "--nocapture"]);
        cargo.env("FUZZ_SECONDS", seconds.to_string());
        if let Some(seed) = seed {
            cargo.env("FUZZ_SEED", seed.to_string());
        }
        run::must(cargo)?;
    }
    Ok(())
}

fn faults() -> Outcome {
    let mut cargo = run::cargo(&["test", "--locked", "--test", "it"]);
    cargo.args(["--package", tree::tests_of("engine")]);
    cargo.args(["postgres::", "--", "--test-threads", "1"]).env("FULL_LENGTHS", "1");
    run::must(cargo)
}

fn near(seeds: u64, seed: Option<u64>) -> Outcome {
    let mut cargo = run::cargo(&["test", "--locked", "--test", "it", "--package", "relay-tests"]);
    match seed {
        Some(seed) => {
            cargo.args(["a_seed_that_is_named", "--", "--nocapture"]);
            cargo.env("NEAR_SEED", seed.to_string())
        }
        None => cargo.env("NEAR_SEEDS", seeds.to_string()),
    };
    run::must(cargo)
}

fn swaps(seeds: u64) -> Outcome {
    let mut cargo = run::cargo(&["test", "--locked", "--test", "it", "--package", "swap-tests"]);
    cargo.env("SWAP_SEEDS", seeds.to_string());
    run::must(cargo)
}

fn mutants(name: Option<&str>, args: &[String]) -> Outcome {
    let chosen = chosen(&PARTS, name, |part| part.name)?;
    let program = installed()?;
    let mut survived = Vec::new();
    for Part { name, package, files } in chosen {
        let mut mutants = run::program(program.clone());
        mutants.args(["mutants", "--package", package, "--test-package", package]);
        mutants.args(["--jobs", "1", "--no-shuffle", "--baseline", "run"]);
        mutants.arg("--output").arg(tree::target().join("mutants").join(name));
        for file in *files {
            mutants.args(["--file", file]);
        }
        mutants.args(args);
        // the others are tried all the same
        survived.extend(run::must(mutants).err().map(|why| format!("{name}: {why}")));
    }
    run::no_faults(&survived)
}

/// All of a list, or the one of a name.
fn chosen<'a, T>(
    all: &'a [T],
    name: Option<&str>,
    of: impl Fn(&T) -> &'static str,
) -> Outcome<Vec<&'a T>> {
    let Some(name) = name else { return Ok(all.iter().collect()) };
    let names: Vec<_> = all.iter().map(&of).collect();
    let one = all.iter().find(|one| of(one) == name).map(|one| vec![one]);
    one.ok_or_else(|| format!("no {name}; there are: {}", names.join(", ")))
}

/// `cargo mutants`, installed below the build folder where it is not there yet.
fn installed() -> Outcome<PathBuf> {
    const VERSION: &str = "27.1.0";
    let root = tree::target().join("cargo-mutants");
    let program = root.join("bin/cargo-mutants");
    if !program.exists() {
        let mut cargo = run::cargo(&["install", "cargo-mutants", "--locked", "--version", VERSION]);
        cargo.arg("--root").arg(&root);
        run::must(cargo)?;
    }
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::{PARTS, TARGETS, chosen};
    use crate::tree;

    /// Turns red where a test was renamed: the campaign would run none and be green.
    #[test]
    fn every_target_is_a_test_and_every_part_has_files() {
        for target in &TARGETS {
            let sources = tree::package(&tree::root(), target.package).join("src");
            let mut folders = vec![sources];
            let mut found = 0;
            while let Some(folder) = folders.pop() {
                for entry in std::fs::read_dir(folder).unwrap().flatten() {
                    let path = entry.path();
                    if path.is_dir() {
                        folders.push(path);
                    } else if let Ok(text) = std::fs::read_to_string(&path) {
                        found += text.matches(&format!("fn {}", target.test)).count();
                    }
                }
            }
            assert_eq!(found, 1, "{target:?}");
        }
        for part in &PARTS {
            for file in part.files {
                let place = file.split("/**").next().unwrap();
                assert!(tree::root().join(place).exists(), "{part:?}");
            }
        }
    }

    #[test]
    fn one_or_all_are_chosen() {
        assert_eq!(chosen(&TARGETS, None, |t| t.name).unwrap().len(), TARGETS.len());
        assert_eq!(chosen(&PARTS, Some("check"), |p| p.name).unwrap().len(), 1);
        assert!(chosen(&PARTS, Some("x"), |p| p.name).unwrap_err().contains("amounts"));
    }
}
