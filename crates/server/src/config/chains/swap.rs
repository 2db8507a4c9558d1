//! `[swap]`: the vault on Solana, its key and providers, and what a swap costs.

use super::ChainSurroundings;
use crate::config::address::Address;
use crate::config::secret::Secret;
use crate::config::section::{Setting, SettingRules, Shape, section};
use crate::outbound_http;
use flows::swaps::fees::{SwapFees, SwapPrices};
use flows::swaps::times::SwapTimes;
use kernel::ids::Millis;
use kernel::money::{Amount, Asset};
use links::solana::{RpcLimits, is_address};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The cluster on which the vault is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SolanaNetwork {
    /// The cluster with real money.
    Mainnet,
    /// The public cluster for applications' tests.
    Devnet,
    /// The public cluster for validators' tests.
    Testnet,
    /// A chain on this machine, such as `devnet solana`.
    Localnet,
}

impl Setting for SolanaNetwork {
    const KIND: &'static str = "`mainnet`, `devnet`, `testnet` or `localnet`";
    const SHAPE: Shape = Shape::Text;
}

section! {
    /// The flow `swap_in`: deposits of USDC into a vault on Solana. It is offered where `vault_account` is set. This release has no adapter to Nexus: each deposit is given back, at its deadline at the latest.
    Swap {
        /// The token account of the vault, into which deposits are paid. Empty: the flow is not offered. Also `VAULT_USDC_ACCOUNT`.
        vault_account: String = String::new(),
        /// The address of the key that owns the vault's token account, pays the fees and has the lanes. Also `SOL_MAIN_ACCOUNT`.
        vault: String = String::new(),
        /// The mint of USDC. Also `USDC_MINT`.
        mint: String = String::new(),
        /// The cluster, which each provider has to show: `mainnet`, `devnet`, `testnet` or `localnet`.
        solana_network: SolanaNetwork = SolanaNetwork::Devnet,
        /// Providers of Solana's JSON-RPC, with commas between, shown up to the port; two have to agree on whatever closes a payment. Also `SOLANA_RPC_URL`.
        solana_rpc_urls: Vec<Address> = Vec::new(),
        /// The most requests a second at one provider, as its plan allows; twice as many may come at once.
        solana_rpc_per_second: u32 = 50,
        /// The encrypted file of the vault's key (`portage swap encrypt-key`). Without a key this process takes deposits in and sends nothing.
        keystore: PathBuf = PathBuf::new(),
        /// What opens the keystore; better given as a variable than in a file.
        keystore_passphrase: Secret = Secret::default(),
        /// The file whose first line opens the keystore; `/dev/fd/3` takes it from a file descriptor. With neither this nor `keystore_passphrase` it is asked for at the terminal.
        keystore_passphrase_file: PathBuf = PathBuf::new(),
        /// The vault's keypair file in the clear, as Solana's tools write it, instead of a keystore: for a chain on this machine. Also `VAULT_KEYPAIR`.
        keypair_file: PathBuf = PathBuf::new(),
        /// The number of lanes, durable nonce accounts of the vault's key (`portage swap lanes`): each has one payment on its way.
        solana_lanes: u16 = 16,
        /// The priority fee of a payment's first transaction, in micro-lamports for a compute unit.
        solana_priority_fee: u64 = 10_000,
        /// The highest priority fee: each transaction that replaces another one offers twice as much, up to this.
        solana_max_priority_fee: u64 = 1_000_000,
        /// Nothing is signed while the vault's key has fewer lamports.
        solana_fee_floor: u64 = 100_000_000,
        /// The signature of the transaction behind which the watch of the vault begins at the first start. Empty: it begins now, and earlier deposits are taken for the service's own money.
        solana_start: String = String::new(),
        /// How long to wait, in milliseconds, before the providers are asked for new deposits.
        solana_poll_ms: Millis = 2_000,
        /// A watch that has not read for longer, in seconds of the chain's time, is a CRITICAL case.
        watcher_behind_seconds: u64 = 120,
        /// Token accounts whose payments into the vault are the service's own money, and open no swap.
        funding_accounts: Vec<String> = Vec::new(),
        /// The token account to which a person moves what can be neither paid nor given back. Also `USDC_QUARANTINE_ACCOUNT`.
        quarantine_account: String = String::new(),
        /// A payout or a refund to a wallet that has no account of the mint creates one, at the vault's cost (0.00203928 SOL).
        create_token_accounts: bool = false,
        /// Swaps are accepted. Off: each deposit is given back as soon as it is found.
        accept: bool = true,
        /// The largest deposit in USDC that is accepted; a larger one waits until its deadline and is given back. Empty: no limit.
        max_amount: String = String::new(),
        /// The flat fee of a swap in USDD, which is also what a refund costs. Also `FLAT_FEE_USDD`.
        flat_fee_usdd: String = "0.1".to_owned(),
        /// The share of a swap that is a fee, in hundredths of a percent. Also `DYNAMIC_FEE_BPS`.
        fee_bps: u16 = 10,
        /// The smallest deposit in USDC that is swapped or given back; a smaller one is kept as a fee. It is above twice the flat fee. Also `MIN_DEPOSIT_USDC`.
        min_deposit_usdc: String = "0.200001".to_owned(),
        /// How long after its deposit a swap may be accepted, in seconds of the chain's time; then it is given back. Also `REFUND_TIMEOUT_SEC`.
        refund_timeout_seconds: u64 = 3_600,
        /// How long a transaction may take until it is final, in seconds, before a case opens; nothing moves by it. Also `USDC_CONFIRM_TIMEOUT_SEC`.
        confirm_timeout_seconds: u32 = SwapTimes::SOURCE.confirmed,
        /// How long a refund may wait to be made, in seconds, before a case opens; nothing moves by it. Also `STALE_DEPOSIT_QUARANTINE_SEC`.
        stale_refund_seconds: u32 = SwapTimes::SOURCE.refunded,
        /// The most refusals of a refund; after them a person decides. Also `MAX_ACTION_ATTEMPTS`.
        max_refund_rejections: u32 = 3,
        /// How long a payment rests after an attempt of it ended without it, in seconds. Also `ACTION_RETRY_COOLDOWN_SEC`.
        retry_cooldown_seconds: u64 = 300,
    }
}

/// The number of decimals of USDC and USDD.
pub(crate) const DECIMALS: u8 = 6;
/// The symbol of the asset that is deposited.
pub(crate) const USDC: &str = "USDC";
/// The symbol of the asset that is paid out.
pub(crate) const USDD: &str = "USDD";

impl Swap {
    /// True where the flow is offered.
    pub const fn is_set(&self) -> bool {
        !self.vault_account.is_empty()
    }

    /// True where this process has the vault's key, so that it can send.
    pub fn has_keys(&self) -> bool {
        !self.keystore.as_os_str().is_empty() || !self.keypair_file.as_os_str().is_empty()
    }

    /// The providers as metrics name them: host and port.
    pub fn provider_labels(&self) -> impl Iterator<Item = String> {
        self.solana_rpc_urls.iter().filter_map(Address::host_and_port)
    }

    /// What a swap of USDC costs. `None`: a price is no amount, or the prices do not fit together.
    pub fn fees(&self) -> Option<SwapFees> {
        let flat = units(&self.flat_fee_usdd)?;
        let minimum = units(&self.min_deposit_usdc)?;
        SwapFees::new(SwapPrices { flat, basis_points: self.fee_bps, refund: flat, minimum }).ok()
    }

    /// How long is normal for a swap.
    pub fn times(&self) -> SwapTimes {
        let accepted = u32::try_from(self.refund_timeout_seconds).unwrap_or(u32::MAX);
        let (confirmed, refunded) = (self.confirm_timeout_seconds, self.stale_refund_seconds);
        SwapTimes { confirmed, accepted, refunded, ..SwapTimes::SOURCE }
    }

    /// The largest deposit that is accepted, in base units; `None`: any.
    pub fn most(&self) -> Option<Amount> {
        units(&self.max_amount)
    }

    pub(in crate::config) fn rules(&self, rules: &mut SettingRules, around: ChainSurroundings) {
        if !self.is_set() {
            self.unset_rules(rules);
            return;
        }
        self.address_rules(rules);
        self.price_rules(rules);
        self.provider_rules(rules, around.lease_ms);
        self.key_rules(rules, around);
        let positive = "at least 1";
        for (key, number) in [
            ("swap.solana_poll_ms", self.solana_poll_ms),
            ("swap.watcher_behind_seconds", self.watcher_behind_seconds),
            ("swap.refund_timeout_seconds", self.refund_timeout_seconds),
            ("swap.max_refund_rejections", self.max_refund_rejections.into()),
            ("swap.confirm_timeout_seconds", self.confirm_timeout_seconds.into()),
            ("swap.stale_refund_seconds", self.stale_refund_seconds.into()),
        ] {
            rules.need(key, number > 0, positive);
        }
    }

    /// Nothing of a swap that is not offered is set: what is ignored would seem to be in force.
    fn unset_rules(&self, rules: &mut SettingRules) {
        let rule = "empty where swap.vault_account is: the flow is not offered";
        for (key, empty) in [
            ("swap.vault", self.vault.is_empty()),
            ("swap.mint", self.mint.is_empty()),
            ("swap.solana_rpc_urls", self.solana_rpc_urls.is_empty()),
            ("swap.keystore", self.keystore.as_os_str().is_empty()),
            ("swap.keystore_passphrase", self.keystore_passphrase.is_empty()),
            ("swap.keystore_passphrase_file", self.keystore_passphrase_file.as_os_str().is_empty()),
            ("swap.keypair_file", self.keypair_file.as_os_str().is_empty()),
            ("swap.solana_start", self.solana_start.is_empty()),
            ("swap.funding_accounts", self.funding_accounts.is_empty()),
            ("swap.quarantine_account", self.quarantine_account.is_empty()),
            ("swap.max_amount", self.max_amount.is_empty()),
        ] {
            rules.need(key, empty, rule);
        }
    }

    fn address_rules(&self, rules: &mut SettingRules) {
        let address = "an address on Solana: 32 bytes in base58";
        for (key, text) in [
            ("swap.vault_account", &self.vault_account),
            ("swap.vault", &self.vault),
            ("swap.mint", &self.mint),
        ] {
            rules.need(key, is_address(text), address);
        }
        let apart = self.vault != self.vault_account && self.mint != self.vault_account;
        rules.need("swap.vault_account", apart, "neither swap.vault nor swap.mint");
        let quarantine = &self.quarantine_account;
        let fit = quarantine.is_empty() || is_address(quarantine);
        rules.need("swap.quarantine_account", fit, address);
        let apart = *quarantine != self.vault_account;
        rules.need("swap.quarantine_account", apart, "another account than swap.vault_account");
        let own = |account: &String| is_address(account) && *account != self.vault_account;
        let fit = self.funding_accounts.iter().all(own);
        rules.need("swap.funding_accounts", fit, "token accounts, none of them the vault's");
    }

    fn price_rules(&self, rules: &mut SettingRules) {
        let amount = "an amount in digits with up to six decimals, as a text: \"0.1\"";
        for (key, text) in [
            ("swap.flat_fee_usdd", &self.flat_fee_usdd),
            ("swap.min_deposit_usdc", &self.min_deposit_usdc),
        ] {
            rules.need(key, units(text).is_some(), amount);
        }
        let capped = self.max_amount.is_empty() || self.most().is_some_and(|most| most.0 > 0);
        rules.need("swap.max_amount", capped, amount);
        rules.need("swap.fee_bps", self.fee_bps < 10_000, "below 10000");
        let prices = [&self.flat_fee_usdd, &self.min_deposit_usdc].map(|text| units(text));
        let priced = prices.contains(&None) || self.fee_bps >= 10_000 || self.fees().is_some();
        rules.need("swap.min_deposit_usdc", priced, "above twice swap.flat_fee_usdd");
    }

    fn provider_rules(&self, rules: &mut SettingRules, lease_ms: Millis) {
        let urls = &self.solana_rpc_urls;
        let fit = urls.iter().all(|url| outbound_http::address(url).is_ok());
        let rule = "addresses that begin with https:// (http:// for a loopback address)";
        rules.need("swap.solana_rpc_urls", fit && !urls.is_empty(), rule);
        let distinct: BTreeSet<&Address> = urls.iter().collect();
        let once = "each provider once: two of the same agree on anything";
        rules.need("swap.solana_rpc_urls", distinct.len() == urls.len(), once);
        rules.need("swap.solana_rpc_per_second", self.solana_rpc_per_second > 0, "at least 1");
        let longest = RpcLimits::default().longest_wait_ms();
        let rule = format!(
            "above {longest} ms with a chain: a transaction that waits longer for its provider's connection may not be \
             sent any more"
        );
        rules.need("engine.lease_seconds", longest < lease_ms, &rule);
    }

    fn key_rules(&self, rules: &mut SettingRules, around: ChainSurroundings) {
        let no_keystore = self.keystore.as_os_str().is_empty();
        let no_keypair = self.keypair_file.as_os_str().is_empty();
        rules.need(
            "swap.keypair_file",
            no_keystore || no_keypair,
            "empty where swap.keystore is set",
        );
        rules.need(
            "swap.keystore_passphrase",
            self.keystore_passphrase.is_empty() || !no_keystore,
            "empty where swap.keystore is",
        );
        let no_file = self.keystore_passphrase_file.as_os_str().is_empty();
        rules.need(
            "swap.keystore_passphrase_file",
            no_file || !no_keystore && self.keystore_passphrase.is_empty(),
            "empty where swap.keystore is, or where swap.keystore_passphrase is set",
        );
        rules.need(
            "swap.keystore",
            self.has_keys() || !around.shared || !around.workers,
            "set, or engine.workers off: a worker without the key would hold swaps back from those with it",
        );
        let lanes = (1..=64).contains(&self.solana_lanes);
        rules.need("swap.solana_lanes", lanes, "from 1 to 64");
        let fees = 0 < self.solana_priority_fee
            && self.solana_priority_fee <= self.solana_max_priority_fee;
        let rule = "above zero, and not above swap.solana_max_priority_fee";
        rules.need("swap.solana_priority_fee", fees, rule);
    }
}

/// Base units of a text of an amount, which may be zero. `None`: it is no amount.
fn units(text: &str) -> Option<Amount> {
    let zero = !text.is_empty() && text.bytes().all(|byte| byte == b'0');
    if zero { Some(Amount::ZERO) } else { Asset::plain(0, USDC, DECIMALS).amount(text).ok() }
}

#[cfg(test)]
mod tests {
    use super::Swap;
    use crate::config::chains::ChainSurroundings;
    use crate::config::section::SettingRules;

    /// The keys of a swap that break a rule.
    fn broken(change: impl FnOnce(&mut Swap)) -> Vec<String> {
        let mut swap = Swap {
            vault_account: "7VbmmXo2LkfKQcuMnDA8HdbYBEdWkkDe2yqeCfeqMnNK".to_owned(),
            vault: "So11111111111111111111111111111111111111112".to_owned(),
            mint: "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v".to_owned(),
            solana_rpc_urls: vec!["http://127.0.0.1:8899".into()],
            ..Swap::default()
        };
        change(&mut swap);
        let mut rules = SettingRules::default();
        let around = ChainSurroundings { shared: true, workers: false, lease_ms: 60_000 };
        swap.rules(&mut rules, around);
        rules.broken().into_iter().map(|broken| broken.key).collect()
    }

    /// Turns red where half a swap starts, and where a price that is none is taken for zero.
    #[test]
    fn half_a_swap_is_refused() {
        assert_eq!(broken(|_| ()), [""; 0]);
        assert_eq!(broken(|s| *s = Swap::default()), [""; 0], "it is not offered");
        assert_eq!(
            broken(|s| s.vault_account.clear()),
            ["swap.vault", "swap.mint", "swap.solana_rpc_urls"]
        );
        assert_eq!(broken(|s| s.vault.clear()), ["swap.vault"]);
        assert_eq!(broken(|s| s.mint = s.vault_account.clone()), ["swap.vault_account"]);
        assert_eq!(
            broken(|s| s.quarantine_account = "0x1".to_owned()),
            ["swap.quarantine_account"]
        );
        assert_eq!(
            broken(|s| s.funding_accounts = vec![s.vault_account.clone()]),
            ["swap.funding_accounts"]
        );
        assert_eq!(broken(|s| s.solana_rpc_urls.clear()), ["swap.solana_rpc_urls"]);
        for price in ["", "-1", "1e3", "0.0000001", "0,1"] {
            assert_eq!(
                broken(|s| s.flat_fee_usdd = price.to_owned()),
                ["swap.flat_fee_usdd"],
                "{price}"
            );
        }
        assert_eq!(broken(|s| s.flat_fee_usdd = "0".to_owned()), [""; 0]);
        assert_eq!(broken(|s| s.min_deposit_usdc = "0.2".to_owned()), ["swap.min_deposit_usdc"]);
        assert_eq!(broken(|s| s.max_amount = "0".to_owned()), ["swap.max_amount"]);
    }

    #[test]
    fn the_vault_s_key_is_in_one_place() {
        let both = broken(|s| (s.keystore, s.keypair_file) = ("keys".into(), "id.json".into()));
        assert_eq!(both, ["swap.keypair_file"]);
        let passphrase = broken(|s| s.keystore_passphrase_file = "pass".into());
        assert_eq!(passphrase, ["swap.keystore_passphrase_file"]);
        assert_eq!(broken(|s| s.keystore = "keys".into()), [""; 0]);
    }
}
