//! Decides which form of an attempt landed, from what each provider says of each form. Pure.

use super::super::rpc::{
    FinalTransaction, PROVIDERS_DISAGREE, ProviderReply, StatusReply, outvotes, shortened,
};
use super::super::tx::{ReadTransaction, base58, lane_of};
use kernel::answer::Cause;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The class of a cause: a provider shows a form in a block, and not all that it did is final yet.
pub(super) const NOT_FINAL: &str = "NOT_FINAL";

/// The stages of a transaction that a block has, before the last one.
const IN_BLOCK: [&str; 4] = ["INCLUDED", "EXECUTED_OPTIMISTIC", "INCLUDED_FINAL", "EXECUTED"];

/// The result of comparing what the providers say of all forms of an attempt.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::near) enum Landing {
    /// As many as are needed show the same of this form, more than show otherwise.
    Agreed {
        /// The place of the form.
        at: usize,
        /// What they show of it.
        found: Box<FinalTransaction>,
        /// What others show as final instead, and who.
        dissent: Option<String>,
    },
    /// Some say that one landed, and that is not enough.
    Open(Cause),
    /// None says that any of them landed.
    Nowhere(Cause),
}

/// A form that a provider shows as final, with all that it shows of it: the outcome, the block, the logs that say what
/// was paid, and the text of an error, which decides what is done about it.
#[derive(Debug, PartialEq, Eq)]
struct FinalForm {
    at: usize,
    found: Box<FinalTransaction>,
}

/// The providers that show a form alike.
struct Voices {
    shows: FinalForm,
    by: Vec<Arc<str>>,
}

/// Which form landed. A provider that does not find what as many as are needed show as final only lags. One that shows
/// two forms as final, or another transaction, is against each of them.
pub(in crate::near) fn landing(
    needed: usize,
    forms: &[ReadTransaction],
    replies: Vec<Vec<ProviderReply<StatusReply>>>,
) -> Landing {
    let mut voices: Vec<Voices> = Vec::new();
    let (mut open, mut in_block) = (Cause::of("NOT_FOUND"), None);
    for (at, replies) in replies.into_iter().enumerate() {
        for ProviderReply { by, reply } in replies {
            let found = match reply {
                Ok(StatusReply::Final(found)) => found,
                Ok(StatusReply::Pending(stage)) if IN_BLOCK.contains(&&*stage) => {
                    in_block = Some(Cause::because(NOT_FINAL, stage));
                    continue;
                }
                Ok(StatusReply::Pending(stage)) => {
                    open = Cause::because("NO_OUTCOME", stage);
                    continue;
                }
                Ok(StatusReply::NotFound) => continue,
                Err(failure) => {
                    open = failure.into();
                    continue;
                }
            };
            let shows = FinalForm { at, found };
            match voices.iter_mut().find(|one| one.shows == shows) {
                Some(known) => known.by.push(by),
                None => voices.push(Voices { shows, by: vec![by] }),
            }
        }
    }
    if voices.is_empty() {
        return Landing::Nowhere(in_block.unwrap_or(open));
    }
    decided(needed, forms, voices)
}

/// What is decided where a provider shows a form as final.
fn decided(needed: usize, forms: &[ReadTransaction], mut voices: Vec<Voices>) -> Landing {
    voices.sort_by_key(|one| Reverse(one.by.len()));
    let words = |voices: &[Voices]| {
        let each = voices.iter().map(|Voices { shows: FinalForm { found, .. }, by }| {
            let (name, block) = (found.name(), base58(&found.block));
            let (result, logs) = (&found.result, found.logs.len());
            format!("{} shows {name} in {block}: {result:?}, {logs} logs", by.join(" and "))
        });
        shortened(&each.collect::<Vec<String>>().join("; "))
    };
    let (all, others) = (words(&voices), words(voices.get(1..).unwrap_or_default()));
    let against: BTreeSet<Arc<str>> =
        voices.iter().skip(1).flat_map(|one| one.by.iter().cloned()).collect();
    let Some(Voices { shows: FinalForm { at, found }, mut by }) = voices.into_iter().next() else {
        return Landing::Nowhere(Cause::of("NOT_FOUND"));
    };
    by.retain(|one| !against.contains(one));
    let is_own = forms.get(at).is_some_and(|form| is_of(form, &found));
    if is_own && outvotes(needed, by.len(), against.len()) {
        let dissent = (!against.is_empty()).then_some(others);
        return Landing::Agreed { at, found, dissent };
    }
    if is_own && against.is_empty() {
        let facts = format!("{} of {needed} providers show {} as final", by.len(), found.name());
        return Landing::Open(Cause::because("FEW_PROVIDERS", facts));
    }
    Landing::Open(Cause::because(PROVIDERS_DISAGREE, all))
}

/// Whether what is shown is the transaction that was signed.
fn is_of(form: &ReadTransaction, found: &FinalTransaction) -> bool {
    found.hash == form.hash
        && found.signer == form.signer
        && found.nonce == form.nonce
        && *found.key == *lane_of(&form.key)
}

#[cfg(test)]
mod tests {
    use super::super::super::rpc::{ExecutionResult, RpcFailure};
    use super::*;

    fn form(hash: u8) -> ReadTransaction {
        ReadTransaction {
            hash: [hash; 32],
            signer: "relay.near".to_owned(),
            key: [9; 32],
            nonce: 4,
            receiver: "usdc.near".to_owned(),
            base: [0; 32],
            actions: Vec::new(),
        }
    }

    fn shown(hash: u8, result: ExecutionResult) -> Result<StatusReply, RpcFailure> {
        logged(hash, result, &[])
    }

    fn logged(hash: u8, result: ExecutionResult, logs: &[&str]) -> Result<StatusReply, RpcFailure> {
        Ok(StatusReply::Final(Box::new(FinalTransaction {
            hash: [hash; 32],
            signer: "relay.near".to_owned(),
            key: lane_of(&[9; 32]).to_string(),
            nonce: 4,
            result,
            block: [3; 32],
            gas_burnt: 1,
            logs: logs.iter().map(|line| (*line).to_owned()).collect(),
            failed_behind: None,
        })))
    }

    fn failed(index: usize, error: &str) -> Result<StatusReply, RpcFailure> {
        shown(1, ExecutionResult::Failure { index: Some(index), error: error.to_owned() })
    }

    fn failure(index: usize) -> Result<StatusReply, RpcFailure> {
        failed(index, "")
    }

    type Replies = Vec<Result<StatusReply, RpcFailure>>;

    fn by_each(replies: Replies) -> Vec<ProviderReply<StatusReply>> {
        let each = replies.into_iter().zip(["a:1", "b:1", "c:1"]);
        each.map(|(reply, by)| ProviderReply { by: by.into(), reply }).collect()
    }

    fn of(replies: Replies) -> Landing {
        landing(2, &[form(1)], vec![by_each(replies)])
    }

    fn done() -> Result<StatusReply, RpcFailure> {
        shown(1, ExecutionResult::Success)
    }

    /// Turns red where fewer than are needed close an attempt, or two that say it differently: the outcome, the logs that
    /// say what was paid, the text of an error.
    #[test]
    fn only_agreement_is_a_landing() {
        let missing = || Ok(StatusReply::NotFound);
        let silent = || Err(RpcFailure::Silent(Cause::of("TIMEOUT")));
        for replies in [
            vec![done(), done()],
            vec![missing(), done(), done()],
            vec![failed(1, "x"), failed(1, "x"), silent()],
        ] {
            let landed = of(replies.clone());
            assert!(
                matches!(landed, Landing::Agreed { at: 0, dissent: None, .. }),
                "{replies:?}: {landed:?}"
            );
        }
        let other = || shown(2, ExecutionResult::Success);
        for replies in [
            vec![done(), missing()],
            vec![done(), silent()],
            vec![done(), failure(0)],
            vec![failure(1), failure(0)],
            vec![done(), failure(0), failure(1)],
            vec![done(), logged(1, ExecutionResult::Success, &["paid"])],
            vec![failed(1, "the contract is paused"), failed(1, "not registered")],
            vec![other(), other()],
            vec![other(), other(), done()],
        ] {
            assert!(matches!(of(replies.clone()), Landing::Open(_)), "{replies:?}");
        }
        for replies in [vec![missing(), missing()], vec![silent(), missing()]] {
            assert!(matches!(of(replies.clone()), Landing::Nowhere(_)), "{replies:?}");
        }
        let pending = |stage: &str| Ok(StatusReply::Pending(stage.to_owned()));
        for (replies, class) in [
            (vec![pending("INCLUDED_FINAL"), missing()], NOT_FINAL),
            (vec![pending("EXECUTED"), silent()], NOT_FINAL),
            (vec![pending("INVALID_TX_ERROR"), missing()], "NO_OUTCOME"),
        ] {
            let Landing::Nowhere(cause) = of(replies.clone()) else { panic!("{replies:?}") };
            assert_eq!(cause.class, class, "{replies:?}");
        }
    }

    /// Turns red where one of three keeps open what two show, or is not named.
    #[test]
    fn one_of_three_is_outvoted_and_named() {
        let hidden = || done();
        let paid = || logged(1, ExecutionResult::Success, &["paid"]);
        for replies in [
            vec![failure(0), done(), done()],
            vec![shown(2, ExecutionResult::Success), done(), done()],
            vec![hidden(), paid(), paid()],
        ] {
            let Landing::Agreed { dissent, .. } = of(replies.clone()) else {
                panic!("{replies:?}")
            };
            let dissent = dissent.unwrap_or_default();
            assert!(dissent.starts_with("a:1 shows"), "{dissent}");
        }
        let Landing::Open(cause) = of(vec![done(), failure(0)]) else { panic!("one against one") };
        assert!(cause.to_string().contains("b:1 shows"), "{cause}");
    }

    /// Turns red where a form counts though as many show another one of its nonce, or the same ones do.
    #[test]
    fn two_forms_of_one_nonce_do_not_both_land() {
        let second = || shown(2, ExecutionResult::Success);
        let missing = || Ok(StatusReply::NotFound);
        let forms = [form(1), form(2)];
        let of = |needed, first: Replies, second: Replies| {
            landing(needed, &forms, vec![by_each(first), by_each(second)])
        };
        assert!(matches!(of(1, vec![done()], vec![second()]), Landing::Open(_)));
        let both = of(2, vec![done(), done(), done()], vec![second(), second(), second()]);
        assert!(matches!(both, Landing::Open(_)), "{both:?}");
        let two = of(2, vec![done(), done(), missing()], vec![missing(), second(), second()]);
        assert!(matches!(two, Landing::Open(_)), "{two:?}");
        let one = of(2, vec![done(), done(), missing()], vec![missing(), missing(), second()]);
        assert!(matches!(one, Landing::Agreed { at: 0, dissent: Some(_), .. }), "{one:?}");
    }
}
