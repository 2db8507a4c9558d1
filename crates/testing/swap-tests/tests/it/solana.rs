//! The local Solana that a run is played over: a mint, the vault with its lanes, customers, two providers. Its blocks
//! follow the simulation's time.

use super::providers::{self, Sends};
use devnet::solana::{Address, Devnet, Options, Wallet};
use flows::swap_in;
use flows::swaps::fees::SwapFees;
use kernel::flow::life::Word as _;
use kernel::flow::table::Flows;
use kernel::ids::{ChainId, FlowId, Id, Millis};
use kernel::money::Amount;
use kernel::ports::chain::{Chain, SignRequest};
use kernel::ports::clock::Clock;
use kernel::ports::deposits::{DepositSource, VaultMovement};
use kernel::ports::meter::NoMeter;
use kernel::record::{Account, System, Terms};
use links::solana::{
    DepositSettings, KeyRing, SolanaChain, SolanaNetwork, SolanaSettings, SolanaVault,
};
use sim::chain::{
    AdapterHost, BridgedDeposits, BridgedPort, ChainRules, Locking, Paid, QUARANTINE,
};
use sim::generic::swaps::{PRICES, Quarantining, USDC, USDD, exists, receives, spoils};
use sim::world::SplitMix;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use testkit::{DatedClock, SteppingClock};
use tokio::runtime::Runtime;

/// What an account is called that is none of the case's.
const UNKNOWN: &str = "unknown";
/// What the vault has before the first deposit.
const SUPPLY: u64 = 1_000_000_000;
/// What each customer has.
const CUSTOMERS: u64 = 2_000_000_000_000;
/// A call that takes longer waits for something that never comes.
const LONGEST_CALL: Duration = Duration::from_secs(60);
/// How often the watcher asks for more, in milliseconds.
const INTERVAL: Millis = 2_000;

/// Chains on which nothing goes wrong; the time of Solana's slots, and fewer of them until a block is final.
pub(crate) const RULES: ChainRules =
    ChainRules { block_ms: 400, finality: 4, ..ChainRules::calm(Locking::Marker) };

/// What a chain is started with beside its rules.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    /// What becomes of what is sent.
    pub(crate) sends: Sends,
    /// How long after its deposit a swap may be accepted, in milliseconds.
    pub(crate) timeout: Millis,
    /// How the quarantine account fares.
    pub(crate) quarantine: Quarantining,
}

impl Default for Setup {
    fn default() -> Self {
        let (sends, quarantine) = (Sends::Arrive, Quarantining::Arrives);
        Self { sends, timeout: 3_600_000, quarantine }
    }
}

struct State {
    draws: SplitMix,
    /// The adapter that was made last: its process reads its facts and its deposits by it.
    solana: Option<SolanaChain>,
    /// The accounts that take nothing any more.
    frozen: BTreeSet<Address>,
    /// How many payments to these accounts fail for no reason that is seen later: they are frozen when one is signed, and
    /// no longer behind it.
    fails: BTreeMap<Address, usize>,
    /// Those that are frozen until the next payment.
    waits: BTreeSet<Address>,
    /// The deposits of each case that were made.
    deposits: BTreeMap<usize, Vec<Arc<str>>>,
}

struct Inner {
    rules: ChainRules,
    setup: Setup,
    devnet: Devnet,
    runtime: Runtime,
    /// Callers of one moment share an answer, as they do on a real clock; and a request's turn comes at once: while
    /// it waits, the simulation's time stands.
    clock: Arc<SteppingClock>,
    /// The flow that a deposit opens a transfer of.
    flow: FlowId,
    vault: Wallet,
    /// The vault's token account, and the one for what is set quarantined.
    account: Address,
    quarantine: Address,
    mint: Address,
    /// The transaction behind which the watch of the vault begins.
    start: Arc<str>,
    /// Every account that may be paid, by its address.
    accounts: BTreeMap<Address, String>,
    /// When the case began, and at which block.
    began: (Millis, u64),
    state: Mutex<State>,
}

/// The chain. A handle: clones are the same one.
#[derive(Clone)]
pub(crate) struct LocalSolana(Arc<Inner>);

impl fmt::Debug for LocalSolana {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalSolana").field("urls", &self.0.devnet.urls()).finish_non_exhaustive()
    }
}

/// How many payments to an account fail, where any do.
fn failures(name: &str, setup: &Setup) -> Option<usize> {
    match name.to_lowercase() {
        name if name.starts_with("tardy") => Some(1),
        name if name.starts_with("lost") => Some(usize::MAX),
        name if name == QUARANTINE => (setup.quarantine != Quarantining::Arrives).then_some(1),
        _ => None,
    }
}

/// The wallet of a customer whose name a case gives.
fn wallet(name: &str) -> Wallet {
    Wallet::derived(&format!("customer {name}"))
}

impl LocalSolana {
    /// A chain with these customers, as their names say.
    pub(crate) fn start(
        rules: ChainRules,
        (clock, seed): (Arc<dyn Clock>, u64),
        (flow, setup): (FlowId, &Setup),
        customers: &BTreeSet<&str>,
    ) -> Self {
        let options =
            Options { endpoints: 2, threads: 1, finality_lag: rules.finality, ..Options::manual() };
        let devnet = Devnet::start(options).unwrap();
        let mint = devnet.create_mint().unwrap();
        let vault = devnet.create_wallet("vault").unwrap();
        let account = devnet.create_token_account(&vault.address()).unwrap();
        let quarantine = devnet.create_token_account(&wallet(QUARANTINE).address()).unwrap();
        devnet.create_lanes(&vault, rules.lanes).unwrap();
        let mut accounts = BTreeMap::from([(quarantine, QUARANTINE.to_owned())]);
        let mut funded = vec![(account, SUPPLY)];
        for name in customers.iter().filter(|name| exists(name)) {
            let owner = wallet(name).address();
            devnet.airdrop(&owner, 1_000_000_000).unwrap();
            let own = devnet.create_token_account(&owner).unwrap();
            accounts.insert(own, (*name).to_owned());
            funded.push((own, CUSTOMERS));
        }
        devnet.mint_to(&funded).unwrap();
        devnet.settle();
        let start = devnet.movements(&account).last().unwrap().signature.to_string().into();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let draws = SplitMix(seed ^ 0x10CA_1501_1100_0001);
        let times = |(address, name): (&Address, &String)| Some((*address, failures(name, setup)?));
        let fails = accounts.iter().filter_map(times).collect();
        let (frozen, waits, deposits) = (BTreeSet::new(), BTreeSet::new(), BTreeMap::new());
        let state = State { draws, solana: None, frozen, fails, waits, deposits };
        Self(Arc::new(Inner {
            began: (clock.now(), devnet.height()),
            clock: Arc::new(SteppingClock::over(clock)),
            rules: ChainRules { id: ChainId::SOLANA, ..rules },
            setup: setup.clone(),
            devnet,
            runtime,
            flow,
            vault,
            account,
            quarantine,
            mint,
            start,
            accounts,
            state: Mutex::new(state),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settings(&self) -> SolanaSettings {
        let vault = SolanaVault {
            key: self.0.vault.address().to_string().into(),
            account: self.0.account.to_string().into(),
            mint: self.0.mint.to_string().into(),
            asset: USDC,
        };
        let mut settings = SolanaSettings::new(ChainId::SOLANA, vault, self.0.devnet.urls());
        settings.network = SolanaNetwork::Localnet;
        settings.quarantine_account = Some(self.quarantine());
        settings.lanes = self.0.rules.lanes;
        settings.rest_ms = 2_000;
        settings.limits.timeout_ms = 30_000;
        settings.limits.burst = 1_000_000;
        settings
    }

    fn deposit_settings(&self) -> DepositSettings {
        let fees = SwapFees::new(PRICES).unwrap();
        DepositSettings {
            flow: self.0.flow,
            principal: "sim|watcher".into(),
            target_chain: ChainId::NEXUS,
            target_asset: USDD,
            fees,
            refund_timeout_ms: self.0.setup.timeout,
            funding_accounts: Vec::new(),
            start: Some(self.0.start.clone()),
            normal_lag_ms: 600_000,
            interval_ms: INTERVAL,
        }
    }

    /// The address of the token account of a customer.
    pub(crate) fn address(&self, name: &str) -> Arc<str> {
        let known = self.0.accounts.iter().find(|(_, known)| *known == name);
        known.map_or_else(|| wallet(name).address(), |(address, _)| *address).to_string().into()
    }

    /// The account of a customer takes nothing from now on, and gives nothing.
    fn freeze(&self, address: &Address) {
        if self.state().frozen.insert(*address) {
            self.0.devnet.freeze(address, true).unwrap();
        }
    }

    /// The block that has the payments which wait for one, and behind them what lets their receivers go.
    fn thaws(&self) {
        if self.0.devnet.pooled() == 0 {
            return;
        }
        let waits = std::mem::take(&mut self.state().waits);
        for address in waits {
            self.0.devnet.freeze(&address, false).unwrap();
            self.state().frozen.remove(&address);
        }
    }

    /// A payment to an account is signed, whether it is stored or not.
    fn pays(&self, address: &Address) {
        if self.0.accounts.get(address).is_some_and(|name| spoils(name)) {
            self.freeze(address);
        }
        let mut state = self.state();
        let Some(left) = state.fails.get_mut(address).filter(|left| **left > 0) else { return };
        *left -= 1;
        state.waits.insert(*address);
        drop(state);
        self.freeze(address);
    }

    /// The account for what is set quarantined.
    pub(crate) fn quarantine(&self) -> Arc<str> {
        self.0.quarantine.to_string().into()
    }

    /// The adapter that was made last.
    pub(crate) fn solana(&self) -> SolanaChain {
        self.state().solana.clone().unwrap()
    }

    /// Makes the blocks whose time has come.
    fn advances(&self) {
        self.thaws();
        let (began, height) = self.0.began;
        let passed = self.0.clock.now().saturating_sub(began) / self.0.rules.block_ms;
        let due = height + passed;
        if let Some(late) = due.checked_sub(self.0.devnet.height()) {
            self.0.devnet.advance(late);
        }
        if let Sends::Lost { until } = self.0.setup.sends
            && self.block() >= until
        {
            self.0.devnet.release();
        }
    }

    /// The number of the newest block of the case.
    fn block(&self) -> u64 {
        self.0.devnet.height() - self.0.began.1
    }

    /// The adapter of a process that begins.
    pub(crate) fn adapter(&self, _: &Arc<Flows>) -> Arc<dyn Chain> {
        let keypair = bs58::encode(self.0.vault.keypair()).into_string();
        let ring = KeyRing::plain([format!("ed25519:{keypair}").as_str()]).unwrap();
        let clock = Arc::new(DatedClock::over(self.0.clock.clone(), self.0.devnet.time()));
        let solana = SolanaChain::new(self.settings(), Arc::new(ring), clock, Arc::new(NoMeter));
        let solana = solana.unwrap();
        self.state().solana = Some(solana.clone());
        Arc::new(BridgedPort { host: self.clone(), inner: Arc::new(solana) })
    }

    pub(crate) fn rules(&self) -> ChainRules {
        self.0.rules
    }

    /// By the movements of the vault's account in final blocks, and of those that were paid: the memo ends with the
    /// transfer's id.
    pub(crate) fn paid(&self) -> BTreeMap<Id, Vec<Paid>> {
        self.advances();
        let devnet = &self.0.devnet;
        let mut came: BTreeMap<_, (&str, u64)> = BTreeMap::new();
        for (address, name) in &self.0.accounts {
            let all = devnet.movements(address).into_iter();
            let more = all.filter(|one| one.error.is_none() && one.after > one.before);
            came.extend(more.map(|one| (one.signature, (&**name, one.after - one.before))));
        }
        let mut paid: BTreeMap<Id, Vec<Paid>> = BTreeMap::new();
        for left in devnet.movements(&self.0.account) {
            if left.error.is_some() || left.before <= left.after {
                continue;
            }
            let ids = left.memos.iter().flat_map(|memo| memo.split_whitespace());
            let id = ids.filter_map(|word| word.parse().ok()).next_back().unwrap_or_default();
            let amount = left.before - left.after;
            let to = came.get(&left.signature).filter(|(_, more)| *more == amount);
            let account = match to.map(|(name, _)| *name) {
                Some(QUARANTINE) => QUARANTINE.into(),
                Some(name) => self.address(name),
                None => UNKNOWN.into(),
            };
            let paid_out = Paid { id, account, asset: USDC, amount: Amount(amount.into()) };
            paid.entry(id).or_default().push(paid_out);
        }
        paid
    }

    /// Twice the same transfer, or a payment of which the vault has not what is left.
    pub(crate) fn faults(&self) -> Vec<String> {
        let paid = self.paid();
        let twice = paid.iter().filter(|(_, all)| all.len() > 1);
        let mut faults: Vec<String> =
            twice.map(|(id, all)| format!("{id} was paid {} times", all.len())).collect();
        let unknown = paid.iter().filter(|(id, all)| {
            **id == Id::default() || all.iter().any(|paid| &*paid.account == UNKNOWN)
        });
        faults.extend(
            unknown.map(|(id, all)| format!("money left to an unknown account: {id} {all:?}")),
        );
        faults
    }
}

impl AdapterHost for LocalSolana {
    fn runs<T>(&self, call: impl Future<Output = T>) -> T {
        self.advances();
        let Inner { devnet, rules, setup, .. } = &*self.0;
        if rules.is_rough() {
            providers::draw(devnet, rules, &mut self.state().draws);
        } else {
            providers::script(devnet, setup, self.block());
        }
        let bounded = async { tokio::time::timeout(LONGEST_CALL, call).await };
        self.0.runtime.block_on(bounded).unwrap_or_else(|_| panic!("a call does not end"))
    }

    fn saw_signing(&self, request: &SignRequest) {
        if request.act == swap_in::Act::Quarantine.name() {
            return self.pays(&self.0.quarantine);
        }
        let parties = request.members.iter().flat_map(|member| [member.source(), member.target()]);
        for party in parties.filter(|party| party.system == System::Chain(ChainId::SOLANA)) {
            let Account::Named(account) = &party.account else { continue };
            self.pays(&account.parse().unwrap());
        }
    }
}

/// The vault as depositors see it. A handle: clones are the same one.
#[derive(Clone)]
pub(crate) struct LocalVault(pub(crate) LocalSolana);

impl LocalVault {
    pub(crate) fn own() -> Amount {
        Amount(SUPPLY.into())
    }

    /// What it has at the newest final block.
    pub(crate) fn balance(&self) -> Amount {
        self.0.advances();
        let chain = &self.0.0;
        let last = chain.devnet.movements(&chain.account);
        Amount(last.last().map_or(0, |last| last.after).into())
    }

    /// Each deposit in a block of its own, once for each case. Accounts that take nothing back are frozen behind theirs.
    pub(crate) fn receive(&self, series: usize, deposits: &[VaultMovement]) -> Vec<Arc<str>> {
        self.0.advances();
        if let Some(keys) = self.0.state().deposits.get(&series) {
            return keys.clone();
        }
        let paid = deposits.iter().filter_map(|movement| match movement {
            VaultMovement::Deposited(terms) => Some(self.deposit(terms)),
            VaultMovement::Offered(_)
            | VaultMovement::Funded(_)
            | VaultMovement::TakenIn(_)
            | VaultMovement::Left { .. } => None,
        });
        let keys: Vec<Arc<str>> = paid.collect();
        self.0.state().deposits.insert(series, keys.clone());
        keys
    }

    fn deposit(&self, terms: &Terms) -> Arc<str> {
        let Account::Named(sender) = &terms.source.account else { unreachable!("a sender") };
        let chain = &self.0.0;
        let amount = u64::try_from(terms.source.amount.0).unwrap();
        let memos: Vec<&str> = terms.memo.as_deref().into_iter().collect();
        let paid = chain.devnet.deposit(&wallet(sender), &chain.account, amount, &memos).unwrap();
        let signature = paid.signatures[0];
        chain.devnet.submit(paid);
        chain.devnet.advance(1);
        assert_eq!(chain.devnet.result(&signature), Some(Ok(())), "a deposit of {sender}");
        if !receives(sender) {
            self.0.freeze(&self.0.address(sender).parse().unwrap());
        }
        format!("{signature}/0").into()
    }

    /// The deposits that the process reads whose adapter was made last.
    pub(crate) fn source(&self) -> Arc<dyn DepositSource> {
        let inner = self.0.solana().deposits(self.0.deposit_settings()).unwrap();
        let (clock, inner) = (&self.0.0.clock, Arc::new(inner));
        let dated = DatedClock::over(clock.clone(), self.0.0.devnet.time());
        let ahead = dated.now().saturating_sub(clock.now());
        Arc::new(BridgedDeposits { host: self.0.clone(), inner, ahead })
    }
}
