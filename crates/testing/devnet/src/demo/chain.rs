//! The chain of the demo: an account with keys, a token, receivers of which every second one is new to it.

use super::DemoRequest;
use crate::Outcome;
use crate::near::serve::{self, Request, SUPPLY, Served};
use crate::near::{EventKind, Fault, Lie, Options, Rule, Wallet};
use near_primitives::types::AccountId;
use std::collections::BTreeMap;

/// Two of them agree on whatever closes an attempt.
const ENDPOINTS: usize = 2;
/// How many blocks later a transaction may enter the chain.
const LATE: u64 = 12;

/// A transfer of the demo: no two have the same amount, so that the chain's events say which one was paid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DemoTransfer {
    pub key: String,
    pub receiver: String,
    pub amount: u128,
}

pub(super) struct DemoChain {
    served: Served,
    first_nonces: Vec<u64>,
}

impl DemoChain {
    pub(super) fn start(request: &DemoRequest) -> Outcome<Self> {
        let served = serve::start(&Request {
            port: None,
            endpoints: ENDPOINTS,
            keys: request.keys,
            receivers: request.receivers,
            block_millis: request.block_millis,
            native: false,
            validity_period: Options::default().validity_period,
            seed: None,
        })?;
        let mut chain = Self { served, first_nonces: Vec::new() };
        chain.first_nonces = chain.nonces();
        Ok(chain)
    }

    /// The account that pays.
    pub(super) fn relay(&self) -> &AccountId {
        &self.served.relay.account
    }

    /// The transfer of that number.
    pub(super) fn transfer(&self, n: usize) -> DemoTransfer {
        let to = self.served.receivers.iter().cycle().nth(n).map(ToString::to_string);
        let amount = u128::try_from(n).unwrap_or_default().saturating_add(1);
        DemoTransfer { key: format!("demo-{n}"), receiver: to.unwrap_or_default(), amount }
    }

    /// What points the product at the chain.
    pub(super) fn settings(&self) -> Vec<(&'static str, String)> {
        let Served { devnet, token, keys, .. } = &self.served;
        serve::environment(devnet, token, keys)
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
                Rule::times(Lie::Unknown, 5),
                "provider 2 does not find transactions that exist, 5 times",
            ),
        ];
        let mut lines = Vec::new();
        for (at, rule, line) in rules {
            if let Some(endpoint) = self.served.devnet.endpoint(at) {
                endpoint.add(rule);
                lines.push(line.to_owned());
            }
        }
        lines
    }

    /// Requests that the providers had together.
    pub(super) fn requests(&self) -> u64 {
        self.served.devnet.requests().values().sum()
    }

    /// Transactions of the relay's keys that the chain has executed: each spends one nonce.
    pub(super) fn transactions(&self) -> u64 {
        let pairs = self.nonces().into_iter().zip(&self.first_nonces);
        pairs.map(|(now, first)| now.saturating_sub(*first)).sum()
    }

    fn nonces(&self) -> Vec<u64> {
        let devnet = &self.served.devnet;
        let nonce =
            |wallet: &Wallet| devnet.nonce(&wallet.account, &wallet.public_key()).unwrap_or(0);
        self.served.keys.iter().map(nonce).collect()
    }

    /// How often the chain paid each (receiver, amount), and under which memos, by its own final events.
    pub(super) fn payments(&self) -> Payments {
        let mut payments = Payments::default();
        for event in self.served.devnet.events(&self.served.token) {
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
        let left = self.served.devnet.balance(&self.served.token, self.relay())?;
        Ok(SUPPLY.saturating_sub(left))
    }
}

/// What the chain did.
#[derive(Debug, Default)]
pub(super) struct Payments {
    pub paid: BTreeMap<(String, u128), usize>,
    pub memos: BTreeMap<String, usize>,
}
