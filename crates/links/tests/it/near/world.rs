//! A local chain with a token, the relay with its keys, and the engine's part: what is signed, stored in RAM,
//! sent and proven.

use devnet::near::near_primitives::types::AccountId;
use devnet::near::{Devnet, EventKind, Fault, Options, Rule, TokenOptions, Wallet};
use kernel::answer::{Answer, Cause};
use kernel::attempt::{Attempt, AttemptId, Form, Lock, MemberVerdict, Purpose};
use kernel::ids::{AssetId, ChainId, FlowId, Id};
use kernel::money::Amount;
use kernel::owner::TransferOwner;
use kernel::ports::chain::{AttemptProof, Chain, ChainIdentity, SignRequest};
use kernel::ports::meter::{Meter, Seen};
use kernel::record::{Account, Head, Party, Record, System, Terms};
use links::near::{KeyRing, NearChain, NearNetwork, NearSettings, NearToken};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use testkit::{DatedClock, SkippingClock};

pub(super) const CHAIN: ChainId = ChainId(20);
pub(super) const USDC: AssetId = AssetId(3);
pub(super) const RELAY: &str = "relay.devnet";
pub(super) const SUPPLY: u128 = 1_000_000;
/// The number of receivers that are registered from the beginning.
const RECEIVERS: u64 = 24;
/// The number of blocks after which the adapter's transactions count as expired.
pub(super) const VALIDITY: u64 = 30;

/// What was measured, in words.
#[derive(Debug, Default)]
pub(super) struct Measured(Mutex<Vec<String>>);

impl Measured {
    /// How often that was measured.
    pub(super) fn times(&self, what: &str) -> usize {
        self.0.lock().unwrap().iter().filter(|seen| *seen == what).count()
    }
}

impl Meter for Measured {
    fn see(&self, seen: Seen<'_>) {
        let text = if let Seen::ChainCall { chain, method, outcome, .. } = seen {
            format!("{chain} {method} {outcome}")
        } else if let Seen::FeeBalance { chain, precision, .. } = seen {
            format!("{chain} fee e{precision}")
        } else if let Seen::ChainBalance { chain, asset, units } = seen {
            format!("{chain} {asset} {units}")
        } else {
            return;
        };
        self.0.lock().unwrap().push(text);
    }
}

pub(super) struct World {
    pub(super) devnet: Devnet,
    pub(super) token: AccountId,
    pub(super) relay: Wallet,
    keys: Vec<Wallet>,
    pub(super) clock: Arc<SkippingClock>,
    /// The same clock, whose time of day is that of the chain's newest block.
    pub(super) dated: Arc<DatedClock>,
    /// What the adapters told of themselves.
    pub(super) meter: Arc<Measured>,
    next: AtomicU64,
    attempts: AtomicU64,
}

impl World {
    /// A chain on which transactions are valid for longer than the adapter takes them for: what it takes for
    /// expired may land yet.
    pub(super) fn new(endpoints: usize) -> Self {
        Self::with_validity(endpoints, 10_000)
    }

    pub(super) fn with_validity(endpoints: usize, validity_period: u64) -> Self {
        Self::over(Options { endpoints, validity_period, ..Options::manual() })
    }

    /// A chain that was started so, with everything that the relay needs.
    pub(super) fn over(options: Options) -> Self {
        let devnet = Devnet::start(options).unwrap();
        let token = devnet.deploy_token("usdc.devnet", &TokenOptions::default()).unwrap();
        let relay = devnet.create_account(RELAY, 1_000).unwrap();
        let mut keys = vec![relay.clone()];
        keys.extend(devnet.add_keys(&relay, 1).unwrap());
        devnet.mint(&token, &[(relay.account.clone(), SUPPLY)]).unwrap();
        let receivers: Vec<AccountId> =
            (0..RECEIVERS).map(|n| format!("r{n}.devnet").parse().unwrap()).collect();
        devnet.register(&token, &receivers).unwrap();
        let (next, attempts) = (AtomicU64::new(0), AtomicU64::new(1));
        let clock = Arc::new(SkippingClock::default());
        let dated = Arc::new(DatedClock::over(clock.clone(), devnet.time()));
        Self { devnet, token, relay, keys, clock, dated, meter: Arc::default(), next, attempts }
    }

    pub(super) fn settings(&self) -> NearSettings {
        let token = NearToken {
            contract: self.token.as_str().into(),
            asset: USDC,
            decimals: 6,
            least_tgas: 3,
            events: true,
        };
        let urls = self.devnet.urls();
        let providers_needed = if urls.len() > 1 { 2 } else { 1 };
        let mut settings = NearSettings::new(CHAIN, RELAY, vec![token], urls);
        settings.network = NearNetwork::Localnet;
        settings.providers_needed = providers_needed;
        settings.validity_blocks = VALIDITY;
        settings.base_block_ms = 0;
        settings.limits.timeout_ms = 1_000;
        settings.limits.burst = 10_000;
        settings
    }

    /// A process that begins.
    pub(super) fn port(&self) -> NearChain {
        self.port_with(self.settings())
    }

    /// The chain, as its endpoints show it.
    pub(super) fn identity(&self) -> ChainIdentity {
        let genesis = self.devnet.genesis_hash().to_string().into();
        ChainIdentity { name: self.devnet.chain_id().into(), genesis }
    }

    pub(super) fn port_with(&self, settings: NearSettings) -> NearChain {
        let port = self.unbound(settings);
        port.bind(&self.identity());
        port
    }

    /// A process whose journal is bound to no chain yet.
    pub(super) fn unbound(&self, settings: NearSettings) -> NearChain {
        let texts: Vec<String> = self.keys.iter().map(|wallet| wallet.key.to_string()).collect();
        let ring = KeyRing::plain(texts.iter().map(String::as_str)).unwrap();
        NearChain::new(settings, Arc::new(ring), self.dated.clone(), self.meter.clone()).unwrap()
    }

    /// A second token of the relay, with its receivers, and an adapter that pays both.
    pub(super) fn with_second_token(&self) -> (AssetId, NearChain) {
        let (usdt, asset) = ("usdt.devnet", AssetId(4));
        let contract = self.devnet.deploy_token(usdt, &TokenOptions::default()).unwrap();
        self.devnet.mint(&contract, &[(self.relay.account.clone(), SUPPLY)]).unwrap();
        self.devnet.register(&contract, &["r1.devnet".parse().unwrap()]).unwrap();
        let mut settings = self.settings();
        let token = NearToken { contract: usdt.into(), asset, ..settings.tokens[0].clone() };
        settings.tokens.push(token);
        (asset, self.port_with(settings))
    }

    pub(super) fn record(&self, receiver: &str, amount: u128) -> Record {
        self.record_of(USDC, receiver, amount)
    }

    pub(super) fn record_of(&self, asset: AssetId, receiver: &str, amount: u128) -> Record {
        let n = self.next.fetch_add(1, Ordering::SeqCst);
        let party = |account: &str| Party {
            system: System::Chain(CHAIN),
            account: Account::Named(account.into()),
            asset,
            amount: Amount(amount),
        };
        let owner = TransferOwner::Principal("it|relay".into());
        let terms = Terms::between("it|relay".into(), owner, party(RELAY), party(receiver));
        Record::new(Id(1_000_000 + u128::from(n)), FlowId(2), Head::start(0), Arc::new(terms))
    }

    /// Transfers to receivers that are registered.
    pub(super) fn members(&self, many: usize) -> Vec<Record> {
        let receiver = || self.next.load(Ordering::SeqCst) % RECEIVERS;
        (0..many).map(|_| self.record(&format!("r{}.devnet", receiver()), 10)).collect()
    }

    /// How often each transfer was paid, whatever endpoints say.
    pub(super) fn paid(&self, members: &[Record]) -> Vec<usize> {
        let events = self.devnet.events(&self.token);
        let of = |record: &Record| {
            let id = record.id.to_string();
            let own = events.iter().filter(|event| event.kind == EventKind::Transfer);
            own.filter(|event| event.memo.as_deref() == Some(id.as_str())).count()
        };
        members.iter().map(of).collect()
    }

    pub(super) fn everywhere(&self, rule: &Rule) {
        for endpoint in (0..).map_while(|n| self.devnet.endpoint(n)) {
            endpoint.add(rule.clone());
        }
    }

    pub(super) fn clear(&self) {
        for endpoint in (0..).map_while(|n| self.devnet.endpoint(n)) {
            endpoint.clear();
        }
    }

    /// Nothing that is sent reaches the chain before it is released.
    pub(super) fn withhold(&self) {
        self.everywhere(&Rule::always(Fault::Withhold));
    }

    /// An attempt under the next lock of the key of that place, signed and stored.
    pub(super) async fn claim(
        &self,
        port: &NearChain,
        act: &'static str,
        members: Vec<Record>,
    ) -> Attempt {
        self.attempt(port, (act, 0), members).await
    }

    /// A payment under the next lock of the key of that place.
    pub(super) async fn claim_on(
        &self,
        port: &NearChain,
        key: usize,
        members: Vec<Record>,
    ) -> Attempt {
        self.attempt(port, ("ft_transfer", key), members).await
    }

    async fn attempt(
        &self,
        port: &NearChain,
        (act, key): (&'static str, usize),
        members: Vec<Record>,
    ) -> Attempt {
        let lane = port.lanes(act)[key].clone();
        let lock = port.next_lock(&lane, None, &members).await.unwrap();
        let form = self.form(port, (act, &lane, &lock), &members, Vec::new()).await.unwrap();
        self.stored(lane, lock, members, form)
    }

    pub(super) fn stored(
        &self,
        lane: Arc<str>,
        lock: Lock,
        members: Vec<Record>,
        form: Form,
    ) -> Attempt {
        Attempt {
            id: AttemptId(self.attempts.fetch_add(1, Ordering::SeqCst).into()),
            chain: CHAIN,
            flow: FlowId(2),
            state: 0,
            version: Attempt::FIRST,
            lane,
            lock,
            members: members.into(),
            forms: vec![form],
            sent: false,
            due_at: None,
            closed: None,
        }
    }

    /// What the engine would ask to be signed for these.
    pub(super) async fn request(&self, port: &NearChain, members: Vec<Record>) -> SignRequest {
        let lane = port.lanes("ft_transfer")[0].clone();
        let lock = port.next_lock(&lane, None, &[]).await.unwrap();
        let (flow, act, purpose) = ("relay", "ft_transfer", Purpose::Pay);
        let (members, forms) = (members.into(), Vec::new());
        SignRequest { flow, act, lane, lock, members, purpose, forms }
    }

    pub(super) fn keys(&self) -> &[Wallet] {
        &self.keys
    }

    async fn form(
        &self,
        port: &NearChain,
        (act, lane, lock): (&'static str, &Arc<str>, &Lock),
        members: &[Record],
        forms: Vec<Form>,
    ) -> Result<Form, Cause> {
        let (lane, lock, members) = (lane.clone(), lock.clone(), members.into());
        let purpose = Purpose::Pay;
        let request = SignRequest { flow: "relay", act, lane, lock, members, purpose, forms };
        port.sign(&request).await.map(|signed| signed.form).map_err(|unsigned| unsigned.cause)
    }

    /// A payment to as many of these, from the first, as the adapter signs for.
    pub(super) async fn try_pay(&self, port: &NearChain, mut members: Vec<Record>) -> Attempt {
        let request = self.request(port, members.clone()).await;
        let signed = port.sign(&request).await.unwrap();
        members.truncate(signed.pays.len());
        self.stored(request.lane, request.lock, members, signed.form)
    }

    pub(super) async fn pay(&self, port: &NearChain, members: Vec<Record>) -> Attempt {
        self.claim(port, "ft_transfer", members).await
    }

    pub(super) async fn replace(&self, port: &NearChain, attempt: &mut Attempt) {
        let named = ("ft_transfer", &attempt.lane, &attempt.lock);
        let forms = attempt.forms.clone();
        let form = self.form(port, named, &attempt.members, forms).await.unwrap();
        attempt.forms.push(form);
    }

    /// One look, as the engine makes it: the newest form is sent again, and the chain is asked.
    pub(super) async fn look(&self, port: &NearChain, attempt: &Attempt) -> AttemptProof {
        let one = std::slice::from_ref(attempt);
        let replies = port.broadcast(one).await;
        assert_eq!(replies.len(), 1);
        port.prove(one).await.pop().unwrap()
    }

    /// Looks until it is closed, as the engine does.
    pub(super) async fn see_through(
        &self,
        port: &NearChain,
        attempt: &mut Attempt,
    ) -> Vec<MemberVerdict> {
        let mut seen = Vec::new();
        for _ in 0..20 {
            match self.look(port, attempt).await {
                AttemptProof::Closed(verdicts) => {
                    attempt.admit(&verdicts).unwrap();
                    return verdicts;
                }
                AttemptProof::Form(Purpose::Pay) => self.replace(port, attempt).await,
                other @ (AttemptProof::NotYet(_)
                | AttemptProof::Form(Purpose::Void)
                | AttemptProof::SpentElsewhere(_)) => seen.push(other),
            }
            self.devnet.settle();
        }
        unreachable!("it is proven in the end: {seen:?}")
    }

    /// The class of a look that proves nothing.
    pub(super) async fn not_yet(&self, port: &NearChain, attempt: &Attempt) -> &'static str {
        match self.look(port, attempt).await {
            AttemptProof::NotYet(cause) => cause.class,
            other @ (AttemptProof::Closed(_)
            | AttemptProof::Form(_)
            | AttemptProof::SpentElsewhere(_)) => {
                unreachable!("nothing is proven: {other:?}")
            }
        }
    }
}

/// The word of each verdict, and who goes alone.
pub(super) fn words(verdicts: &[MemberVerdict]) -> Vec<(&'static str, bool)> {
    verdicts.iter().map(|verdict| (verdict.answer.word(), verdict.alone)).collect()
}

/// The code of the first verdict's evidence.
pub(super) fn code(verdicts: &[MemberVerdict]) -> String {
    match verdicts.first().map(|verdict| &verdict.answer) {
        Some(Answer::Dead(why) | Answer::Rejected(why, _)) => why.code.to_string(),
        other => format!("{other:?}"),
    }
}
