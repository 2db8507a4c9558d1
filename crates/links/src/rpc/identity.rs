//! Checks which chain a provider shows, before anything else that it says counts: it asks that
//! first, again after a while, and again after the provider was silent, since another node may answer
//! at its address then.
//!
//! A provider that shows another chain than the settings and the journal name gets no other request.

use super::reply::RpcFailure;
use super::shared::SharedAnswer;
use kernel::answer::Cause;
use kernel::ports::chain::{CHAIN_UNBOUND, ChainIdentity, ProviderState, WRONG_CHAIN};
use kernel::ports::clock::{Clock, TICKS};
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// How long, in ticks, what a provider showed is believed, as long as it answers.
pub(crate) const SHOWN_FOR: u64 = 10_000 * TICKS;

/// The network that the settings mean.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExpectedNetwork {
    /// The key of the setting that names it.
    pub(crate) setting: &'static str,
    /// Its name in the settings.
    pub(crate) name: &'static str,
    /// Whether a chain of this name may be the one that is meant.
    pub(crate) fits: fn(&str) -> bool,
}

/// Which chain the settings and the journal mean.
#[derive(Debug)]
pub(crate) struct ExpectedChain {
    network: ExpectedNetwork,
    bound: OnceLock<ChainIdentity>,
}

impl ExpectedChain {
    pub(super) fn new(network: ExpectedNetwork) -> Self {
        Self { network, bound: OnceLock::new() }
    }

    /// The journal is bound to this one. A second one is not taken.
    pub(crate) fn bind(&self, identity: &ChainIdentity) {
        let bound = self.bound.get_or_init(|| identity.clone());
        if bound != identity {
            tracing::error!(%bound, other = %identity, "the chain is bound already");
        }
    }

    /// The one that the journal is bound to.
    pub(super) fn bound(&self) -> Option<&ChainIdentity> {
        self.bound.get()
    }

    /// Whether it is another chain than the settings, and the journal where it is bound, name.
    pub(super) fn is_other(&self, shown: &ChainIdentity) -> bool {
        !(self.network.fits)(&shown.name) || self.bound().is_some_and(|bound| bound != shown)
    }

    /// The expected chain, in words.
    pub(super) fn in_words(&self) -> String {
        let ExpectedNetwork { setting, name, .. } = self.network;
        match self.bound() {
            Some(bound) => {
                format!("{setting} is {name}, and the store is bound to {bound}")
            }
            None => format!("{setting} is {name}"),
        }
    }

    /// Why no provider at all can show the right chain: the settings name another one than the journal.
    pub(super) fn contradiction(&self) -> Option<String> {
        self.bound().filter(|bound| !(self.network.fits)(&bound.name)).map(|_| self.in_words())
    }

    /// Whether what a provider of this chain says may count.
    ///
    /// # Errors
    /// [`WRONG_CHAIN`], or [`CHAIN_UNBOUND`] where none may yet.
    fn admits(&self, shown: &ChainIdentity) -> Result<(), Cause> {
        if self.is_other(shown) {
            let facts = format!("it shows {shown}; {}", self.in_words());
            return Err(Cause::because(WRONG_CHAIN, facts));
        }
        self.bound().map(|_| ()).ok_or(Cause::of(CHAIN_UNBOUND))
    }
}

/// What one provider shows of itself.
#[derive(Debug)]
pub(super) struct ShownIdentity {
    expected: Arc<ExpectedChain>,
    answer: SharedAnswer<ChainIdentity>,
    /// The chain that it showed last.
    last: Mutex<Option<ChainIdentity>>,
    /// How often it was silent: another node may be there behind each time.
    silences: AtomicU64,
    /// How often it had been silent when it was asked for what it showed last.
    shown_after: AtomicU64,
}

impl ShownIdentity {
    pub(super) fn new(expected: Arc<ExpectedChain>) -> Self {
        let (answer, last) = (SharedAnswer::default(), Mutex::default());
        let (silences, shown_after) = (AtomicU64::new(1), AtomicU64::new(0));
        Self { expected, answer, last, silences, shown_after }
    }

    /// Notes that it did not answer: the chain that it showed before counts no more.
    pub(super) fn was_silent(&self) {
        self.silences.fetch_add(1, Ordering::SeqCst);
    }

    fn is_stale(&self) -> bool {
        self.silences.load(Ordering::SeqCst) != self.shown_after.load(Ordering::SeqCst)
    }

    /// The chain that it showed last.
    pub(super) fn last(&self) -> Option<ChainIdentity> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether what it says may count, as far as that is known without asking it.
    pub(super) fn state(&self) -> ProviderState {
        match self.last() {
            Some(shown) if self.expected.is_other(&shown) => ProviderState::WrongChain,
            Some(_) if self.expected.bound().is_some() && !self.is_stale() => ProviderState::Usable,
            Some(_) | None => ProviderState::Unknown,
        }
    }

    /// What it shows now, or showed less than `fresh_for` ticks ago and did not fail since. `status` asks it.
    ///
    /// # Errors
    /// Why it does not say.
    pub(super) async fn shown(
        &self,
        clock: &dyn Clock,
        fresh_for: u64,
        status: impl Future<Output = Result<ChainIdentity, RpcFailure>> + Send,
    ) -> Result<ChainIdentity, RpcFailure> {
        let silences = self.silences.load(Ordering::SeqCst);
        let fresh_for = if self.is_stale() { 0 } else { fresh_for };
        let ask = async { Ok(status.await?) };
        let shown = self.answer.get(clock, fresh_for, ask).await;
        let shown = shown.inspect_err(|_| self.was_silent()).map_err(RpcFailure::Silent)?;
        self.shown_after.store(silences, Ordering::SeqCst);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref() != Some(&shown) {
            *last = Some(shown.clone());
        }
        Ok(shown)
    }

    /// Whether what it says may count.
    ///
    /// # Errors
    /// Why it may not, or that it does not say.
    pub(super) async fn admitted(
        &self,
        clock: &dyn Clock,
        fresh_for: u64,
        status: impl Future<Output = Result<ChainIdentity, RpcFailure>> + Send,
    ) -> Result<(), RpcFailure> {
        let shown = self.shown(clock, fresh_for, status).await?;
        self.expected.admits(&shown).map_err(RpcFailure::Silent)
    }
}
