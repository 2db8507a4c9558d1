//! Runs the swaps through the generic tests of flows that send: a watcher finds deposits on the source's chain, and
//! each is paid on the target's chain, refunded or quarantined.
//!
//! Whatever is done to a case, each swap ends with its receiver paid, its sender given back, or the money set
//! quarantined: one of them, once. The receiver of `swap_in` is named in its memo, when its swap is opened; that of
//! `swap_out` by an asset that is found later, and agreed with the acceptance.

mod books;
mod cases;
mod depositors;
mod facts;

pub use cases::{
    PRICES, Quarantining, SWAP_CASES, SwapCase, SwapDeposit, exists, receives, spoils,
};
pub use facts::SwapChains;

use super::chain::{ChainCase, ChainClient, ChainTrial, Harm};
use crate::chain::{
    ChainFlow, ChainRules, FactsOf, Locking, Paid, PlayedChain, PlayedVault, QUARANTINE, SimChain,
    SimVault,
};
use cases::{
    FEE, REFUND_FEE, covered, is_found_late, is_lost, prepare_quarantine, quote, settle, wanted,
};
use depositors::Depositors;
use facts::{SimChains, SwapFacts, SwapScript};
use flows::swap_in::rules::destination;
use flows::swaps::fees::SwapQuote;
use kernel::flow::life::{Outcome, Side};
use kernel::ids::{AssetId, ChainId};
use kernel::money::Amount;
use kernel::owner::TransferOwner;
use kernel::ports::Fut;
use kernel::ports::clock::Clock;
use kernel::ports::deposits::VaultMovement;
use kernel::ports::journal::Journal;
use kernel::record::{Account, Origin, Party, Record, System, Terms};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the swaps move on each chain.
pub const USDC: AssetId = AssetId(4);
pub const USDD: AssetId = AssetId(5);

/// The swaps over chains that behave alike.
pub type SwapTrial = ChainTrial<SwapCase>;

/// A chain and the asset that swaps move there.
pub(super) struct End {
    chain: ChainId,
    asset: AssetId,
    locking: Locking,
}

/// What a chain knows the deposit at this place by, in a series of cases.
fn key(place: usize, series: usize) -> Arc<str> {
    format!("deposit-{place}.{series}").into()
}

impl SwapCase {
    /// Where its swaps come from, and where they go.
    fn ends(&self) -> [End; 2] {
        let solana = End { chain: ChainId::SOLANA, asset: USDC, locking: Locking::Marker };
        let nexus = End { chain: ChainId::NEXUS, asset: USDD, locking: Locking::Reference };
        if self.flow == "swap_in" { [solana, nexus] } else { [nexus, solana] }
    }

    /// The accounts of a simulated chain at that side are as their names say.
    pub fn settle(&self, side: Side, chain: &SimChain) {
        for deposit in &*self.deposits {
            settle(chain, if side == Side::Source { deposit.sender } else { deposit.receiver });
        }
        if side == Side::Source {
            prepare_quarantine(chain, self.quarantine);
        }
    }

    /// What its flow learns: by the script of the case, and of the chains that a process asks which begins.
    pub fn facts(
        &self,
        chains: impl Fn() -> Arc<dyn SwapChains> + Send + Sync + 'static,
    ) -> FactsOf {
        let flows = flows::registry();
        let Some(id) = flows.named(self.flow) else { panic!("{}: no such flow", self.flow) };
        let (released, deadlines) = (Arc::default(), Arc::default());
        let (table, mappings) = (flows.table(id).clone(), self.mappings());
        let script = SwapScript { table, mappings, released, deadlines };
        Arc::new(move |journal: Arc<dyn Journal>| {
            Arc::new(SwapFacts { script: script.clone(), chains: chains(), journal })
        })
    }

    /// Whether the case is that a deposit waits until its deadline; of others it must not be over before what
    /// went wrong is over.
    pub fn waits(&self, deposit: &SwapDeposit) -> bool {
        let receiver = deposit.receiver;
        let unmapped = self.is_out() && (receiver.is_empty() || is_found_late(receiver));
        unmapped || !covered(receiver) || is_lost(receiver)
    }

    /// The receiver is agreed later.
    pub fn is_out(&self) -> bool {
        self.flow == "swap_out"
    }

    /// Whom an asset maps each deposit to, by its sender.
    fn mappings(&self) -> BTreeMap<&'static str, &'static str> {
        let mapped = self.deposits.iter().filter(|deposit| !deposit.receiver.is_empty());
        mapped.filter(|_| self.is_out()).map(|deposit| (deposit.sender, deposit.receiver)).collect()
    }

    /// The terms of each deposit, as a watcher reads it.
    fn terms<V>(&self, at: &ChainClient<V>) -> Vec<Terms> {
        let [from, to] = self.ends();
        let party = |end: &End, account, amount| Party {
            system: System::Chain(end.chain),
            account,
            asset: end.asset,
            amount: Amount(amount),
        };
        let terms = |(n, deposit): (usize, &SwapDeposit)| {
            let sender: Arc<str> = deposit.sender.into();
            let memo = match deposit.receiver {
                receiver if !self.is_out() && !receiver.is_empty() => format!("nexus:{receiver}"),
                _ => "for you".to_owned(),
            };
            let named = destination(&memo);
            let to_whom = named.map_or(Account::Unnamed, |name| Account::Named(name.into()));
            let owner = TransferOwner::ChainAccount { chain: from.chain, account: sender.clone() };
            let source = party(&from, Account::Named(sender), deposit.amount);
            let SwapQuote { fee, net, refund_fee } = quote(Amount(deposit.amount));
            let target = party(&to, to_whom, net.0);
            Terms {
                fee,
                refund_fee,
                origin: Some(Origin { chain: from.chain, key: key(n, at.series) }),
                deadline: self.waits(deposit).then_some(at.deadline),
                memo: Some(memo),
                ..Terms::between("sim|watcher".into(), owner, source, target)
            }
        };
        self.deposits.iter().enumerate().map(terms).collect()
    }

    /// The depositors pay in, and wait until each swap ended.
    pub fn insist<V: PlayedVault>(
        &self,
        at: ChainClient<V>,
    ) -> Fut<'static, Result<Vec<Record>, String>> {
        let Some(flow) = at.engine.flows().named(self.flow) else {
            return Box::pin(std::future::ready(Err("no such flow".to_owned())));
        };
        let Some(vault) = at.vault.clone() else {
            return Box::pin(std::future::ready(Err("no vault".to_owned())));
        };
        let ([source, payout], deposits) = (self.ends(), self.terms(&at));
        let paid_in = |terms: &Terms| match self.is_out() {
            true => VaultMovement::Offered(terms.clone()),
            false => VaultMovement::Deposited(terms.clone()),
        };
        let keys = vault.receive(at.series, deposits.iter().map(paid_in).collect());
        Box::pin(Depositors { at, chain: source.chain, payout, flow, keys }.wait())
    }

    /// What is wrong with how its swaps ended on these chains: each has paid its receiver, given back or set quarantined,
    /// once.
    pub fn wrongly_moved<C: PlayedChain>(
        &self,
        chains: &[C],
        ended: &[Record],
        harm: Harm,
    ) -> Vec<String> {
        let flows = flows::registry();
        let mut faults = Vec::new();
        // refusals alone are counted: what is lost with a process is no reason for another end
        let exact = match harm {
            Harm::Step | Harm::Death => true,
            Harm::More => false,
        };
        for (record, deposit) in ended.iter().zip(&*self.deposits) {
            let row = flows.table(record.flow).state(record.head.state);
            let moved = moved(chains, record);
            let taken = chains.iter().any(|chain| chain.is_credited(record.id));
            if taken != (self.is_out() && row.outcome != Some(Outcome::Failed)) {
                faults.push(format!("{} is {}; taken in: {taken}", deposit.sender, row.name));
            }
            let elsewhere = exact && row.name != deposit.ends;
            if elsewhere || moved != Ok(wanted(row.outcome)) {
                let (from, to) = (deposit.sender, deposit.receiver);
                faults.push(format!(
                    "{from} to {to:?} is {}; paid, given back, quarantined: {moved:?}",
                    row.name
                ));
            }
        }
        for chain in chains {
            let paid = chain.paid();
            let strangers = paid.keys().filter(|id| !ended.iter().any(|record| record.id == **id));
            faults.extend(strangers.map(|id| format!("{id} was paid, and is none of the case")));
        }
        faults
    }
}

impl ChainCase for SwapCase {
    type Chain = SimChain;

    fn all() -> Vec<Self> {
        SWAP_CASES.to_vec()
    }

    fn flow(&self) -> &'static str {
        self.flow
    }

    fn words(&self) -> &'static str {
        self.name
    }

    fn over(&self, rules: ChainRules, clock: Arc<dyn Clock>, seed: u64) -> ChainFlow {
        let flows = flows::registry();
        let Some(id) = flows.named(self.flow) else { panic!("{}: no such flow", self.flow) };
        let [source, target] = self.ends().map(|End { chain: id, locking, .. }| {
            let rules = ChainRules { id, locking, ..rules };
            SimChain::new(rules, clock.clone(), seed ^ u64::from(id.0))
        });
        self.settle(Side::Source, &source);
        self.settle(Side::Target, &target);
        let others = vec![target.clone()];
        let chains: Arc<dyn SwapChains> = Arc::new(SimChains { source: source.clone(), target });
        let facts = self.facts(move || chains.clone());
        let [from, _] = self.ends();
        let vault = Some(SimVault::new(source.clone(), id, from.asset));
        ChainFlow { flow: self.flow, facts, chain: source, others, vault }
    }

    fn insists(&self, at: ChainClient) -> Fut<'static, Result<Vec<Record>, String>> {
        self.insist(at)
    }

    fn faults(&self, chains: &[SimChain], ended: &[Record], harm: Harm) -> Vec<String> {
        self.wrongly_moved(chains, ended, harm)
    }
}

/// How often a swap has paid its receiver, given back and set quarantined, without what was called back; or what
/// was paid to whom it should not be.
fn moved<C: PlayedChain>(chains: &[C], record: &Record) -> Result<[usize; 3], String> {
    let (mut given, mut back, mut quarantined) = (0_usize, 0_usize, 0_usize);
    for chain in chains {
        let (id, system) = (record.id, System::Chain(chain.rules().id));
        let voided = chain.voided().get(&id).copied().unwrap_or(0);
        let paid = chain.paid().remove(&id).unwrap_or_default();
        let most = voided + 1;
        if paid.iter().filter(|paid| &*paid.account != QUARANTINE).count() > most {
            return Err(format!("paid {} times, and voided {voided}", paid.len()));
        }
        let called_back = if record.target().system == system { &mut given } else { &mut back };
        let mut taken = 0_usize;
        for Paid { account, asset, amount, .. } in paid {
            let to = |party: &Party| {
                party.system == system && party.account == Account::Named(account.clone())
            };
            let all = (asset, amount) == (record.source().asset, record.source().amount);
            let less = |fee: u128| amount.0 + fee == record.source().amount.0;
            if to(record.target()) && less(FEE) && asset == record.target().asset
                || to(record.source()) && less(REFUND_FEE) && asset == record.source().asset
            {
                taken += 1;
            } else if &*account == QUARANTINE && all && record.source().system == system {
                quarantined += 1;
            } else {
                return Err(format!("{} of asset {} to {account}", amount.0, asset.0));
            }
        }
        *called_back += taken.checked_sub(voided).ok_or("more was voided than paid")?;
    }
    Ok([given, back, quarantined])
}
