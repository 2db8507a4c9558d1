//! The local NEAR of the relay campaign: its account, its token and what is final of it.

use crate::Outcome;
use crate::chain::local_chain::LocalChain;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;

/// The relay's account and its token, as the chain makes them.
const ACCOUNT: &str = "relay.devnet";
const TOKEN: &str = "usdc.devnet";
/// From block to block, in milliseconds.
const BLOCK_MS: &str = "150";
/// For how many blocks a transaction may be included: less than what a kill and a start take now and then, so
/// that some expire.
const VALID_BLOCKS: &str = "60";
/// Access keys of the relay's account, numbered from 0.
pub(super) const KEYS: u64 = 4;
/// Accounts to pay to, of which every second one is registered with the token.
pub(super) const RECEIVERS: u64 = 8;
/// The setting with the keys, which is the last that the chain says.
const READY: &str = "access_keys = \"";

/// A payment that is final on the chain, whatever its endpoints say.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Payment {
    event: String,
    pub to: Option<String>,
    pub amount: String,
    pub memo: Option<String>,
}

/// The chain while it runs.
#[derive(Debug)]
pub(super) struct NearChain {
    pub(super) process: LocalChain,
    keys: Vec<String>,
}

impl NearChain {
    pub(super) fn start(program: &Path) -> Outcome<Self> {
        let (keys, receivers) = (KEYS.to_string(), RECEIVERS.to_string());
        let words =
            ["near", "--block-millis", BLOCK_MS, "--keys", &keys, "--receivers", &receivers];
        let words = [&words[..], &["--validity-period", VALID_BLOCKS]].concat();
        let process = LocalChain::start(program, &words, READY)?;
        let keys = process.said.last().and_then(|line| line.strip_prefix(READY));
        let keys = keys.and_then(|rest| rest.strip_suffix('"')).ok_or("the chain says no keys")?;
        let keys = keys.split(',').map(str::to_owned).collect();
        Ok(Self { process, keys })
    }

    /// What points the relay of a server at it. The two have different keys, as while keys are rotated: each lacks one
    /// of the other's.
    pub(super) fn settings(&self, server: usize) -> Vec<(&'static str, String)> {
        let lacks = if server == 0 { KEYS - 1 } else { 0 };
        let own = (0..).zip(&self.keys).filter(|(number, _)| *number != lacks);
        let keys: Vec<&str> = own.map(|(_, key)| key.as_str()).collect();
        let settings = [
            ("RELAY_ACCOUNT_ID", ACCOUNT.to_owned()),
            ("FT_TOKEN_ADDRESS", TOKEN.to_owned()),
            ("PORTAGE_RELAY__ASSET", "USDC".to_owned()),
            ("NEAR_NETWORK", "localnet".to_owned()),
            ("NEAR_RPC_URL", self.process.urls()),
            ("RELAY_ACCESS_KEYS", keys.join(",")),
        ];
        settings.to_vec()
    }

    /// Another program uses a key of the relay's account.
    pub(super) fn wallet_signs(&self, key: u64) -> Outcome {
        let body = json!({ "account": ACCOUNT, "key": key });
        self.process.control(0, "POST", "/devnet/wallet", &body).map(drop)
    }

    /// Every payment of the token that is final.
    pub(super) fn payments(&self) -> Outcome<Vec<Payment>> {
        let path = format!("/devnet/events?contract={TOKEN}");
        let shown = self.process.control(0, "GET", &path, &Value::Null)?;
        let mut all: Vec<Payment> =
            serde_json::from_value(shown).map_err(|error| format!("{path}: {error}"))?;
        all.retain(|one| one.event == "ft_transfer");
        Ok(all)
    }
}
