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
mod token;
mod transfer;
mod webhook;
mod work;

use crate::config::Config;
use crate::config::sources::{self, CliFlags, LoadedConfig};
use crate::telemetry;
use clap::{Parser, Subcommand};
use exit::{Exit, Fault};
use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs as _};
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
        let flags =
            CliFlags { config: self.config.clone(), data_dir: self.data_dir.clone(), listen: None };
        Ok(sources::load_here(&flags)?)
    }

    fn settings(&self) -> Result<Config, Fault> {
        Ok(self.loaded()?.config)
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the server until it gets a signal.
    Serve(serve::ServeArgs),
    /// Show everything at work: a fresh folder, a real server, a real kill -9.
    Demo(demo::DemoArgs),
    /// Mint a token with the development key.
    Token(token::TokenArgs),
    /// Make a transfer, or ask for one.
    #[command(subcommand)]
    Transfer(transfer::TransferCommand),
    /// Book money that came from outside into a Funding account.
    Deposit(external::DepositArgs),
    /// Book money that goes outside from a Funding account.
    Withdraw(external::WithdrawArgs),
    /// Look at accounts, and look after those of the pipeline.
    #[command(subcommand)]
    Account(account::AccountCommand),
    /// A ledger of others: does it keep the contract?
    #[command(subcommand)]
    Ledger(ledger::LedgerCommand),
    /// A Spot core that is served by itself.
    #[command(subcommand)]
    Spot(spot::SpotCommand),
    /// Look after the service: cases, transfers, pauses, halts, approvals, assets.
    #[command(subcommand)]
    Ops(ops::OpsCommand),
    /// Endpoints that are told of what happens to transfers and cases.
    #[command(subcommand)]
    Webhook(webhook::WebhookCommand),
    /// How messages do: lag, the outbox, parked keys, dead letters, groups of consumers.
    #[command(subcommand)]
    Pipeline(pipeline::PipelineCommand),
    /// Messages that no consumer can take: listed, shown, and sent back to their topic.
    #[command(subcommand)]
    Dlt(pipeline::DeadLetterCommand),
    /// What was published: sent again by time.
    #[command(subcommand)]
    Outbox(pipeline::OutboxCommand),
    /// The relay: its keys, and the attempts that they have.
    #[command(subcommand)]
    Relay(relay::RelayCommand),
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
    /// Make the tables in PostgreSQL what this release needs.
    Migrate(migrate::MigrateArgs),
    /// Move transfers that ended long ago out of the way.
    Archive(archive::ArchiveArgs),
    /// Carry transfers that others open.
    Work(work::WorkArgs),
    /// Print the effective settings, or look one file over.
    Config(config::ConfigArgs),
    /// Print what a shell needs to complete commands and options.
    Completions(package::CompletionsArgs),
    /// Write a manual page for each command into a folder.
    Man(package::ManArgs),
    /// Print the version of this program
    Version(package::VersionArgs),
}

/// Runs the command of these words.
pub fn run(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = words.into_iter().collect();
    let json = wants_json(&words);
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(fault) => {
            let _closed = fault.print();
            let code = if fault.use_stderr() { Exit::Usage.code() } else { 0 };
            return ended(code);
        }
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
    text.parse().map_err(|_| "a user is a whole number, such as 4001".to_owned())
}

/// An address to listen on: with a name for its host, or the port alone.
fn listen_address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    let fault = |why: String| format!("{why}; write it as 127.0.0.1:3000, or 3000");
    let mut found = text.to_socket_addrs().map_err(|why| fault(why.to_string()))?;
    found.next().ok_or_else(|| fault("no such host".to_owned()))
}

/// Runs a command's asynchronous part on this thread.
fn wait<T>(work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|fault| Fault::new(Exit::Software, fault.to_string()))?.block_on(work)
}

#[cfg(test)]
mod tests {
    use super::{Cli, listen_address};
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

    #[test]
    fn a_port_or_a_name_is_an_address() {
        let shown = |text| listen_address(text).map(|address| address.to_string()).ok();
        assert_eq!(shown("4000").as_deref(), Some("127.0.0.1:4000"));
        assert_eq!(shown("0.0.0.0:4000").as_deref(), Some("0.0.0.0:4000"));
        assert_eq!(shown("[::1]:4000").as_deref(), Some("[::1]:4000"));
        assert!(shown("localhost:4000").is_some_and(|at| at.ends_with(":4000")));
        assert!(shown("localhost").is_none() && shown("99999").is_none() && shown("").is_none());
    }
}
