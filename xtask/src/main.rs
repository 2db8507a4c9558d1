//! The repository's own tasks: everything that CI runs and a developer repeats, without shell scripts.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool speaks to its terminal"
)]

mod tidy;
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
    /// The house rules that no compiler knows: imports, file heads, lengths, words, links.
    Tidy,
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().task {
        Task::Tidy => tidy::run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("\nxtask: {why}");
            ExitCode::FAILURE
        }
    }
}
