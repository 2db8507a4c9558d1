//! Keeps the relay's tokens, and what this process learnt of each: the gas that its calls need, how
//! many fit into one transaction, what a registration costs, and whether the token rests. All of it is
//! advice: losing it costs time.

use super::refusals::Refusals;
use super::settings::{NearSettings, NearToken, USUAL_TGAS, gas_of_each};
use super::shortage::TokenShortage;
use crate::rest::{RestCause, TokenRest};
use flows::relay::Act;
use kernel::ids::AssetId;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// One token, and what was learnt of it.
#[derive(Debug)]
pub(super) struct TokenState {
    pub(super) token: NearToken,
    /// The gas that one transaction may attach, in TGas.
    prepaid: u64,
    /// The least gas of one call, in TGas.
    tgas: AtomicU64,
    /// The most members of one transaction.
    most: AtomicUsize,
    /// Whether payments rest, and until when.
    pays: TokenRest,
    /// Whether registrations rest, and until when.
    registers: TokenRest,
    /// The receivers whose payments the contract refused.
    refused_pays: Refusals,
    /// The receivers whose registrations the contract refused.
    refused_registers: Refusals,
    /// The shortage of this token in the relay's account.
    pub(super) shortage: TokenShortage,
    /// The cost of a registration, in yoctoNEAR.
    deposit: Mutex<Option<u128>>,
}

impl TokenState {
    /// The most members of one transaction now.
    pub(super) fn most(&self) -> usize {
        let most = self.most.load(Ordering::Relaxed);
        let by_gas = self.prepaid.checked_div(self.tgas.load(Ordering::Relaxed)).unwrap_or(1);
        let by_gas = usize::try_from(by_gas).unwrap_or(most);
        match (by_gas, most) {
            (0, _) | (_, 0) => 1,
            (by_gas, most) if by_gas < most => by_gas,
            (_, most) => most,
        }
    }

    /// The gas of each of `calls` calls.
    pub(super) fn gas(&self, calls: usize) -> u64 {
        gas_of_each(self.prepaid, self.tgas.load(Ordering::Relaxed), calls)
    }

    /// A call ran out of gas: the next ones get twice as much. False: there is no more to give.
    pub(super) fn more_gas(&self) -> bool {
        let least = self.tgas.load(Ordering::Relaxed);
        let usual = if least > USUAL_TGAS { least } else { USUAL_TGAS };
        let twice = usual.saturating_mul(2);
        if twice > self.prepaid {
            return false;
        }
        self.tgas.store(twice, Ordering::Relaxed);
        true
    }

    /// A transaction failed and no action is named: the next ones have half as many members.
    pub(super) fn halve(&self) {
        let half = self.most() / 2;
        self.most.store(if half == 0 { 1 } else { half }, Ordering::Relaxed);
    }

    /// A transaction succeeded: the next ones may have twice as many members, and at most `batch`.
    pub(super) fn succeeded(&self, batch: usize) {
        let most = self.most.load(Ordering::Relaxed).saturating_mul(2);
        self.most.store(if most < batch { most } else { batch }, Ordering::Relaxed);
    }

    /// Whether this act of it rests. One may without the other: a contract that is paused may still register.
    pub(super) fn rest(&self, act: Act) -> &TokenRest {
        match act {
            Act::Pay => &self.pays,
            Act::Register => &self.registers,
        }
    }

    /// The receivers for which the contract refused an act.
    pub(super) fn refusals(&self, act: Act) -> &Refusals {
        match act {
            Act::Pay => &self.refused_pays,
            Act::Register => &self.refused_registers,
        }
    }

    /// Whether nothing at all is signed for it now.
    pub(super) fn rests(&self, now: u64) -> bool {
        [&self.pays, &self.registers].into_iter().all(|rest| rest.left(now).is_some())
    }

    /// The cost of a registration, where it was read.
    pub(super) fn deposit(&self) -> Option<u128> {
        *self.deposit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the cost of a registration; `None`: it is read again.
    pub(super) fn deposit_is(&self, deposit: Option<u128>) {
        *self.deposit.lock().unwrap_or_else(PoisonError::into_inner) = deposit;
    }
}

/// Every token of the relay.
#[derive(Debug)]
pub(super) struct TokenStates(Vec<TokenState>);

impl TokenStates {
    pub(super) fn new(settings: &NearSettings) -> Self {
        let state = |token: &NearToken| TokenState {
            token: token.clone(),
            prepaid: settings.prepaid_tgas,
            tgas: AtomicU64::new(token.least_tgas),
            most: AtomicUsize::new(settings.batch),
            pays: TokenRest::default(),
            registers: TokenRest::default(),
            refused_pays: Refusals::default(),
            refused_registers: Refusals::default(),
            shortage: TokenShortage::default(),
            deposit: Mutex::new(None),
        };
        Self(settings.tokens.iter().map(state).collect())
    }

    /// Every token that the settings name, in their sequence.
    pub(super) fn all(&self) -> impl Iterator<Item = &TokenState> {
        self.0.iter()
    }

    /// The token of an asset.
    pub(super) fn of_asset(&self, asset: AssetId) -> Option<&TokenState> {
        self.0.iter().find(|state| state.token.asset == asset)
    }

    /// The token of a contract.
    pub(super) fn of_contract(&self, contract: &str) -> Option<&TokenState> {
        self.0.iter().find(|state| &*state.token.contract == contract)
    }

    /// The facts about tokens that rest for a cause, in words for operators.
    pub(super) fn resting(&self, cause: RestCause, now: u64) -> Option<String> {
        let rests = self.0.iter().flat_map(|token| [&token.pays, &token.registers]);
        let stand = rests.filter_map(|rest| rest.cause_in_force(now));
        listed(stand.filter(|(why, _)| *why == cause).map(|(_, facts)| facts))
    }

    /// The facts about tokens of which the relay's account has too little, in words for operators.
    pub(super) fn short(&self, now: u64) -> Option<String> {
        listed(self.0.iter().filter_map(|token| token.shortage.facts_in_force(now)))
    }

    /// The most members that any of them takes.
    pub(super) fn most(&self) -> usize {
        self.0.iter().map(TokenState::most).fold(1, |most, one| if one > most { one } else { most })
    }
}

fn listed(facts: impl Iterator<Item = Arc<str>>) -> Option<String> {
    let all: Vec<String> = facts.map(|facts| facts.to_string()).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

#[cfg(test)]
mod tests {
    use super::super::settings::TERA;
    use super::*;
    use kernel::ids::ChainId;

    #[test]
    fn a_batch_never_attaches_more_than_its_limit() {
        let token = NearToken {
            contract: "usdc.near".into(),
            asset: AssetId(3),
            decimals: 6,
            least_tgas: NearToken::LEAST_TGAS,
            events: true,
        };
        let settings =
            NearSettings::new(ChainId(20), "relay.near", vec![token], vec!["x".to_owned()]);
        let states = TokenStates::new(&settings);
        let state = states.of_asset(AssetId(3)).unwrap();
        assert_eq!((state.most(), state.gas(100), state.gas(1)), (100, 3 * TERA, 10 * TERA));
        state.halve();
        assert_eq!(state.most(), 50);
        while state.more_gas() {
            let most = state.most();
            let calls = u64::try_from(most).unwrap();
            assert!(calls * state.gas(most) <= 300 * TERA);
        }
        state.succeeded(100);
        assert!(state.most() >= 1);
    }
}
