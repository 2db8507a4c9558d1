//! The local chain that a run is played over: a token's contract, the relay with its keys, two providers. Its blocks
//! follow the simulation's time.

use super::providers::{self, Sends};
use super::registrations::{Holders, Registrations};
use super::stranger::Stranger;
use devnet::near::near_primitives::types::AccountId;
use devnet::near::{Devnet, EventKind, Execution, Options, Rule, TokenOptions, Wallet};
use kernel::attempt::{Attempt, Lock};
use kernel::flow::table::Flows;
use kernel::ids::{AssetId, Id, Millis};
use kernel::money::Amount;
use kernel::ports::chain::{Chain, SignRequest};
use kernel::ports::clock::Clock;
use kernel::ports::facts::FactSource;
use kernel::ports::journal::Journal;
use kernel::ports::meter::NoMeter;
use kernel::record::Record;
use links::near::{KeyRing, NearChain, NearNetwork, NearSettings, NearToken};
use sim::chain::{
    AdapterHost, BridgedFacts, BridgedPort, ChainRules, Locking, Paid, PlayedChain, REFUSES_FOR,
    STRANGE_BLOCKS, SimVault,
};
use sim::generic::relay::{NEAR, RelayCase};
use sim::world::SplitMix;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use testkit::{DatedClock, SteppingClock};
use tokio::runtime::Runtime;

/// The account of the relay.
pub(crate) const RELAY: &str = "relay.devnet";
const TOKEN: &str = "usdc.devnet";
/// What a contract says that refuses all that comes.
const BROKEN: &str = "Cannot deserialize the contract state.";
/// The asset of the terms of [`RelayCase`].
const ASSET: AssetId = AssetId(3);
/// What the relay has of it.
const SUPPLY: u128 = 1_000_000;
/// A call that takes longer waits for something that never comes.
const LONGEST_CALL: Duration = Duration::from_secs(60);

/// A local chain on which nothing goes wrong, as NEAR makes its blocks.
pub(crate) const RULES: ChainRules =
    ChainRules { block_ms: 600, finality: 2, validity: 40, ..ChainRules::calm(Locking::Nonce) };

/// The account of a receiver.
pub(crate) fn named(receiver: &str) -> String {
    format!("{receiver}.devnet")
}

/// What a chain is started with beside its rules.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    /// What executes the token's contract.
    pub(crate) execution: Execution,
    /// For how many blocks more than the adapter assumes a transaction is valid.
    pub(crate) outlives: u64,
    /// What becomes of what is sent.
    pub(crate) sends: Sends,
    /// Up to that block of the case the second provider says that everything that was sent succeeded.
    pub(crate) liar_until: u64,
    /// Another account pays each receiver of a transfer one unit, with the transfer's memo, when that is signed.
    pub(crate) stranger: bool,
    /// The number of providers.
    pub(crate) providers: usize,
    /// Number of providers that have to agree.
    pub(crate) providers_needed: usize,
    /// The place of the provider that lies, among them.
    pub(crate) liar: usize,
    /// What that provider does wrong until it is healed.
    pub(crate) lies: Vec<Rule>,
    /// Whether the events of a success are compared with its members.
    pub(crate) events: bool,
    /// Where the chain of the run is found that began last.
    pub(crate) last: LastChain,
}

/// The chain of the run that began last. A handle: clones are the same one.
pub(crate) type LastChain = Arc<Mutex<Option<LocalChain>>>;

impl Default for Setup {
    fn default() -> Self {
        Self {
            execution: Execution::Native,
            outlives: 0,
            sends: Sends::Arrive,
            liar_until: 0,
            stranger: false,
            providers: 2,
            providers_needed: 2,
            liar: 0,
            lies: Vec::new(),
            events: true,
            last: LastChain::default(),
        }
    }
}

/// A form that was given to the adapter to be sent.
#[derive(Debug)]
struct SentForm {
    name: Arc<[u8]>,
    lock: Lock,
    /// The last block that may have it.
    expires: u64,
}

struct State {
    draws: SplitMix,
    /// What the blocks draw.
    of_blocks: SplitMix,
    /// The adapter that was made last: its process reads its facts by it.
    near: Option<NearChain>,
    flows: Option<Arc<Flows>>,
    /// What was sent of each lane.
    sent: BTreeMap<Arc<str>, Vec<SentForm>>,
    faults: Vec<String>,
}

struct Inner {
    rules: ChainRules,
    devnet: Devnet,
    runtime: Runtime,
    /// Callers of one moment share an answer, as they do on a real clock; and a request's turn comes at once: while
    /// it waits, the simulation's time stands.
    clock: Arc<SteppingClock>,
    token: AccountId,
    relay: Wallet,
    keys: Vec<Wallet>,
    setup: Setup,
    stranger: Stranger,
    /// The provider that lied lies no more.
    healed: AtomicBool,
    /// When the case began, and at which block.
    began: (Millis, u64),
    holders: Holders,
    state: Mutex<State>,
}

/// The chain. A handle: clones are the same one.
#[derive(Clone)]
pub(crate) struct LocalChain(Arc<Inner>);

impl fmt::Debug for LocalChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalChain").field("urls", &self.0.devnet.urls()).finish_non_exhaustive()
    }
}

impl LocalChain {
    /// A chain with these receivers, as their names say.
    pub(crate) fn start(
        rules: ChainRules,
        (clock, seed): (Arc<dyn Clock>, u64),
        setup: &Setup,
        receivers: &[&str],
    ) -> Self {
        let options = Options {
            endpoints: setup.providers,
            threads: 1,
            finality_lag: rules.finality,
            validity_period: rules.validity + setup.outlives,
            execution: setup.execution,
            ..Options::manual()
        };
        let devnet = Devnet::start(options).unwrap();
        let token = devnet.deploy_token(TOKEN, &TokenOptions::default()).unwrap();
        let relay = devnet.create_account(RELAY, 1_000).unwrap();
        let mut keys = vec![relay.clone()];
        keys.extend(devnet.add_keys(&relay, rules.lanes - 1).unwrap());
        devnet.mint(&token, &[(relay.account.clone(), SUPPLY)]).unwrap();
        creates_receivers(&devnet, &token, receivers);
        let stranger = Stranger::new(&devnet, &token);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let state = State {
            draws: SplitMix(seed ^ 0x10CA_1C4A_1100_0001),
            of_blocks: SplitMix(seed ^ 0x10CA_1C4A_1100_0002),
            near: None,
            flows: None,
            sent: BTreeMap::new(),
            faults: Vec::new(),
        };
        Self(Arc::new(Inner {
            began: (clock.now(), devnet.height()),
            clock: Arc::new(SteppingClock::over(clock)),
            rules: ChainRules { id: NEAR, ..rules },
            devnet,
            runtime,
            token,
            relay,
            keys,
            setup: Setup { last: LastChain::default(), ..setup.clone() },
            stranger,
            healed: AtomicBool::new(false),
            holders: Holders::default(),
            state: Mutex::new(state),
        }))
    }

    fn settings(&self) -> NearSettings {
        let (contract, asset) = (self.0.token.as_str().into(), ASSET);
        let token = NearToken {
            contract,
            asset,
            decimals: 6,
            least_tgas: NearToken::LEAST_TGAS,
            events: self.0.setup.events,
        };
        let urls = self.0.devnet.urls();
        let mut settings = NearSettings::new(NEAR, RELAY, vec![token], urls);
        settings.network = NearNetwork::Localnet;
        settings.validity_blocks = self.0.rules.validity;
        settings.providers_needed = self.0.setup.providers_needed;
        settings.base_block_ms = self.0.rules.block_ms;
        settings.batch = self.0.rules.cap;
        settings.limits.timeout_ms = 30_000;
        settings.limits.burst = 1_000_000;
        settings
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the blocks whose time has come.
    fn advances(&self) {
        let (began, height) = self.0.began;
        let passed = self.0.clock.now().saturating_sub(began) / self.0.rules.block_ms;
        let (due, devnet) = (height + passed, &self.0.devnet);
        while devnet.height() < due {
            self.disturbs(devnet.height() + 1 - height);
            devnet.advance(1);
        }
    }

    /// What goes wrong in a block of the case, before it is made.
    fn disturbs(&self, block: u64) {
        let ChainRules { refuses_from, strangers, .. } = self.0.rules;
        if refuses_from > 0 && block == refuses_from {
            self.0.devnet.refuse_every_account(Some(BROKEN));
        }
        if refuses_from > 0 && block == refuses_from + REFUSES_FOR {
            self.0.devnet.refuse_every_account(None);
        }
        let (of_blocks, keys) = (&mut self.state().of_blocks, &self.0.keys);
        if block < STRANGE_BLOCKS && of_blocks.once_in(1, strangers) {
            let key = usize::try_from(of_blocks.next() % 1_000).unwrap() % keys.len();
            self.0.devnet.wallet_signs(&keys[key]).unwrap();
        }
    }

    /// The provider that lied lies no more, and what it kept back is lost.
    pub(crate) fn heal(&self) {
        self.0.healed.store(true, Ordering::SeqCst);
    }

    /// Host and port of the provider that lies, as cases name it.
    pub(crate) fn liar(&self) -> String {
        self.0.devnet.endpoint(self.0.setup.liar).unwrap().url().replace("http://", "")
    }

    /// The token's contract is checked, as the server does after its start and later.
    pub(crate) fn checks_token(&self) {
        let near = self.state().near.clone().unwrap();
        drop(self.runs(near.check_tokens()));
    }

    /// The kinds of requests that the provider that lies had.
    pub(crate) fn asked_of_liar(&self) -> Vec<String> {
        self.0.devnet.endpoint(self.0.setup.liar).unwrap().requests().into_keys().collect()
    }

    /// Another program uses the relay's first key: it sends the account itself one yocto.
    pub(crate) fn wallet_signs(&self) {
        self.advances();
        self.0.devnet.wallet_signs(&self.0.relay).unwrap();
    }

    /// What the process learns whose adapter was made last.
    pub(crate) fn facts(&self, journal: Arc<dyn Journal>) -> Arc<dyn FactSource> {
        let state = self.state();
        let (Some(near), Some(flows)) = (&state.near, state.flows.clone()) else {
            unreachable!("a process has its adapter first")
        };
        let holders = self.0.holders.clone();
        let near = near.facts(Arc::new(Registrations { journal, flows, holders }));
        Arc::new(BridgedFacts { host: self.clone(), inner: Arc::new(near) })
    }

    /// Whether a final event of the token has the memo of this transfer, by any sender.
    pub(crate) fn has_memo(&self, id: Id) -> bool {
        let (memo, events) = (id.to_string(), self.0.devnet.events(&self.0.token));
        events.iter().any(|event| event.memo.as_deref() == Some(&memo))
    }

    /// The nonce of a lane's key at the last final block.
    fn spent(&self, lane: &str) -> u64 {
        let key = self.0.keys.iter().map(Wallet::public_key).find(|key| key.to_string() == lane);
        key.and_then(|key| self.0.devnet.nonce(&self.0.relay.account, &key)).unwrap_or(0)
    }

    /// What the relay lost is what these transfers say, and what their receivers got.
    pub(crate) fn unbalanced(&self, ended: &[Record]) -> Vec<String> {
        self.advances();
        let flows = flows::registry();
        let completed = |record: &&Record| {
            flows.table(record.flow).state(record.head.state).name == "COMPLETED"
        };
        let completed: u128 =
            ended.iter().filter(completed).map(|record| record.target().amount.0).sum();
        let left = self.0.devnet.balance(&self.0.token, &self.0.relay.account).unwrap();
        let (debit, events) = (SUPPLY - left, self.0.devnet.events(&self.0.token));
        let ours = events.iter().filter(|event| event.kind == EventKind::Transfer);
        let ours = ours.filter(|event| event.from.as_ref() == Some(&self.0.relay.account));
        let credits: u128 = ours.map(|event| event.amount).sum();
        let even = debit == completed && credits == completed;
        let words = || format!("debit {debit}, credits {credits}, COMPLETED {completed}");
        (!even).then(words).into_iter().collect()
    }
}

/// Creates the receivers that exist, and registers those that hold the token.
fn creates_receivers(devnet: &Devnet, token: &AccountId, receivers: &[&str]) {
    let account = |receiver: &&str| -> AccountId { named(receiver).parse().unwrap() };
    let mut all = receivers.to_vec();
    all.sort_unstable();
    all.dedup();
    let holders: Vec<AccountId> =
        all.iter().filter(|one| RelayCase::holds_token(one)).map(account).collect();
    if !holders.is_empty() {
        devnet.register(token, &holders).unwrap();
    }
    for receiver in all {
        if RelayCase::exists(receiver) && !RelayCase::holds_token(receiver) {
            devnet.create_account(&named(receiver), 1).unwrap();
        }
        if RelayCase::spoils(receiver) {
            devnet.block_account(&account(&receiver));
        }
    }
}

fn number(lock: &Lock) -> u64 {
    lock.0.parse().unwrap_or(0)
}

impl AdapterHost for LocalChain {
    /// Runs a call of the adapter to its end, with what goes wrong at its providers.
    fn runs<T>(&self, call: impl Future<Output = T>) -> T {
        self.advances();
        let Inner { devnet, rules, setup, .. } = &*self.0;
        if rules.is_rough() {
            providers::draw(devnet, rules, &mut self.state().draws);
        } else {
            let block = devnet.height() - self.0.began.1;
            let lies = !self.0.healed.load(Ordering::SeqCst);
            providers::script(devnet, setup, block, lies);
        }
        let bounded = async { tokio::time::timeout(LONGEST_CALL, call).await };
        self.0.runtime.block_on(bounded).unwrap_or_else(|_| panic!("a call does not end"))
    }

    fn saw_signing(&self, request: &SignRequest) {
        if self.0.setup.stranger && request.act == "ft_transfer" {
            let members = request.members.iter();
            members.for_each(|member| self.0.stranger.pays(&self.0.devnet, member));
        }
    }

    /// Nothing is sent under another nonce of a key while an older one may still land.
    fn sees_sending(&self, attempts: &[Attempt]) {
        self.advances();
        let last = self.0.devnet.final_height();
        let mut state = self.state();
        for attempt in attempts {
            let Some(form) = attempt.forms.last() else { continue };
            let spent = self.spent(&attempt.lane);
            let lives = |sent: &&SentForm| {
                sent.lock != attempt.lock && number(&sent.lock) > spent && last <= sent.expires
            };
            let forms = state.sent.entry(attempt.lane.clone()).or_default();
            // identical bytes again take nothing that they had not taken before
            if forms.iter().any(|sent| sent.name == form.name) {
                continue;
            }
            let early = forms.iter().find(lives).map(|sent| {
                format!("{} is sent for {} while {sent:?} may land", attempt.lock, attempt.lane)
            });
            let validity = self.0.rules.validity + self.0.setup.outlives;
            let expires = form.anchor.unwrap_or_default() + validity;
            let (name, lock) = (form.name.clone(), attempt.lock.clone());
            forms.push(SentForm { name, lock, expires });
            state.faults.extend(early);
        }
    }
}

impl PlayedChain for LocalChain {
    type Vault = SimVault;

    fn rules(&self) -> ChainRules {
        self.0.rules
    }

    fn adapter(&self, flows: &Arc<Flows>) -> Arc<dyn Chain> {
        let texts: Vec<String> = self.0.keys.iter().map(|wallet| wallet.key.to_string()).collect();
        let ring = KeyRing::plain(texts.iter().map(String::as_str)).unwrap();
        // the adapter compares a block's time with the time of day, which is the chain's here
        let clock = Arc::new(DatedClock::over(self.0.clock.clone(), self.0.devnet.time()));
        let near = NearChain::new(self.settings(), Arc::new(ring), clock, Arc::new(NoMeter));
        let near = near.unwrap();
        let mut state = self.state();
        (state.near, state.flows) = (Some(near.clone()), Some(flows.clone()));
        Arc::new(BridgedPort { host: self.clone(), inner: Arc::new(near) })
    }

    /// By the events of the token's contract: the memo is the transfer's id, and the relay the sender.
    fn paid(&self) -> BTreeMap<Id, Vec<Paid>> {
        self.advances();
        let mut paid: BTreeMap<Id, Vec<Paid>> = BTreeMap::new();
        for event in self.0.devnet.events(&self.0.token) {
            let ours = event.from.as_ref() == Some(&self.0.relay.account);
            let memo = event.memo.as_deref().and_then(|memo| memo.parse::<Id>().ok());
            let (Some(id), Some(to)) = (memo, event.to) else { continue };
            if event.kind == EventKind::Transfer && ours {
                let (account, amount) = (to.as_str().into(), Amount(event.amount));
                paid.entry(id).or_default().push(Paid { id, account, asset: ASSET, amount });
            }
        }
        paid
    }

    fn faults(&self) -> Vec<String> {
        self.advances();
        let mut faults = self.state().faults.clone();
        let twice = self.paid().into_iter().filter(|(_, paid)| paid.len() > 1);
        faults.extend(twice.map(|(id, paid)| format!("{id} was paid {} times", paid.len())));
        let mut forms: BTreeMap<(String, u64), usize> = BTreeMap::new();
        for spent in self.0.devnet.spent_nonces(&self.0.relay.account) {
            *forms.entry((spent.key.to_string(), spent.nonce)).or_default() += 1;
        }
        let twice = forms.into_iter().filter(|(_, forms)| *forms > 1);
        faults
            .extend(twice.map(|((key, nonce), n)| format!("{n} forms of {key}/{nonce} are final")));
        faults
    }
}
