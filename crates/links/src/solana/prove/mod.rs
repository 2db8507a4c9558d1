//! Proves how an attempt ended, from final blocks alone, and only from what as many providers as are
//! needed say of those blocks. A timeout, an error and a transaction that is not found say nothing.
//!
//! A lock is spent once: when a final block shows another nonce than the lock, one transaction spent it for ever. Where
//! that is a form, its outcome is the member's; where it is another one, the attempt is dead. As long as the lock
//! stands, a form may land, however old it is.

mod blame;
mod landing;

use super::SolanaLink;
use super::history::LaneUse;
use super::lane::UNSPENT;
use super::rpc::{NONE_SHOWN, SeenTransaction};
use super::snapshot::{VaultView, VaultViews};
use super::tx::{Content, ReadForm, lock_of};
use crate::base58::base58;
use crate::rpc::{Division, ProviderFact, division, not_behind};
use crate::verdict::{all, dead};
use kernel::answer::{Answer, Cause, Evidence, Receipt};
use kernel::attempt::{Attempt, Lock, Purpose};
use kernel::ids::Millis;
use kernel::ports::chain::{
    AttemptProof, EVENTS_MISMATCH, FOREIGN_FORM, LOCK_SPENT, LaneSpent, LaneStart, SpentLock,
};
use kernel::ports::clock::TICKS;
use landing::{Landing, is_paid};
use serde_json::json;
use std::sync::{Arc, PoisonError};

/// How long, in milliseconds, a lock may be seen spent before it is a surprise that no provider shows by what: a node
/// knows an account's state before it can show the transaction.
const SHOWN_WITHIN: Millis = 60_000;

/// A landed form, and what the providers show of it.
struct Landed<'a> {
    form: &'a ReadForm,
    seen: &'a SeenTransaction,
}

impl SolanaLink {
    pub(super) async fn prove(&self, attempt: &Attempt) -> AttemptProof {
        match self.noted(self.find_proof(attempt).await) {
            Ok(proof) => proof,
            Err(cause) => AttemptProof::NotYet(cause),
        }
    }

    async fn find_proof(&self, attempt: &Attempt) -> Result<AttemptProof, Cause> {
        let forms = self.forms(attempt)?;
        let lane = std::slice::from_ref(&attempt.lane);
        let snapshots = self.snapshot_with(lane).await?;
        if !self.is_spent(attempt, &snapshots)? {
            return self.unspent(attempt, &forms, &snapshots);
        }
        match self.landing(&forms).await {
            Landing::Agreed { at, seen } => {
                let purpose = attempt.forms.get(at).map(|form| form.purpose);
                let (Some(form), Some(purpose)) = (forms.get(at), purpose) else {
                    return Err(Cause::of("NO_FORM"));
                };
                self.rpc.raise_floor(seen.slot);
                let (lock, seen) = (attempt.lock.clone(), Arc::from(seen));
                let used = LaneUse { lock, spends: true, name: form.signature, seen };
                self.note_use(&form.lane, used.clone());
                let seen = used.seen;
                self.landed(attempt, purpose, &Landed { form, seen: &seen }).await
            }
            Landing::Open(cause) => Err(cause),
            Landing::Nowhere(cause) => self.spent_elsewhere(attempt, &snapshots, cause).await,
        }
    }

    /// Whether final blocks show another nonce than the lock. A block from before the form was signed says nothing: the
    /// lock may not have been set by then.
    fn is_spent(&self, attempt: &Attempt, snapshots: &VaultViews) -> Result<bool, Cause> {
        let needed = self.rpc.needed();
        let anchors = attempt.forms.iter().filter_map(|form| form.anchor);
        let least = anchors.min().ok_or(Cause::of("NO_ANCHOR"))?;
        let views = not_behind(needed, snapshots, least, |shown| shown.slot)?;
        let has_lock = |shown: &VaultView| {
            shown
                .lane(&attempt.lane)
                .is_some_and(|nonce| *lock_of(&nonce.value).0 == *attempt.lock.on_chain())
        };
        let words = |shown: &VaultView| {
            let nonce = shown.lane(&attempt.lane).map(|nonce| lock_of(&nonce.value).to_string());
            let nonce = nonce.unwrap_or_else(|| "no such account".to_owned());
            format!("{nonce} at slot {}", shown.slot)
        };
        match division(needed, &views, |shown| !has_lock(shown), words) {
            Division::Yes => Ok(true),
            // who still shows the lock may only be behind
            Division::YesAgainst(_) => Ok(true),
            Division::No => Ok(false),
            Division::NoAgainst(facts) => {
                tracing::debug!(%facts, "the nonce of a lane");
                Ok(false)
            }
            Division::Split(facts) => Err(Cause::because("NOT_FINAL", facts)),
        }
    }

    /// The lock stands: whatever was signed under it may land. After a while a higher fee is offered.
    fn unspent(
        &self,
        attempt: &Attempt,
        forms: &[ReadForm],
        snapshots: &[ProviderFact<VaultView>],
    ) -> Result<AttemptProof, Cause> {
        let slot = snapshots.iter().map(|one| one.fact.slot).min().unwrap_or_default();
        let (Some(newest), Some(form)) = (attempt.forms.last(), forms.last()) else {
            return Err(Cause::of("NO_FORM"));
        };
        let age = slot.saturating_sub(newest.anchor.unwrap_or_default());
        let is_old = age >= self.settings.replace_after_slots && !newest.bytes.is_empty();
        match &form.content {
            Content::Pay(payment) if is_old && payment.price < self.settings.most_priority_fee => {
                Ok(AttemptProof::Form(Purpose::Pay))
            }
            Content::Pay(_) | Content::Void => {
                let facts = format!("the lock is not spent at slot {slot}");
                Err(Cause::because(NONE_SHOWN, facts))
            }
        }
    }

    /// The verdict of a form that is in a final block.
    async fn landed(
        &self,
        attempt: &Attempt,
        purpose: Purpose,
        landed: &Landed<'_>,
    ) -> Result<AttemptProof, Cause> {
        let document = self.document(landed);
        let condemns = self.rpc.proves_by_several();
        match (purpose, &landed.form.content, &landed.seen.error) {
            (Purpose::Pay, Content::Pay(payment), None) => {
                if !is_paid(&self.vault, payment, landed.seen) {
                    let name = base58(&landed.form.signature);
                    let facts = format!("{name} did not move {} base units", payment.amount);
                    return Err(Cause::because(EVENTS_MISMATCH, facts));
                }
                self.rest.succeeded(landed.seen.slot);
                let receipt = Receipt { seq: landed.seen.slot, doc: Some(document) };
                Ok(all(attempt, &Answer::Done(receipt)))
            }
            _ if !condemns => {
                let facts = "one provider's word condemns nothing: name a second one";
                Err(Cause::because("ONE_PROVIDER", facts))
            }
            (Purpose::Pay, Content::Pay(payment), Some(error)) => {
                let slot = landed.seen.slot;
                let blame = self.blame(payment, slot, error).await?;
                Ok(all(attempt, &self.condemned(blame, document, slot)))
            }
            (Purpose::Void, Content::Void, _) => Ok(all(attempt, &dead("VOIDED", document))),
            (Purpose::Pay, Content::Void, _) | (Purpose::Void, Content::Pay(_), _) => {
                Err(Cause::of(FOREIGN_FORM))
            }
        }
    }

    /// The verdict of an attempt whose lock is spent, and of which no form is found.
    ///
    /// # Errors
    /// Why it is not proven that another transaction spent it.
    async fn spent_elsewhere(
        &self,
        attempt: &Attempt,
        snapshots: &VaultViews,
        cause: Cause,
    ) -> Result<AttemptProof, Cause> {
        if !self.rpc.proves_by_several() {
            let why = "one provider's word is no proof of what spent it: name a second one";
            return Err(Cause::because("ONE_PROVIDER", why));
        }
        let at = self.agreed_lane(&attempt.lane, snapshots, 0)?;
        let is_lock =
            |used: &LaneUse| used.spends && used.lock.on_chain() == attempt.lock.on_chain();
        let mut passed = false;
        // one further back: what the lane had spent before
        let enough = |used: &LaneUse| {
            let is_before = passed;
            passed |= is_lock(used);
            is_before
        };
        let walk = self.walk(&attempt.lane, at.slot, enough).await?;
        let mut uses = walk.uses.iter().skip_while(|used| !is_lock(used));
        let Some(used) = uses.next() else { return Err(self.unexplained(attempt, &cause)) };
        if attempt.forms.iter().any(|form| *form.name == used.name) {
            return Err(Cause::because("NOT_FINAL", base58(&used.name)));
        }
        let earlier = match uses.next() {
            Some(earlier) => earlier.lock.clone(),
            None if walk.begins => UNSPENT.into(),
            None => return Err(cause),
        };
        // of another chain it would be true and say nothing
        self.rpc.are_still_right().await?;
        let slot = used.seen.slot;
        let document = json!({
            "slot": slot,
            "lock": attempt.lock.on_chain(),
            "lock_before": earlier.on_chain(),
            "spent_by": base58(&used.name),
            "providers_needed": self.rpc.needed(),
            "providers": self.rpc.labels(),
        });
        let left = Lock(attempt.lock.on_chain().into());
        Ok(AttemptProof::SpentElsewhere(SpentLock {
            evidence: Evidence {
                code: "SPENT_ELSEWHERE".into(),
                doc: Some(document.to_string().into()),
            },
            before: LaneStart { lock: earlier, height: slot.saturating_sub(1) },
            left: LaneSpent { lane: attempt.lane.clone(), lock: left, height: slot },
        }))
    }

    /// The cause of a lock that is spent, where nothing shows by what: at first it is only not shown yet.
    fn unexplained(&self, attempt: &Attempt, cause: &Cause) -> Cause {
        let now = self.clock.ticks();
        let mut since = self.unexplained.lock().unwrap_or_else(PoisonError::into_inner);
        let first = match since.get(&attempt.lane) {
            Some((lock, first)) if *lock == attempt.lock => *first,
            Some(_) | None => {
                since.insert(attempt.lane.clone(), (attempt.lock.clone(), now));
                now
            }
        };
        if now.saturating_sub(first) < SHOWN_WITHIN.saturating_mul(TICKS) {
            return Cause::because(NONE_SHOWN, format!("the lock is spent; {cause}"));
        }
        let facts = format!("{cause}; no provider shows what spent {}", attempt.lock);
        Cause::because(LOCK_SPENT, facts)
    }

    /// The evidence that is stored with the verdicts.
    fn document(&self, landed: &Landed<'_>) -> Arc<str> {
        let Landed { form, seen } = landed;
        let document = json!({
            "transaction": base58(&form.signature),
            "slot": seen.slot,
            "lock": lock_of(&form.lock).on_chain(),
            "error": seen.error,
            "providers_needed": self.rpc.needed(),
            "providers": self.rpc.labels(),
        });
        document.to_string().into()
    }
}
