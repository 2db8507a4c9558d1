//! The chain of the demo: an account with keys, a token, receivers of which every second one is new to it.

use super::DemoRequest;
use crate::Outcome;
use crate::near::{Blocks, Devnet, EventKind, Fault, Options, Rule, TokenOptions, Wallet};
use near_primitives::types::AccountId;
use std::collections::BTreeMap;
use std::time::Duration;

pub(super) const TOKEN: &str = "usdc.devnet";
pub(super) const RELAY: &str = "relay.devnet";
/// Two of them agree on whatever closes an attempt.
const ENDPOINTS: usize = 2;
/// So many blocks later a transaction may enter one.
const LATE: u64 = 12;
/// Enough for every transfer, in base units.
const SUPPLY: u128 = 1_000_000_000_000_000;

/// A transfer of the demo: no two have the same amount, so that the chain's events say which one was paid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DemoTransfer {
    pub key: String,
    pub receiver: String,
    pub amount: u128,
}

pub(super) struct DemoChain {
    pub relay: AccountId,
    devnet: Devnet,
    token: AccountId,
    keys: Vec<Wallet>,
    first_nonces: Vec<u64>,
    receivers: usize,
}

impl DemoChain {
    pub(super) fn start(request: &DemoRequest) -> Outcome<Self> {
        let devnet = Devnet::start(Options {
            blocks: Blocks::Every(Duration::from_millis(request.block_millis)),
            endpoints: ENDPOINTS,
            seed: crate::near::clock::nanoseconds(),
            ..Options::default()
        })?;
        let token = devnet.deploy_token(TOKEN, &TokenOptions::default())?;
        let wallet = devnet.create_account(RELAY, 10_000)?;
        let mut keys = vec![wallet.clone()];
        keys.extend(devnet.add_keys(&wallet, request.keys.saturating_sub(1))?);
        devnet.mint(&token, &[(wallet.account.clone(), SUPPLY)])?;
        let mut known = Vec::new();
        for n in 0..request.receivers {
            let receiver = devnet.create_account(&receiver(n), 1)?.account;
            known.extend((n % 2 == 0).then_some(receiver));
        }
        devnet.register(&token, &known)?;
        let relay = wallet.account;
        let (receivers, first_nonces) = (request.receivers, Vec::new());
        let mut chain = Self { relay, devnet, token, keys, first_nonces, receivers };
        chain.first_nonces = chain.nonces();
        Ok(chain)
    }

    /// The transfer of that number.
    pub(super) fn transfer(&self, n: usize) -> DemoTransfer {
        let to = n.checked_rem(self.receivers).unwrap_or_default();
        let amount = u128::try_from(n).unwrap_or_default().saturating_add(1);
        DemoTransfer { key: format!("demo-{n}"), receiver: receiver(to), amount }
    }

    /// What points the product at the chain.
    pub(super) fn settings(&self) -> [(&'static str, String); 6] {
        let keys: Vec<String> = self.keys.iter().map(|wallet| wallet.key.to_string()).collect();
        [
            ("RELAY_ACCOUNT_ID", RELAY.to_owned()),
            ("FT_TOKEN_ADDRESS", TOKEN.to_owned()),
            ("PORTAGE_RELAY__ASSET", "USDC".to_owned()),
            ("NEAR_NETWORK", "localnet".to_owned()),
            ("NEAR_RPC_URL", self.devnet.urls().join(",")),
            ("RELAY_ACCESS_KEYS", keys.join(",")),
        ]
    }

    /// From now on both providers fail for a while; what each does, in words.
    pub(super) fn fail(&self) -> Vec<String> {
        let sends = |fault, times| Rule::times(fault, times).on(&["send_tx"]);
        let rules = [
            (
                0,
                sends(Fault::DropReply, 3),
                "provider 1 drops its replies to 3 transactions that it accepts",
            ),
            (1, sends(Fault::DropReply, 3), "provider 2 does the same"),
            (
                0,
                sends(Fault::Late { blocks: LATE }, 2),
                "2 more enter a block 12 blocks later at provider 1",
            ),
            (1, sends(Fault::Late { blocks: LATE }, 2), "and 2 at provider 2"),
            (
                1,
                Rule::times(Fault::Unknown, 5),
                "provider 2 does not find transactions that exist, 5 times",
            ),
        ];
        let mut lines = Vec::new();
        for (at, rule, line) in rules {
            if let Some(endpoint) = self.devnet.endpoint(at) {
                endpoint.add(rule);
                lines.push(line.to_owned());
            }
        }
        lines
    }

    /// Requests that the providers had together.
    pub(super) fn requests(&self) -> u64 {
        let endpoints = (0..ENDPOINTS).filter_map(|at| self.devnet.endpoint(at));
        endpoints.map(|endpoint| endpoint.requests().values().sum::<u64>()).sum()
    }

    /// Transactions of the relay's keys that the chain has executed: each spends one nonce.
    pub(super) fn transactions(&self) -> u64 {
        let pairs = self.nonces().into_iter().zip(&self.first_nonces);
        pairs.map(|(now, first)| now.saturating_sub(*first)).sum()
    }

    fn nonces(&self) -> Vec<u64> {
        let nonce =
            |wallet: &Wallet| self.devnet.nonce(&wallet.account, &wallet.public_key()).unwrap_or(0);
        self.keys.iter().map(nonce).collect()
    }

    /// How often the chain paid each (receiver, amount), and under which memos, by its own final events.
    pub(super) fn payments(&self) -> Payments {
        let mut payments = Payments::default();
        for event in self.devnet.events(&self.token) {
            if event.kind == EventKind::Transfer {
                let receiver = event.to.map(|to| to.to_string()).unwrap_or_default();
                let times = payments.paid.entry((receiver, event.amount)).or_default();
                *times = times.saturating_add(1);
                *payments.memos.entry(event.memo.unwrap_or_default()).or_default() += 1;
            }
        }
        payments
    }

    /// What the relay paid, by the token's own balance of it.
    pub(super) fn debit(&self) -> Outcome<u128> {
        Ok(SUPPLY.saturating_sub(self.devnet.balance(&self.token, &self.relay)?))
    }
}

/// What the chain did.
#[derive(Debug, Default)]
pub(super) struct Payments {
    pub paid: BTreeMap<(String, u128), usize>,
    pub memos: BTreeMap<String, usize>,
}

fn receiver(n: usize) -> String {
    format!("r{n}.devnet")
}
