//! `[relay]`: the relay's account and token on NEAR, its keys, providers and limits.

use super::ChainSurroundings;
use crate::config::address::Address;
use crate::config::secret::Secret;
use crate::config::section::{Setting, SettingRules, Shape, section};
use crate::outbound_http;
use ::engine::OwnerLimits;
use flows::relay::is_account_id;
use kernel::money::Amount;
use links::near::RpcLimits;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The network whose tokens are moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NearNetwork {
    /// NEAR's own network: real money.
    Mainnet,
    /// NEAR's public network for tests.
    Testnet,
    /// A chain on this machine, such as `devnet near`.
    Localnet,
}

impl Setting for NearNetwork {
    const KIND: &'static str = "`mainnet`, `testnet` or `localnet`";
    const SHAPE: Shape = Shape::Text;
}

section! {
    /// The flow `relay`: tokens from our account on NEAR to any other. It is offered where `account_id` is set.
    Relay {
        /// Our account on NEAR, whose tokens are sent. Empty: the flow is not offered. Also `RELAY_ACCOUNT_ID`.
        account_id: String = String::new(),
        /// The contract of the token that is sent (NEP-141). Also `FT_TOKEN_ADDRESS`.
        token_contract: String = String::new(),
        /// The symbol under which that token is known here (`portage ops assets`), with the contract's decimals. Empty: the symbol that the contract shows at the first start (NEP-148), for good.
        asset: String = String::new(),
        /// The network, which each provider has to show: `mainnet`, `testnet` or `localnet`. Also `NEAR_NETWORK`.
        network: NearNetwork = NearNetwork::Testnet,
        /// The token's contract writes NEP-297 events: those of a final transaction are compared with its payments, and a difference stops the chain. Off only for a contract that writes none.
        token_events: bool = true,
        /// Providers of the chain's JSON-RPC, with commas between, shown up to the port; where two disagree, neither is believed. Also `NEAR_RPC_URL`.
        rpc_urls: Vec<Address> = Vec::new(),
        /// The most requests a second at one provider, as its plan allows; twice as many may come at once.
        rpc_per_second: u32 = 50,
        /// The encrypted file of the account's keys. Without keys this process takes transfers in and sends none.
        keystore: PathBuf = PathBuf::new(),
        /// What opens the keystore; better given as a variable than in a file.
        keystore_passphrase: Secret = Secret::default(),
        /// The file whose first line opens the keystore; `/dev/fd/3` takes it from a file descriptor. With neither this nor `keystore_passphrase` it is asked for at the terminal.
        keystore_passphrase_file: PathBuf = PathBuf::new(),
        /// Keys in the clear, a JSON array or with commas between, instead of a keystore: for a chain on this machine. Also `RELAY_ACCESS_KEYS`.
        access_keys: Secret = Secret::default(),
        /// Clients' keys are one name space of all callers, for a deployment of one caller under several names. Off: each caller has its own.
        shared_keys: bool = false,
        /// The only accounts that may be paid; empty: every account.
        receivers: Vec<String> = Vec::new(),
        /// The most base units of one transfer; empty: the asset's own most.
        max_amount: String = String::new(),
        /// The most transfers of one caller on one day in UTC; 0: no limit.
        transfers_per_day: u64 = 0,
        /// The most base units of one caller on one day in UTC; empty: no limit but the asset's own.
        daily_amount: String = String::new(),
        /// The most yoctoNEAR that registrations of receivers may cost on one day in UTC, over all callers; beyond it transfers to new receivers wait.
        registration_budget: String = "150000000000000000000000000".to_owned(),
        /// The most of it that the transfers of one caller may use; empty: half of it. 75 NEAR register 60 000 receivers at 0.00125 NEAR.
        registration_budget_per_caller: String = String::new(),
        /// For how long a transfer waits for its registration beyond the budget before it is FAILED, unsent; 0: not at all.
        registration_wait_seconds: u64 = 86_400,
        /// The most yoctoNEAR that a contract may ask for one registration; above it none is made, and a case opens.
        max_registration_deposit: String = "12500000000000000000000".to_owned(),
    }
}

impl Relay {
    /// True where the flow is offered.
    pub const fn is_set(&self) -> bool {
        !self.account_id.is_empty()
    }

    /// True where this process has keys, so that it can send.
    pub fn has_keys(&self) -> bool {
        !self.keystore.as_os_str().is_empty() || !self.access_keys.is_empty()
    }

    /// The providers as metrics name them: host and port.
    pub fn provider_labels(&self) -> impl Iterator<Item = String> {
        self.rpc_urls.iter().filter_map(Address::host_and_port)
    }

    /// True where a caller may pay any amount to any account: the settings bound neither.
    pub fn is_unbounded(&self) -> bool {
        let bounded = !self.receivers.is_empty() || !self.daily_amount.is_empty();
        self.is_set() && self.has_keys() && !bounded
    }

    /// What registrations may cost on one day, in yoctoNEAR.
    pub fn registration_budget(&self) -> u128 {
        plain(&self.registration_budget).unwrap_or(0)
    }

    /// What registrations for one caller may cost on one day, in yoctoNEAR.
    pub fn registration_budget_per_caller(&self) -> u128 {
        let half = || self.registration_budget().checked_div(2).unwrap_or(0);
        plain(&self.registration_budget_per_caller).unwrap_or_else(half)
    }

    /// What one registration may cost, in yoctoNEAR.
    pub fn max_registration_deposit(&self) -> u128 {
        plain(&self.max_registration_deposit).unwrap_or(0)
    }

    /// What one caller may move.
    pub fn limits(&self) -> OwnerLimits {
        OwnerLimits {
            amount_per_transfer: units(&self.max_amount),
            transfers_per_day: self.transfers_per_day,
            amount_per_day: units(&self.daily_amount),
        }
    }

    pub(in crate::config) fn rules(&self, rules: &mut SettingRules, around: ChainSurroundings) {
        if !self.is_set() {
            self.unset_rules(rules);
            return;
        }
        let account = "the name of an account on NEAR";
        rules.need("relay.account_id", is_account_id(&self.account_id), account);
        rules.need(
            "relay.token_contract",
            is_account_id(&self.token_contract) && self.token_contract != self.account_id,
            "set, beside relay.account_id: the name of the token's account on NEAR, which is not relay.account_id",
        );
        let named = self.receivers.iter().all(|receiver| is_account_id(receiver));
        rules.need("relay.receivers", named, "names of accounts on NEAR");
        let number = "a whole number of base units, in digits, as a text";
        for (key, text) in
            [("relay.max_amount", &self.max_amount), ("relay.daily_amount", &self.daily_amount)]
        {
            let fit = text.is_empty() || plain(text).is_some_and(|n| n > 0);
            rules.need(key, fit, number);
        }
        let share = &self.registration_budget_per_caller;
        let fit = share.is_empty() || plain(share).is_some();
        rules.need("relay.registration_budget_per_caller", fit, number);
        for (key, text) in [
            ("relay.registration_budget", &self.registration_budget),
            ("relay.max_registration_deposit", &self.max_registration_deposit),
        ] {
            rules.need(key, plain(text).is_some(), number);
        }
        self.provider_rules(rules);
        let longest = RpcLimits::default().longest_wait_ms();
        rules.need(
            "engine.lease_seconds",
            longest < around.lease_ms,
            &format!(
                "above {longest} ms with a relay: a transaction that waits longer for its provider's connection may \
                 not be sent any more"
            ),
        );
        rules.need(
            "relay.access_keys",
            self.keystore.as_os_str().is_empty() || self.access_keys.is_empty(),
            "empty where relay.keystore is set",
        );
        rules.need(
            "relay.keystore",
            self.has_keys() || !around.shared || !around.workers,
            "set, or engine.workers off: a worker without keys would hold transfers back from those with keys",
        );
    }

    /// Nothing of a relay that is not offered is set: what is ignored would seem to be in force.
    fn unset_rules(&self, rules: &mut SettingRules) {
        let rule = "empty where relay.account_id is: the flow is not offered";
        for (key, empty) in [
            ("relay.token_contract", self.token_contract.is_empty()),
            ("relay.asset", self.asset.is_empty()),
            ("relay.rpc_urls", self.rpc_urls.is_empty()),
            ("relay.keystore", self.keystore.as_os_str().is_empty()),
            ("relay.keystore_passphrase", self.keystore_passphrase.is_empty()),
            (
                "relay.keystore_passphrase_file",
                self.keystore_passphrase_file.as_os_str().is_empty(),
            ),
            ("relay.access_keys", self.access_keys.is_empty()),
            ("relay.receivers", self.receivers.is_empty()),
            ("relay.max_amount", self.max_amount.is_empty()),
            ("relay.daily_amount", self.daily_amount.is_empty()),
        ] {
            rules.need(key, empty, rule);
        }
        rules.need("relay.shared_keys", !self.shared_keys, rule);
        rules.need("relay.transfers_per_day", self.transfers_per_day == 0, rule);
    }

    fn provider_rules(&self, rules: &mut SettingRules) {
        let fit = self.rpc_urls.iter().all(|url| outbound_http::address(url).is_ok());
        rules.need(
            "relay.rpc_urls",
            fit,
            "addresses that begin with https:// (http:// for a loopback address)",
        );
        let distinct: BTreeSet<&Address> = self.rpc_urls.iter().collect();
        rules.need(
            "relay.rpc_urls",
            distinct.len() == self.rpc_urls.len(),
            "each provider once: two of the same agree on anything",
        );
        rules.need(
            "relay.rpc_urls",
            !self.has_keys() || !self.rpc_urls.is_empty(),
            "set, where keys are",
        );
        rules.need("relay.rpc_per_second", self.rpc_per_second > 0, "at least 1");
        rules.need(
            "relay.keystore_passphrase",
            self.keystore_passphrase.is_empty() || !self.keystore.as_os_str().is_empty(),
            "empty where relay.keystore is",
        );
        let no_file = self.keystore_passphrase_file.as_os_str().is_empty();
        rules.need(
            "relay.keystore_passphrase_file",
            no_file || !self.keystore.as_os_str().is_empty() && self.keystore_passphrase.is_empty(),
            "empty where relay.keystore is, or where relay.keystore_passphrase is set",
        );
    }
}

/// A whole number in digits and nothing else.
fn plain(text: &str) -> Option<u128> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

/// Base units of a setting; none where it is empty. One that is none was refused before.
fn units(text: &str) -> Option<Amount> {
    plain(text).map(Amount)
}

#[cfg(test)]
mod tests {
    use super::Relay;
    use crate::config::chains::ChainSurroundings;
    use crate::config::section::SettingRules;
    use crate::config::{Address, Secret};
    use kernel::ids::Millis;

    /// The keys of a relay that break a rule.
    fn broken(change: impl FnOnce(&mut Relay)) -> Vec<String> {
        broken_with(60_000, change)
    }

    fn broken_with(lease_ms: Millis, change: impl FnOnce(&mut Relay)) -> Vec<String> {
        let mut relay = Relay {
            account_id: "relay.near".to_owned(),
            token_contract: "usdc.near".to_owned(),
            asset: "USDC".to_owned(),
            ..Relay::default()
        };
        change(&mut relay);
        let mut rules = SettingRules::default();
        relay.rules(&mut rules, ChainSurroundings { shared: true, workers: false, lease_ms });
        rules.broken().into_iter().map(|broken| broken.key).collect()
    }

    /// Turns red where half a relay starts, and where a limit that is no number is taken for none.
    #[test]
    fn half_a_relay_is_refused() {
        assert_eq!(broken(|_| ()), [""; 0]);
        assert_eq!(broken(|r| r.account_id = "Relay".to_owned()), ["relay.account_id"]);
        assert_eq!(broken(|r| r.token_contract.clear()), ["relay.token_contract"]);
        assert_eq!(
            broken(|r| r.token_contract.clone_from(&r.account_id)),
            ["relay.token_contract"]
        );
        assert_eq!(broken(|r| r.asset.clear()), [""; 0], "its contract shows it");
        assert_eq!(broken(|r| r.receivers = vec!["a..b".to_owned()]), ["relay.receivers"]);
        for amount in ["0", "1.5", "-1", "+1", "1e9", "340282366920938463463374607431768211456"] {
            assert_eq!(
                broken(|r| r.max_amount = amount.to_owned()),
                ["relay.max_amount"],
                "{amount}"
            );
        }
        assert_eq!(broken(|r| r.registration_budget.clear()), ["relay.registration_budget"]);
        assert_eq!(broken(|r| r.registration_budget = "0".to_owned()), [""; 0]);
        let alone = broken(|r| (r.account_id, r.daily_amount) = (String::new(), "5".to_owned()));
        assert_eq!(alone, ["relay.token_contract", "relay.asset", "relay.daily_amount"]);
    }

    /// Turns red where a lease may be over before a connection to a provider stands.
    #[test]
    fn a_lease_is_longer_than_the_wait_for_a_connection() {
        assert_eq!(broken_with(4_500, |_| ()), ["engine.lease_seconds"]);
        assert_eq!(broken_with(5_000, |_| ()), [""; 0]);
        assert_eq!(broken_with(3_000, |r| *r = Relay::default()), [""; 0], "it is not offered");
    }

    #[test]
    fn keys_and_providers_go_together() {
        let keys = || Secret::new("ed25519:x".to_owned());
        assert_eq!(broken(|r| r.access_keys = keys()), ["relay.rpc_urls"]);
        let with = |urls: &[&str]| {
            let urls = urls.iter().map(|url| Address::from(*url)).collect();
            broken(move |r| (r.access_keys, r.rpc_urls) = (keys(), urls))
        };
        assert_eq!(with(&["https://a.example", "http://127.0.0.1:3030"]), [""; 0]);
        assert_eq!(with(&["http://a.example"]), ["relay.rpc_urls"]);
        assert_eq!(with(&["https://a.example", "https://a.example"]), ["relay.rpc_urls"]);
        let both = broken(|r| {
            r.rpc_urls = vec!["https://a.example".into()];
            (r.access_keys, r.keystore) = (keys(), "keys".into());
        });
        assert_eq!(both, ["relay.access_keys"]);
    }
}
