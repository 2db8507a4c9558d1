//! Finds the block that changed a key, by halving a range of blocks. What most providers show leads the search, so
//! that one that lies does not mislead it for as long as it lies; a conclusion from the block that is found needs as
//! many providers as are needed to show it alike.

use super::NearLink;
use super::rpc::{Agreement, BlockAt, KeyView, access_key, agreement};
use kernel::answer::Cause;
use std::ops::Range;
use std::sync::Arc;

/// More halvings than any range of blocks has.
const STEPS: usize = 64;
/// The most heights in a row without a block that count as skipped; more are blocks that a provider dropped.
const SKIPPED: u64 = 16;

/// The class of a cause that stays: the answer was in blocks that no provider keeps.
const BLOCKS_NOT_KEPT: &str = "BLOCKS_NOT_KEPT";

/// A provider has no such block: it was skipped, or is kept no more.
fn is_unknown_block(cause: &Cause) -> bool {
    cause.to_string().contains("UNKNOWN_BLOCK")
}

/// True where the answer was in blocks that no provider keeps any more: another request does not help.
pub(super) fn is_not_kept(cause: &Cause) -> bool {
    cause.class == BLOCKS_NOT_KEPT || is_unknown_block(cause)
}

/// The change of a key's nonce by a block; `None` is a key that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NonceChange {
    /// The nonce at the end of the block before it.
    pub(super) from: Option<u64>,
    /// The nonce that it left.
    pub(super) to: Option<u64>,
    /// The providers that show what it left, by name.
    pub(super) shown_by: Arc<str>,
}

impl NearLink {
    /// The change of a key by the block of that height, where as many providers as are needed show it alike.
    ///
    /// # Errors
    /// Too few of them answer or have the block, or they say it differently.
    pub(super) async fn nonce_change(
        &self,
        key: &[u8; 32],
        height: u64,
    ) -> Result<NonceChange, Cause> {
        let head = self.rpc.block_at(height).await?;
        let at = |hash| access_key(&self.settings.account, key, BlockAt::Hash(hash));
        let Agreement { fact, shown_by, .. } = self.rpc.agreement_on(&at(head.hash)).await?;
        let from = self.rpc.agreed(&at(head.before)).await?.nonce;
        Ok(NonceChange { from, to: fact.nonce, shown_by })
    }

    /// The first block of a range behind which a change of the key's nonce shows; `None` is a key that is not
    /// there. It does not show at the range's start, and does at its end.
    ///
    /// # Errors
    /// A block between them is not kept, or no provider answers.
    pub(super) async fn first_block(
        &self,
        key: &[u8; 32],
        Range { start: mut before, end: mut behind }: Range<u64>,
        shows: impl Fn(Option<u64>) -> bool,
    ) -> Result<u64, Cause> {
        for _ in 0..STEPS {
            if behind.saturating_sub(before) < 2 {
                break;
            }
            let middle = before.saturating_add(behind.saturating_sub(before) / 2);
            match self.nonce_below(key, before..middle).await? {
                Some((height, nonce)) if shows(nonce) => behind = height,
                Some(_) | None => before = middle,
            }
        }
        Ok(behind)
    }

    /// As [`Self::first_block`], searched for from the end, in steps that double: the older blocks of a long
    /// range are kept by few providers.
    ///
    /// # Errors
    /// As [`Self::first_block`].
    pub(super) async fn last_change(
        &self,
        key: &[u8; 32],
        Range { start, mut end }: Range<u64>,
        shows: impl Fn(Option<u64>) -> bool,
    ) -> Result<u64, Cause> {
        let (mut before, mut step) = (start, 1_u64);
        for _ in 0..STEPS {
            let at = end.saturating_sub(step);
            if at <= start {
                break;
            }
            match self.nonce_below(key, start..at).await? {
                Some((height, nonce)) if shows(nonce) => end = height,
                Some((height, _)) => {
                    before = height;
                    break;
                }
                None => break,
            }
            step = step.saturating_mul(2);
        }
        self.first_block(key, before..end, shows).await
    }

    /// The highest block up to the range's end, and the key's nonce there; `None`: there is no block above its
    /// start.
    async fn nonce_below(
        &self,
        key: &[u8; 32],
        Range { start, end }: Range<u64>,
    ) -> Result<Option<(u64, Option<u64>)>, Cause> {
        for skipped in 0..SKIPPED {
            let at = end.saturating_sub(skipped);
            if at <= start {
                return Ok(None);
            }
            match self.likely_view(key, at).await {
                Ok(view) => return Ok(Some((at, view.nonce))),
                Err(cause) if is_unknown_block(&cause) => {}
                Err(cause) => return Err(cause),
            }
        }
        Err(Cause::because(BLOCKS_NOT_KEPT, format!("no provider has block {end}")))
    }

    /// What as many providers as are needed show of a key at a height; where too few have its block, or show it alike,
    /// what any of them shows.
    async fn likely_view(&self, key: &[u8; 32], height: u64) -> Result<KeyView, Cause> {
        let call = access_key(&self.settings.account, key, BlockAt::Height(height));
        let replies = self.rpc.each(&call).await;
        let any = replies.iter().find_map(|one| one.reply.as_ref().ok().copied());
        let failures = replies.iter().filter_map(|one| one.reply.as_ref().err().cloned());
        // one that is silent says nothing of whether there is such a block
        let unknown = failures.map(Cause::from).find(is_unknown_block);
        match (agreement(self.rpc.needed(), replies), any) {
            (Ok(agreed), _) => {
                agreed.dissent.inspect(|facts| self.rpc.note_outvoted(facts));
                Ok(agreed.fact)
            }
            (Err(_), Some(view)) => Ok(view),
            (Err(cause), None) => Err(unknown.unwrap_or(cause)),
        }
    }
}

/// The height up to which as many providers as are needed show a fact, of the heights at which each shows it: one that
/// names a height of its own makes it neither too low nor one that no block has. `None`: too few show it.
pub(super) fn shown_height(needed: usize, mut heights: Vec<u64>) -> Option<u64> {
    heights.sort_unstable();
    heights.get(needed.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::shown_height;

    /// Turns red where one of three sets the height.
    #[test]
    fn one_provider_alone_sets_no_height() {
        assert_eq!(shown_height(2, vec![100, 101, 1]), Some(100));
        assert_eq!(shown_height(2, vec![9_000, 100, 101]), Some(101));
        assert_eq!(shown_height(1, vec![7]), Some(7));
        assert_eq!(shown_height(2, vec![7]), None);
    }
}
