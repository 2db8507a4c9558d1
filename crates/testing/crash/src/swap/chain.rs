//! The local Solana of the swap campaign: its vault, its customers and what is final of it.

use crate::Outcome;
use crate::chain::local_chain::LocalChain;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;

/// From block to block, in milliseconds.
const BLOCK_MS: &str = "150";
/// The number of blocks until one is final: fewer than on the network, so that many payments end.
const FINALITY: &str = "8";
/// Wallets with USDC of their own, numbered from 0.
pub(super) const CUSTOMERS: u64 = 6;
/// The last line that the chain says when it is ready.
const READY: &str = "PORTAGE_SWAP__SOLANA_LANES=";
/// The setting with the vault's token account.
const VAULT: &str = "VAULT_USDC_ACCOUNT";

/// What one final transaction did to the vault.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Movement {
    pub signature: String,
    before: String,
    after: String,
    error: Option<Value>,
    pub memos: Vec<String>,
}

impl Movement {
    /// By how much the vault's balance changed, in base units.
    pub(super) fn change(&self) -> Outcome<i64> {
        let number = |text: &str| text.parse::<i64>().map_err(|error| format!("{text}: {error}"));
        Ok(number(&self.after)?.saturating_sub(number(&self.before)?))
    }

    fn moved(&self) -> bool {
        self.error.is_none() && self.before != self.after
    }
}

/// The chain while it runs.
#[derive(Debug)]
pub(super) struct SolanaChain {
    pub(super) process: LocalChain,
    vault: String,
}

impl SolanaChain {
    pub(super) fn start(program: &Path, below: &Path) -> Outcome<Self> {
        std::fs::create_dir_all(below).map_err(|fault| format!("{}: {fault}", below.display()))?;
        let (customers, folder) = (CUSTOMERS.to_string(), below.display().to_string());
        let words = ["solana", "--block-millis", BLOCK_MS, "--finality", FINALITY];
        let words = [&words[..], &["--customers", &customers, "--dir", &folder]].concat();
        let process = LocalChain::start(program, &words, READY)?;
        let vault = setting(&process, VAULT).ok_or("the chain says no vault")?;
        Ok(Self { process, vault })
    }

    /// The environment that points a server at it.
    pub(super) fn settings(&self) -> Outcome<Vec<(&'static str, String)>> {
        let names = [
            "SOLANA_RPC_URL",
            "USDC_MINT",
            "SOL_MAIN_ACCOUNT",
            VAULT,
            "USDC_QUARANTINE_ACCOUNT",
            "VAULT_KEYPAIR",
            "PORTAGE_SWAP__SOLANA_NETWORK",
            "PORTAGE_SWAP__SOLANA_LANES",
        ];
        let named = |name: &'static str| {
            let value = setting(&self.process, name);
            Ok((name, value.ok_or_else(|| format!("the chain says no {name}"))?))
        };
        names.into_iter().map(named).collect()
    }

    /// A customer pays into the vault; the signature of the payment.
    pub(super) fn deposit(&self, customer: u64, amount: u64, memo: &str) -> Outcome<String> {
        let body = json!({
            "customer": customer, "to": self.vault, "amount": amount, "memo": memo,
        });
        let made = self.process.control(0, "POST", "/devnet/deposit", &body)?;
        let signature = made.get("signature").and_then(Value::as_str);
        signature.map(str::to_owned).ok_or_else(|| format!("no signature: {made}"))
    }

    /// Every final transaction that moved the vault's money, in their order.
    pub(super) fn movements(&self) -> Outcome<Vec<Movement>> {
        let path = format!("/devnet/events?account={}", self.vault);
        let shown = self.process.control(0, "GET", &path, &Value::Null)?;
        let mut all: Vec<Movement> =
            serde_json::from_value(shown).map_err(|error| format!("{path}: {error}"))?;
        all.retain(Movement::moved);
        Ok(all)
    }
}

fn setting(process: &LocalChain, name: &str) -> Option<String> {
    let mut said = process.said.iter().filter_map(|line| line.split_once('='));
    said.find(|(found, _)| *found == name).map(|(_, value)| value.to_owned())
}
