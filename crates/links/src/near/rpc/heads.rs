//! Chooses the final block that new transactions count from and that the chain's state is read at. One
//! provider that shows a block of its own, or one far away, is passed over and named.

use super::PROVIDERS_DISAGREE;
use super::agreement::{Agreement, ProviderFact, ProviderReply, collect_facts, in_words};
use super::calls::{BlockAt, BlockHead, block};
use super::pool::RpcPool;
use super::reply::{NODE_REFUSED, shortened};
use crate::near::tx::base58;
use futures_util::future::join_all;
use kernel::answer::Cause;
use kernel::ids::Millis;
use std::sync::PoisonError;

/// The age, in milliseconds, from which on a final block says nothing of now. The chain makes one each second.
const OLD: Millis = 60_000;

impl RpcPool {
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

    /// The last final block of each provider that showed the right chain *afterwards*: a node may be another one from
    /// one request to the next, and what is signed on its block can be sent to no other chain.
    async fn final_blocks(&self) -> Vec<ProviderReply<BlockHead>> {
        let (call, enough) = (block(BlockAt::Final), self.enough_are_in_use());
        let each = self.endpoints.iter().map(|endpoint| async {
            let mut head = self.ask(endpoint, &call, enough).await;
            if head.reply.is_ok()
                && let Err(failure) = endpoint.is_still_right().await
            {
                head.reply = Err(failure);
            }
            head
        });
        join_all(each).await
    }

    async fn lowest_final(&self) -> Result<BlockHead, Cause> {
        let replies = Box::pin(self.final_blocks()).await;
        let mut heads = collect_facts(1, replies)?;
        heads.sort_by_key(|head| head.fact.height);
        let span = self.validity().await / 2;
        let mut unknown = None;
        for (at, head) in heads.iter().enumerate() {
            let height = head.fact.height;
            let later = heads.iter().skip(at);
            let near = later.filter(|one| one.fact.height.saturating_sub(height) <= span).count();
            // a provider that is silent has no block that it could be far from
            let alone = near < self.needed && heads.len() >= self.needed;
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
            Some(cause) if heads.len() < self.needed || cause.class != NODE_REFUSED => Err(cause),
            Some(_) | None => Err(Cause::because(PROVIDERS_DISAGREE, each)),
        }
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
