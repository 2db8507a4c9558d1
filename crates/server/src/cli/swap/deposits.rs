//! `portage swap deposits --dry-run`: reads the vault's deposits from the chain, and says what would become of each.

use super::settings;
use crate::cli::exit::{Exit, Fault};
use crate::cli::ops::rows;
use crate::cli::{Global, output, wait};
use crate::config::Swap;
use crate::config::chains::swap::DECIMALS;
use crate::swap;
use kernel::answer::Cause;
use kernel::money::Amount;
use kernel::ports::deposits::{DepositSource, VaultMovement};
use kernel::record::{Account, Terms};
use serde_json::{Value, json};

/// The most movements that are asked for at once.
const PAGE: usize = 100;

/// What the chain shows of the vault, read with the settings of this machine; nothing is stored or sent, and no key is
/// needed.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  portage swap deposits --dry-run --since 5ggXDxZHB4iqQHFT6UtvSmFYTDk2eVyPFN3X8rLTRnXX"
)]
pub(in crate::cli) struct DepositsArgs {
    /// Read, and change nothing: what a server does with deposits is seen with `portage ops find --flow swap_in`.
    #[arg(long, required = true)]
    dry_run: bool,
    /// The signature of the transaction behind which it begins; without it `swap.solana_start`.
    #[arg(long, value_name = "SIGNATURE")]
    since: Option<String>,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(global: &Global, args: &DepositsArgs) -> Result<(), Fault> {
    let mut config = settings(global)?;
    if let Some(since) = &args.since {
        config.swap.solana_start.clone_from(since);
    }
    if config.swap.solana_start.is_empty() {
        let what =
            "--since: give the signature of a transaction of the vault, or set swap.solana_start";
        return Err(Fault::new(Exit::Usage, what));
    }
    let movements = wait(read(&config.swap))?;
    let list: Value = movements.iter().map(|one| row(&config.swap, one)).collect();
    if args.json {
        return output::print_json(&list);
    }
    output::print(&rows(&list, ["deposit", "from", ">amount", "receiver", "becomes"]))
}

/// Every movement behind the start, oldest first.
async fn read(settings: &Swap) -> Result<Vec<VaultMovement>, Fault> {
    let deposits = swap::watched(settings).await?;
    let no_answer = |cause: Cause| Fault::new(Exit::Unavailable, format!("the providers: {cause}"));
    let mut place = deposits.movements(None, PAGE).await.map_err(no_answer)?.place;
    let mut all = Vec::new();
    loop {
        let page = deposits.movements(Some(&place), PAGE).await.map_err(no_answer)?;
        all.extend(page.movements);
        place = page.place;
        if !page.more {
            return Ok(all);
        }
    }
}

fn row(settings: &Swap, movement: &VaultMovement) -> Value {
    let decimal = |amount: &Amount| amount.decimal(DECIMALS);
    match movement {
        VaultMovement::Deposited(terms) | VaultMovement::Offered(terms) => json!({
            "deposit": terms.origin.as_ref().map(|origin| origin.key.to_string()),
            "from": name(&terms.source.account),
            "amount": decimal(&terms.source.amount),
            "receiver": name(&terms.target.account),
            "becomes": becomes(settings, terms),
        }),
        VaultMovement::Funded(amount) | VaultMovement::TakenIn(amount) => json!({
            "amount": decimal(amount), "becomes": "the service's own money",
        }),
        VaultMovement::Left { amount, facts, .. } => json!({
            "amount": format!("-{}", decimal(amount)), "becomes": facts.to_string(),
        }),
    }
}

fn name(account: &Account) -> Option<String> {
    match account {
        Account::Named(name) => Some(name.to_string()),
        Account::Unnamed | Account::User(_) => None,
    }
}

/// What a deposit becomes by its terms, where nothing hinders it.
fn becomes(settings: &Swap, terms: &Terms) -> String {
    let back = || {
        let rest = terms.source.amount.minus(terms.refund_fee).unwrap_or(Amount::ZERO);
        rest.decimal(DECIMALS)
    };
    if terms.target.amount == Amount::ZERO {
        return "kept as a fee: below swap.min_deposit_usdc".to_owned();
    }
    if terms.source.account == Account::Unnamed {
        return "held: who paid is not known".to_owned();
    }
    if terms.target.account == Account::Unnamed {
        return format!("{} given back: no memo names a receiver", back());
    }
    if !settings.accept {
        return format!("{} given back: swap.accept is off", back());
    }
    format!(
        "{} USDD, or {} given back after {} s",
        terms.target.amount.decimal(DECIMALS),
        back(),
        settings.refund_timeout_seconds
    )
}
