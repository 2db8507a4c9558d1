//! The vault of a simulated chain: what senders paid in, and what final transactions moved since.

use super::played::PlayedVault;
use super::state::{SimChain, State};
use super::transaction::{Effect, Inclusion, Outcome, Paid, Transaction};
use crate::world::breath;
use kernel::answer::Cause;
use kernel::ids::{AssetId, ChainId, FlowId, Millis};
use kernel::money::Amount;
use kernel::ports::Fut;
use kernel::ports::deposits::{DepositSource, VaultMovement, VaultPage};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most movements of a page, so that a case has several.
const TOGETHER: usize = 2;
/// How often it is asked for more, in milliseconds.
const INTERVAL: Millis = 250;
/// How long a watcher may be behind, in milliseconds: longer than what goes wrong on a bad day lasts.
const NORMAL_LAG: Millis = 600_000;

/// Everything that moved the vault's money, in order.
#[derive(Debug, Default)]
struct Log {
    /// The case whose deposits it has: a journal may see chain after chain.
    series: Option<usize>,
    movements: Vec<VaultMovement>,
    /// The transactions that it has, by their place among those that were sent.
    read: BTreeSet<usize>,
}

/// A place in the log of a case, and the balance there.
#[derive(Debug, Clone, Copy)]
struct Place {
    series: usize,
    index: usize,
    balance: Amount,
}

impl Place {
    fn read(text: &str) -> Option<Self> {
        let mut parts = text.split(' ');
        let (series, index, balance) = (parts.next()?, parts.next()?, parts.next()?);
        let balance = Amount(balance.parse().ok()?);
        Some(Self { series: series.parse().ok()?, index: index.parse().ok()?, balance })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.series, self.index, self.balance.0)
    }
}

/// The vault that a flow's deposits are paid into. It outlives every process, as its chain does.
#[derive(Clone)]
pub struct SimVault {
    chain: SimChain,
    flow: FlowId,
    asset: AssetId,
    log: Arc<Mutex<Log>>,
}

impl fmt::Debug for SimVault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimVault").field("chain", &self.chain).finish_non_exhaustive()
    }
}

impl SimVault {
    /// What the service has there before the first deposit.
    pub const OWN: Amount = Amount(1_000_000_000);

    /// A vault into which nothing was paid yet.
    pub fn new(chain: SimChain, flow: FlowId, asset: AssetId) -> Self {
        Self { chain, flow, asset, log: Arc::default() }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows the final transactions of the chain.
    fn follow(&self, log: &mut Log) {
        let state = self.chain.now();
        let upto = state.final_height();
        for (n, (tx, inclusion)) in state.sent.iter().enumerate() {
            let done =
                matches!(inclusion, Inclusion::Included(at, Outcome::Success) if *at <= upto);
            if done && log.read.insert(n) {
                log.movements.extend(movement(tx, called_back(&state, tx), self.asset));
            }
        }
    }

    fn page(&self, behind: Option<&str>, limit: usize) -> Result<VaultPage, Cause> {
        let mut log = self.log();
        let Some(series) = log.series else { return Err(Cause::of("NO_BLOCKS")) };
        self.follow(&mut log);
        let from = match behind {
            Some(text) => Place::read(text).ok_or(Cause::of("BAD_PLACE"))?,
            None => Place { series, index: 0, balance: Self::OWN },
        };
        // where the cases before ended nothing of this one is read yet
        let index = if from.series == series { from.index } else { 0 };
        let most = match behind {
            None => 0,
            Some(_) if limit < TOGETHER => limit,
            Some(_) => TOGETHER,
        };
        let mut movements: Vec<_> = log.movements.iter().skip(index).take(most).cloned().collect();
        let after = movements.iter().fold(from.balance.0, balance_after);
        let end = Place { series, index: index + movements.len(), balance: Amount(after) };
        let mut state = self.chain.now();
        let (rules, read_to) = (state.rules, self.chain.time());
        if state.draws.once_in(1, rules.misleads) {
            // the page of a provider whose index has a hole; what moves no money is proven by the port alone
            let _hole = movements.pop_if(|last| !matches!(last, VaultMovement::Offered(_)));
        }
        let (before, after, more) = (from.balance, end.balance, end.index < log.movements.len());
        Ok(VaultPage { movements, before, after, place: end.to_string().into(), read_to, more })
    }
}

/// The vault's balance after a movement, as its chain counts it.
pub fn balance_after(balance: u128, movement: &VaultMovement) -> u128 {
    match movement {
        VaultMovement::Deposited(terms) => balance + terms.source.amount.0,
        VaultMovement::Funded(amount) | VaultMovement::TakenIn(amount) => balance + amount.0,
        VaultMovement::Left { amount, .. } => balance - amount.0,
        VaultMovement::Offered(_) => balance,
    }
}

/// What comes back with a transaction that calls back payments: what was paid last to each of its members.
fn called_back(state: &State, tx: &Transaction) -> u128 {
    if tx.effect != Effect::Voids {
        return 0;
    }
    let last = |void: &Paid| {
        let paid =
            state.included(state.final_height()).filter(|(paid, ..)| paid.effect == Effect::Pays);
        let of =
            paid.flat_map(|(paid, ..)| &paid.actions).filter(|action| action.id == void.id).last();
        of.map_or(0, |paid| paid.amount.0)
    };
    tx.actions.iter().map(last).sum()
}

/// What a final transaction of ours did to the vault.
fn movement(tx: &Transaction, returned: u128, asset: AssetId) -> Option<VaultMovement> {
    let ours = tx.actions.iter().filter(|paid| paid.asset == asset);
    let amount = Amount(returned + ours.map(|paid| paid.amount.0).sum::<u128>());
    match tx.effect {
        _ if amount == Amount::ZERO => None,
        Effect::Pays => {
            let facts = format!("a payment to {:?}", tx.actions).into();
            Some(VaultMovement::Left { form: tx.name.clone(), amount, facts })
        }
        Effect::Credits | Effect::Voids => Some(VaultMovement::TakenIn(amount)),
        Effect::Registers => None,
    }
}

/// What a chain knows a deposit by.
fn key(movement: &VaultMovement) -> Option<Arc<str>> {
    match movement {
        VaultMovement::Deposited(terms) | VaultMovement::Offered(terms) => {
            terms.origin.as_ref().map(|origin| origin.key.clone())
        }
        VaultMovement::Funded(_) | VaultMovement::TakenIn(_) | VaultMovement::Left { .. } => None,
    }
}

impl PlayedVault for SimVault {
    fn chain(&self) -> ChainId {
        self.chain.rules().id
    }

    fn asset(&self) -> AssetId {
        self.asset
    }

    fn own(&self) -> Amount {
        Self::OWN
    }

    fn balance(&self) -> Amount {
        let mut log = self.log();
        self.follow(&mut log);
        Amount(log.movements.iter().fold(Self::OWN.0, balance_after))
    }

    fn receive(&self, series: usize, deposits: Vec<VaultMovement>) -> Vec<Arc<str>> {
        let (mut log, keys) = (self.log(), deposits.iter().filter_map(key).collect());
        if log.series != Some(series) {
            log.series = Some(series);
            log.movements.extend(deposits);
        }
        keys
    }

    fn source(&self) -> Arc<dyn DepositSource> {
        Arc::new(self.clone())
    }
}

impl DepositSource for SimVault {
    fn chain(&self) -> ChainId {
        self.chain.rules().id
    }

    fn flow(&self) -> FlowId {
        self.flow
    }

    fn asset(&self) -> AssetId {
        self.asset
    }

    fn vault(&self) -> Arc<str> {
        "vault".into()
    }

    fn interval(&self) -> Millis {
        INTERVAL
    }

    fn normal_lag(&self) -> Millis {
        NORMAL_LAG
    }

    fn movements<'a>(
        &'a self,
        behind: Option<&'a str>,
        limit: usize,
    ) -> Fut<'a, Result<VaultPage, Cause>> {
        Box::pin(async move {
            breath().await;
            self.page(behind, limit)
        })
    }
}
