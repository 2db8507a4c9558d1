//! Asks the providers of the chain: one of them for a hint, each of them for a proof.

use super::calls::{BlockAt, BlockHead, RpcCall, block, validity};
use super::endpoint::{EndpointPorts, RpcEndpoint};
use super::identity::{ExpectedChain, SHOWN_FOR};
use super::reply::{RpcFailure, answered};
use super::shared::SharedAnswer;
use crate::near::settings::NearSettings;
use futures_util::future::join_all;
use kernel::answer::Cause;
use kernel::ports::chain::{ChainIdentity, ProviderReport, WRONG_CHAIN};
use kernel::ports::clock::{Clock, TICKS};
use kernel::ports::meter::Meter;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The class of a fact that too few providers say, or that they say differently.
pub(in crate::near) const PROVIDERS_DISAGREE: &str = "PROVIDERS_DISAGREE";

/// So many blocks are remembered by their hashes; beyond it the memory begins anew.
const BLOCKS: usize = 256;

/// How long the chain's own validity period is believed, in ticks: a vote on its protocol may change it.
const VALIDITY_FOR: u64 = 3_600_000 * TICKS;
/// That no provider says it is believed for so many ticks: each signature would ask all of them again.
const NO_VALIDITY_FOR: u64 = 60_000 * TICKS;

/// The providers of one chain.
pub(in crate::near) struct RpcPool {
    endpoints: Vec<RpcEndpoint>,
    /// Which chain they have to show.
    expected: Arc<ExpectedChain>,
    needed: usize,
    /// The longest validity that is believed, in blocks.
    most_validity: u64,
    /// What a provider said of it; `None`: none of them did.
    validity: SharedAnswer<Option<u64>>,
    /// How long a base block is used, in ticks.
    base_for: u64,
    base: SharedAnswer<BlockHead>,
    /// Blocks by their hashes, as many as are looked at now: what a hash names does not change.
    blocks: Mutex<BTreeMap<[u8; 32], Arc<SharedAnswer<BlockHead>>>>,
    clock: Arc<dyn Clock>,
    turn: AtomicUsize,
    /// The highest height that the journal has stored something of.
    floor: AtomicU64,
}

/// What one provider said.
pub(in crate::near) struct Hint<T> {
    /// The host and port of its address.
    by: Arc<str>,
    /// Its answer, which proves nothing.
    pub(in crate::near) reply: Result<T, RpcFailure>,
}

impl std::fmt::Debug for RpcPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.endpoints).finish()
    }
}

impl RpcPool {
    pub(in crate::near) fn new(
        settings: &NearSettings,
        clock: &Arc<dyn Clock>,
        meter: &Arc<dyn Meter>,
    ) -> Result<Self, String> {
        let chain = settings.chain.name();
        let expected = Arc::new(ExpectedChain::new(settings.network));
        let open = |url: &String| {
            let (clock, meter, expected) = (clock.clone(), meter.clone(), expected.clone());
            let ports = EndpointPorts { chain, clock, meter, expected };
            RpcEndpoint::new(url.trim(), settings.limits, ports)
        };
        let endpoints = settings.rpc_urls.iter().map(open).collect::<Result<Vec<_>, String>>()?;
        let labels: BTreeSet<&str> = endpoints.iter().map(|one| &**one.label()).collect();
        if labels.len() != endpoints.len() {
            return Err("two addresses are one provider's: it would agree with itself".to_owned());
        }
        Ok(Self {
            endpoints,
            expected,
            needed: settings.providers_needed,
            most_validity: settings.validity_blocks,
            validity: SharedAnswer::default(),
            base_for: settings.base_block_ms.saturating_mul(TICKS),
            base: SharedAnswer::default(),
            blocks: Mutex::default(),
            clock: clock.clone(),
            turn: AtomicUsize::new(0),
            floor: AtomicU64::new(0),
        })
    }

    /// So many providers agree on what closes an attempt.
    pub(in crate::near) fn needed(&self) -> usize {
        self.needed
    }

    /// Raises the height below which no answer about the newest final block counts.
    pub(in crate::near) fn raise_floor(&self, height: u64) {
        self.floor.fetch_max(height, Ordering::SeqCst);
    }

    /// Each as it was seen last.
    pub(in crate::near) fn reports(&self) -> Vec<ProviderReport> {
        self.endpoints.iter().map(RpcEndpoint::report).collect()
    }

    /// Host and port of each that is of no other chain.
    pub(in crate::near) fn labels(&self) -> Vec<&str> {
        let right = self.endpoints.iter().filter(|one| !one.is_wrong());
        right.map(|one| &**one.label()).collect()
    }

    /// Which chain they have to show.
    pub(in crate::near) fn expected(&self) -> &ExpectedChain {
        &self.expected
    }

    /// Which chain as many as are needed show alike, of those that show one that is expected.
    ///
    /// # Errors
    /// [`WRONG_CHAIN`] where too few are left that could show the right one; [`PROVIDERS_DISAGREE`] where two chains
    /// fit the settings; else why they do not say.
    pub(in crate::near) async fn identity(&self) -> Result<ChainIdentity, Cause> {
        let replies = join_all(self.endpoints.iter().map(|one| one.shown(SHOWN_FOR))).await;
        if let Some(facts) = self.too_few_left() {
            return Err(Cause::because(WRONG_CHAIN, facts));
        }
        let other = |reply: &Result<ChainIdentity, RpcFailure>| {
            reply.as_ref().is_ok_and(|shown| self.expected.is_other(shown))
        };
        agreement(self.needed, replies.into_iter().filter(|reply| !other(reply)).collect())
    }

    /// What providers show that are of another chain, in words; `None`: none of them showed one.
    pub(in crate::near) fn wrong_providers(&self) -> Option<String> {
        let wrong = self.endpoints.iter().filter(|one| one.is_wrong()).map(|one| {
            let shows = one.report().shows.map(|shows| shows.to_string()).unwrap_or_default();
            format!("{} shows {shows}", one.label())
        });
        let wrong: Vec<String> = wrong.collect();
        let words = || format!("{}; {}", wrong.join(", "), self.expected.in_words());
        (!wrong.is_empty()).then(words)
    }

    /// Why so few providers are left that could be of the right chain that nothing can be agreed on; `None`: enough are.
    pub(in crate::near) fn too_few_left(&self) -> Option<String> {
        if let Some(contradiction) = self.expected.contradiction() {
            return Some(contradiction);
        }
        let left = self.endpoints.iter().filter(|one| !one.is_wrong()).count();
        self.wrong_providers().filter(|_| left < self.needed)
    }

    /// The endpoints, those that answer first, beginning with another one each time.
    fn in_turn(&self) -> Vec<&RpcEndpoint> {
        let from = self.turn.fetch_add(1, Ordering::Relaxed);
        let from = from.checked_rem(self.endpoints.len()).unwrap_or_default();
        let (before, behind) = self.endpoints.split_at(from);
        let (awake, rests): (Vec<_>, Vec<_>) =
            behind.iter().chain(before).partition(|endpoint| endpoint.is_in_use());
        awake.into_iter().chain(rests).collect()
    }

    /// The first result that any provider gives: a hint, and no proof.
    ///
    /// # Errors
    /// None of them gave one: what the last one said.
    pub(in crate::near) async fn first<T>(&self, call: &RpcCall<T>) -> Result<T, Cause> {
        let mut last = Cause::of("NO_PROVIDER");
        for endpoint in self.in_turn() {
            match (call.read)(endpoint.call(call.method, &call.params).await) {
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
    pub(in crate::near) async fn hint<T>(&self, call: &RpcCall<T>) -> Result<Hint<T>, Cause> {
        let endpoint = self.in_turn().into_iter().next().ok_or(Cause::of("NO_PROVIDER"))?;
        let reply = (call.read)(endpoint.call(call.method, &call.params).await);
        Ok(Hint { by: endpoint.label().clone(), reply })
    }

    /// What each provider says. The one that gave the hint is not asked again.
    pub(in crate::near) async fn others<T>(
        &self,
        call: &RpcCall<T>,
        hint: Hint<T>,
    ) -> Vec<Result<T, RpcFailure>> {
        let mut replies = self.each_but(call, Some(&hint.by)).await;
        replies.push(hint.reply);
        replies
    }

    /// What each provider says, in a fixed sequence.
    pub(in crate::near) async fn each<T>(&self, call: &RpcCall<T>) -> Vec<Result<T, RpcFailure>> {
        self.each_but(call, None).await
    }

    async fn each_but<T>(
        &self,
        call: &RpcCall<T>,
        but: Option<&str>,
    ) -> Vec<Result<T, RpcFailure>> {
        let enough = self.enough_are_in_use();
        let asked = self.endpoints.iter().filter(|endpoint| but != Some(&**endpoint.label()));
        join_all(asked.map(|endpoint| Self::ask(endpoint, call, enough))).await
    }

    /// Whether as many as are needed answer, so that those that rest need not be asked.
    fn enough_are_in_use(&self) -> bool {
        self.endpoints.iter().filter(|endpoint| endpoint.is_in_use()).count() >= self.needed
    }

    async fn ask<T>(
        endpoint: &RpcEndpoint,
        call: &RpcCall<T>,
        may_rest: bool,
    ) -> Result<T, RpcFailure> {
        if may_rest && endpoint.rests() {
            return Err(RpcFailure::Silent(Cause::of("PROVIDER_RESTS")));
        }
        (call.read)(endpoint.call(call.method, &call.params).await)
    }

    /// What as many providers as are needed say alike, and none says otherwise.
    ///
    /// # Errors
    /// [`PROVIDERS_DISAGREE`], with what they said, or why they do not answer.
    pub(in crate::near) async fn agreed<T: PartialEq + std::fmt::Debug>(
        &self,
        call: &RpcCall<T>,
    ) -> Result<T, Cause> {
        let replies = self.each(call).await;
        agreement(self.needed, replies)
    }

    /// Whether there is something: one provider's yes is enough, and a no needs as many as are needed.
    ///
    /// # Errors
    /// Too few answer, or they say it differently.
    pub(in crate::near) async fn agreed_absence<T>(
        &self,
        call: &RpcCall<Option<T>>,
    ) -> Result<bool, Cause> {
        if self.first(call).await?.is_some() {
            return Ok(true);
        }
        let replies = self.each(call).await.into_iter();
        agreement(self.needed, replies.map(|reply| reply.map(|found| found.is_some())).collect())
    }

    /// The block that new transactions count their validity from: the lowest of the providers' final blocks,
    /// so that each of them knows it, and known to as many as are needed.
    ///
    /// # Errors
    /// Providers do not answer, are far apart, or do not know one another's block.
    pub(in crate::near) async fn base_block(&self) -> Result<BlockHead, Cause> {
        self.base.get(&*self.clock, self.base_for, Box::pin(self.lowest_final())).await
    }

    /// For how many blocks after its base block a transaction may be included: what a provider's protocol
    /// configuration says, where it is less than the settings'; those of the settings where none says it. It decides
    /// when a form is signed again under its own nonce, so a wrong one costs time or fees, and pays nothing twice.
    pub(in crate::near) async fn validity(&self) -> u64 {
        let call = validity();
        let ask = async { Ok(self.first(&call).await.ok()) };
        let fresh_for = |said: &Option<u64>| match said {
            Some(_) => VALIDITY_FOR,
            None => NO_VALIDITY_FOR,
        };
        let said = self.validity.get_while(&*self.clock, fresh_for, ask).await;
        let said = said.ok().flatten();
        let believed = said.filter(|said| (1..self.most_validity).contains(said));
        believed.unwrap_or(self.most_validity)
    }

    /// The last final block of each provider that showed the right chain *afterwards*: a node may be another one from
    /// one request to the next, and what is signed on its block can be sent to no other chain.
    async fn final_blocks(&self) -> Vec<Result<BlockHead, RpcFailure>> {
        let (call, enough) = (block(BlockAt::Final), self.enough_are_in_use());
        let each = self.endpoints.iter().map(|endpoint| async {
            let head = Self::ask(endpoint, &call, enough).await?;
            endpoint.is_still_right().await.map(|()| head)
        });
        join_all(each).await
    }

    /// Whether as many providers as are needed show the right chain now, and none another: what they said before that
    /// counts.
    ///
    /// # Errors
    /// Why not.
    pub(in crate::near) async fn are_still_right(&self) -> Result<(), Cause> {
        let asked = self.endpoints.iter().filter(|endpoint| endpoint.is_in_use());
        let replies = join_all(asked.map(RpcEndpoint::is_still_right)).await;
        agreement(self.needed, replies)
    }

    async fn lowest_final(&self) -> Result<BlockHead, Cause> {
        let mut heads = answered(1, Box::pin(self.final_blocks()).await)?;
        heads.sort_by_key(|head| head.height);
        let (Some(lowest), Some(highest)) = (heads.first(), heads.last()) else {
            return Err(Cause::of("NO_PROVIDER"));
        };
        if highest.height.saturating_sub(lowest.height) > self.validity().await / 2 {
            let apart = format!("final heights {} and {}", lowest.height, highest.height);
            return Err(Cause::because(PROVIDERS_DISAGREE, apart));
        }
        self.agreed(&block(BlockAt::Hash(lowest.hash))).await
    }

    /// A block by its hash, as many providers as are needed know it.
    ///
    /// # Errors
    /// As [`Self::agreed`].
    pub(in crate::near) async fn block(&self, hash: [u8; 32]) -> Result<BlockHead, Cause> {
        let shared = {
            let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
            if blocks.len() >= BLOCKS && !blocks.contains_key(&hash) {
                blocks.clear();
            }
            blocks.entry(hash).or_default().clone()
        };
        shared.get(&*self.clock, u64::MAX, self.agreed(&block(BlockAt::Hash(hash)))).await
    }

    /// The block of a height, as many providers as are needed show the same.
    ///
    /// # Errors
    /// As [`Self::agreed`].
    pub(in crate::near) async fn block_at(&self, height: u64) -> Result<BlockHead, Cause> {
        self.agreed(&block(BlockAt::Height(height))).await
    }
}

fn agreement<T: PartialEq + std::fmt::Debug>(
    needed: usize,
    replies: Vec<Result<T, RpcFailure>>,
) -> Result<T, Cause> {
    let (mut said, mut alike) = (None, 0_usize);
    let mut silent = None;
    for reply in replies {
        match (reply, &said) {
            (Ok(result), Some(first)) if result != *first => {
                let facts = format!("{first:?} and {result:?}");
                return Err(Cause::because(PROVIDERS_DISAGREE, super::shortened(&facts)));
            }
            (Ok(_), Some(_)) => alike = alike.saturating_add(1),
            (Ok(result), None) => {
                said = Some(result);
                alike = 1;
            }
            (Err(failure), _) => silent = Some(Cause::from(failure)),
        }
    }
    match said {
        Some(result) if alike >= needed => Ok(result),
        Some(_) | None => Err(silent.unwrap_or(Cause::of(PROVIDERS_DISAGREE))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_voice_is_no_agreement() {
        let silent = || Err(RpcFailure::Silent(Cause::of("TIMEOUT")));
        assert_eq!(agreement(2, vec![Ok(1), Ok(1)]), Ok(1));
        assert_eq!(agreement(2, vec![Ok(1), silent(), Ok(1)]), Ok(1));
        assert!(agreement(2, vec![Ok(1), silent()]).is_err());
        assert!(agreement(2, vec![Ok(1), Ok(2)]).is_err());
        assert!(agreement(2, vec![Ok(1), Ok(1), Ok(2)]).is_err(), "a third one says otherwise");
    }
}
