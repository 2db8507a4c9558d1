//! Finds out why a transaction failed, and which member goes alone next time. The place of the failing
//! action isolates its member; it condemns the member only where the member failed alone, registered,
//! with money enough, and where the contract served another one since it refused this one first.

use super::{Landed, act_of, receiver_of};
use crate::near::NearLink;
use crate::near::concerns::{TOKEN_PAUSED, TREASURY_SHORT};
use crate::near::deposit::least_deposit;
use crate::near::refusals::{Blame, refused_member};
use crate::near::rpc::{BlockAt, view};
use crate::near::sign::yocto;
use crate::near::tokens::TokenState;
use crate::near::tx::{BatchAction, ReadTransaction};
use crate::rest::{RestCause, TokenFailure};
use crate::verdict::{all, coded, dead, with_field};
use flows::relay::Act;
use kernel::answer::{Answer, Cause, Evidence, Receipt};
use kernel::attempt::{Attempt, MemberVerdict};
use kernel::ports::chain::{AttemptProof, FOREIGN_FORM};
use serde_json::json;
use std::cmp::Reverse;
use std::sync::Arc;

/// The circumstances at a block: `None` where the providers do not say it alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Circumstances {
    /// The receiver was registered with the token.
    registered: Option<bool>,
    /// The relay had as much as the transaction paid.
    funded: Option<bool>,
}

/// Why an action failed, and what that means for its member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FailureVerdict {
    code: &'static str,
    /// The member is refused where it was alone.
    condemned: bool,
}

/// The contract says that it is paused. A receiver must not be able to stop the token by what it is called.
pub(super) fn is_paused(landed: &Landed<'_>, error: &str) -> bool {
    without_names(landed.form, error).contains("paus")
}

/// The contract says that the account has too little of the token.
fn is_short(landed: &Landed<'_>, error: &str) -> bool {
    without_names(landed.form, error).contains("enough balance")
}

/// The text of an error without the names of receivers, the longest first. Each leaves a space: what stands on
/// both sides of it must make no new word.
fn without_names(form: &ReadTransaction, error: &str) -> String {
    let mut names: Vec<&str> =
        form.actions.iter().filter_map(receiver_of).map(|name| &**name).collect();
    names.sort_by_key(|name| Reverse(name.len()));
    names.into_iter().fold(error.to_lowercase(), |text, name| text.replace(name, " "))
}

/// A member that the contract refused.
#[derive(Clone, Copy)]
struct RefusedMember<'a> {
    /// Its place in the transaction.
    culprit: usize,
    act: Act,
    receiver: &'a Arc<str>,
    /// What the contract said of it.
    error: &'a str,
    code: &'static str,
    /// The circumstances, as the providers show them alike, do not explain the refusal.
    unexplained: bool,
}

/// The calls had too little gas.
fn is_out_of_gas(error: &str) -> bool {
    error.contains("Exceeded the prepaid gas")
        || error.contains("Exceeded the maximum amount of gas")
}

impl NearLink {
    /// The verdicts of a transaction of which nothing took place.
    pub(super) async fn failed(
        &self,
        attempt: &Attempt,
        landed: &Landed<'_>,
        index: Option<usize>,
        error: &str,
    ) -> Result<AttemptProof, Cause> {
        let token = self.tokens.of_contract(&landed.form.receiver);
        let token = token.ok_or(Cause::of(FOREIGN_FORM))?;
        // another program's, of which some payments are members': it was stored since it had been shown as done
        if landed.form.actions.len() != attempt.members.len() {
            return Err(Cause::because(FOREIGN_FORM, "what was shown as paid is shown as failed"));
        }
        self.token_recheck.note(error);
        let doc = self.document(landed);
        if is_out_of_gas(error) && token.more_gas() {
            return Ok(all(attempt, &dead("OUT_OF_GAS", doc)));
        }
        let paused = is_paused(landed, error);
        let Some(culprit) = index else {
            if paused {
                self.rests(token, landed, RestCause::Paused, error);
                return Ok(all(attempt, &dead(TOKEN_PAUSED, doc)));
            }
            token.halve();
            if attempt.members.len() == 1 {
                self.rests(token, landed, RestCause::Unexplained, error);
            }
            return Ok(all(attempt, &dead("BATCH_FAILED", doc)));
        };
        // what it says is not about one of ours
        let action = landed.form.actions.get(culprit).ok_or(Cause::of("BAD_INDEX"))?;
        let receiver = match action {
            BatchAction::Register { .. } if paused => {
                self.rests(token, landed, RestCause::Paused, error);
                return Ok(all(attempt, &dead(TOKEN_PAUSED, doc)));
            }
            BatchAction::Register { account, deposit } => {
                let refused = RefusedMember {
                    culprit,
                    act: Act::Register,
                    receiver: account,
                    error,
                    code: "REGISTRATION_REFUSED",
                    unexplained: self.was_enough(token, landed, *deposit).await,
                };
                return Ok(self.judged_member(attempt, token, landed, &refused));
            }
            BatchAction::Pay { receiver, .. } => receiver.clone(),
            BatchAction::Nothing => return Err(Cause::of("BAD_INDEX")),
        };
        let now = self.circumstances(landed, &receiver, landed.found.block).await;
        match (now.registered, paused, now.funded) {
            (Some(false), _, _) => {}
            (_, true, _) => {
                self.rests(token, landed, RestCause::Paused, error);
                return Ok(all(attempt, &dead(TOKEN_PAUSED, doc)));
            }
            (_, _, Some(false)) => {
                self.is_short(token, landed);
                return Ok(all(attempt, &dead(TREASURY_SHORT, doc)));
            }
            // others spent it, and more came in the same block: the balance before and after does not show it
            (_, false, _) if is_short(landed, error) => {
                self.is_short(token, landed);
                return Ok(all(attempt, &dead(TREASURY_SHORT, doc)));
            }
            (_, false, _) => {}
        }
        // whatever it was: it is asked after again
        self.receivers.forget(&token.token.contract, &receiver);
        let (code, unexplained) = match attempt.members.len() {
            1 => self.alone(token, landed, &receiver, now).await,
            _ => ("SPOILED", now.registered == Some(true)),
        };
        let (act, receiver) = (Act::Pay, &receiver);
        let refused = RefusedMember { culprit, act, receiver, error, code, unexplained };
        Ok(self.judged_member(attempt, token, landed, &refused))
    }

    /// The verdicts where the contract refused a member, which the evidence names. The member is to blame where it was
    /// alone, and the contract carried out the same act for another one since it refused this one first.
    fn judged_member(
        &self,
        attempt: &Attempt,
        token: &TokenState,
        landed: &Landed<'_>,
        member: &RefusedMember<'_>,
    ) -> AttemptProof {
        let RefusedMember { culprit, act, receiver, error, code, unexplained } = *member;
        let (refusals, doc) = (token.refusals(act), self.document(landed));
        let verdict = |condemned, doc| {
            judged(attempt, culprit, FailureVerdict { code, condemned }, landed_at(landed, doc))
        };
        if !unexplained {
            return verdict(false, doc);
        }
        let (field, value) = refused_member(act, receiver);
        let doc = with_field(&doc, field, value);
        if attempt.members.len() > 1 {
            refusals.in_company(receiver, landed.height);
            return verdict(false, doc);
        }
        match refusals.alone(receiver, landed.height, self.clock.ticks()) {
            Blame::Receiver { first, other } => {
                let heights = json!({ "refused_first": first, "carried_out_for_another": other });
                verdict(true, with_field(&doc, "heights", heights))
            }
            Blame::Open => verdict(false, doc),
            Blame::Contract => {
                self.rests(token, landed, RestCause::Refuses, error);
                verdict(false, doc)
            }
        }
    }

    /// Whether a registration's deposit was what the contract asked for at that block, as the providers show it alike.
    async fn was_enough(&self, token: &TokenState, landed: &Landed<'_>, deposit: u128) -> bool {
        // the price may have risen since
        token.deposit_is(None);
        let at = BlockAt::Hash(landed.found.block);
        let call = view(&landed.form.receiver, "storage_balance_bounds", &json!({}), at);
        let asked = self.rpc.agreed(&call).await.and_then(|bounds| least_deposit(&bounds));
        asked.is_ok_and(|asked| deposit >= asked)
    }

    /// What is said of a payment that failed alone, and whether the contract refused it: only where its receiver was
    /// registered and the money was there, before it and after.
    async fn alone(
        &self,
        token: &TokenState,
        landed: &Landed<'_>,
        receiver: &Arc<str>,
        now: Circumstances,
    ) -> (&'static str, bool) {
        let before = match self.rpc.block(landed.found.block).await {
            Ok(block) => self.circumstances(landed, receiver, block.before).await,
            Err(_) => Circumstances { registered: None, funded: None },
        };
        let both = |of: fn(&Circumstances) -> Option<bool>| {
            of(&before).and_then(|was| Some(was && of(&now)?))
        };
        match (both(|c| c.registered), both(|c| c.funded)) {
            (Some(true), Some(true)) => ("RECEIVER_REFUSED", true),
            (Some(false), _) => ("NOT_REGISTERED", false),
            (_, Some(false)) => {
                self.is_short(token, landed);
                (TREASURY_SHORT, false)
            }
            (None, _) | (_, None) => ("CIRCUMSTANCES_UNKNOWN", false),
        }
    }

    /// Begins a rest of the failed act, until one member shows that it succeeds again.
    fn rests(&self, token: &TokenState, landed: &Landed<'_>, why: RestCause, error: &str) {
        let Some(act) = act_of(landed.form) else { return };
        let facts = format!("{}: {} failed: {error}", token.token.contract, landed.found.name());
        let failure = TokenFailure { why, facts: facts.into(), height: landed.height };
        token.rest(act).failed(failure, self.clock.ticks(), self.settings.token_rest_ms);
    }

    /// The money that was there is signed for by others: what the account has is read again after a while.
    fn is_short(&self, token: &TokenState, landed: &Landed<'_>) {
        let name = landed.found.name();
        let facts = format!("{}: the account had too little for {name}", token.token.contract);
        token.shortage.seen(0, facts.into(), self.rests_until());
    }

    /// Reads the circumstances at a block that the providers show alike.
    async fn circumstances(
        &self,
        landed: &Landed<'_>,
        receiver: &Arc<str>,
        block: [u8; 32],
    ) -> Circumstances {
        let (contract, at) = (&landed.form.receiver, BlockAt::Hash(block));
        let of =
            |method, account: &str| view(contract, method, &json!({ "account_id": account }), at);
        let registered = self.rpc.agreed(&of("storage_balance_of", receiver)).await;
        let balance = self.rpc.agreed(&of("ft_balance_of", &self.settings.account)).await;
        let paid = landed.form.actions.iter().try_fold(0_u128, |sum, action| match action {
            BatchAction::Pay { amount, .. } => sum.checked_add(*amount),
            BatchAction::Register { .. } | BatchAction::Nothing => Some(sum),
        });
        let balance = balance.and_then(|balance| yocto(&balance));
        Circumstances {
            registered: registered.ok().map(|balance| !balance.is_null()),
            // more than there is of anything is not there
            funded: balance.ok().map(|balance| paid.is_some_and(|paid| balance >= paid)),
        }
    }
}

/// The block where a transaction landed, with the document that shows it.
fn landed_at(landed: &Landed<'_>, doc: Arc<str>) -> Receipt {
    Receipt { seq: landed.height, doc: Some(doc) }
}

/// The verdicts where one action failed: it is refused where it was alone and is `condemned`; else all are dead,
/// and it goes alone.
fn judged(
    attempt: &Attempt,
    culprit: usize,
    failure: FailureVerdict,
    landed: Receipt,
) -> AttemptProof {
    let alone = attempt.members.len() == 1;
    let evidence = match &landed.doc {
        Some(doc) => coded(failure.code, doc),
        None => Evidence::code(failure.code),
    };
    let verdict = |at: usize| {
        let evidence = evidence.clone();
        let answer = match alone && failure.condemned {
            true => Answer::Rejected(evidence, landed.clone()),
            false => Answer::Dead(evidence),
        };
        MemberVerdict { answer, alone: at == culprit }
    };
    AttemptProof::Closed((0..attempt.members.len()).map(verdict).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns red where two names, cut out one after the other, make a word of what stands beside them (run: each is
    /// cut out without a space).
    #[test]
    fn names_of_receivers_make_no_word() {
        let pay = |receiver: &str| BatchAction::Pay {
            receiver: receiver.into(),
            amount: 1,
            memo: String::new(),
        };
        let form = ReadTransaction {
            hash: [0; 32],
            signer: "relay.near".to_owned(),
            key: [0; 32],
            nonce: 1,
            receiver: "usdc.near".to_owned(),
            base: [0; 32],
            actions: vec![pay("evil.test"), pay("paevil.testus.test"), pay("paused.near")],
        };
        for error in [
            "The account paevil.testus.test is not registered",
            "The account paused.near is not registered",
        ] {
            assert!(!without_names(&form, error).contains("paus"), "{error}");
        }
        assert!(without_names(&form, "The contract is PAUSED").contains("paus"));
    }
}
