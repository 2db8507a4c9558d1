//! Decides which form of an attempt landed, from what each provider says of each form. Pure.

use super::super::rpc::{
    ExecutionResult, FinalTransaction, PROVIDERS_DISAGREE, RpcFailure, StatusReply, shortened,
};
use super::super::tx::{ReadTransaction, lane_of};
use kernel::answer::Cause;

/// The class of a cause: a provider shows a form in a block, and not all that it did is final yet.
pub(super) const NOT_FINAL: &str = "NOT_FINAL";

/// The stages of a transaction that a block has, before the last one.
const IN_BLOCK: [&str; 4] = ["INCLUDED", "EXECUTED_OPTIMISTIC", "INCLUDED_FINAL", "EXECUTED"];

/// The result of comparing what the providers say of all forms of an attempt.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::near) enum Landing {
    /// As many as are needed say the same of this form.
    Agreed(usize, Box<FinalTransaction>),
    /// Some say that one landed, and that is not enough.
    Open(Cause),
    /// None says that any of them landed.
    Nowhere(Cause),
}

/// The part of an outcome that two providers must show alike.
fn essence(found: &FinalTransaction) -> (bool, Option<usize>, [u8; 32]) {
    match &found.result {
        ExecutionResult::Success => (true, None, found.block),
        ExecutionResult::Failure { index, .. } => (false, *index, found.block),
    }
}

/// Which form landed. A provider that does not find what as many as are needed show as final only lags.
pub(in crate::near) fn landing(
    needed: usize,
    forms: &[ReadTransaction],
    replies: Vec<Vec<Result<StatusReply, RpcFailure>>>,
) -> Landing {
    let mut landed: Option<(usize, Box<FinalTransaction>, usize)> = None;
    let (mut open, mut in_block) = (Cause::of("NOT_FOUND"), None);
    for (at, (form, replies)) in forms.iter().zip(replies).enumerate() {
        for reply in replies {
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
            if !is_of(form, &found) {
                return Landing::Open(disagreement("a provider shows another transaction", &found));
            }
            match &mut landed {
                None => landed = Some((at, found, 1)),
                Some((before, ..)) if *before != at => {
                    return Landing::Open(disagreement(
                        "two forms of one nonce are shown as final",
                        &found,
                    ));
                }
                Some((_, first, _)) if essence(first) != essence(&found) => {
                    return Landing::Open(disagreement("one transaction has two outcomes", &found));
                }
                Some((.., count)) => *count = count.saturating_add(1),
            }
        }
    }
    match landed {
        Some((at, found, count)) if count >= needed => Landing::Agreed(at, found),
        Some((_, found, count)) => {
            let facts = format!("{count} of {needed} providers show {} as final", found.name());
            Landing::Open(Cause::because("FEW_PROVIDERS", facts))
        }
        None => Landing::Nowhere(in_block.unwrap_or(open)),
    }
}

/// Whether what is shown is the transaction that was signed.
fn is_of(form: &ReadTransaction, found: &FinalTransaction) -> bool {
    found.hash == form.hash
        && found.signer == form.signer
        && found.nonce == form.nonce
        && *found.key == *lane_of(&form.key)
}

fn disagreement(what: &str, found: &FinalTransaction) -> Cause {
    let facts = format!("{what}: {} {:?}", found.name(), found.result);
    Cause::because(PROVIDERS_DISAGREE, shortened(&facts))
}

#[cfg(test)]
mod tests {
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
        Ok(StatusReply::Final(Box::new(FinalTransaction {
            hash: [hash; 32],
            signer: "relay.near".to_owned(),
            key: lane_of(&[9; 32]).to_string(),
            nonce: 4,
            result,
            block: [3; 32],
            gas_burnt: 1,
            logs: Vec::new(),
        })))
    }

    fn failure(index: usize) -> ExecutionResult {
        ExecutionResult::Failure { index: Some(index), error: String::new() }
    }

    #[test]
    fn only_agreement_is_a_landing() {
        let done = || shown(1, ExecutionResult::Success);
        let missing = || Ok(StatusReply::NotFound);
        let silent = || Err(RpcFailure::Silent(Cause::of("TIMEOUT")));
        let of = |replies| landing(2, &[form(1)], vec![replies]);
        assert!(matches!(of(vec![done(), done()]), Landing::Agreed(0, _)));
        assert!(matches!(of(vec![missing(), done(), done()]), Landing::Agreed(0, _)), "one lags");
        for replies in [
            vec![done(), missing()],
            vec![done(), silent()],
            vec![done(), shown(1, failure(0))],
            vec![shown(1, failure(1)), shown(1, failure(0))],
            vec![done(), done(), shown(1, failure(0))],
            vec![shown(2, ExecutionResult::Success), shown(2, ExecutionResult::Success)],
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
        let second = vec![shown(2, ExecutionResult::Success)];
        let two = landing(1, &[form(1), form(2)], vec![vec![done()], second]);
        assert!(matches!(two, Landing::Open(_)), "two forms of one nonce cannot both land");
    }
}
