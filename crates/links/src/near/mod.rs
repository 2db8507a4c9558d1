//! The adapter for the chain NEAR: the relay's account pays fungible tokens, up to a hundred transfers
//! to a transaction.
//!
//! One rule keeps it from paying twice, whatever its providers say: an attempt keeps its key and nonce,
//! and every later form of it takes the same two. The chain spends a nonce at most once.
//!
//! `rpc` asks providers, `tx` writes and reads transactions, `lane` chooses
//! the next nonce, `sign` makes forms, `prove` finds out how they ended, `foreign` reads what other
//! programs did with the relay's keys, `new_lane` the keys that the journal has no row of, `presence` which
//! keys the account has, `returned` which of them it has again; `metadata` what a token's contract shows; `facts` answers the flow's questions about receivers.

mod concerns;
mod deposit;
mod facts;
mod foreign;
mod forms;
mod key_history;
mod lane;
mod metadata;
mod new_lane;
mod presence;
mod prove;
mod refusals;
mod returned;
mod rpc;
mod settings;
mod shortage;
mod sign;
mod token_check;
mod token_recheck;
mod tokens;
mod tx;

pub use crate::bad_settings::BadChainSettings;
pub use crate::keystore::{BadKeys, ChainSigner, KeyFile, KeyRing, KeyWork, Passphrase};
pub use crate::rpc::RpcLimits;
pub use facts::{
    NearFacts, RegistrationAllowance, RegistrationLimit, RegistrationLimits, RegistrationRequest,
    Reservation,
};
pub use metadata::{TokenMetadata, token_metadata};
pub use settings::{NearNetwork, NearSettings, NearToken, gas_of_each};
pub use token_check::{TokenCheck, other_decimals};

use crate::concerns::Concerns;
use crate::rest::RestCause;
use facts::{ReceiverCache, UNREGISTERED_FOR};
use flows::relay::Act;
use futures_util::future::join_all;
use kernel::answer::Cause;
use kernel::attempt::{Attempt, Lock};
use kernel::ids::{ChainId, Millis};
use kernel::ports::Fut;
use kernel::ports::chain::{
    AttemptProof, CarriedOut, Chain, ChainIdentity, Concern, FeeBalance, ForeignUse, GoneLane,
    LaneMark, LanePresence, LaneSpent, LanesOnChain, NewLane, ProviderReport, ReturnedLane,
    SignRequest, Signed, Unsigned,
};
use kernel::ports::clock::Clock;
use kernel::ports::meter::Meter;
use kernel::ports::sending::SendPermission;
use kernel::record::{Account, Record};
use refusals::refused_at;
use rpc::{
    BlockAt, KeyList, NearPool, ONE_IS_BELIEVED, ProviderFact, SharedAnswer, access_key,
    access_keys, collect_facts, not_behind, send,
};
use std::fmt;
use std::sync::Arc;
use token_check::LastTokenCheck;
use token_recheck::TokenRecheck;
use tokens::TokenStates;

/// The state that the adapter and its facts share.
struct NearLink {
    settings: NearSettings,
    rpc: NearPool,
    tokens: TokenStates,
    receivers: ReceiverCache,
    /// Receivers that were seen to exist.
    existing: ReceiverCache,
    /// Receivers that a provider did not find registered.
    unregistered: ReceiverCache,
    /// The account's keys as the providers showed them last.
    keys: SharedAnswer<Arc<Vec<ProviderFact<KeyList>>>>,
    signer: Arc<dyn ChainSigner>,
    clock: Arc<dyn Clock>,
    meter: Arc<dyn Meter>,
    /// The account's keys, as operators saw them lately.
    shown: SharedAnswer<LanesOnChain>,
    /// The concerns about the chain as a whole, for operators.
    concerns: Concerns,
    /// Whether the tokens' contracts fit.
    token_check: LastTokenCheck,
    /// Whether one may be gone since, so that the contracts are checked again.
    token_recheck: TokenRecheck,
}

/// The adapter to NEAR: the engine's chain.
#[derive(Clone)]
pub struct NearChain {
    link: Arc<NearLink>,
}

impl fmt::Debug for NearChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NearChain")
            .field("account", &self.link.settings.account)
            .field("providers", &self.link.rpc)
            .finish_non_exhaustive()
    }
}

impl NearChain {
    /// Makes the adapter; nothing is sent yet. `signer` has the keys, each of which is a lane; `clock` paces
    /// requests and ages what is remembered; `meter` is told of requests and balances. It is used inside a Tokio runtime with timers and sockets.
    ///
    /// # Errors
    /// The rule that the settings break.
    pub fn new(
        settings: NearSettings,
        signer: Arc<dyn ChainSigner>,
        clock: Arc<dyn Clock>,
        meter: Arc<dyn Meter>,
    ) -> Result<Self, BadChainSettings> {
        if let Some(why) = settings.unfit() {
            return Err(BadChainSettings(why));
        }
        if signer.public_keys().is_empty() {
            return Err(BadChainSettings("the relay has no key".to_owned()));
        }
        let rpc = NearPool::new(&settings, &clock, &meter).map_err(BadChainSettings)?;
        if settings.providers_needed == 1 {
            tracing::warn!("{ONE_IS_BELIEVED}");
        }
        let tokens = TokenStates::new(&settings);
        let receivers = ReceiverCache::new(settings.registered_for_ms);
        let existing = ReceiverCache::new(settings.registered_for_ms);
        let unregistered = ReceiverCache::new(UNREGISTERED_FOR);
        let link = NearLink {
            settings,
            rpc,
            tokens,
            receivers,
            existing,
            unregistered,
            keys: SharedAnswer::default(),
            signer,
            clock,
            meter,
            shown: SharedAnswer::default(),
            concerns: Concerns::default(),
            token_check: LastTokenCheck::default(),
            token_recheck: TokenRecheck::default(),
        };
        Ok(Self { link: Arc::new(link) })
    }

    /// The facts about receivers at this chain, for the flow's rules. `limits` says what registrations may cost.
    pub fn facts(&self, limits: Arc<dyn RegistrationLimits>) -> NearFacts {
        NearFacts::new(self.link.clone(), limits)
    }

    /// Asks whether the relay's account and its tokens' contracts are there, unless that is known.
    pub async fn check_tokens(&self) -> TokenCheck {
        self.link.check_tokens().await
    }
}

impl NearLink {
    /// Passes a result on, and notes what its failure says of the chain as a whole.
    fn noted<T>(&self, result: Result<T, Cause>) -> Result<T, Cause> {
        result.inspect_err(|cause| self.note_failure(cause))
    }

    fn note_failure(&self, cause: &Cause) {
        self.concerns.note_cause(cause, &concerns::CAUSES, &*self.clock);
        self.token_recheck.note(&cause.to_string());
    }

    /// The concerns of now, for operators' cases.
    fn concerns(&self) -> Vec<Concern> {
        let mut stand = self.concerns.stand(&*self.clock, concerns::severity);
        stand.extend(self.rpc.concerns());
        let now = self.clock.ticks();
        for (kind, facts) in [
            (concerns::TREASURY_SHORT, self.tokens.short(now)),
            (concerns::TOKEN_PAUSED, self.tokens.resting(RestCause::Paused, now)),
            (concerns::TOKEN_REFUSES, self.tokens.resting(RestCause::Refuses, now)),
            (concerns::REGISTRATION_DEPOSIT, self.tokens.resting(RestCause::Price, now)),
        ] {
            let severity = concerns::severity(kind);
            stand.extend(facts.map(|facts| Concern { kind, severity, facts: facts.into() }));
        }
        if let TokenCheck::Unfit(facts) = self.token_check.get() {
            let kind = concerns::TOKEN_CONTRACT_INVALID;
            stand.push(Concern { kind, severity: concerns::severity(kind), facts });
        }
        stand
    }

    /// Whether a lane's key is one of ours.
    fn has_key(&self, key: &[u8; 32]) -> bool {
        self.signer.public_keys().contains(key)
    }

    async fn next_lock(
        &self,
        lane: &str,
        stored: Option<&Lock>,
        members: &[Record],
    ) -> Result<Lock, Cause> {
        let now = self.clock.ticks();
        let assets = members.iter().map(|member| member.target().asset);
        if assets.filter_map(|asset| self.tokens.of_asset(asset)).any(|token| token.rests(now)) {
            return Err(Cause::of("TOKEN_RESTS"));
        }
        let key = tx::key_of(lane).filter(|key| self.has_key(key)).ok_or(Cause::of("NO_KEY"))?;
        let stored = stored.map(forms::nonce_of).transpose()?;
        let needed = self.rpc.needed();
        // asked first: a view from below it is not of now, and what it does not show may be spent
        let head = self.rpc.recent_block().await?;
        let views = match stored {
            // lanes that are claimed at once are asked after together
            Some(_) => {
                let lists = self.key_lists().await?;
                let view = |one: &ProviderFact<KeyList>| ProviderFact {
                    by: one.by.clone(),
                    fact: one.fact.view(lane),
                };
                lists.iter().map(view).collect()
            }
            None => {
                let call = access_key(&self.settings.account, &key, BlockAt::Final);
                collect_facts(needed, self.rpc.each(&call).await)?
            }
        };
        let views = not_behind(needed, &views, head.height, |view| view.height)?;
        let next = lane::next(needed, stored, &views)?;
        for facts in &next.dissent {
            self.rpc.note_outvoted(facts);
        }
        Ok(Lock(next.nonce.to_string().into()))
    }

    /// The account's keys as each provider shows them, from as many providers as are needed.
    ///
    /// # Errors
    /// Too few answer: why the last one does not.
    async fn key_lists(&self) -> Result<Arc<Vec<ProviderFact<KeyList>>>, Cause> {
        let ask = async {
            let replies = self.rpc.each(&access_keys(&self.settings.account)).await;
            collect_facts(self.rpc.needed(), replies).map(Arc::new)
        };
        // never an older one: a nonce that another program took meanwhile would be signed once more
        self.keys.get(&*self.clock, 0, ask).await
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
}

impl Chain for NearChain {
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

    fn cap(&self, _: &str) -> usize {
        self.link.tokens.most()
    }

    fn rests_for(&self, act: &str, record: &Record) -> Option<Millis> {
        let (act, now) = (sign::act_of(act).ok()?, self.link.clock.ticks());
        let token = self.link.tokens.of_asset(record.target().asset)?;
        let refused = || match &record.target().account {
            Account::Named(receiver) => {
                let refusals = token.refusals(act);
                let error = record.error.as_ref();
                if let Some(at) = error.and_then(|error| refused_at(act, receiver, error)) {
                    refusals.note_evidence(receiver, at);
                }
                refusals.left(receiver, now)
            }
            Account::User(_) | Account::Unnamed => None,
        };
        let short = || match act {
            Act::Pay => token.shortage.left(record.target().amount.0, now),
            Act::Register => None,
        };
        token.rest(act).left(now).or_else(refused).or_else(short)
    }

    fn lanes(&self, _: &str) -> Vec<Arc<str>> {
        self.link.signer.public_keys().iter().map(tx::lane_of).collect()
    }

    fn next_lock<'a>(
        &'a self,
        lane: &'a str,
        stored: Option<&'a Lock>,
        members: &'a [Record],
    ) -> Fut<'a, Result<Lock, Cause>> {
        Box::pin(async move { self.link.noted(self.link.next_lock(lane, stored, members).await) })
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

    fn is_trouble(&self, cause: &Cause) -> bool {
        rpc::is_trouble(cause.class)
    }

    fn raise_floor(&self, height: u64) {
        self.link.rpc.raise_floor(height);
    }

    fn proves_by_several(&self) -> bool {
        self.link.rpc.proves_by_several()
    }

    fn note_carried_out(&self, CarriedOut { act, asset, accounts, height }: &CarriedOut) {
        let token = self.link.tokens.of_asset(*asset);
        let (Ok(act), Some(token)) = (sign::act_of(act), token) else { return };
        let names = accounts.iter().filter_map(|account| match account {
            Account::Named(name) => Some(name),
            Account::User(_) | Account::Unnamed => None,
        });
        token.refusals(act).carried_out(names, *height);
    }

    fn foreign<'a>(&'a self, mark: &'a LaneMark) -> Fut<'a, Result<Vec<ForeignUse>, Cause>> {
        Box::pin(async move { self.link.noted(self.link.foreign(mark).await) })
    }

    fn lanes_on_chain(&self) -> Fut<'_, Result<Option<LanesOnChain>, Cause>> {
        Box::pin(async move {
            // asked beside the keys, each minute: what is wrong there is told, and hinders no look at them
            self.link.check_tokens().await;
            self.link.lanes_on_chain().await.map(Some)
        })
    }

    fn lane_presence<'a>(
        &'a self,
        lane: &'a str,
        since: Option<u64>,
    ) -> Fut<'a, Result<LanePresence, Cause>> {
        Box::pin(self.link.lane_presence(lane, since))
    }

    fn returned<'a>(&'a self, gone: &'a [GoneLane]) -> Fut<'a, Result<Vec<ReturnedLane>, Cause>> {
        Box::pin(async move { self.link.noted(self.link.returned(gone).await) })
    }

    fn fee_balance(&self) -> Fut<'_, Result<Option<FeeBalance>, Cause>> {
        Box::pin(async move { self.link.fee_balance().await.map(Some) })
    }

    fn concerns(&self) -> Vec<Concern> {
        self.link.concerns()
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
