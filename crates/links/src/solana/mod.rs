//! The adapter for the chain Solana: a vault pays one token, one transfer to a transaction.
//!
//! One rule keeps it from paying twice, whatever its providers say: a lane is a durable nonce account of the vault's key,
//! an attempt keeps its lane and nonce, and every later form of it takes the same two. The chain spends a nonce at most
//! once, also by a transaction that fails.
//!
//! `rpc` asks providers, `tx` writes and reads transactions, `payments` says what an act pays, `receivers`
//! which account that goes to, `snapshot` reads the vault
//! and its lanes, `history` walks what a lane did, `lane` chooses the next lock,
//! `lane_accounts` creates and closes lanes, `sign` makes forms, `prove` finds out how
//! they ended, `foreign` reads what other programs did with the lanes, `deposits` what moved the vault's money,
//! `facts` answers the flows' questions.

mod concerns;
mod deposits;
mod facts;
mod foreign;
mod forms;
mod history;
mod lane;
mod lane_accounts;
mod payments;
mod prove;
mod receivers;
mod rpc;
mod settings;
mod sign;
mod snapshot;
mod tx;

pub use crate::keystore::{BadKeys, ChainSigner, KeyFile, KeyRing, KeyWork, Passphrase};
pub use crate::rpc::RpcLimits;
pub use deposits::{DepositSettings, SolanaDeposits};
pub use lane_accounts::{CreatedLane, LaneAccount, LaneClosing, LaneCreation, LaneState};
pub use settings::{SolanaNetwork, SolanaSettings, SolanaVault};

pub use crate::bad_settings::BadChainSettings;
use crate::base58::{base58, from_base58};
use crate::concerns::Concerns;
use crate::rest::TokenRest;
use crate::rpc::{ONE_IS_BELIEVED, PoolSettings, RpcPool, SharedAnswer, is_trouble};
use crate::swap_facts::SwapChain;
use futures_util::future::join_all;
use history::LaneFact;
use kernel::answer::Cause;
use kernel::attempt::{Attempt, Lock};
use kernel::ids::{ChainId, Millis};
use kernel::ports::Fut;
use kernel::ports::chain::{
    AttemptProof, Chain, ChainIdentity, Concern, FeeBalance, ForeignUse, GoneLane, LaneMark,
    LanePresence, LaneSpent, LanesOnChain, NewLane, ProviderReport, ReturnedLane, SignRequest,
    Signed, Unsigned,
};
use kernel::ports::clock::Clock;
use kernel::ports::meter::Meter;
use kernel::ports::sending::SendPermission;
use kernel::record::Record;
use lane::LastSpent;
use rpc::{SolanaDialect, send};
use snapshot::VaultViews;
use solana_address::Address;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use tx::{Vault, lane_address, spelled};

/// The number of decimals of the coin that pays fees.
const FEE_PRECISION: u8 = 9;

/// Whether a text is an address of the chain: 32 bytes in base58.
pub fn is_address(text: &str) -> bool {
    from_base58(text).is_some()
}

/// The address of a public key.
pub fn key_address(key: &[u8; 32]) -> String {
    base58(key)
}

/// The state that the adapter's parts share.
struct SolanaLink {
    settings: SolanaSettings,
    vault: Vault,
    /// The lanes of the vault's key, by number.
    lanes: Vec<Arc<str>>,
    rpc: RpcPool,
    /// The vault and its lanes, as the providers showed them last.
    seen: SharedAnswer<VaultViews>,
    /// What is known of transactions that name a lane, by the lane and their signature.
    known: Mutex<BTreeMap<(Address, String), LaneFact>>,
    /// The last lock that each lane had spent.
    spent: Mutex<BTreeMap<Arc<str>, LastSpent>>,
    /// Of lanes whose lock is spent and not explained yet, since when that is seen, in ticks.
    unexplained: Mutex<BTreeMap<Arc<str>, (Lock, u64)>>,
    /// Nothing is signed for a while after a payment failed for a reason of ours.
    rest: TokenRest,
    signer: Arc<dyn ChainSigner>,
    clock: Arc<dyn Clock>,
    meter: Arc<dyn Meter>,
    /// The concerns about the chain as a whole, for operators.
    concerns: Concerns,
}

/// The adapter to Solana: the engine's chain.
#[derive(Clone)]
pub struct SolanaChain {
    link: Arc<SolanaLink>,
}

impl fmt::Debug for SolanaChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SolanaChain")
            .field("vault", &self.link.settings.vault)
            .field("providers", &self.link.rpc)
            .finish_non_exhaustive()
    }
}

impl SolanaChain {
    /// Makes the adapter; nothing is sent yet. `signer` has the vault's key; without it nothing is signed, and the rest
    /// goes on. `clock` paces requests and ages what is remembered; `meter` is told of requests and balances. It is used
    /// inside a Tokio runtime with timers and sockets.
    ///
    /// # Errors
    /// The rule that the settings break.
    pub fn new(
        settings: SolanaSettings,
        signer: Arc<dyn ChainSigner>,
        clock: Arc<dyn Clock>,
        meter: Arc<dyn Meter>,
    ) -> Result<Self, BadChainSettings> {
        if let Some(why) = settings.unfit() {
            return Err(BadChainSettings(why));
        }
        let no_address = || BadChainSettings("a setting is no address".to_owned());
        let vault = Vault::of(&settings).ok_or_else(no_address)?;
        let lanes = (0..settings.lanes).map(|number| lane_address(&vault.key, number));
        let lanes = lanes.map(|lane| Some(spelled(&lane?).into())).collect::<Option<Vec<_>>>();
        let pool = PoolSettings {
            chain: settings.chain,
            dialect: &SolanaDialect,
            network: settings.network.expected(),
            urls: &settings.rpc_urls,
            needed: settings.providers_needed,
            limits: settings.limits,
        };
        let rpc = RpcPool::new(&pool, &clock, &meter).map_err(BadChainSettings)?;
        if settings.providers_needed == 1 {
            tracing::warn!("{ONE_IS_BELIEVED}");
        }
        let link = SolanaLink {
            vault,
            lanes: lanes.ok_or_else(no_address)?,
            rpc,
            seen: SharedAnswer::default(),
            known: Mutex::default(),
            spent: Mutex::default(),
            unexplained: Mutex::default(),
            rest: TokenRest::default(),
            signer,
            clock,
            meter,
            concerns: Concerns::default(),
            settings,
        };
        Ok(Self { link: Arc::new(link) })
    }
}

impl SwapChain for SolanaChain {
    fn chain_time(&self) -> Fut<'_, Result<Millis, Cause>> {
        Box::pin(async move { self.link.noted(self.link.time().await) })
    }

    fn takes_money<'a>(&'a self, account: &'a str) -> Fut<'a, Result<bool, Cause>> {
        Box::pin(async move { self.link.noted(self.link.takes_money(account).await) })
    }
}

impl SolanaLink {
    /// Passes a result on, and notes what its failure says of the chain as a whole.
    fn noted<T>(&self, result: Result<T, Cause>) -> Result<T, Cause> {
        result.inspect_err(|cause| self.note_failure(cause))
    }

    fn note_failure(&self, cause: &Cause) {
        self.concerns.note_cause(cause, &concerns::CAUSES, &*self.clock);
    }

    /// Whether the vault's key is here.
    fn has_key(&self) -> bool {
        self.signer.public_keys().contains(&self.vault.key.to_bytes())
    }

    /// Sends the newest form, identical bytes each time. What comes back says nothing.
    async fn send(&self, attempt: &Attempt) -> Result<(), Cause> {
        let forms = self.forms(attempt)?;
        let newest = forms.last().and_then(|_| attempt.forms.last());
        let newest = newest.ok_or(Cause::of("NO_FORM"))?;
        if newest.bytes.is_empty() {
            return Err(Cause::of("SENT_ELSEWHERE"));
        }
        // all of them: one may take it in and keep it to itself
        let mut failed = Err(Cause::of("NO_PROVIDER"));
        for one in self.rpc.each(&send(&newest.bytes)).await {
            match one.reply {
                Ok(()) => return Ok(()),
                Err(failure) => failed = Err(failure.into()),
            }
        }
        failed
    }

    async fn fee_balance(&self) -> Result<FeeBalance, Cause> {
        let snapshots = self.snapshot(snapshot::RECENT).await?;
        let units = snapshots.iter().map(|one| one.fact.lamports).min().unwrap_or_default();
        let floor = self.settings.fee_floor.into();
        Ok(FeeBalance { units: units.into(), floor, precision: FEE_PRECISION })
    }
}

impl Chain for SolanaChain {
    fn id(&self) -> ChainId {
        self.link.settings.chain
    }

    fn identity(&self) -> Fut<'_, Result<Option<ChainIdentity>, Cause>> {
        Box::pin(async move { self.link.noted(self.link.rpc.identity().await).map(Some) })
    }

    fn bind(&self, identity: &ChainIdentity) {
        self.link.rpc.expected().bind(identity);
    }

    fn ask_before_sending(&self, permission: &Arc<dyn SendPermission>) {
        self.link.rpc.check.ask(permission);
    }

    fn providers(&self) -> Vec<ProviderReport> {
        self.link.rpc.reports()
    }

    fn is_trouble(&self, cause: &Cause) -> bool {
        is_trouble(cause.class)
    }

    fn cap(&self, _: &str) -> usize {
        1
    }

    fn rests_for(&self, _: &str, _: &Record) -> Option<Millis> {
        self.link.rest.left(self.link.clock.ticks())
    }

    fn lanes(&self, _: &str) -> Vec<Arc<str>> {
        if self.link.has_key() { self.link.lanes.clone() } else { Vec::new() }
    }

    fn next_lock<'a>(
        &'a self,
        lane: &'a str,
        stored: Option<&'a Lock>,
        _: &'a [Record],
    ) -> Fut<'a, Result<Lock, Cause>> {
        Box::pin(async move { self.link.noted(self.link.next_lock(lane, stored).await) })
    }

    fn ahead<'a>(&'a self, marks: &'a [LaneMark]) -> Fut<'a, Result<Vec<LaneSpent>, Cause>> {
        Box::pin(async move { self.link.noted(self.link.ahead(marks).await) })
    }

    fn new_lanes<'a>(
        &'a self,
        lanes: &'a [Arc<str>],
        since: Option<u64>,
    ) -> Fut<'a, Result<Option<Vec<NewLane>>, Cause>> {
        Box::pin(async move { self.link.noted(self.link.new_lanes(lanes, since).await).map(Some) })
    }

    fn raise_floor(&self, height: u64) {
        self.link.rpc.raise_floor(height);
    }

    fn proves_by_several(&self) -> bool {
        self.link.rpc.proves_by_several()
    }

    fn foreign<'a>(&'a self, mark: &'a LaneMark) -> Fut<'a, Result<Vec<ForeignUse>, Cause>> {
        Box::pin(async move { self.link.noted(self.link.foreign(mark).await) })
    }

    fn lanes_on_chain(&self) -> Fut<'_, Result<Option<LanesOnChain>, Cause>> {
        // the lanes are accounts of one key, which is not deleted
        Box::pin(async move { self.link.snapshot(snapshot::RECENT).await.map(|_| None) })
    }

    fn lane_presence<'a>(
        &'a self,
        _: &'a str,
        _: Option<u64>,
    ) -> Fut<'a, Result<LanePresence, Cause>> {
        Box::pin(async move {
            self.link.snapshot(snapshot::RECENT).await?;
            Err(Cause::because("NO_KEYS", "a lane is an account, and no key that can be deleted"))
        })
    }

    fn returned<'a>(&'a self, _: &'a [GoneLane]) -> Fut<'a, Result<Vec<ReturnedLane>, Cause>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn fee_balance(&self) -> Fut<'_, Result<Option<FeeBalance>, Cause>> {
        Box::pin(async move { self.link.fee_balance().await.map(Some) })
    }

    fn concerns(&self) -> Vec<Concern> {
        let mut stand = self.link.concerns.stand(&*self.link.clock, concerns::severity);
        stand.extend(self.link.rpc.concerns());
        stand
    }

    fn sign<'a>(&'a self, request: &'a SignRequest) -> Fut<'a, Result<Signed, Unsigned>> {
        Box::pin(async move {
            let signed = self.link.sign(request).await;
            if let Err(unsigned) = &signed {
                self.link.note_failure(&unsigned.cause);
            }
            signed
        })
    }

    fn broadcast<'a>(&'a self, attempts: &'a [Attempt]) -> Fut<'a, Vec<Result<(), Cause>>> {
        Box::pin(join_all(attempts.iter().map(|attempt| self.link.send(attempt))))
    }

    fn prove<'a>(&'a self, attempts: &'a [Attempt]) -> Fut<'a, Vec<AttemptProof>> {
        Box::pin(join_all(attempts.iter().map(|attempt| self.link.prove(attempt))))
    }
}
