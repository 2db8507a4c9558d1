//! `cargo xtask attack`: one command against a running server, or one of its own.
#![expect(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a command-line tool speaks to its terminal"
)]

use attack::own_server::{OwnServer, SECRET};
use attack::report::{Part, Report};
use attack::target::{Request, Target};
use attack::tokens::{Role, Tokens};
use attack::{Outcome, forged, frames, owners, roles, schema, sizes, slow_connections};
use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;

/// Attack a running server from outside; whatever it should not do is a finding.
#[derive(Debug, Parser)]
#[command(
    name = "attack",
    bin_name = "cargo xtask attack",
    version = None,
    after_help = "Example:\n  cargo xtask attack --url http://127.0.0.1:8080 --token-file tokens.json"
)]
struct Cli {
    /// A server for trials: it gets a transfer of 1 USDT. None: one of our own.
    #[arg(long, requires = "token_file")]
    url: Option<String>,
    /// `{"user": "<token>", "other": …, "read": …, "act": …, "approve": …, "any": …}`: roles that are
    /// not there are left out.
    #[arg(long, value_name = "FILE", requires = "url")]
    token_file: Option<PathBuf>,
    /// The binary of a server of our own; `cargo xtask attack` builds and names it.
    #[arg(long, value_name = "FILE", default_value = "target/debug/portage")]
    server: PathBuf,
    /// Also what schemathesis draws from the server's description: minutes, and good requests too.
    #[arg(long)]
    schema: bool,
    /// Where schemathesis is installed, and leaves its reports.
    #[arg(long, value_name = "DIR", default_value = "target")]
    below: PathBuf,
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("\nattack: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Outcome {
    let (Some(url), Some(file)) = (&cli.url, &cli.token_file) else {
        let mut own = OwnServer::start(&cli.server)?;
        let report = attacked(&own.target, &Tokens::minted(SECRET), cli)?;
        if !own.lives() {
            return Err("the server ended".to_owned());
        }
        return report.end();
    };
    let text = std::fs::read_to_string(file).map_err(|why| format!("{}: {why}", file.display()))?;
    attacked(&Target::of(url)?, &Tokens::read(&text)?, cli)?.end()
}

/// All parts, one after the other.
fn attacked(target: &Target, tokens: &Tokens, cli: &Cli) -> Outcome<Report> {
    println!("attacking http://{}", target.address);
    for (role, name, ..) in Role::ALL {
        if role != Role::NoToken && tokens.of(role).is_none() {
            println!("left out: the role `{name}`, of which there is no token");
        }
    }
    let mut report = Report::default();
    let user = tokens.of(Role::User).unwrap_or_default();
    let id = owners::prepare(target, tokens, cli.url.is_none())?;
    report.add("every operation as every role", &roles::run(target, tokens, &id)?);
    report.add("other users' transfers and money", &owners::run(target, tokens, &id)?);
    report.add("requests with two readings", &frames::run(target, &user)?);
    report.add("forged and misplaced tokens", &forged::run(target, tokens)?);
    report.add("too much of everything", &sizes::run(target, &user)?);
    report.add("many slow connections", &slow_connections::run(target, &user)?);
    if cli.schema {
        report.add("schemathesis", &drawn(target, tokens, cli));
    }
    let reply = target.ask(&Request::get("/livez"))?;
    let mut part = Part::default();
    part.must(reply.status == 200, || format!("/livez at the end: {}", reply.short()));
    report.add("it lives", &part);
    Ok(report)
}

/// What is missing for it is a finding of its own: the other parts stand.
fn drawn(target: &Target, tokens: &Tokens, cli: &Cli) -> Part {
    let below = std::path::absolute(&cli.below).unwrap_or_else(|_| cli.below.clone());
    let program = schema::installed(&below);
    let run = program.and_then(|program| schema::run(&program, &below, target, tokens));
    run.unwrap_or_else(|why| Part { findings: vec![why], ..Part::default() })
}
