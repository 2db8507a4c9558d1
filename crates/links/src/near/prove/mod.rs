//! Proves how an attempt ended, from final blocks alone, and only from what as many providers as are
//! needed say of those blocks. A timeout, an error and a transaction that is not found say nothing.
//!
//! Four ends are possible. A form landed: its outcome is every member's. Nothing landed, and every form
//! is past its last block while the nonce is not spent: the same nonce is signed once more. The key was
//! deleted before it spent the nonce, or another transaction spent it: the attempt is dead. Where the nonce
//! is spent and nothing shows by what, nothing is proven, however it looks, and the lane keeps its attempt.

mod blame;
mod deleted;
mod events;
mod landing;
mod spent_elsewhere;

pub(super) use landing::{Landing, landing};

use super::NearLink;
use super::concerns::EVENTS_SURPLUS;
use super::rpc::{
    BlockAt, Division, ExecutionResult, FinalTransaction, KeyView, StatusReply, access_key,
    collect_facts, division, in_words, objection, transaction,
};
use super::tx::{BatchAction, ReadTransaction, base58, key_of};
use crate::verdict::{all, dead};
use blame::is_paused;
use events::{EventBalance, balance};
use flows::relay::Act;
use kernel::answer::{Answer, Cause, Receipt};
use kernel::attempt::{Attempt, Purpose};
use kernel::ports::chain::{AttemptProof, EVENTS_MISMATCH, FOREIGN_FORM, LOCK_SPENT};
use landing::NOT_FINAL;
use serde_json::json;
use std::sync::Arc;

/// The number of blocks after the signing at which the attempt's key is read, whether a form is found or not.
const LATE: u64 = 20;

/// A landed form, and what the providers show of it.
struct Landed<'a> {
    form: &'a ReadTransaction,
    found: &'a FinalTransaction,
    /// The height of the block in which it was executed.
    height: u64,
}

impl NearLink {
    pub(super) async fn prove(&self, attempt: &Attempt) -> AttemptProof {
        match self.noted(self.find_proof(attempt).await) {
            Ok(proof) => proof,
            Err(cause) => AttemptProof::NotYet(cause),
        }
    }

    async fn find_proof(&self, attempt: &Attempt) -> Result<AttemptProof, Cause> {
        let forms = self.forms(attempt)?;
        let head = self.rpc.base_block().await;
        let young = match (&head, surprise(attempt)) {
            (Ok(head), Some(surprise)) => head.height <= surprise,
            _ => false,
        };
        let mut replies = Vec::with_capacity(forms.len());
        for form in &forms {
            let call = transaction(&form.hash, &self.settings.account);
            // no provider shows what is not final yet: a second one is asked once there is something to agree on
            let hint = self.rpc.hint(&call).await?;
            if young && !matches!(hint.reply, Ok(StatusReply::Final(_))) {
                replies.push(vec![hint]);
            } else {
                replies.push(self.rpc.others(&call, hint).await);
            }
        }
        match landing(self.rpc.needed(), &forms, replies) {
            Landing::Open(cause) => Err(cause),
            Landing::Nowhere(cause) if young => Err(cause),
            Landing::Nowhere(cause) => self.not_landed(attempt, cause).await,
            Landing::Agreed { at, found, dissent } => {
                if let Some(facts) = dissent {
                    self.rpc.note_outvoted(&facts);
                }
                let purpose = attempt.forms.get(at).map(|form| form.purpose);
                let (Some(form), Some(purpose)) = (forms.get(at), purpose) else {
                    return Err(Cause::of("NO_FORM"));
                };
                let height = self.rpc.block(found.block).await?.height;
                self.rpc.raise_floor(height);
                let landed = Landed { form, found: &found, height };
                self.landed(attempt, purpose, &landed).await
            }
        }
    }

    /// No form is in a final block: it may be on its way, or past its last block.
    async fn not_landed(&self, attempt: &Attempt, cause: Cause) -> Result<AttemptProof, Cause> {
        let head = self.rpc.base_block().await?;
        let newest = attempt.forms.last().ok_or(Cause::of("NO_FORM"))?;
        let last = expiry(attempt).ok_or(Cause::of("NO_EXPIRY"))?;
        if surprise(attempt).is_some_and(|surprise| head.height <= surprise) {
            return Err(cause);
        }
        let key = key_of(&attempt.lane).ok_or(Cause::of("BAD_LANE"))?;
        let lock = super::forms::nonce_of(&attempt.lock)?;
        let call = access_key(&self.settings.account, &key, BlockAt::Final);
        let needed = self.rpc.needed();
        let replies = collect_facts(needed, self.rpc.each(&call).await)?;
        let is_spent = |view: &KeyView| view.nonce.is_none_or(|nonce| nonce >= lock);
        let spent = match division(needed, &replies, is_spent, KeyView::in_words) {
            Division::No => false,
            Division::NoAgainst(facts) => {
                self.rpc.note_outvoted(&facts);
                false
            }
            Division::Yes | Division::YesAgainst(_) | Division::Split(_) => true,
        };
        let views: Vec<KeyView> = replies.iter().map(|one| one.fact).collect();
        if spent {
            let spender = if views.iter().all(|view| view.nonce.is_none()) {
                match self.deleted_unspent(attempt, &key, &views, &head).await {
                    Ok(proof) => return Ok(proof),
                    Err(cause) => format!("whether it spent it is not proven: {cause}"),
                }
            } else if cause.class == NOT_FINAL {
                // its own transaction spent it, some blocks before all that it did is final
                return Err(cause);
            } else {
                match self.spent_elsewhere(attempt, &key, &views).await {
                    Ok(proof) => return Ok(proof),
                    Err(cause) if cause.class == NOT_FINAL => return Err(cause),
                    Err(cause) => format!("what spent it is not proven: {cause}"),
                }
            };
            let each = in_words(&replies, KeyView::in_words);
            let facts = format!("{cause}; the key at final blocks: {each}; {spender}");
            return Err(Cause::because(LOCK_SPENT, facts));
        }
        let unspent = replies.iter().filter(|one| !is_spent(&one.fact));
        let now = |at: u64| at > last && at >= head.height;
        let past = unspent.filter(|one| now(one.fact.height)).count();
        if past < needed {
            // words for a person, and no decision: one provider is enough
            let objection = self.rpc.first(&objection(&newest.bytes)).await?;
            return Err(objection.map_or(cause, |words| Cause::because("NOT_INCLUDED", words)));
        }
        if !self.rpc.proves_by_several() {
            let facts = format!("it expired at block {last}, and one provider's word is no proof");
            return Err(Cause::because("ONE_PROVIDER", facts));
        }
        self.rpc.is_recent(&head)?;
        Ok(AttemptProof::Form(newest.purpose))
    }

    /// The verdicts of a form that is in a final block.
    async fn landed(
        &self,
        attempt: &Attempt,
        purpose: Purpose,
        landed: &Landed<'_>,
    ) -> Result<AttemptProof, Cause> {
        let condemns = self.rpc.proves_by_several();
        match (purpose, &landed.found.result) {
            (Purpose::Void, _) if condemns => {
                Ok(all(attempt, &dead("VOIDED", self.document(landed))))
            }
            (Purpose::Pay, ExecutionResult::Success) => self.paid(attempt, landed),
            (Purpose::Pay, ExecutionResult::Failure { index, error }) if condemns => {
                self.failed(attempt, landed, *index, error).await
            }
            (Purpose::Void, _) | (Purpose::Pay, ExecutionResult::Failure { .. }) => {
                let facts = "one provider's word condemns nothing: name a second one";
                Err(Cause::because("ONE_PROVIDER", facts))
            }
        }
    }

    /// All members are paid, or registered.
    fn paid(&self, attempt: &Attempt, landed: &Landed<'_>) -> Result<AttemptProof, Cause> {
        let Landed { form, found, height } = landed;
        let token = self.tokens.of_contract(&form.receiver).ok_or(Cause::of(FOREIGN_FORM))?;
        let name = found.name();
        let events = token.token.events;
        let balance = if events { balance(form, &found.logs) } else { EventBalance::Even };
        match balance {
            EventBalance::Even => {}
            // its members are paid: what else was moved is for a person to look at
            EventBalance::Surplus(facts) => {
                self.concerns.note(EVENTS_SURPLUS, &format!("{name}: {facts}"), &*self.clock);
            }
            EventBalance::Deficit(facts) => {
                return Err(Cause::because(EVENTS_MISMATCH, format!("{name}: {facts}")));
            }
        }
        if let Some(facts) = &found.failed_behind {
            let facts = format!("{name}: behind its payments failed {facts}");
            self.concerns.note(EVENTS_SURPLUS, &facts, &*self.clock);
        }
        token.succeeded(self.settings.batch);
        if let Some(act) = act_of(form) {
            token.rest(act).succeeded(*height);
        }
        let receivers = form.actions.iter().filter_map(receiver_of);
        if let Some(act) = act_of(form) {
            token.refusals(act).carried_out(receivers, *height);
        }
        let now = self.clock.ticks();
        for action in &form.actions {
            match action {
                BatchAction::Pay { receiver: known, .. }
                | BatchAction::Register { account: known, .. } => {
                    self.receivers.learn(&token.token.contract, known, now);
                }
                BatchAction::Nothing => {}
            }
        }
        let receipt = Receipt { seq: *height, doc: Some(self.document(landed)) };
        Ok(all(attempt, &Answer::Done(receipt)))
    }

    /// The evidence that is stored with the verdicts.
    fn document(&self, landed: &Landed<'_>) -> Arc<str> {
        let Landed { form, found, height } = landed;
        let result = match &found.result {
            ExecutionResult::Success => json!("SUCCESS"),
            ExecutionResult::Failure { index, error } => {
                let paused = is_paused(landed, error);
                json!({ "index": index, "error": error, "paused": paused })
            }
        };
        let document = json!({
            "transaction": found.name(),
            "block": base58(&found.block),
            "height": height,
            "nonce": form.nonce,
            "gas_burnt": found.gas_burnt,
            "result": result,
            "providers_needed": self.rpc.needed(),
            "providers": self.rpc.labels(),
        });
        document.to_string().into()
    }
}

/// The last block that may have a form of an attempt.
fn expiry(attempt: &Attempt) -> Option<u64> {
    attempt.forms.iter().try_fold(0, |last, form| {
        let expires = form.expires?;
        Some(if expires > last { expires } else { last })
    })
}

/// The last block at which it is no surprise that no form of an attempt is found.
fn surprise(attempt: &Attempt) -> Option<u64> {
    let anchor = attempt.forms.last().and_then(|form| form.anchor);
    let late = anchor.unwrap_or_default().saturating_add(LATE);
    expiry(attempt).map(|last| if last < late { last } else { late })
}

/// The act of a transaction: all its actions are of one.
fn act_of(form: &ReadTransaction) -> Option<Act> {
    match form.actions.first()? {
        BatchAction::Pay { .. } => Some(Act::Pay),
        BatchAction::Register { .. } => Some(Act::Register),
        BatchAction::Nothing => None,
    }
}

/// The account that an action pays or registers.
fn receiver_of(action: &BatchAction) -> Option<&Arc<str>> {
    match action {
        BatchAction::Pay { receiver: account, .. } | BatchAction::Register { account, .. } => {
            Some(account)
        }
        BatchAction::Nothing => None,
    }
}
