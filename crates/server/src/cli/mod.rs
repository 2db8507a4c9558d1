//! Parses the command line, runs the command, and turns its result into an exit code.

mod account;
mod archive;
mod audit;
mod backup;
mod check;
mod config;
mod demo;
pub mod exit;
mod external;
mod halt;
mod health;
mod help;
mod ledger;
mod migrate;
mod ops;
mod output;
mod package;
mod pipeline;
mod relay;
mod remote;
mod serve;
mod spot;
mod swap;
mod token;
mod transfer;
mod webhook;
mod work;

use crate::config::Config;
use crate::config::sources::listen_address;
use crate::config::sources::{self, CliFlags, LoadedConfig};
use crate::telemetry;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use exit::{Exit, Fault};
use kernel::ids::UserId;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// Moves money between ledgers that share no transaction, and never loses any of it.
#[derive(Debug, Parser)]
#[command(name = "portage", version = env!("VERSION_AND_COMMIT"), about, propagate_version = true, subcommand_required = true)]
#[command(after_help = "Begin with:\n  portage demo\n  portage serve")]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// What every command takes.
#[derive(Debug, Clone, clap::Args)]
struct Global {
    /// Settings; without it `portage.toml`, if it is there.
    #[arg(long, global = true, value_name = "FILE", help_heading = "Settings")]
    config: Option<PathBuf>,
    /// Where everything is stored; over `data.dir`.
    #[arg(long, global = true, value_name = "DIR", help_heading = "Settings")]
    data_dir: Option<PathBuf>,
}

impl Global {
    fn loaded(&self) -> Result<LoadedConfig, Fault> {
        Ok(sources::load_here(&self.flags())?)
    }

    fn flags(&self) -> CliFlags {
        CliFlags { config: self.config.clone(), data_dir: self.data_dir.clone(), listen: None }
    }

    fn settings(&self) -> Result<Config, Fault> {
        Ok(self.loaded()?.config)
    }

    /// The settings of the store alone, and of these further sections.
    fn store_settings(&self, and: &[&str]) -> Result<Config, Fault> {
        Ok(sources::load_store_here(&self.flags(), and)?)
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the server until it gets a signal.
    Serve(serve::ServeArgs),
    /// Show every outcome of a transfer in a fresh folder, with a real kill -9.
    Demo(demo::DemoArgs),
    /// Mint a token with the development key.
    Token(token::TokenArgs),
    /// Create transfers, and show, list or watch them.
    #[command(subcommand)]
    Transfer(transfer::TransferCommand),
    /// Book money that came from outside into a Funding account.
    Deposit(external::DepositArgs),
    /// Book money that goes outside from a Funding account.
    Withdraw(external::WithdrawArgs),
    /// List accounts, and manage numbered accounts.
    #[command(subcommand)]
    Account(account::AccountCommand),
    /// Check that a ledger of yours keeps the ledger contract.
    #[command(subcommand)]
    Ledger(ledger::LedgerCommand),
    /// Run the Spot ledger in a process of its own.
    #[command(subcommand)]
    Spot(spot::SpotCommand),
    /// Operate the service: cases, transfers, pauses, halts, approvals, assets.
    #[command(subcommand)]
    Ops(ops::OpsCommand),
    /// Manage the endpoints that receive notifications about transfers and cases.
    #[command(subcommand)]
    Webhook(webhook::WebhookCommand),
    /// Show and repair message processing: lag, the outbox, parked keys, consumer groups.
    #[command(subcommand)]
    Pipeline(pipeline::PipelineCommand),
    /// List dead letters, show one, and send them back to their topic.
    #[command(subcommand)]
    Dlt(pipeline::DeadLetterCommand),
    /// Publish the messages of a period again.
    #[command(subcommand)]
    Outbox(pipeline::OutboxCommand),
    /// Show the relay's keys with their open transactions, and retire keys.
    #[command(subcommand)]
    Relay(relay::RelayCommand),
    /// Operate the swaps: the vault, its lanes and deposits, and money that is held or left the vault.
    #[command(subcommand)]
    Swap(swap::SwapCommand),
    /// Stop all money on the machine itself, without a server and without a token.
    Halt(halt::LocalHaltArgs),
    /// Ask a process whether it is ready, for health checks.
    Health(health::HealthArgs),
    /// Prove that nothing was lost.
    Check(check::CheckArgs),
    /// Prove that the audit was not changed.
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// Copy everything as of one instant, also while a server runs.
    Backup(backup::BackupArgs),
    /// Make a data folder of a backup.
    Restore(backup::RestoreArgs),
    /// Upgrade the store, in PostgreSQL or in a folder, to this release.
    Migrate(migrate::MigrateArgs),
    /// Move old transfers that have ended to the archive.
    Archive(archive::ArchiveArgs),
    /// Run a worker: it executes the transfers that servers accept.
    Work(work::WorkArgs),
    /// Print the effective settings, or check a settings file.
    Config(config::ConfigArgs),
    /// Print the completions of commands and options for a shell.
    Completions(package::CompletionsArgs),
    /// Write a manual page for each command into a folder.
    Man(package::ManArgs),
    /// Print the version of this program.
    Version(package::VersionArgs),
}

/// Runs the command of these words.
pub fn run(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = words.into_iter().collect();
    let json = wants_json(&words);
    let parsed = help::grouped(Cli::command()).try_get_matches_from(words);
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(fault) => return ended(print_usage(&fault, json)),
    };
    let done = dispatch(&cli);
    telemetry::finish();
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            if json && !fault.sentence.is_empty() {
                output::eprint_line(&fault.json());
            } else if !fault.sentence.is_empty() {
                output::eprint(&fault.sentence);
            }
            ended(fault.exit.code())
        }
    }
}

/// Prints what clap has to say: help and the version as they are, an error as JSON where JSON was asked for. The exit
/// code comes back.
fn print_usage(fault: &clap::Error, json: bool) -> i32 {
    if !fault.use_stderr() {
        let _closed = fault.print();
        return 0;
    }
    if json {
        let text = fault.render().to_string();
        let sentence = text.trim().trim_start_matches("error: ");
        output::eprint_line(&Fault::new(Exit::Usage, sentence).json());
    } else {
        let _closed = fault.print();
    }
    Exit::Usage.code()
}

/// True where a command is told to print JSON: then its error is JSON too.
fn wants_json(words: &[OsString]) -> bool {
    words.iter().take_while(|word| *word != "--").any(|word| word == "--json")
}

fn ended(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}

fn dispatch(cli: &Cli) -> Result<(), Fault> {
    let global = &cli.global;
    match &cli.command {
        Command::Serve(args) => serve::run(global, args),
        Command::Demo(args) => demo::run(global, args),
        Command::Token(args) => token::run(global, args),
        Command::Transfer(command) => transfer::run(global, command),
        Command::Deposit(args) => external::deposit(global, args),
        Command::Withdraw(args) => external::withdraw(global, args),
        Command::Account(command) => account::run(global, command),
        Command::Ledger(command) => ledger::run(command),
        Command::Spot(command) => spot::run(global, command),
        Command::Ops(command) => ops::run(global, command),
        Command::Webhook(command) => webhook::run(global, command),
        Command::Pipeline(command) => pipeline::run(global, command),
        Command::Dlt(command) => pipeline::run_dead_letters(global, command),
        Command::Outbox(command) => pipeline::run_outbox(global, command),
        Command::Relay(command) => relay::run(global, command),
        Command::Swap(command) => swap::run(global, command),
        Command::Halt(args) => halt::run(global, args),
        Command::Health(args) => health::run(global, args),
        Command::Check(args) => check::run(global, args),
        Command::Audit(command) => audit::run(global, command),
        Command::Backup(args) => backup::run(global, args),
        Command::Restore(args) => backup::restore(global, args),
        Command::Migrate(args) => migrate::run(global, args),
        Command::Archive(args) => archive::run(global, args),
        Command::Work(args) => work::run(global, args),
        Command::Config(args) => config::run(global, args),
        Command::Completions(args) => package::completions(args),
        Command::Man(args) => package::man(args),
        Command::Version(args) => package::version(args),
    }
}

/// A user's id on the command line.
fn user_number(text: &str) -> Result<u64, String> {
    let id = text.parse().ok().filter(|id| UserId(*id).is_valid());
    id.ok_or_else(|| "a user is a whole number from 1 to 2^63 - 1, such as 4001".to_owned())
}

/// A number on the command line.
fn whole_number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "a whole number from 0, such as 12".to_owned())
}

/// Runs a command's asynchronous part on this thread.
fn wait<T>(work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|fault| Fault::new(Exit::Software, fault.to_string()))?.block_on(work)
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::{CommandFactory, Parser};

    #[test]
    fn the_commands_are_sound() {
        Cli::command().debug_assert();
    }

    fn leaves(command: &clap::Command, path: &str, all: &mut Vec<(String, String)>) {
        let path = format!("{path} {}", command.get_name());
        if command.has_subcommands() {
            for sub in command.get_subcommands() {
                leaves(sub, &path, all);
            }
        }
        let help = command.clone().render_long_help().to_string();
        all.push((path.trim().to_owned(), help));
    }

    #[test]
    fn every_help_has_an_example_that_parses() {
        let mut all = Vec::new();
        leaves(&Cli::command(), "", &mut all);
        assert!(all.len() >= 13, "{}", all.len());
        for (path, help) in all {
            let lines: Vec<_> = help.lines().map(str::trim).collect();
            let examples: Vec<_> = lines.iter().filter(|l| l.starts_with("portage ")).collect();
            assert!(examples.iter().any(|e| e.starts_with(&path)), "{path}:\n{help}");
            for example in examples {
                let words = example.split('"').enumerate().flat_map(|(n, part)| {
                    let quoted = n % 2 == 1;
                    let words: Vec<String> = if quoted {
                        vec![part.to_owned()]
                    } else {
                        part.split_whitespace().map(str::to_owned).collect()
                    };
                    words
                });
                let parsed = Cli::try_parse_from(words.collect::<Vec<_>>());
                assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
            }
        }
    }
}
