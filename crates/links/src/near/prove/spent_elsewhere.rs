//! Proves that an attempt is dead because a transaction that is none of its forms spent its nonce.
//!
//! Two providers at least show alike the block in which the key's nonce went past that of the attempt, and
//! every transaction of the key in it. Below that block the nonce was lower, so no block up to there has a
//! form; that block has none; behind it the nonce is too high for one. A transaction that is not found
//! proves nothing here.

use super::super::NearLink;
use super::super::foreign::BlockUses;
use super::super::forms::nonce_of;
use super::super::key_history::shown_height;
use super::super::rpc::KeyView;
use super::super::tx::base58;
use super::landing::NOT_FINAL;
use kernel::answer::{Cause, Evidence};
use kernel::attempt::{Attempt, Lock};
use kernel::ports::chain::{AttemptProof, LaneSpent, LaneStart, SpentLock};
use serde_json::json;

impl NearLink {
    /// The verdict of an attempt whose nonce is spent, and of which no form is found.
    ///
    /// # Errors
    /// Why it is not proven that another transaction spent it.
    pub(super) async fn spent_elsewhere(
        &self,
        attempt: &Attempt,
        key: &[u8; 32],
        views: &[KeyView],
    ) -> Result<AttemptProof, Cause> {
        if !self.rpc.proves_by_several() {
            let why = "one provider's word is no proof of what spent it: name a second one";
            return Err(Cause::because("ONE_PROVIDER", why));
        }
        let lock = nonce_of(&attempt.lock)?;
        let height = self.spending_block(attempt, key, views).await?;
        let BlockUses { uses, earlier, left } =
            self.block_uses(key, lock.saturating_sub(1), height).await?;
        let is_form = |hash: &str| attempt.forms.iter().any(|form| base58(&form.name) == *hash);
        if let Some(form) = uses.iter().find(|one| is_form(&one.hash)) {
            // it landed, and not all that it did is final
            return Err(Cause::because(NOT_FINAL, format!("block {height} has {}", form.hash)));
        }
        // of another chain it would be true and say nothing
        self.rpc.are_still_right().await?;
        let spenders: Vec<_> =
            uses.iter().map(|one| json!({ "transaction": one.hash, "nonce": one.nonce })).collect();
        let document = json!({
            "height": height,
            "nonce": lock,
            "nonce_before": earlier,
            "nonce_left": left,
            "spent_by": spenders,
            "providers_needed": self.rpc.needed(),
            "providers": self.rpc.labels(),
        });
        let doc = Some(document.to_string().into());
        let numbered = |nonce: u64| Lock(nonce.to_string().into());
        Ok(AttemptProof::SpentElsewhere(SpentLock {
            evidence: Evidence { code: "SPENT_ELSEWHERE".into(), doc },
            before: LaneStart { lock: numbered(earlier), height: height.saturating_sub(1) },
            left: LaneSpent { lane: attempt.lane.clone(), lock: numbered(left), height },
        }))
    }

    /// The final block in which the key's nonce went past that of an attempt, as most providers show it.
    async fn spending_block(
        &self,
        attempt: &Attempt,
        key: &[u8; 32],
        views: &[KeyView],
    ) -> Result<u64, Cause> {
        let lock = nonce_of(&attempt.lock)?;
        let anchors = attempt.forms.iter().filter_map(|form| form.anchor);
        let first = anchors.min().ok_or(Cause::of("NO_ANCHOR"))?;
        let is_spent = |nonce: Option<u64>| nonce.is_some_and(|nonce| nonce >= lock);
        let shows = views.iter().filter(|view| is_spent(view.nonce)).map(|view| view.height);
        let last = shown_height(self.rpc.needed(), shows.collect());
        let last = last.ok_or(Cause::of("NO_PROVIDER"))?;
        let block = self.last_change(key, first..last, is_spent).await?;
        let head = self.rpc.base_block().await?.height;
        if block > head {
            let facts = format!("block {block} spent it, and {head} is the last final one");
            return Err(Cause::because(NOT_FINAL, facts));
        }
        Ok(block)
    }
}
