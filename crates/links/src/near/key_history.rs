//! Finds the block that changed a key, by halving a range of blocks. One provider leads the search; a
//! conclusion from the block that is found needs as many providers as are needed to show it alike.

use super::NearLink;
use super::rpc::{BlockAt, access_key};
use kernel::answer::Cause;
use std::ops::Range;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NonceChange {
    /// The nonce at the end of the block before it.
    pub(super) from: Option<u64>,
    /// The nonce that it left.
    pub(super) to: Option<u64>,
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
        let to = self.rpc.agreed(&at(head.hash)).await?.nonce;
        let from = self.rpc.agreed(&at(head.before)).await?.nonce;
        Ok(NonceChange { from, to })
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
            let call = access_key(&self.settings.account, key, BlockAt::Height(at));
            // one that lies leads to a block that the others do not show so
            match self.rpc.first(&call).await {
                Ok(view) => return Ok(Some((at, view.nonce))),
                Err(cause) if is_unknown_block(&cause) => {}
                Err(cause) => return Err(cause),
            }
        }
        Err(Cause::because(BLOCKS_NOT_KEPT, format!("no provider has block {end}")))
    }
}
