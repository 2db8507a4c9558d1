//! Proves that an attempt is dead because its key was deleted before the attempt's nonce was spent:
//! nothing of it landed, or ever will.
//!
//! A transaction that is not found proves nothing here. Two providers show the block that deleted the
//! key. At the block before it the key's nonce is below the attempt's, so no block up to there has a
//! form; the chunks of these two blocks have none either. Later blocks have no such key, and a key that
//! is added again begins above the nonce: the chain sets it to the height times a million.

use super::super::NearLink;
use super::super::forms::nonce_of;
use super::super::lane::NONCE_RANGE;
use super::super::rpc::{BEHIND, BlockAt, BlockHead, KeyView, access_key, chunk, chunks};
use super::super::tx::{base58, lane_of};
use super::{all, dead};
use kernel::answer::Cause;
use kernel::attempt::Attempt;
use kernel::ports::chain::AttemptProof;
use serde_json::json;

/// The block that deleted a key, and the one before it.
struct Deletion {
    block: BlockHead,
    before: BlockHead,
    /// The last nonce that the key spent.
    nonce: u64,
}

impl NearLink {
    /// The verdicts of an attempt whose key no provider shows any more, at a final block or behind it.
    ///
    /// # Errors
    /// Why it is not proven that the key was deleted before it spent the nonce.
    pub(super) async fn deleted_unspent(
        &self,
        attempt: &Attempt,
        key: &[u8; 32],
        views: &[KeyView],
        head: &BlockHead,
    ) -> Result<AttemptProof, Cause> {
        if !self.rpc.proves_by_several() {
            return Err(Cause::because("ONE_PROVIDER", "one provider's word is no proof"));
        }
        let lock = nonce_of(&attempt.lock)?;
        // an old block has not seen a key that was added again
        self.rpc.is_recent(head)?;
        if views.iter().filter(|view| view.height >= head.height).count() < self.rpc.needed() {
            let facts =
                format!("the key was looked for below block {}, which is final", head.height);
            return Err(Cause::because(BEHIND, facts));
        }
        let deletion = self.deletion(attempt, key, views).await?;
        let Deletion { block, before, nonce } = &deletion;
        if *nonce >= lock {
            let facts = format!("the key had spent {nonce} when block {} deleted it", block.height);
            return Err(Cause::because("SPENT_BEFORE", facts));
        }
        if lock >= block.height.saturating_mul(NONCE_RANGE) {
            return Err(Cause::of("NONCE_RANGE"));
        }
        // a node may show a block's state before its transactions, or behind them: neither of both has one
        for head in [before, block] {
            self.has_no_form(key, lock, head.height).await?;
        }
        // of another chain it would be true and say nothing
        self.rpc.are_still_right().await?;
        let document = json!({
            "deleted_in": base58(&block.hash),
            "height": block.height,
            "nonce": lock,
            "last_spent": nonce,
            "providers_needed": self.rpc.needed(),
            "providers": self.rpc.labels(),
        });
        Ok(all(attempt, &dead("KEY_DELETED", document.to_string().into())))
    }

    /// The block that deleted the key: one provider finds it, and as many as are needed say alike that it is that one.
    async fn deletion(
        &self,
        attempt: &Attempt,
        key: &[u8; 32],
        views: &[KeyView],
    ) -> Result<Deletion, Cause> {
        let anchors = || attempt.forms.iter().filter_map(|form| form.anchor);
        let first = anchors().min().ok_or(Cause::of("NO_ANCHOR"))?;
        let last = views.iter().map(|view| view.height).min().unwrap_or_default();
        if anchors().any(|anchor| anchor >= last) {
            return Err(Cause::because("FEW_PROVIDERS", "a provider is behind the attempt"));
        }
        let gone = self.first_block(key, first..last, |nonce| nonce.is_none()).await?;
        let block = self.rpc.block_at(gone).await?;
        let before = self.rpc.block(block.before).await?;
        let at = |hash| access_key(&self.settings.account, key, BlockAt::Hash(hash));
        let here = self.rpc.agreed(&at(block.hash)).await?;
        let earlier = self.rpc.agreed(&at(before.hash)).await?;
        match (here.nonce, earlier.nonce) {
            (None, Some(nonce)) => Ok(Deletion { block, before, nonce }),
            (Some(_), _) | (_, None) => {
                let facts = format!("block {gone} is not the one that deleted the key");
                Err(Cause::because("NOT_SHOWN", facts))
            }
        }
    }

    /// No transaction of the key with that nonce, or a later one, is in the chunks of a block.
    async fn has_no_form(&self, key: &[u8; 32], lock: u64, height: u64) -> Result<(), Cause> {
        let lane = lane_of(key);
        for hash in self.rpc.agreed(&chunks(height)).await? {
            let own = self.rpc.agreed(&chunk(&hash)).await?.into_iter().find(|one| {
                *one.signer == *self.settings.account && *one.key == *lane && one.nonce >= lock
            });
            if let Some(one) = own {
                let facts = format!("block {height} has {} with nonce {}", one.hash, one.nonce);
                return Err(Cause::because("SPENT_BEFORE", facts));
            }
        }
        Ok(())
    }
}
