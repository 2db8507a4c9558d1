//! Wrong builds of the relay, each a wrapper around the adapter that does what such a build would do.

use super::local_chain::LastChain;
use kernel::answer::{Answer, Evidence, Receipt};
use kernel::attempt::{Attempt, AttemptId, MemberVerdict, Purpose};
use kernel::ports::Fut;
use kernel::ports::chain::{AttemptProof, Chain};
use sim::service::PortWraps;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use testkit::wrapper::{ChainWrapper, Wrapper};

/// Each member of an attempt is answered so.
fn all(attempt: &Attempt, answer: &Answer) -> AttemptProof {
    let verdict = MemberVerdict { answer: answer.clone(), alone: false };
    AttemptProof::Closed(vec![verdict; attempt.members.len()])
}

/// What such a build makes of a look at an attempt.
type Mutation = Box<dyn Fn(&Attempt, AttemptProof) -> AttemptProof + Send + Sync>;

struct Mutated(Arc<dyn Chain>, Mutation);

impl ChainWrapper for Mutated {
    fn inner(&self) -> &dyn Chain {
        &*self.0
    }

    fn prove<'a>(&'a self, attempts: &'a [Attempt]) -> Fut<'a, Vec<AttemptProof>> {
        Box::pin(async move {
            let proofs = self.0.prove(attempts).await;
            attempts.iter().zip(proofs).map(|(attempt, proof)| self.1(attempt, proof)).collect()
        })
    }
}

fn around(mutation: impl Fn() -> Mutation + Send + Sync + 'static) -> PortWraps {
    let chain =
        Arc::new(move |inner| -> Arc<dyn Chain> { Arc::new(Wrapper(Mutated(inner, mutation()))) });
    PortWraps { chain, ..PortWraps::default() }
}

/// What expired by the adapter's count is given up, so that its members are sent again under the next nonce, as
/// the source's relay does.
pub(crate) fn new_nonce_on_retry() -> PortWraps {
    around(|| {
        Box::new(|attempt, proof| match proof {
            AttemptProof::Form(Purpose::Pay) => {
                all(attempt, &Answer::Dead(Evidence::code("EXPIRED")))
            }
            proof @ (AttemptProof::Closed(_)
            | AttemptProof::NotYet(_)
            | AttemptProof::Form(Purpose::Void)
            | AttemptProof::SpentElsewhere(_)) => proof,
        })
    })
}

/// Maximum number of looks without a proof; one more is a failure, as in the source: it looks twenty times.
const LOOKS: u32 = 5;

/// A transfer whose attempt was looked at more than [`LOOKS`] times has failed.
pub(crate) fn poll_count_fails() -> PortWraps {
    around(|| {
        let looks: Mutex<BTreeMap<AttemptId, u32>> = Mutex::default();
        Box::new(move |attempt, proof| match proof {
            AttemptProof::NotYet(_) => {
                let mut looks = looks.lock().unwrap_or_else(PoisonError::into_inner);
                let many = looks.entry(attempt.id).or_default();
                *many += 1;
                if *many <= LOOKS {
                    return proof;
                }
                let why = Evidence::code("NOT_CONFIRMED");
                all(attempt, &Answer::Rejected(why, Receipt::default()))
            }
            proof @ (AttemptProof::Closed(_)
            | AttemptProof::Form(_)
            | AttemptProof::SpentElsewhere(_)) => proof,
        })
    })
}

/// A transfer of the token that has a transfer's memo is taken for its payment, as by an indexer.
pub(crate) fn memo_trusted(last: &LastChain) -> PortWraps {
    let last = last.clone();
    around(move || {
        let last = last.clone();
        Box::new(move |attempt, proof| {
            let chain = last.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let has_memo = |id| chain.as_ref().is_some_and(|chain| chain.has_memo(id));
            let paid = attempt.members.iter().all(|member| has_memo(member.id));
            match proof {
                AttemptProof::NotYet(_) if paid => all(attempt, &Answer::Done(Receipt::default())),
                proof @ (AttemptProof::Closed(_)
                | AttemptProof::NotYet(_)
                | AttemptProof::Form(_)
                | AttemptProof::SpentElsewhere(_)) => proof,
            }
        })
    })
}
