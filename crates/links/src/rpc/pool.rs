//! Asks the providers of the chain: one of them for a hint, each of them for a proof.

use super::agreement::{Agreement, ProviderReply, agreement};
use super::call::{Dialect, RpcCall};
use super::endpoint::{EndpointPorts, RpcEndpoint};
use super::identity::{ExpectedChain, ExpectedNetwork, SHOWN_FOR};
use super::limits::RpcLimits;
use super::reply::RpcFailure;
use super::{BEHIND, ONE_IS_BELIEVED, PROVIDERS_DISAGREE, SEVERAL};
use crate::concerns::{self, Concerns};
use futures_util::future::join_all;
use kernel::answer::Cause;
use kernel::ids::ChainId;
use kernel::operators::Severity;
use kernel::ports::chain::{ChainIdentity, Concern, ProviderReport, WRONG_CHAIN};
use kernel::ports::clock::Clock;
use kernel::ports::meter::Meter;
use kernel::ports::sending::SendCheck;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The settings that a pool of providers is made of.
pub(crate) struct PoolSettings<'a> {
    pub(crate) chain: ChainId,
    /// How the nodes are called.
    pub(crate) dialect: &'static dyn Dialect,
    /// The network that they have to show.
    pub(crate) network: ExpectedNetwork,
    /// The addresses of the providers.
    pub(crate) urls: &'a [String],
    /// The number of providers that agree on what closes an attempt.
    pub(crate) needed: usize,
    pub(crate) limits: RpcLimits,
}

/// The providers of one chain.
pub(crate) struct RpcPool {
    endpoints: Vec<RpcEndpoint>,
    /// Asked before the first byte of a transaction.
    pub(crate) check: SendCheck,
    /// Which chain they have to show.
    expected: Arc<ExpectedChain>,
    needed: usize,
    dialect: &'static dyn Dialect,
    clock: Arc<dyn Clock>,
    /// The number of questions of each kind that one provider was asked.
    turns: Mutex<BTreeMap<Box<str>, usize>>,
    /// The highest height that the journal has stored something of, or that was proven here.
    floor: AtomicU64,
    /// What providers showed lately that enough others showed otherwise.
    outvoted: Concerns,
}

impl std::fmt::Debug for RpcPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.endpoints).finish()
    }
}

impl RpcPool {
    pub(crate) fn new(
        settings: &PoolSettings<'_>,
        clock: &Arc<dyn Clock>,
        meter: &Arc<dyn Meter>,
    ) -> Result<Self, String> {
        let &PoolSettings { chain, dialect, network, urls, needed, limits } = settings;
        let (check, expected) = (SendCheck::default(), Arc::new(ExpectedChain::new(network)));
        let open = |url: &String| {
            let (clock, meter, expected) = (clock.clone(), meter.clone(), expected.clone());
            let check = check.clone();
            let ports = EndpointPorts { chain, dialect, check, clock, meter, expected };
            RpcEndpoint::new(url.trim(), limits, ports)
        };
        let endpoints = urls.iter().map(open).collect::<Result<Vec<_>, String>>()?;
        let labels: BTreeSet<&str> = endpoints.iter().map(|one| &**one.label()).collect();
        if labels.len() != endpoints.len() {
            return Err("two addresses are one provider's: it would agree with itself".to_owned());
        }
        Ok(Self {
            endpoints,
            check,
            expected,
            needed,
            dialect,
            clock: clock.clone(),
            turns: Mutex::default(),
            floor: AtomicU64::new(0),
            outvoted: Concerns::default(),
        })
    }

    /// The number of providers that agree on what closes an attempt.
    pub(crate) fn needed(&self) -> usize {
        self.needed
    }

    /// True where what the pool agrees on may count against a transfer.
    pub(crate) fn proves_by_several(&self) -> bool {
        self.needed >= SEVERAL
    }

    /// Raises the height below which no answer about the newest final block counts.
    pub(crate) fn raise_floor(&self, height: u64) {
        self.floor.fetch_max(height, Ordering::SeqCst);
    }

    /// Notes what a provider shows that enough others show otherwise.
    pub(crate) fn note_outvoted(&self, facts: &str) {
        self.outvoted.note(PROVIDERS_DISAGREE, facts, &*self.clock);
    }

    /// The concerns of now that lie with the providers.
    pub(crate) fn concerns(&self) -> Vec<Concern> {
        // what a provider shows, lately and for some time, that enough others show otherwise
        let outvoted = self.outvoted.stand(&*self.clock, |_| Severity::Warning).pop();
        let one = || (!self.proves_by_several()).then(|| ONE_IS_BELIEVED.to_owned());
        let all = [
            (WRONG_CHAIN, Severity::Critical, self.too_few_left()),
            (concerns::WRONG_PROVIDER, Severity::Warning, self.wrong_providers()),
            (
                concerns::PROVIDER_OUTVOTED,
                Severity::Warning,
                outvoted.map(|concern| concern.facts.to_string()),
            ),
            (concerns::ONE_PROVIDER, Severity::Warning, one()),
        ];
        let stand = all.into_iter().filter_map(|(kind, severity, facts)| {
            Some(Concern { kind, severity, facts: facts?.into() })
        });
        stand.collect()
    }

    /// What these providers agree on; one that shows otherwise is noted.
    ///
    /// # Errors
    /// As [`Self::agreed`].
    pub(crate) fn agree<T: PartialEq + std::fmt::Debug>(
        &self,
        replies: Vec<ProviderReply<T>>,
    ) -> Result<Agreement<T>, Cause> {
        let agreed = agreement(self.needed, replies)?;
        if let Some(facts) = &agreed.dissent {
            self.note_outvoted(facts);
        }
        Ok(agreed)
    }

    /// Each as it was seen last.
    pub(crate) fn reports(&self) -> Vec<ProviderReport> {
        self.endpoints.iter().map(RpcEndpoint::report).collect()
    }

    /// Host and port of each that is of no other chain.
    pub(crate) fn labels(&self) -> Vec<&str> {
        let right = self.endpoints.iter().filter(|one| !one.is_wrong());
        right.map(|one| &**one.label()).collect()
    }

    /// Which chain they have to show.
    pub(crate) fn expected(&self) -> &ExpectedChain {
        &self.expected
    }

    /// Which chain as many as are needed show alike, of those that show one that is expected.
    ///
    /// # Errors
    /// [`WRONG_CHAIN`] where too few are left that could show the right one; [`PROVIDERS_DISAGREE`] where two chains
    /// fit the settings; else why they do not say.
    pub(crate) async fn identity(&self) -> Result<ChainIdentity, Cause> {
        let shown = self.endpoints.iter().map(|one| async {
            ProviderReply { by: one.label().clone(), reply: one.shown(SHOWN_FOR).await }
        });
        let replies = join_all(shown).await;
        if let Some(facts) = self.too_few_left() {
            return Err(Cause::because(WRONG_CHAIN, facts));
        }
        let other = |one: &ProviderReply<ChainIdentity>| {
            one.reply.as_ref().is_ok_and(|shown| self.expected.is_other(shown))
        };
        let right = replies.into_iter().filter(|one| !other(one)).collect();
        Ok(self.agree(right)?.fact)
    }

    /// What providers show that are of another chain, in words; `None`: none of them showed one.
    pub(crate) fn wrong_providers(&self) -> Option<String> {
        let wrong = self.endpoints.iter().filter(|one| one.is_wrong()).map(|one| {
            let shows = one.report().shows.map(|shows| shows.to_string()).unwrap_or_default();
            format!("{} shows {shows}", one.label())
        });
        let wrong: Vec<String> = wrong.collect();
        let words = || format!("{}; {}", wrong.join(", "), self.expected.in_words());
        (!wrong.is_empty()).then(words)
    }

    /// Why so few providers are left that could be of the right chain that nothing can be agreed on; `None`: enough are.
    pub(crate) fn too_few_left(&self) -> Option<String> {
        if let Some(contradiction) = self.expected.contradiction() {
            return Some(contradiction);
        }
        let left = self.endpoints.iter().filter(|one| !one.is_wrong()).count();
        self.wrong_providers().filter(|_| left < self.needed)
    }

    /// The endpoints, those that answer first, beginning with another one each time. Each kind of question has turns of
    /// its own: where two kinds alternate, one provider would never be asked the one of them.
    fn in_turn(&self, kind: &str) -> Vec<&RpcEndpoint> {
        let from = {
            let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            let turn = turns.entry(kind.into()).or_default();
            let from = turn.checked_rem(self.endpoints.len()).unwrap_or_default();
            *turn = turn.wrapping_add(1);
            from
        };
        let (before, behind) = self.endpoints.split_at(from);
        let (awake, rests): (Vec<_>, Vec<_>) =
            behind.iter().chain(before).partition(|endpoint| endpoint.is_in_use());
        awake.into_iter().chain(rests).collect()
    }

    /// The first result that any provider gives: a hint, and no proof.
    ///
    /// # Errors
    /// None of them gave one: what the last one said.
    pub(crate) async fn first<T>(&self, call: &RpcCall<T>) -> Result<T, Cause> {
        let mut last = Cause::of("NO_PROVIDER");
        for endpoint in self.in_turn(self.dialect.kind(call.method, &call.params)) {
            match self.ask(endpoint, call, false).await.reply {
                Ok(result) => return Ok(result),
                Err(failure) => last = failure.into(),
            }
        }
        Err(last)
    }

    /// What one provider says, another one each time: a hint, and no proof.
    ///
    /// # Errors
    /// There is no provider.
    pub(crate) async fn hint<T>(&self, call: &RpcCall<T>) -> Result<ProviderReply<T>, Cause> {
        let endpoint = self
            .in_turn(self.dialect.kind(call.method, &call.params))
            .into_iter()
            .next()
            .ok_or(Cause::of("NO_PROVIDER"))?;
        Ok(self.ask(endpoint, call, false).await)
    }

    /// What each provider says. The one that gave the hint is not asked again.
    pub(crate) async fn others<T>(
        &self,
        call: &RpcCall<T>,
        hint: ProviderReply<T>,
    ) -> Vec<ProviderReply<T>> {
        let mut replies = self.each_but(call, Some(&hint.by)).await;
        replies.push(hint);
        replies
    }

    /// What each provider says, in a fixed sequence.
    pub(crate) async fn each<T>(&self, call: &RpcCall<T>) -> Vec<ProviderReply<T>> {
        self.each_but(call, None).await
    }

    /// What each provider says to a call of its own, by its name; those without one are not asked.
    pub(crate) async fn each_by<T>(
        &self,
        call: impl Fn(&str) -> Option<RpcCall<T>>,
    ) -> Vec<ProviderReply<T>> {
        let enough = self.enough_are_in_use();
        let calls: Vec<(&RpcEndpoint, RpcCall<T>)> = self
            .endpoints
            .iter()
            .filter_map(|endpoint| Some((endpoint, call(endpoint.label())?)))
            .collect();
        join_all(calls.iter().map(|(endpoint, call)| self.ask(endpoint, call, enough))).await
    }

    /// What each provider says that showed the right chain *afterwards*: a node may be another one from one request to
    /// the next, and what is signed on its block can be sent to no other chain.
    pub(crate) async fn each_still_right<T>(&self, call: &RpcCall<T>) -> Vec<ProviderReply<T>> {
        let enough = self.enough_are_in_use();
        let each = self.endpoints.iter().map(|endpoint| async {
            let mut said = self.ask(endpoint, call, enough).await;
            if said.reply.is_ok()
                && let Err(failure) = endpoint.is_still_right().await
            {
                said.reply = Err(failure);
            }
            said
        });
        join_all(each).await
    }

    async fn each_but<T>(&self, call: &RpcCall<T>, but: Option<&str>) -> Vec<ProviderReply<T>> {
        let enough = self.enough_are_in_use();
        let asked = self.endpoints.iter().filter(|endpoint| but != Some(&**endpoint.label()));
        join_all(asked.map(|endpoint| self.ask(endpoint, call, enough))).await
    }

    /// Whether as many as are needed answer, so that those that rest need not be asked.
    fn enough_are_in_use(&self) -> bool {
        self.endpoints.iter().filter(|endpoint| endpoint.is_in_use()).count() >= self.needed
    }

    /// Asks one provider. What it says of its newest final block does not count where that is below the floor: each
    /// question goes through here, so that no view is too old for one of them alone.
    async fn ask<T>(
        &self,
        endpoint: &RpcEndpoint,
        call: &RpcCall<T>,
        may_rest: bool,
    ) -> ProviderReply<T> {
        let by = endpoint.label().clone();
        if may_rest && endpoint.rests() {
            return ProviderReply {
                by,
                reply: Err(RpcFailure::Silent(Cause::of("PROVIDER_RESTS"))),
            };
        }
        // before it is asked: another prover may raise it meanwhile
        let floor = self.floor.load(Ordering::SeqCst);
        let answer = endpoint.call(call.method, &call.params).await;
        let reply =
            match self.dialect.newest(&call.params, &answer).filter(|height| *height < floor) {
                Some(height) => {
                    let facts = format!("{by} is at block {height}, and block {floor} is final");
                    Err(RpcFailure::Silent(Cause::because(BEHIND, facts)))
                }
                None => (call.read)(answer),
            };
        ProviderReply { by, reply }
    }

    /// What as many providers as are needed say alike, more than say otherwise.
    ///
    /// # Errors
    /// [`PROVIDERS_DISAGREE`], with what each said, or why they do not answer.
    pub(crate) async fn agreed<T: PartialEq + std::fmt::Debug>(
        &self,
        call: &RpcCall<T>,
    ) -> Result<T, Cause> {
        Ok(self.agreement_on(call).await?.fact)
    }

    /// The same, with the names of those that say it.
    ///
    /// # Errors
    /// As [`Self::agreed`].
    pub(crate) async fn agreement_on<T: PartialEq + std::fmt::Debug>(
        &self,
        call: &RpcCall<T>,
    ) -> Result<Agreement<T>, Cause> {
        let replies = self.each(call).await;
        self.agree(replies)
    }

    /// Whether as many providers as are needed show the right chain now, and none another: what they said before that
    /// counts.
    ///
    /// # Errors
    /// Why not.
    pub(crate) async fn are_still_right(&self) -> Result<(), Cause> {
        let asked = self.endpoints.iter().filter(|endpoint| endpoint.is_in_use());
        let right = asked.map(|one| async {
            ProviderReply { by: one.label().clone(), reply: one.is_still_right().await }
        });
        let replies = join_all(right).await;
        self.agree(replies).map(|_| ())
    }
}
