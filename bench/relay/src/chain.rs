//! The local chain in this process: accounts, a token, the relay's keys, and what its endpoints were asked.

use crate::Outcome;
use crate::run::Requests;
use devnet::near::near_primitives::types::AccountId;
use devnet::near::serve;
use devnet::near::{Blocks, Devnet, EventKind, Execution, Options, TokenOptions, Wallet};
use std::time::Duration;

/// From block to block, as on the network.
pub(crate) const BLOCK: Duration = Duration::from_millis(600);
pub(crate) const TOKEN: &str = "usdc.devnet";
const RELAY: &str = "relay.devnet";
/// Enough for every row, in base units.
const SUPPLY: u128 = 1_000_000_000_000;
/// Two of them agree on whatever closes an attempt.
const ENDPOINTS: usize = 2;

/// How the token is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contract {
    /// As Rust code, in blocks of any amount of gas: what the relay itself can do.
    Native,
    /// The standards crate's wasm, interpreted, in blocks of the network's gas.
    Vm,
}

/// A chain that is ready for a relay.
pub(crate) struct Chain {
    pub devnet: Devnet,
    pub token: AccountId,
    pub keys: Vec<Wallet>,
    /// How many accounts the token knows, and how many it does not.
    pub known: usize,
    pub new: usize,
}

/// A receiver that the token knows.
pub(crate) fn known(chain: &Chain, n: u64) -> String {
    format!("r{}.devnet", spread(n, chain.known))
}

/// A receiver that the token does not know before the row.
pub(crate) fn new(chain: &Chain, n: u64) -> String {
    format!("n{}.devnet", spread(n, chain.new))
}

/// A multiplication by an odd number and a shift: spread, and the same in every run.
fn spread(n: u64, over: usize) -> u64 {
    let over = u64::try_from(over).unwrap_or(u64::MAX);
    (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20).checked_rem(over).unwrap_or_default()
}

impl Chain {
    pub(crate) fn start(
        contract: Contract,
        keys: usize,
        known: usize,
        new: usize,
    ) -> Outcome<Self> {
        let native = contract == Contract::Native;
        let devnet = Devnet::start(Options {
            blocks: Blocks::Every(BLOCK),
            execution: if native { Execution::Native } else { Execution::Wasm },
            block_gas: Options::default().block_gas.filter(|_| !native),
            endpoints: ENDPOINTS,
            ..Options::default()
        })?;
        let token = devnet.deploy_token(TOKEN, &TokenOptions::default())?;
        let relay = devnet.create_account(RELAY, 100_000)?;
        let mut all = vec![relay.clone()];
        all.extend(devnet.add_keys(&relay, keys.saturating_sub(1))?);
        devnet.mint(&token, &[(relay.account, SUPPLY)])?;
        let mut receivers = Vec::new();
        for n in 0..known {
            receivers.push(devnet.create_account(&format!("r{n}.devnet"), 1)?.account);
        }
        for n in 0..new {
            devnet.create_account(&format!("n{n}.devnet"), 1)?;
        }
        devnet.register(&token, &receivers)?;
        Ok(Self { devnet, token, keys: all, known, new })
    }

    /// What points a relay at it.
    pub(crate) fn settings(&self) -> Vec<(&'static str, String)> {
        let mut settings = serve::environment(&self.devnet, &self.token, &self.keys);
        // what is measured is the relay, not a provider's plan
        settings.push(("PORTAGE_RELAY__RPC_PER_SECOND", "10000".to_owned()));
        let unlimited = "1000000000000000000000000000";
        settings.push(("PORTAGE_RELAY__REGISTRATION_BUDGET", unlimited.to_owned()));
        settings
    }

    /// Requests that the endpoints had together.
    pub(crate) fn requests(&self) -> Requests {
        Requests(self.devnet.requests())
    }

    /// Payments that are final, and how many base units they come to; each memo once.
    pub(crate) fn paid(&self) -> Outcome<Paid> {
        let mut paid = Paid::default();
        let mut memos = std::collections::BTreeSet::new();
        for event in self.devnet.events(&self.token) {
            if event.kind == EventKind::Transfer {
                let memo = event.memo.unwrap_or_default();
                if !memos.insert(memo.clone()) {
                    return Err(format!("paid twice: {memo}"));
                }
                paid.payments += 1;
                paid.units += event.amount;
            }
        }
        Ok(paid)
    }
}

/// What is final on the chain.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Paid {
    pub payments: u64,
    pub units: u128,
}
