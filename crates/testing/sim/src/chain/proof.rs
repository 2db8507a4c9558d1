//! Proves that an attempt on the simulated chain landed, or that it never will, from final blocks on which both
//! nodes agree.

use super::node::View;
use super::state::{ChainRules, Locking};
use super::transaction::Outcome;
use kernel::answer::{Answer, Cause, Evidence, Receipt};
use kernel::attempt::{Attempt, Form, MemberVerdict, Purpose};
use kernel::ports::chain::{AttemptProof, LOCK_SPENT, SpentLock};

/// Number of blocks after which a node-signed call that is not found is fenced.
const FENCED_AFTER: u64 = 12;

/// What the final blocks show beside the forms of an attempt.
pub(super) struct BlockFacts<S, B> {
    /// The transaction up to a height that spent the lock.
    pub spent: S,
    /// Whether the one receiver of a form that failed at a height is to blame for that.
    pub is_to_blame: B,
}

/// A look at one attempt.
pub(super) fn prove(
    rules: &ChainRules,
    attempt: &Attempt,
    [one, other]: &[View; 2],
    facts: BlockFacts<impl Fn(u64) -> Option<SpentLock>, impl Fn(&[u8], u64) -> bool>,
) -> AttemptProof {
    let BlockFacts { spent, is_to_blame } = facts;
    if one.found != other.found {
        return AttemptProof::NotYet(Cause::of("NODES_DISAGREE"));
    }
    let least = |of: fn(&View) -> u64| if of(one) < of(other) { of(one) } else { of(other) };
    let final_height = least(|view| view.final_height);
    let landed = |purpose: Purpose| {
        let forms = attempt.forms.iter().zip(&one.found);
        forms.filter(|(form, _)| form.purpose == purpose).find_map(|(form, found)| {
            let (at, outcome) = (*found)?;
            Some((form, at, outcome))
        })
    };
    if let Some((form, at, outcome)) = landed(Purpose::Pay) {
        let blamed = is_to_blame(&form.name, at);
        let landed = LandedForm { form, at, outcome, blamed };
        return AttemptProof::Closed(verdicts(attempt, &landed));
    }
    if let Some((_, at, _)) = landed(Purpose::Void) {
        return dead(attempt, "VOIDED", at);
    }
    let expired = |form: &Form| form.expires.is_some_and(|last| final_height > last);
    let Some(newest) = attempt.forms.last() else {
        return AttemptProof::NotYet(Cause::of("NO_FORM"));
    };
    match rules.locking {
        Locking::Nonce => {
            let lock = attempt.lock.on_chain().parse::<u64>().unwrap_or(u64::MAX);
            if least(|view| view.nonce) >= lock {
                // what is only said to be spent is in no block
                let unproven = || AttemptProof::NotYet(Cause::of(LOCK_SPENT));
                spent(final_height).map_or_else(unproven, AttemptProof::SpentElsewhere)
            } else if attempt.forms.iter().all(expired) {
                AttemptProof::Form(Purpose::Pay)
            } else {
                AttemptProof::NotYet(Cause::of("NOT_FINAL"))
            }
        }
        Locking::Marker if attempt.forms.iter().all(expired) => AttemptProof::Form(Purpose::Void),
        Locking::Reference
            if newest.purpose == Purpose::Pay
                && newest.anchor.is_none_or(|anchor| final_height > anchor + FENCED_AFTER) =>
        {
            AttemptProof::Form(Purpose::Void)
        }
        Locking::Marker | Locking::Reference => AttemptProof::NotYet(Cause::of("NOT_FINAL")),
    }
}

fn document(form: &Form, at: u64) -> String {
    let name = String::from_utf8_lossy(&form.name);
    format!(r#"{{"height":{at},"transaction":"{name}"}}"#)
}

/// The form that is in a final block.
struct LandedForm<'a> {
    form: &'a Form,
    at: u64,
    outcome: Outcome,
    /// Where it failed for its one member, that member's receiver is to blame.
    blamed: bool,
}

fn verdicts(attempt: &Attempt, landed: &LandedForm<'_>) -> Vec<MemberVerdict> {
    let LandedForm { form, at, outcome, blamed } = *landed;
    let doc = Some(document(form, at).into());
    let receipt = Receipt { seq: at, doc: doc.clone() };
    let why = |code: &'static str| Evidence { code: code.into(), doc: doc.clone() };
    let all = 0..attempt.members.len();
    let verdict = |n: usize| match outcome {
        Outcome::Success => MemberVerdict { answer: Answer::Done(receipt.clone()), alone: false },
        // its own action failed, and it has no other
        Outcome::Failed(_) if attempt.members.len() == 1 && blamed => MemberVerdict {
            answer: Answer::Rejected(why("RECEIVER_FAILED"), receipt.clone()),
            alone: false,
        },
        Outcome::Failed(culprit) => {
            MemberVerdict { answer: Answer::Dead(why("SPOILED")), alone: n == culprit }
        }
    };
    all.map(verdict).collect()
}

fn dead(attempt: &Attempt, code: &'static str, at: u64) -> AttemptProof {
    let doc = format!(r#"{{"height":{at},"lock":"{}"}}"#, attempt.lock);
    let why = Evidence { code: code.into(), doc: Some(doc.into()) };
    AttemptProof::Closed(attempt.dead(&why))
}
