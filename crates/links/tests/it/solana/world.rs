//! A local chain with a mint, the vault with its lanes, customers, and the engine's part: what is signed, stored in RAM,
//! sent and proven.

use devnet::solana::{
    Address, Devnet, Fault, Hash, MEMO_PROGRAM, Options, Rule, Wallet, sign_message,
};
use flows::swap_out;
use kernel::answer::Answer;
use kernel::attempt::{Attempt, AttemptId, Form, Lock, MemberVerdict, Purpose};
use kernel::flow::life::{Life, Word};
use kernel::ids::{AssetId, ChainId, FlowId, Id};
use kernel::money::Amount;
use kernel::owner::TransferOwner;
use kernel::ports::chain::{AttemptProof, Chain, ChainIdentity, SignRequest, Signed, Unsigned};
use kernel::ports::meter::{Meter, Seen};
use kernel::record::{Account, Head, Party, Record, System, Terms};
use links::solana::{KeyRing, SolanaChain, SolanaNetwork, SolanaSettings, SolanaVault};
use solana_compute_budget_interface::ComputeBudgetInstruction;
use solana_instruction::Instruction;
use solana_system_interface::instruction::advance_nonce_account;
use solana_transaction::versioned::VersionedTransaction;
use spl_memo_interface::instruction::build_memo;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use testkit::{DatedClock, SkippingClock};

pub(super) const CHAIN: ChainId = ChainId(21);
/// The chain that swaps come from.
const NEXUS: ChainId = ChainId(22);
pub(super) const USDC: AssetId = AssetId(4);
const USDD: AssetId = AssetId(5);
pub(super) const SUPPLY: u64 = 1_000_000;
/// The number of lanes of the adapter.
pub(super) const LANES: usize = 2;
/// The priority fee of a first form, and the highest one.
pub(super) const PRICE: u64 = 1_000;
pub(super) const MOST_PRICE: u64 = 4_000;

/// The methods that were called.
#[derive(Debug, Default)]
pub(super) struct Measured(Mutex<Vec<String>>);

impl Measured {
    /// The number of all requests but those for the chain's identity.
    pub(super) fn calls(&self) -> usize {
        let seen = self.0.lock().unwrap();
        seen.iter().filter(|one| *one != "getGenesisHash").count()
    }
}

impl Meter for Measured {
    fn see(&self, seen: Seen<'_>) {
        if let Seen::ChainCall { method, .. } = seen {
            self.0.lock().unwrap().push(method.to_owned());
        }
    }
}

pub(super) struct World {
    pub(super) devnet: Devnet,
    pub(super) vault: Wallet,
    /// The token account of the vault.
    pub(super) account: Address,
    pub(super) mint: Address,
    /// Who is paid, and its token account.
    pub(super) alice: Wallet,
    pub(super) alices: Address,
    pub(super) clock: Arc<SkippingClock>,
    dated: Arc<DatedClock>,
    pub(super) meter: Arc<Measured>,
    next: AtomicU64,
}

impl World {
    pub(super) fn new(endpoints: usize) -> Self {
        Self::over(Options { endpoints, ..Options::manual() })
    }

    /// A chain that was started so, with everything that the vault needs.
    pub(super) fn over(options: Options) -> Self {
        let devnet = Devnet::start(options).unwrap();
        let mint = devnet.create_mint().unwrap();
        let vault = devnet.create_wallet("vault").unwrap();
        let alice = devnet.create_wallet("alice").unwrap();
        let account = devnet.create_token_account(&vault.address()).unwrap();
        let alices = devnet.create_token_account(&alice.address()).unwrap();
        devnet.mint_to(&[(account, SUPPLY)]).unwrap();
        devnet.create_lanes(&vault, LANES).unwrap();
        devnet.settle();
        let clock = Arc::new(SkippingClock::default());
        let dated = Arc::new(DatedClock::over(clock.clone(), devnet.time()));
        let (next, meter) = (AtomicU64::new(1), Arc::default());
        Self { devnet, vault, account, mint, alice, alices, clock, dated, meter, next }
    }

    pub(super) fn settings(&self) -> SolanaSettings {
        let vault = SolanaVault {
            key: self.vault.address().to_string().into(),
            account: self.account.to_string().into(),
            mint: self.mint.to_string().into(),
            asset: USDC,
        };
        let urls = self.devnet.urls();
        let providers_needed = if urls.len() > 1 { 2 } else { 1 };
        let mut settings = SolanaSettings::new(CHAIN, vault, urls);
        settings.network = SolanaNetwork::Localnet;
        settings.providers_needed = providers_needed;
        settings.lanes = LANES;
        settings.priority_fee = PRICE;
        settings.most_priority_fee = MOST_PRICE;
        settings.limits.timeout_ms = 1_000;
        settings.limits.burst = 10_000;
        settings
    }

    /// A process that begins.
    pub(super) fn port(&self) -> SolanaChain {
        self.port_with(self.settings())
    }

    pub(super) fn port_with(&self, settings: SolanaSettings) -> SolanaChain {
        let port = self.unbound(settings);
        port.bind(&self.identity());
        port
    }

    /// A process whose journal is bound to no chain yet.
    pub(super) fn unbound(&self, settings: SolanaSettings) -> SolanaChain {
        let keypair = bs58::encode(self.vault.keypair()).into_string();
        let ring = KeyRing::plain([format!("ed25519:{keypair}").as_str()]).unwrap();
        let (clock, meter) = (self.dated.clone(), self.meter.clone());
        SolanaChain::new(settings, Arc::new(ring), clock, meter).unwrap()
    }

    /// The chain, as its endpoints show it.
    pub(super) fn identity(&self) -> ChainIdentity {
        let genesis = self.devnet.genesis_hash().to_string().into();
        ChainIdentity { name: "localnet".into(), genesis }
    }

    /// A payout of a swap to this account.
    pub(super) fn record(&self, receiver: &Address, amount: u64) -> Record {
        let n = self.next.fetch_add(1, Ordering::SeqCst);
        let party = |system, account: String, asset| Party {
            system: System::Chain(system),
            account: Account::Named(account.into()),
            asset,
            amount: Amount(amount.into()),
        };
        let owner = TransferOwner::Principal("it|swap".into());
        let source = party(NEXUS, "8Bk5nexus".to_owned(), USDD);
        let target = party(CHAIN, receiver.to_string(), USDC);
        let terms = Terms::between("it|swap".into(), owner, source, target);
        Record::new(Id(1_000_000 + u128::from(n)), FlowId(4), Head::start(0), Arc::new(terms))
    }

    /// A payout to alice of another amount than any before.
    pub(super) fn member(&self) -> Record {
        let amount = 100 + self.next.load(Ordering::SeqCst);
        self.record(&self.alices, amount)
    }

    /// How often a transfer was paid in final blocks, whatever endpoints say.
    pub(super) fn paid(&self, record: &Record) -> usize {
        let id = record.id.to_string();
        let all = self.devnet.movements(&self.account);
        let own = all.iter().filter(|one| one.error.is_none() && one.before > one.after);
        own.filter(|one| one.memos.iter().any(|memo| memo.contains(&id))).count()
    }

    pub(super) fn endpoint(&self, n: usize) -> devnet::solana::Endpoint<'_> {
        self.devnet.endpoint(n).unwrap()
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

    pub(super) fn lane(&self, n: usize) -> Address {
        devnet::solana::nonce_lane(&self.vault.address(), n).unwrap()
    }

    /// The lock of a lane at the head.
    pub(super) fn lock(&self, n: usize) -> Hash {
        self.devnet.nonce(&self.lane(n)).unwrap()
    }

    /// A transaction of another program that has the vault's key, under this lock of the first lane.
    pub(super) fn foreign(&self, lock: Hash, instructions: &[Instruction]) -> VersionedTransaction {
        let advance = advance_nonce_account(&self.lane(0), &self.vault.address());
        let all: Vec<_> = std::iter::once(advance).chain(instructions.iter().cloned()).collect();
        sign_message(&all, &[&self.vault], lock).unwrap()
    }

    /// A payment as this product writes it, behind the advance: its memo is one of this program.
    pub(super) fn payment(
        &self,
        program: &Address,
        to: &Address,
        amount: u64,
        memo: &str,
    ) -> [Instruction; 4] {
        [
            ComputeBudgetInstruction::set_compute_unit_limit(60_000),
            ComputeBudgetInstruction::set_compute_unit_price(7),
            self.devnet.payment(&self.vault, to, amount).unwrap(),
            build_memo(program, memo.as_bytes(), &[]),
        ]
    }

    /// Such a payment of another process of this product, which has another journal.
    pub(super) fn paid_elsewhere(
        &self,
        lock: Hash,
        to: &Address,
        amount: u64,
        memo: &str,
    ) -> VersionedTransaction {
        self.foreign(lock, &self.payment(&MEMO_PROGRAM, to, amount, memo))
    }

    /// What the engine would ask to be signed for these, on the lane of this number.
    pub(super) async fn request(
        &self,
        port: &SolanaChain,
        lane: usize,
        stored: Option<&Lock>,
        member: Record,
    ) -> SignRequest {
        let (flow, act) = act();
        let lane = port.lanes(act)[lane].clone();
        let members: Arc<[Record]> = [member].into();
        let lock = port.next_lock(&lane, stored, &members).await.unwrap();
        let (purpose, forms) = (Purpose::Pay, Vec::new());
        SignRequest { flow, act, lane, lock, members, purpose, forms }
    }

    /// An attempt under the next lock of the first lane, signed and stored.
    pub(super) async fn pay(&self, port: &SolanaChain, member: Record) -> Attempt {
        self.pay_behind(port, None, member).await
    }

    pub(super) async fn pay_behind(
        &self,
        port: &SolanaChain,
        stored: Option<&Lock>,
        member: Record,
    ) -> Attempt {
        let request = self.request(port, 0, stored, member).await;
        let signed = port.sign(&request).await.unwrap();
        self.stored(request, signed.form)
    }

    pub(super) fn stored(&self, request: SignRequest, form: Form) -> Attempt {
        Attempt {
            id: AttemptId(self.next.fetch_add(1, Ordering::SeqCst).into()),
            chain: CHAIN,
            flow: FlowId(4),
            state: 0,
            version: Attempt::FIRST,
            lane: request.lane,
            lock: request.lock,
            members: request.members,
            forms: vec![form],
            sent: false,
            due_at: None,
            closed: None,
        }
    }

    /// One more form of an attempt.
    pub(super) async fn another_form(
        &self,
        port: &SolanaChain,
        attempt: &Attempt,
        purpose: Purpose,
    ) -> Result<Signed, Unsigned> {
        let (flow, act) = act();
        let Attempt { lane, lock, members, forms, .. } = attempt.clone();
        port.sign(&SignRequest { flow, act, lane, lock, members, purpose, forms }).await
    }

    /// Sends the newest form.
    pub(super) async fn send(&self, port: &SolanaChain, attempt: &Attempt) {
        assert_eq!(port.broadcast(std::slice::from_ref(attempt)).await.len(), 1);
    }

    pub(super) async fn prove(&self, port: &SolanaChain, attempt: &Attempt) -> AttemptProof {
        port.prove(std::slice::from_ref(attempt)).await.pop().unwrap()
    }

    /// The verdict of an attempt that is proven at this look.
    pub(super) async fn verdict(&self, port: &SolanaChain, attempt: &Attempt) -> MemberVerdict {
        match self.prove(port, attempt).await {
            AttemptProof::Closed(mut verdicts) => {
                attempt.admit(&verdicts).unwrap();
                verdicts.pop().unwrap()
            }
            other @ (AttemptProof::NotYet(_)
            | AttemptProof::Form(_)
            | AttemptProof::SpentElsewhere(_)) => unreachable!("it is proven: {other:?}"),
        }
    }

    /// The class of a look that proves nothing.
    pub(super) async fn not_yet(&self, port: &SolanaChain, attempt: &Attempt) -> &'static str {
        match self.prove(port, attempt).await {
            AttemptProof::NotYet(cause) => cause.class,
            other @ (AttemptProof::Closed(_)
            | AttemptProof::Form(_)
            | AttemptProof::SpentElsewhere(_)) => unreachable!("nothing is proven: {other:?}"),
        }
    }
}

/// The flow and the act that pay at this chain.
pub(super) fn act() -> (&'static str, &'static str) {
    (swap_out::State::FLOW, swap_out::Act::Pay.name())
}

/// The word of a verdict, and the code of its evidence.
pub(super) fn said(verdict: &MemberVerdict) -> (&'static str, String) {
    let code = match &verdict.answer {
        Answer::Dead(why) | Answer::Rejected(why, _) => why.code.to_string(),
        Answer::Done(_) | Answer::Unknown(_) => String::new(),
    };
    (verdict.answer.word(), code)
}
