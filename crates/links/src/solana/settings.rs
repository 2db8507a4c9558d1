//! Defines the settings of the adapter: the vault that pays, its lanes and fees, and the providers.

use crate::base58::from_base58;
use crate::rpc::{ExpectedNetwork, RpcLimits};
use kernel::ids::{AssetId, ChainId, Millis};
use std::sync::Arc;

/// The most lanes: the accounts of all of them are read by one request, which names 100 at most.
pub(super) const MOST_LANES: usize = 64;

/// The cluster that is meant: its first block's hash tells it from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SolanaNetwork {
    /// The cluster with real money.
    Mainnet,
    /// The public cluster for applications' tests.
    Devnet,
    /// The public cluster for validators' tests.
    Testnet,
    /// A chain on this machine or in this company: none of the public ones.
    Localnet,
}

impl SolanaNetwork {
    /// The public clusters, with the hash of the first block of each.
    const PUBLIC: [(Self, &str); 3] = [
        (Self::Mainnet, "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"),
        (Self::Devnet, "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG"),
        (Self::Testnet, "4uhcVJyU9pJkvQyS88uRDiswHScSCkY3XQyJypZMwGNY"),
    ];

    /// The word of the settings for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mainnet => "mainnet",
            Self::Devnet => "devnet",
            Self::Testnet => "testnet",
            Self::Localnet => "localnet",
        }
    }

    /// The cluster of a first block.
    pub(super) fn of(genesis: &str) -> Self {
        let known = Self::PUBLIC.iter().find(|(_, hash)| *hash == genesis);
        known.map_or(Self::Localnet, |(network, _)| *network)
    }

    /// The cluster that providers have to show.
    pub(super) fn expected(self) -> ExpectedNetwork {
        let fits: fn(&str) -> bool = match self {
            Self::Mainnet => |name| name == Self::Mainnet.name(),
            Self::Devnet => |name| name == Self::Devnet.name(),
            Self::Testnet => |name| name == Self::Testnet.name(),
            Self::Localnet => |name| name == Self::Localnet.name(),
        };
        ExpectedNetwork { setting: "swap.solana_network", name: self.name(), fits }
    }
}

/// The settings of one chain; [`SolanaSettings::new`] has the defaults.
#[derive(Debug, Clone)]
pub struct SolanaSettings {
    /// The number of the chain among the systems.
    pub chain: ChainId,
    /// The cluster that the providers have to show.
    pub network: SolanaNetwork,
    /// The address of the vault's key, which owns the vault's token account and its lanes, and pays the fees.
    pub vault: Arc<str>,
    /// The vault's token account.
    pub vault_account: Arc<str>,
    /// The token account that a quarantine pays, where there is one.
    pub quarantine_account: Option<Arc<str>>,
    /// The mint of the token.
    pub mint: Arc<str>,
    /// The asset that stands for it in transfers.
    pub asset: AssetId,
    /// The decimals of the mint and of that asset.
    pub decimals: u8,
    /// The addresses of the providers; one that has a key in it is not logged.
    pub rpc_urls: Vec<String>,
    /// The number of providers that agree on whatever closes an attempt. With one, no attempt is declared dead or
    /// refused.
    pub providers_needed: usize,
    /// The limits of each provider.
    pub limits: RpcLimits,
    /// The number of lanes: durable nonce accounts, each of which carries one payment at a time.
    pub lanes: usize,
    /// The priority fee of a first form, in micro-lamports for a compute unit.
    pub priority_fee: u64,
    /// The highest priority fee: each form under a lock has twice that of the one before, up to this.
    pub most_priority_fee: u64,
    /// The number of slots after which a payment that is not final gets another form with a higher fee.
    pub replace_after_slots: u64,
    /// Whether a payment to a wallet without an account of the token creates that. It costs the vault's key 2 039 280
    /// lamports each time, which are the wallet's then.
    pub create_token_accounts: bool,
    /// Nothing is signed while the vault's key has less, in lamports.
    pub fee_floor: u64,
    /// How long nothing is signed after a payment failed for a reason of ours, in milliseconds.
    pub rest_ms: Millis,
}

/// Who holds the money, and in which token.
#[derive(Debug, Clone)]
pub struct SolanaVault {
    /// The address of the key.
    pub key: Arc<str>,
    /// The token account that the key owns.
    pub account: Arc<str>,
    /// The mint of the token.
    pub mint: Arc<str>,
    /// The asset that stands for it in transfers.
    pub asset: AssetId,
}

impl SolanaSettings {
    /// Settings with the defaults of a cluster like mainnet, for a token of six decimals such as USDC.
    pub fn new(chain: ChainId, vault: SolanaVault, urls: Vec<String>) -> Self {
        let SolanaVault { key, account, mint, asset } = vault;
        Self {
            chain,
            network: SolanaNetwork::Mainnet,
            vault: key,
            vault_account: account,
            quarantine_account: None,
            mint,
            asset,
            decimals: 6,
            rpc_urls: urls,
            providers_needed: 2,
            limits: RpcLimits::default(),
            lanes: 16,
            priority_fee: 10_000,
            most_priority_fee: 1_000_000,
            // about half a minute: twice the time after which a block is final
            replace_after_slots: 75,
            create_token_accounts: false,
            // a thousand payments at the highest of these fees
            fee_floor: 100_000_000,
            rest_ms: 30_000,
        }
    }

    /// The rule that these settings break, as a sentence.
    pub(super) fn unfit(&self) -> Option<String> {
        let own = [&self.vault, &self.vault_account, &self.mint];
        let named = own.into_iter().chain(&self.quarantine_account);
        let wrong = named.filter(|text| from_base58(text).is_none());
        if let Some(wrong) = wrong.into_iter().next() {
            return Some(format!("`{wrong}` is no address"));
        }
        if self.vault == self.vault_account || self.mint == self.vault_account {
            return Some("the vault's token account is neither its key nor the mint".to_owned());
        }
        if self.quarantine_account.as_ref() == Some(&self.vault_account) {
            return Some("the quarantine account is not the vault's".to_owned());
        }
        if self.providers_needed == 0 || self.providers_needed > self.rpc_urls.len() {
            let (needed, urls) = (self.providers_needed, self.rpc_urls.len());
            return Some(format!("{needed} providers must agree, and {urls} are named"));
        }
        if self.lanes == 0 || self.lanes > MOST_LANES {
            return Some(format!("there are 1 to {MOST_LANES} lanes"));
        }
        if self.priority_fee == 0 || self.priority_fee > self.most_priority_fee {
            return Some("the priority fee is above zero and not above its cap".to_owned());
        }
        let RpcLimits { timeout_ms, connect_timeout_ms, per_second, burst } = self.limits;
        if [timeout_ms, connect_timeout_ms, per_second, burst, self.replace_after_slots]
            .contains(&0)
        {
            return Some("timeouts, rates and the slots of a form are above zero".to_owned());
        }
        None
    }
}
