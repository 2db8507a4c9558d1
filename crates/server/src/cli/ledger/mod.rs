//! `portage ledger`: holds a ledger of others to the contract.

mod rules;

use super::exit::{Exit, Fault};
use super::remote::token_of;
use super::{output, wait};
use crate::runtime::SystemClock;
use kernel::ids::{AssetId, LedgerId};
use kernel::operation::Known;
use kernel::ports::clock::Clock;
use kernel::ports::ledger::{Ledger, Reply};
use ledgers::remote::{AssetCodes, Remote, Settings, Token};
use rules::{Finding, RuleRun};
use std::path::PathBuf;
use std::sync::Arc;

/// The assets that the rules move, as numbers of theirs.
const ASSETS: [AssetId; 3] = [AssetId(1), AssetId(2), AssetId(3)];
/// How long a request and a connection may take, in milliseconds.
const TIMEOUTS: [u64; 2] = [5_000, 1_000];

/// Look at a ledger of others.
#[derive(Debug, clap::Subcommand)]
#[command(
    after_help = "Example:\n  portage ledger check http://127.0.0.1:3200 --token-file ledger.token"
)]
pub(super) enum LedgerCommand {
    /// Hold a ledger to the contract: does it keep every rule that money depends on?
    Check(LedgerCheckArgs),
}

/// Hold a ledger in the full form to the contract, rule by rule.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    portage ledger check http://127.0.0.1:3200 --token-file ledger.token --assets USDT,BTC,ETH\n  \
    portage ledger check http://127.0.0.1:3200 --restart ./kill-and-start.sh\n\n\
    Run it against an instance for tests, with a database that is thrown away after it: it books money to users\n\
    of its own, and leaves operations, fences, a horizon and a HALT behind. It needs no server of Portage and\n\
    reads no settings. No other caller may use the ledger meanwhile. It ends with 0 where every rule holds, with\n\
    65 where one is broken, and with 69 where the ledger does not answer.")]
pub(super) struct LedgerCheckArgs {
    /// Where its routes begin: http://… or https://…
    url: String,
    /// The token that callers of the ledger show.
    #[arg(long, env = "PORTAGE_LEDGER_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// A file with the token, which no list of processes shows; `-` reads it from the standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "token")]
    token_file: Option<PathBuf>,
    /// Three assets that it holds, with commas between; without it the first three that it names in `GET /hello`.
    #[arg(long, value_name = "SYMBOLS", value_delimiter = ',')]
    assets: Vec<String>,
    /// A command that kills the ledger with -9 and starts it again. With it the ledger must remember over that.
    #[arg(long, value_name = "COMMAND")]
    restart: Option<String>,
    /// Run the rules whose names contain this text.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Go on although the ledger has operations already.
    #[arg(long)]
    used: bool,
    /// Print a list of objects with each rule, whether it holds, and what was found.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(command: &LedgerCommand) -> Result<(), Fault> {
    let LedgerCommand::Check(args) = command;
    let findings = wait(check(args))?;
    let broken = findings.iter().filter(|finding| finding.fault.is_some()).count();
    if findings.is_empty() {
        return Err(Fault::new(Exit::Usage, "--only: no rule has a name like that"));
    }
    if args.json {
        output::print_json(&findings)?;
    } else {
        output::print(&format!("{} rules, {broken} broken", findings.len()))?;
    }
    if broken == 0 {
        return Ok(());
    }
    Err(Fault::new(Exit::Data, "the ledger breaks the contract: docs/guide/own-ledger.md"))
}

async fn check(args: &LedgerCheckArgs) -> Result<Vec<Finding>, Fault> {
    let token = match (&args.token, &args.token_file) {
        (_, Some(file)) => token_of(file)?,
        (Some(token), None) => token.clone(),
        (None, None) => String::new(),
    };
    let codes = AssetCodes::default();
    let ledger = remote(&args.url, &token, codes.clone())?;
    let known = greeted(&args.url, &ledger).await?;
    if known.highest > 0 && !args.used {
        let (highest, sentence) = (known.highest, "run this against an instance for tests");
        let sentence = format!("the ledger has {highest} operations: {sentence}, or say --used");
        return Err(Fault::new(Exit::Usage, sentence));
    }
    let mut assets = args.assets.clone();
    if assets.is_empty() {
        assets = ledger.named_assets().unwrap_or_default();
        assets.truncate(ASSETS.len());
    }
    if assets.len() != ASSETS.len() {
        let sentence = format!("--assets: name three that the ledger holds, not {}", assets.len());
        return Err(Fault::new(Exit::Usage, sentence));
    }
    codes.set(ASSETS.into_iter().zip(assets));
    let (url, only, json) = (args.url.clone(), args.only.clone(), args.json);
    let began = SystemClock::default().now();
    let run = RuleRun { url, ledger: Arc::new(ledger), codes, began, only, json };
    let mut findings: Vec<Finding> = run.tokens(known).await?.into_iter().collect();
    findings.extend(run.contract().await?);
    if let Some(command) = &args.restart {
        findings.extend(run.restart(command).await?);
    }
    Ok(findings)
}

/// A client of the ledger at this address, which names assets so.
fn remote(url: &str, token: &str, codes: AssetCodes) -> Result<Remote, Fault> {
    let [timeout_ms, connect_timeout_ms] = TIMEOUTS;
    let settings = Settings {
        url: url.to_owned(),
        token: Token(token.to_owned()),
        timeout_ms,
        connect_timeout_ms,
        max_in_flight: 64,
        batch: 1_000,
    };
    let ledger = Remote::new(LedgerId::FUTURE, &settings, codes);
    ledger.map_err(|unfit| Fault::new(Exit::Usage, unfit.to_string()))
}

/// What the ledger says of itself.
async fn greeted(url: &str, ledger: &Remote) -> Result<Known, Fault> {
    match ledger.hello().await {
        Reply::Answered(known, ()) | Reply::OtherLedger(known) => Ok(known),
        Reply::NoAnswer(cause) => {
            let sentence =
                format!("{url}: GET /hello is not answered as the contract says: {cause}");
            Err(Fault::new(Exit::Unavailable, sentence))
        }
    }
}
