//! The repository's own tasks: everything that CI runs and a developer repeats, without shell scripts.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool speaks to its terminal"
)]

mod attack;
mod bench;
mod campaign;
mod clients;
mod crash;
mod dist;
mod kafka;
mod lint;
mod postgres;
mod programs;
mod proof;
mod run;
mod separate;
mod sim;
mod stages;
mod store_fixture;
mod test;
mod tidy;
mod tools;
mod tree;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What went wrong, in the words that the terminal shows.
type Outcome<T = ()> = Result<T, String>;

#[derive(Debug, Parser)]
#[command(name = "xtask", bin_name = "cargo xtask", about = "The repository's own tasks", version = None)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Format, clippy, tidy, licences and documentation; every stage runs, all failures are shown.
    Lint,
    /// All tests of the workspace, then the acceptance proof.
    Test,
    /// The house rules that no compiler knows: imports, file heads, lengths, words, links.
    Tidy(tidy::Options),
    /// Run one benchmark in release mode: `cargo xtask bench internal -- --help`.
    Bench {
        /// The folder under bench/.
        name: String,
        /// Handed to the benchmark as they are.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Play simulated runs in release mode: `cargo xtask sim --minutes 5`, `cargo xtask sim --seed 7
    /// --trace`, and find every wrong build: `cargo xtask sim --wrongs`. Account transfers: `cargo xtask sim
    /// --account --minutes 5`.
    Sim {
        /// Handed to the campaign as they are.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Attack a server from outside, yours or one of its own: `cargo xtask attack --help`.
    #[command(disable_help_flag = true)]
    Attack {
        /// Handed to the attacks as they are.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Kill a real server again and again, take its power and its disk: `cargo xtask crash --help`.
    #[command(disable_help_flag = true)]
    Crash {
        /// Handed to the campaign as they are.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// What takes too long for every change: `cargo xtask campaign fuzz`, `… mutants`, `… gas`, `… solana`.
    #[command(subcommand)]
    Campaign(campaign::Campaign),
    /// Show that a test can fail: run it against the build that is wrong on purpose.
    Proof {
        #[command(subcommand)]
        of: Proof,
    },
    /// Build a release and pack it: binary, manual pages, completions, units, licences, SBOM, checksums.
    Dist(dist::DistOptions),
    /// Write the licences of all packages that the binary contains.
    Notice,
    /// Keep a store of this release, on both back ends, for the next release to read.
    StoreFixture(store_fixture::StoreFixtureArgs),
}

#[derive(Debug, Subcommand)]
enum Proof {
    /// Every acceptance id of docs/proof/acceptance.md, green on the real build, red on its wrong one.
    Acceptance,
    /// What only PostgreSQL can show: a text of the product is changed in a copy of the tree, and the
    /// test that is about it must turn red: `cargo xtask proof postgres --only lock-is-refusal`.
    Postgres(proof::Changed),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().task {
        Task::Lint => lint::run(),
        Task::Test => test::run(),
        Task::Tidy(options) => options.run(),
        Task::Bench { name, args } => bench::run(&name, &args),
        Task::Sim { args } => sim::run(&args),
        Task::Attack { args } => attack::run(&args),
        Task::Crash { args } => crash::run(&args),
        Task::Campaign(campaign) => campaign::run(&campaign),
        Task::Proof { of: Proof::Acceptance } => postgres::start().and_then(|server| {
            let proven = proof::acceptance();
            // it lives until then
            drop(server);
            proven
        }),
        Task::Proof { of: Proof::Postgres(changed) } => changed.run(),
        Task::Dist(options) => options.run(),
        Task::Notice => dist::notice(),
        Task::StoreFixture(options) => store_fixture::run(options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("\nxtask: {why}");
            ExitCode::FAILURE
        }
    }
}
