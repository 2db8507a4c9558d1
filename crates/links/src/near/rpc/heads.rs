//! Chooses the final block that new transactions count from and that the chain's state is read at. One
//! provider that shows a block of its own, or one far away, is passed over and named.

use super::calls::{BlockAt, BlockHead, block, validity};
use super::dialect::NearDialect;
use crate::near::settings::NearSettings;
use crate::near::tx::base58;
use crate::rpc::{
    Agreement, ExpectedNetwork, NODE_REFUSED, PROVIDERS_DISAGREE, PoolSettings, ProviderFact,
    RpcPool, SharedAnswer, collect_facts, in_words, shortened,
};
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::ports::clock::{Clock, TICKS};
use kernel::ports::meter::Meter;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

/// The number of blocks that are remembered by their hashes; beyond it the memory begins anew.
const BLOCKS: usize = 256;

/// How long the chain's own validity period is believed, in ticks: a vote on its protocol may change it.
const VALIDITY_FOR: u64 = 3_600_000 * TICKS;
/// How long, in ticks, it is believed that no provider says it: each signature would ask all of them again.
const NO_VALIDITY_FOR: u64 = 60_000 * TICKS;

/// The age, in milliseconds, from which on a final block says nothing of now. The chain makes one each second.
const OLD: Millis = 60_000;

/// The providers of NEAR, and the blocks that they agree on.
pub(in crate::near) struct NearPool {
    pool: RpcPool,
    /// The longest validity that is believed, in blocks.
    most_validity: u64,
    /// What the providers agree on; `None`: nothing.
    validity: SharedAnswer<Option<u64>>,
    /// How long a base block is used, in ticks.
    base_for: u64,
    base: SharedAnswer<BlockHead>,
    /// The providers that showed the base block, by name.
    base_shown_by: Mutex<Arc<str>>,
    /// Blocks by their hashes, as many as are looked at now: what a hash names does not change.
    blocks: Mutex<BTreeMap<[u8; 32], Arc<SharedAnswer<BlockHead>>>>,
    clock: Arc<dyn Clock>,
}

impl Deref for NearPool {
    type Target = RpcPool;

    fn deref(&self) -> &RpcPool {
        &self.pool
    }
}

impl std::fmt::Debug for NearPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.pool.fmt(f)
    }
}

impl NearPool {
    pub(in crate::near) fn new(
        settings: &NearSettings,
        clock: &Arc<dyn Clock>,
        meter: &Arc<dyn Meter>,
    ) -> Result<Self, String> {
        let network = settings.network;
        let pool = PoolSettings {
            chain: settings.chain,
            dialect: &NearDialect,
            network: ExpectedNetwork {
                setting: "relay.network",
                name: network.name(),
                fits: network.test(),
            },
            urls: &settings.rpc_urls,
            needed: settings.providers_needed,
            limits: settings.limits,
        };
        Ok(Self {
            pool: RpcPool::new(&pool, clock, meter)?,
            most_validity: settings.validity_blocks,
            validity: SharedAnswer::default(),
            base_for: settings.base_block_ms.saturating_mul(TICKS),
            base: SharedAnswer::default(),
            base_shown_by: Mutex::default(),
            blocks: Mutex::default(),
            clock: clock.clone(),
        })
    }

    /// The block that new transactions count their validity from: the lowest of the providers' final blocks that as
    /// many as are needed know. A block that the others do not know, or that is far from theirs, is passed over.
    ///
    /// # Errors
    /// Too few providers answer, or know one another's block.
    pub(in crate::near) async fn base_block(&self) -> Result<BlockHead, Cause> {
        self.base.get(&*self.clock, self.base_for, Box::pin(self.lowest_final())).await
    }

    /// The base block, where the chain made it within the last minute: what is missing at it is missing now.
    ///
    /// # Errors
    /// As [`Self::base_block`], and where the block is older, by this machine's clock, or later than now. One of the two
    /// is wrong, and which is not known.
    pub(in crate::near) async fn recent_block(&self) -> Result<BlockHead, Cause> {
        let head = self.base_block().await?;
        self.is_recent(&head).map(|()| head)
    }

    /// Whether the chain made a block within the last minute.
    ///
    /// # Errors
    /// As [`Self::recent_block`].
    pub(in crate::near) fn is_recent(&self, head: &BlockHead) -> Result<(), Cause> {
        let now = self.clock.now();
        let apart = now.abs_diff(head.time);
        if apart < OLD {
            return Ok(());
        }
        let by = self.base_shown_by.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let which = if head.time < now { "before" } else { "after" };
        let facts = format!(
            "{by} shows final block {}, of {} s {which} the time of this machine's clock: the providers are behind, or \
             the clock is wrong",
            head.height,
            apart / 1_000
        );
        Err(Cause::because(PROVIDERS_DISAGREE, facts))
    }

    async fn lowest_final(&self) -> Result<BlockHead, Cause> {
        let replies = Box::pin(self.each_still_right(&block(BlockAt::Final))).await;
        let mut heads = collect_facts(1, replies)?;
        heads.sort_by_key(|head| head.fact.height);
        let span = self.validity().await / 2;
        let mut unknown = None;
        for (at, head) in heads.iter().enumerate() {
            let height = head.fact.height;
            let later = heads.iter().skip(at);
            let near = later.filter(|one| one.fact.height.saturating_sub(height) <= span).count();
            // a provider that is silent has no block that it could be far from
            let alone = near < self.needed() && heads.len() >= self.needed();
            if alone {
                continue;
            }
            match self.agreement_on(&block(BlockAt::Hash(head.fact.hash))).await {
                Ok(Agreement { fact: base, shown_by, .. }) => {
                    self.note_passed_over(&heads, &base, at, span);
                    *self.base_shown_by.lock().unwrap_or_else(PoisonError::into_inner) = shown_by;
                    return Ok(base);
                }
                Err(cause) => unknown = Some(cause),
            }
        }
        let each = shortened(&in_words(&heads, final_block));
        match unknown {
            // they do not answer, which is no disagreement
            Some(cause) if heads.len() < self.needed() || cause.class != NODE_REFUSED => Err(cause),
            Some(_) | None => Err(Cause::because(PROVIDERS_DISAGREE, each)),
        }
    }

    /// For how many blocks after its base block a transaction may be included: what the protocol configuration of as
    /// many providers as are needed says, where it is less than the settings'; those of the settings where they do not
    /// say it alike. It decides when a form is signed again under its own nonce, so a wrong one costs time or fees, and
    /// pays nothing twice.
    pub(in crate::near) async fn validity(&self) -> u64 {
        let call = validity();
        let ask = async { Ok(self.agreed(&call).await.ok()) };
        let fresh_for = |said: &Option<u64>| match said {
            Some(_) => VALIDITY_FOR,
            None => NO_VALIDITY_FOR,
        };
        let said = self.validity.get_while(&*self.clock, fresh_for, ask).await;
        let said = said.ok().flatten();
        let believed = said.filter(|said| (1..self.most_validity).contains(said));
        believed.unwrap_or(self.most_validity)
    }

    /// A block by its hash, as many providers as are needed know it.
    ///
    /// # Errors
    /// As [`RpcPool::agreed`](crate::rpc::RpcPool::agreed).
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
    /// As [`RpcPool::agreed`](crate::rpc::RpcPool::agreed).
    pub(in crate::near) async fn block_at(&self, height: u64) -> Result<BlockHead, Cause> {
        self.agreed(&block(BlockAt::Height(height))).await
    }

    /// Notes the providers whose block was passed over: those below the base, and those far above it.
    fn note_passed_over(
        &self,
        heads: &[ProviderFact<BlockHead>],
        base: &BlockHead,
        at: usize,
        span: u64,
    ) {
        let below = heads.iter().take(at);
        let above = heads.iter().filter(|one| one.fact.height.saturating_sub(base.height) > span);
        let passed: Vec<ProviderFact<BlockHead>> = below.chain(above).cloned().collect();
        if !passed.is_empty() {
            let facts = format!("{}, and others show {base:?}", in_words(&passed, final_block));
            self.note_outvoted(&shortened(&facts));
        }
    }
}

fn final_block(head: &BlockHead) -> String {
    format!("final block {} ({})", head.height, base58(&head.hash))
}
