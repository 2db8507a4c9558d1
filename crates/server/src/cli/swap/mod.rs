//! `portage swap …`: shows the vault's chain and its deposits, prepares lanes, encrypts the vault's key, and lets
//! operators decide about money that is held or left the vault.

mod accept;
mod deposits;
mod encrypt_key;
mod lanes;
mod release;
mod status;

use self::accept::AcceptArgs;
use self::deposits::DepositsArgs;
use self::encrypt_key::EncryptKeyArgs;
use self::lanes::LanesArgs;
use self::release::ReleaseArgs;
use self::status::SwapStatusArgs;
use super::exit::{Exit, Fault};
use super::{Global, wait};
use crate::config::Config;
use crate::telemetry;

/// The swaps: the vault on Solana, its deposits and its lanes.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Example:\n  portage swap status")]
pub(super) enum SwapCommand {
    /// The lanes with their open payments, the providers, and what keeps the chain from being sent to.
    Status(SwapStatusArgs),
    /// What deposits the chain shows, and what would become of each; nothing is stored or sent.
    Deposits(DepositsArgs),
    /// The lanes as the chain has them, and the way to create and close them.
    Lanes(LanesArgs),
    /// Propose one more refund of a swap whose money is held.
    Release(ReleaseArgs),
    /// Propose that a payment from the vault which no attempt made is taken from the inventory.
    Accept(AcceptArgs),
    /// Encrypt the vault's key, which comes in a keypair file.
    EncryptKey(EncryptKeyArgs),
}

pub(super) fn run(global: &Global, command: &SwapCommand) -> Result<(), Fault> {
    match command {
        SwapCommand::Status(args) => wait(status::run(global, args)),
        SwapCommand::Deposits(args) => deposits::run(global, args),
        SwapCommand::Lanes(args) => lanes::run(global, args),
        SwapCommand::Release(args) => wait(release::run(global, args)),
        SwapCommand::Accept(args) => wait(accept::run(global, args)),
        SwapCommand::EncryptKey(args) => encrypt_key::run(args),
    }
}

/// The settings, for a command that asks the chain itself.
///
/// # Errors
/// 78: they cannot be used, or they name no vault.
fn settings(global: &Global) -> Result<Config, Fault> {
    let config = global.loaded()?.config;
    telemetry::start(&config.log)?;
    if config.swap.is_set() {
        return Ok(config);
    }
    Err(Fault::new(Exit::Config, "swap.vault_account is not set: there is no vault to ask about"))
}
