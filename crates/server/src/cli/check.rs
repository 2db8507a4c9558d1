//! `portage check`: proves that no money was lost, on the folder itself or through its server.

use super::exit::{Exit, Fault};
use super::remote::{Minted, Remote};
use super::{Global, output, wait};
use crate::auth::Scope;
use crate::bootstrap::{SPOT, Service};
use crate::config::Config;
use crate::config::sources::Origin;
use crate::http::admin::conservation::{self, vaults};
use crate::runtime::Fatal;
use crate::{open_store, telemetry};
use client::types::{Break, Proof};
use engine::reconciliation::{AcceptedBreaks, Checker};
use kernel::ports::journal::ServiceStatus;
use kernel::ports::ledger::{LedgerForm, Reply};
use kernel::ports::meter::NoMeter;
use std::sync::Arc;

/// Prove that nothing was lost.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage check --data-dir ./portage-data\n\n\
    Opens the folder when no server holds it, and carries no transfer on; else asks the server at \
    --url, or the one that holds the folder. With a database it asks the server at --url where one \
    is named. Ends with 0 only if everything adds up.")]
pub(super) struct CheckArgs {
    #[command(flatten)]
    remote: Remote,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
}

/// Maximum number of breaks that are printed: a person has to read them.
const SHOWN: usize = 50;

pub(super) fn run(global: &Global, args: &CheckArgs) -> Result<(), Fault> {
    let loaded = global.loaded()?;
    // it is the proof that a person wants to read
    let quiet = *loaded.origin("log.level") == Origin::Default;
    let mut config = loaded.config;
    if quiet {
        "warn".clone_into(&mut config.log.level);
    }
    telemetry::start(&config.log)?;
    let proof = wait(async {
        if args.remote.opens(&config)? {
            match opened(&config).await {
                // another process holds it: the owner's note says who
                Err(fault) if fault.exit == Exit::TempFail => {}
                proof => return proof,
            }
        }
        let client = args.remote.client(global, Minted::Operator, Scope::OpsRead)?;
        Ok(client.conservation_in_full().await?)
    })?;
    told(&proof, args.json)
}

/// What is looked at must be there: a proof makes nothing new, and proves nothing of what it made.
async fn there(config: &Config) -> Result<(), Fault> {
    if config.database.is_set() {
        open_store::there(config).await?;
    }
    let folder = config.data.dir.join(SPOT);
    if config.ledgers.has_own_spot() && !folder.is_dir() {
        let what = format!(
            "{}: no Spot here: name the data folder of the process that owns Spot, set ledgers.spot \
            where it is served, or ask a server at --url",
            folder.display()
        );
        return Err(Fault::new(Exit::NoInput, what));
    }
    Ok(())
}

/// Every ledger outside the journal's database is the one that the journal knows. What it lost of what
/// the journal has answers of is for the proof to list.
async fn known(service: &Service, status: &ServiceStatus) -> Result<(), Fault> {
    let outside = service.ledgers.iter().filter(|ledger| ledger.enlist().is_none());
    for ledger in outside.filter(|ledger| ledger.form() == LedgerForm::Full) {
        let (Some(was), name) = (status.ledger(ledger.id()), ledger.id().name()) else {
            continue;
        };
        let is = match ledger.hello().await {
            Reply::Answered(is, ()) | Reply::OtherLedger(is) => is,
            Reply::NoAnswer(cause) => {
                return Err(Fault::new(Exit::Unavailable, format!("{name} is silent: {cause}")));
            }
        };
        if is.identity != was.identity {
            let what = format!("{name} is another ledger than the one that the journal knows");
            return Err(Fault::new(Exit::Data, what));
        }
    }
    Ok(())
}

/// One round on the folder itself. The engine is not started: nothing is carried on.
async fn opened(config: &Config) -> Result<Proof, Fault> {
    there(config).await?;
    let fatal: Fatal = Arc::new(|what| {
        output::eprint(&what);
        std::process::exit(Exit::Io.code());
    });
    let service = Service::of(config, Arc::new(NoMeter), fatal).await?;
    let failed = |cause| Fault::new(Exit::Io, format!("the proof could not be made: {cause}"));
    let status = service.store.service_status().await.map_err(failed)?;
    known(&service, &status).await?;
    let mut checker = Checker::default();
    checker.know(&status);
    let round = checker.round(&*service.store, &service.ledgers, &service.flows).await;
    let mut report = round.map_err(failed)?;
    let status = service.store.service_status().await.map_err(failed)?;
    report.excuse(&AcceptedBreaks::read(&*service.store, &status).await.map_err(failed)?);
    let unproven = conservation::unproven(service.ledgers.iter().cloned());
    let proof = conservation::proof(&report, unproven, &status.assets, status.halted.as_deref());
    let vaults = vaults::shown(&*service.store, &status.assets).await.map_err(failed)?;
    Ok(Proof { vaults, ..proof })
}

fn told(proof: &Proof, json: bool) -> Result<(), Fault> {
    if json {
        output::print_json(proof)?;
    } else {
        output::print(&proven(proof))?;
    }
    if proof.vaults.iter().any(|vault| !vault.equal) {
        return Err(Fault::new(Exit::Data, "a vault differs from its books"));
    }
    match (&proof.halted, adds_up(proof)) {
        (_, false) if !proof.breaks.is_empty() => {
            Err(Fault::new(Exit::Data, "something does not add up"))
        }
        (_, false) => Err(Fault::new(Exit::Unavailable, "not every ledger could be proven")),
        (Some(reason), true) => Err(Fault::new(Exit::Data, format!("HALT stands: {reason}"))),
        (None, true) => Ok(()),
    }
}

/// The first breaks, and how many more there are.
fn listed(text: &mut String, word: &str, found: &[Break]) {
    for found in found.iter().take(SHOWN) {
        text.push_str(&format!("\n{word} {} ({}): {}", found.key, found.amount, found.what));
    }
    let more = found.len().saturating_sub(SHOWN);
    if more > 0 {
        text.push_str(&format!("\n{word} and {more} more: --json prints up to 1000"));
    }
}

/// Whether the books do, whatever else stops the money: `ok` also says that it may move.
fn adds_up(proof: &Proof) -> bool {
    proof.ok
        || (proof.halted.is_some()
            && proof.breaks.is_empty()
            && unproven_ledgers(proof).count() == 0)
}

/// The ledgers that were not proven in this round.
fn unproven_ledgers(proof: &Proof) -> impl Iterator<Item = (&str, &str)> {
    proof.ledgers.iter().filter_map(|one| Some((&*one.ledger, one.why_not.as_deref()?)))
}

/// The books of each ledger, then the verdict.
pub(super) fn proven(proof: &Proof) -> String {
    let moved = proof.assets.iter().filter(|books| {
        let sums = [&books.users, &books.frozen, &books.clearing, &books.world];
        sums.iter().any(|sum| sum.bytes().any(|byte| matches!(byte, b'1'..=b'9')))
    });
    let row = |books: &client::types::Books| {
        [
            books.asset.clone(),
            books.ledger.clone(),
            books.users.clone(),
            books.frozen.clone(),
            books.clearing.clone(),
            books.world.clone(),
        ]
    };
    let titles = ["asset", "ledger", ">users", ">frozen", ">clearing", ">world"];
    let mut text = output::table(titles, moved.map(row).collect());
    for vault in &proof.vaults {
        let client::types::VaultBooks { chain, flow, asset, balance, difference, .. } = vault;
        let differs = if vault.equal { "equals its books" } else { "DIFFERS from its books" };
        let by = if vault.equal { String::new() } else { format!(" by {difference}") };
        text.push_str(&format!("\nVAULT {chain} {flow}: {balance} {asset} {differs}{by}"));
    }
    listed(&mut text, "BREAK", &proof.breaks);
    listed(&mut text, "ACCEPTED", &proof.accepted);
    if let Some(reason) = &proof.halted {
        text.push_str(&format!("\nHALT: {reason}"));
    }
    for (ledger, why) in unproven_ledgers(proof) {
        text.push_str(&format!("\nNOT PROVEN NOW {ledger}: {why}"));
    }
    for one in &proof.ledgers {
        if let Some(why) = &one.accounts_why_not {
            text.push_str(&format!("\nNOT PROVEN {}: its accounts: {why}", one.ledger));
        }
    }
    for one in &proof.unproven {
        text.push_str(&format!("\nNOT PROVEN {}: its {}", one.ledger, one.what.join(", its ")));
    }
    let sums = |one: &client::types::Unproven| one.what.iter().any(|what| what == "sums");
    let ok = adds_up(proof);
    let verdict = if ok && proof.unproven.iter().any(sums) {
        "\nThe books of all other ledgers add up to zero, and their operations belong to their transfers."
    } else if ok && !proof.accepted.is_empty() {
        "\nBut for what persons accepted, every ledger's books add up to zero."
    } else if ok {
        "\nEvery ledger's books add up to zero, and every operation belongs to its transfer."
    } else if proof.breaks.is_empty() {
        "\nNot every ledger could be proven; the others add up."
    } else {
        "\nThis does not add up."
    };
    text.push_str(verdict);
    text
}
