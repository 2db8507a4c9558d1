//! Defines the settings of the adapter: the account that pays, the tokens, the providers and their
//! limits.

use crate::rpc::RpcLimits;
use flows::relay::is_account_id;
use kernel::ids::{AssetId, ChainId, Millis};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A TGas in gas.
pub(super) const TERA: u64 = 1_000_000_000_000;
/// The protocol's own limit of actions of one transaction.
const MOST_ACTIONS: usize = 100;

/// No call gets more, in TGas, unless a contract asked for it by failing.
pub(super) const USUAL_TGAS: u64 = 10;

/// One fungible token that the relay's account pays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearToken {
    /// The account of its NEP-141 contract.
    pub contract: Arc<str>,
    /// The asset that stands for it in transfers.
    pub asset: AssetId,
    /// The decimals of that asset: those of the contract, where it says how many it has (NEP-148).
    pub decimals: u8,
    /// The least gas that one call gets, in TGas; see [`NearToken::LEAST_TGAS`].
    pub least_tgas: u64,
    /// The contract writes NEP-297 events: those of a final transaction are compared with its members, and
    /// a difference proves nothing.
    pub events: bool,
}

impl NearToken {
    /// The least gas of a call, in TGas, that is enough for a contract of the standards crate: its payment
    /// and its registration, with the nodes of a large state. `cargo xtask campaign gas` holds it to what
    /// NEAR's own virtual machine burns.
    pub const LEAST_TGAS: u64 = 3;
}

/// The gas of each of `calls` calls in one transaction, which attaches `prepaid_tgas` at most, to a token
/// whose calls need `least_tgas`.
pub fn gas_of_each(prepaid_tgas: u64, least_tgas: u64, calls: usize) -> u64 {
    let calls = u64::try_from(calls).unwrap_or(u64::MAX);
    let share = prepaid_tgas.saturating_mul(TERA).checked_div(calls).unwrap_or(TERA);
    let usual = if least_tgas > USUAL_TGAS { least_tgas } else { USUAL_TGAS };
    let usual = usual.saturating_mul(TERA);
    if share < usual { share } else { usual }
}

/// The network that is meant: what the name of a provider's chain is held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NearNetwork {
    /// NEAR's own network: real money.
    Mainnet,
    /// NEAR's public network for tests.
    Testnet,
    /// A chain on this machine or in this company, whatever its name is: none of the public ones.
    Localnet,
}

impl NearNetwork {
    /// The names of the public networks; money on the first is real.
    const PUBLIC: [&str; 4] = ["mainnet", "testnet", "betanet", "statelessnet"];

    /// The word of the settings for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mainnet => "mainnet",
            Self::Testnet => "testnet",
            Self::Localnet => "localnet",
        }
    }

    /// The test of a chain's name, for the pool of providers.
    pub(super) fn test(self) -> fn(&str) -> bool {
        match self {
            Self::Mainnet => |chain_id| Self::Mainnet.fits(chain_id),
            Self::Testnet => |chain_id| Self::Testnet.fits(chain_id),
            Self::Localnet => |chain_id| Self::Localnet.fits(chain_id),
        }
    }

    /// Whether a chain of this name (`chain_id`) may be the one that is meant.
    pub fn fits(self, chain_id: &str) -> bool {
        match self {
            Self::Mainnet | Self::Testnet => chain_id == self.name(),
            Self::Localnet => !chain_id.is_empty() && !Self::PUBLIC.contains(&chain_id),
        }
    }
}

/// The settings of one chain; [`NearSettings::new`] has the defaults.
#[derive(Debug, Clone)]
pub struct NearSettings {
    /// The number of the chain among the systems.
    pub chain: ChainId,
    /// The network that the providers have to show.
    pub network: NearNetwork,
    /// The relay's account, which every key signs for.
    pub account: Arc<str>,
    /// The tokens that it pays.
    pub tokens: Vec<NearToken>,
    /// The addresses of the providers; one that has a key in it is not logged.
    pub rpc_urls: Vec<String>,
    /// The number of providers that agree on whatever closes an attempt. With one, no attempt is declared dead or
    /// refused, and none that expired is signed again.
    pub providers_needed: usize,
    /// The number of blocks after its base block in which a transaction may be included, unless the chain says that
    /// they are fewer (`transaction_validity_period`).
    pub validity_blocks: u64,
    /// The limits of each provider.
    pub limits: RpcLimits,
    /// The most members of one transaction; the protocol has 100 actions.
    pub batch: usize,
    /// The most gas that one transaction attaches, in TGas: 300 passes with every protocol version.
    pub prepaid_tgas: u64,
    /// The highest deposit, in yoctoNEAR, that a contract may ask for a registration.
    pub most_storage_deposit: u128,
    /// Nothing is signed while the relay's account has less, in yoctoNEAR.
    pub near_floor: u128,
    /// How long a receiver that was registered is taken for registered, in milliseconds.
    pub registered_for_ms: Millis,
    /// How long the last final block is used as the base of new transactions, in milliseconds.
    pub base_block_ms: Millis,
    /// How long a token rests after all its transfers failed for a reason of its own, in milliseconds.
    pub token_rest_ms: Millis,
}

impl NearSettings {
    /// Settings with the defaults of a network like mainnet.
    pub fn new(chain: ChainId, account: &str, tokens: Vec<NearToken>, urls: Vec<String>) -> Self {
        Self {
            chain,
            network: NearNetwork::Mainnet,
            account: account.into(),
            tokens,
            rpc_urls: urls,
            providers_needed: 2,
            validity_blocks: 86_400,
            limits: RpcLimits::default(),
            batch: MOST_ACTIONS,
            prepaid_tgas: 300,
            most_storage_deposit: 12_500_000_000_000_000_000_000,
            near_floor: 500_000_000_000_000_000_000_000,
            registered_for_ms: 600_000,
            base_block_ms: 2_000,
            token_rest_ms: 30_000,
        }
    }

    /// The rule that these settings break, as a sentence.
    pub(super) fn unfit(&self) -> Option<String> {
        let distinct = |names: Vec<String>| {
            let count = names.len();
            names.into_iter().collect::<BTreeSet<String>>().len() == count
        };
        let contracts = self.tokens.iter().map(|token| token.contract.to_string()).collect();
        let assets = self.tokens.iter().map(|token| token.asset.to_string()).collect();
        let ids = self.tokens.iter().map(|token| &token.contract).chain([&self.account]);
        let wrong =
            ids.filter(|id| !is_account_id(id)).map(|id| format!("`{id}` is no account id"));
        if let Some(wrong) = wrong.into_iter().next() {
            return Some(wrong);
        }
        if self.tokens.is_empty() {
            return Some("the relay has no token".to_owned());
        }
        if !distinct(contracts) || !distinct(assets) {
            return Some("each token has one contract and one asset".to_owned());
        }
        if self.tokens.iter().any(|token| token.contract == self.account) {
            return Some("a token's contract is not the relay's account".to_owned());
        }
        if self.providers_needed == 0 || self.providers_needed > self.rpc_urls.len() {
            let (needed, urls) = (self.providers_needed, self.rpc_urls.len());
            return Some(format!("{needed} providers must agree, and {urls} are named"));
        }
        if self.batch == 0 || self.batch > MOST_ACTIONS {
            return Some(format!("a transaction has 1 to {MOST_ACTIONS} members"));
        }
        let gas = self.tokens.iter().find(|token| token.least_tgas == 0);
        if gas.is_some() || self.tokens.iter().any(|token| token.least_tgas > self.prepaid_tgas) {
            return Some("a call has some gas, and not more than its transaction".to_owned());
        }
        let RpcLimits { timeout_ms, connect_timeout_ms, per_second, burst } = self.limits;
        if [timeout_ms, connect_timeout_ms, per_second, burst, self.validity_blocks].contains(&0) {
            return Some("timeouts, rates and the validity are above zero".to_owned());
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::NearNetwork::{Localnet, Mainnet, Testnet};

    /// Turns red where a public network passes for a local one, and where a name is compared by halves.
    #[test]
    fn a_chain_has_the_name_of_the_network_that_is_meant() {
        for (network, fitting, others) in [
            (Mainnet, &["mainnet"][..], &["testnet", "Mainnet", "mainnet2", "", "localnet"][..]),
            (Testnet, &["testnet"], &["mainnet", "testnet ", "betanet"]),
            (Localnet, &["localnet", "test-chain-x", "sandbox"], &["mainnet", "testnet", ""]),
        ] {
            assert!(fitting.iter().all(|name| network.fits(name)), "{network:?}");
            assert!(!others.iter().any(|name| network.fits(name)), "{network:?}");
        }
    }
}
