//! Wrong builds of calls on a chain: each pays twice, strands money or blames the wrong member.

use crate::service::Wrap;
use kernel::answer::{Answer, Cause, Evidence, Receipt};
use kernel::attempt::{Attempt, AttemptId, Lock, MemberVerdict};
use kernel::books::ChainBook;
use kernel::ids::FlowId;
use kernel::ports::Fut;
use kernel::ports::chain::{AttemptProof, Chain, SignRequest, Signed, Unsigned};
use kernel::ports::journal::Journal;
use kernel::record::Record;
use kernel::unit::{Guard, Put, Unit, Wrote};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use testkit::wrapper::{ChainWrapper, JournalWrapper, Wrapper};

/// A lie of that name around a chain port.
pub(super) fn wrap(name: &str) -> Option<Wrap<dyn Chain>> {
    Some(match name {
        // an attempt that is dead is asked after for ever
        "dead-edge-dropped" => proofs(|_, proof| match proof {
            AttemptProof::Closed(verdicts) if verdicts.iter().any(is_dead) => {
                AttemptProof::NotYet(Cause::of("DEAD"))
            }
            proof @ (AttemptProof::Closed(_)
            | AttemptProof::NotYet(_)
            | AttemptProof::Form(_)
            | AttemptProof::SpentElsewhere(_)) => proof,
        }),
        // what is not found is taken for dead
        "not-found-is-dead" => {
            // not for ever, so that a run comes to its end
            let lies = Arc::new(AtomicU32::new(0));
            around(move |inner| NotFoundIsDead(inner, lies.clone()))
        }
        // the member whose action failed is refused, whatever company it was in
        "culprit-condemned" => proofs(|_, proof| match proof {
            AttemptProof::Closed(verdicts) => {
                AttemptProof::Closed(verdicts.into_iter().map(condemned).collect())
            }
            proof @ (AttemptProof::NotYet(_)
            | AttemptProof::Form(_)
            | AttemptProof::SpentElsewhere(_)) => proof,
        }),
        // the contract refused it alone, so it is to blame, whatever the contract does for others
        "refused-alone-condemned" => proofs(|attempt, proof| match proof {
            AttemptProof::Closed(verdicts) if attempt.members.len() == 1 => {
                AttemptProof::Closed(verdicts.into_iter().map(condemned).collect())
            }
            proof @ (AttemptProof::Closed(_)
            | AttemptProof::NotYet(_)
            | AttemptProof::Form(_)
            | AttemptProof::SpentElsewhere(_)) => proof,
        }),
        // what is proven waits until every other lane's attempt is
        "proofs-wait-for-each-other" => around(|inner| ProofsTogether(inner, Mutex::default())),
        "nonce-of-the-node" => around(|inner| NonceOfTheNode(inner, Mutex::default())),
        "sent-before-stored" => around(SentBeforeStored),
        "sent-by-two-owners" => around(SentByTwoOwners),
        "broadcast-is-done" => around(|inner| BroadcastIsDone(inner, Mutex::default())),
        "pays-more" => around(PaysMore),
        // money that is set aside is held against the account that it came from
        "quarantine-condemned" => around(QuarantineCondemned),
        _ => return None,
    })
}

/// A lie of that name around the journal.
pub(super) fn journal_wrap(name: &str) -> Option<Wrap<dyn Journal>> {
    match name {
        "attempt-stays-open" => Some(Arc::new(|inner| Arc::new(Wrapper(StaysOpen(inner))))),
        "facts-not-stored" => Some(Arc::new(|inner| Arc::new(Wrapper(FactsNotStored(inner))))),
        "inventory-not-taken" => Some(Arc::new(|inner| Arc::new(Wrapper(NotTaken(inner))))),
        "paid-out-not-booked" => Some(Arc::new(|inner| Arc::new(Wrapper(NotBooked(inner))))),
        "cursor-apart" => Some(Arc::new(|inner| Arc::new(Wrapper(CursorApart(inner))))),
        _ => None,
    }
}

fn around<T: ChainWrapper + 'static>(
    lie: impl Fn(Arc<dyn Chain>) -> T + Send + Sync + 'static,
) -> Wrap<dyn Chain> {
    Arc::new(move |inner| Arc::new(Wrapper(lie(inner))))
}

/// What a lie makes of a proof.
type ProofMutation = fn(&Attempt, AttemptProof) -> AttemptProof;

fn proofs(mutated: ProofMutation) -> Wrap<dyn Chain> {
    around(move |inner| MutatedProofs(inner, mutated))
}

fn is_dead(verdict: &MemberVerdict) -> bool {
    matches!(verdict.answer, Answer::Dead(_))
}

fn dead(attempt: &Attempt) -> Vec<MemberVerdict> {
    let answer = Answer::Dead(Evidence::code("NOT_FOUND"));
    vec![MemberVerdict { answer, alone: false }; attempt.members.len()]
}

fn condemned(verdict: MemberVerdict) -> MemberVerdict {
    match verdict.answer {
        Answer::Dead(why) if verdict.alone => {
            MemberVerdict { answer: Answer::Rejected(why, Receipt::default()), alone: false }
        }
        answer
        @ (Answer::Done(_) | Answer::Rejected(..) | Answer::Dead(_) | Answer::Unknown(_)) => {
            MemberVerdict { answer, ..verdict }
        }
    }
}

/// No attempt is over while another one of the chain waits for its proof.
struct ProofsTogether(Arc<dyn Chain>, Mutex<BTreeSet<AttemptId>>);

impl ChainWrapper for ProofsTogether {
    fn inner(&self) -> &dyn Chain {
        &*self.0
    }
    fn prove<'a>(&'a self, attempts: &'a [Attempt]) -> Fut<'a, Vec<AttemptProof>> {
        Box::pin(async move {
            let mut proofs = self.0.prove(attempts).await;
            let mut waiting = self.1.lock().unwrap_or_else(PoisonError::into_inner);
            for (attempt, proof) in attempts.iter().zip(&mut proofs) {
                if matches!(proof, AttemptProof::Closed(_)) {
                    waiting.remove(&attempt.id);
                    if !waiting.is_empty() {
                        *proof = AttemptProof::NotYet(Cause::of("TOGETHER"));
                    }
                } else {
                    waiting.insert(attempt.id);
                }
            }
            proofs
        })
    }
}

struct MutatedProofs(Arc<dyn Chain>, ProofMutation);

impl ChainWrapper for MutatedProofs {
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

/// What is not found is taken for dead, some times.
struct NotFoundIsDead(Arc<dyn Chain>, Arc<AtomicU32>);

/// Number of lies that are told.
const LIES: u32 = 6;

impl ChainWrapper for NotFoundIsDead {
    fn inner(&self) -> &dyn Chain {
        &*self.0
    }
    fn prove<'a>(&'a self, attempts: &'a [Attempt]) -> Fut<'a, Vec<AttemptProof>> {
        Box::pin(async move {
            let proofs = self.0.prove(attempts).await;
            let mutated = |(attempt, proof): (&Attempt, AttemptProof)| match proof {
                AttemptProof::NotYet(_) if self.1.fetch_add(1, Ordering::SeqCst) < LIES => {
                    AttemptProof::Closed(dead(attempt))
                }
                proof @ (AttemptProof::Closed(_)
                | AttemptProof::NotYet(_)
                | AttemptProof::Form(_)
                | AttemptProof::SpentElsewhere(_)) => proof,
            };
            attempts.iter().zip(proofs).map(mutated).collect()
        })
    }
}

/// The next nonce is what a node says that lags behind, not what is stored.
struct NonceOfTheNode(Arc<dyn Chain>, Mutex<BTreeMap<String, Lock>>);

impl ChainWrapper for NonceOfTheNode {
    fn inner(&self) -> &dyn Chain {
        &*self.0
    }
    fn next_lock<'a>(
        &'a self,
        lane: &'a str,
        _: Option<&'a Lock>,
        members: &'a [Record],
    ) -> Fut<'a, Result<Lock, Cause>> {
        Box::pin(async move {
            let before = {
                let mut seen = self.1.lock().unwrap_or_else(PoisonError::into_inner);
                seen.remove(lane)
            };
            if let Some(before) = before {
                return Ok(before);
            }
            let lock = self.0.next_lock(lane, None, members).await?;
            let mut seen = self.1.lock().unwrap_or_else(PoisonError::into_inner);
            seen.insert(lane.to_owned(), lock.clone());
            Ok(lock)
        })
    }
}

/// A form is sent as soon as it is signed.
struct SentBeforeStored(Arc<dyn Chain>);

impl ChainWrapper for SentBeforeStored {
    fn inner(&self) -> &dyn Chain {
        &*self.0
    }
    fn sign<'a>(&'a self, request: &'a SignRequest) -> Fut<'a, Result<Signed, Unsigned>> {
        Box::pin(async move {
            let signed = self.0.sign(request).await?;
            let attempt = Attempt {
                id: AttemptId(0),
                chain: self.0.id(),
                flow: FlowId(0),
                state: 0,
                version: Attempt::FIRST,
                lane: request.lane.clone(),
                lock: request.lock.clone(),
                members: request.members.clone(),
                forms: vec![signed.form.clone()],
                sent: false,
                due_at: None,
                closed: None,
            };
            drop(self.0.broadcast(&[attempt]).await);
            Ok(signed)
        })
    }
}

/// A form that only its owner may send says that anyone may.
struct SentByTwoOwners(Arc<dyn Chain>);

impl ChainWrapper for SentByTwoOwners {
    fn inner(&self) -> &dyn Chain {
        &*self.0
    }
    fn sign<'a>(&'a self, request: &'a SignRequest) -> Fut<'a, Result<Signed, Unsigned>> {
        Box::pin(async move {
            let mut signed = self.0.sign(request).await?;
            signed.form.repeatable = true;
            Ok(signed)
        })
    }
}

/// A broadcast that was confirmed is taken for the payment.
struct BroadcastIsDone(Arc<dyn Chain>, Mutex<BTreeSet<Arc<[u8]>>>);

impl ChainWrapper for BroadcastIsDone {
    fn inner(&self) -> &dyn Chain {
        &*self.0
    }
    fn broadcast<'a>(&'a self, attempts: &'a [Attempt]) -> Fut<'a, Vec<Result<(), Cause>>> {
        Box::pin(async move {
            let replies = self.0.broadcast(attempts).await;
            let mut done = self.1.lock().unwrap_or_else(PoisonError::into_inner);
            for (attempt, _) in attempts.iter().zip(&replies).filter(|(_, reply)| reply.is_ok()) {
                done.extend(attempt.forms.last().map(|form| form.name.clone()));
            }
            replies
        })
    }
    fn prove<'a>(&'a self, attempts: &'a [Attempt]) -> Fut<'a, Vec<AttemptProof>> {
        Box::pin(async move {
            let proofs = self.0.prove(attempts).await;
            let done = self.1.lock().unwrap_or_else(PoisonError::into_inner);
            let mutated = |(attempt, proof): (&Attempt, AttemptProof)| {
                let confirmed = attempt.forms.iter().any(|form| done.contains(&form.name));
                let verdict =
                    MemberVerdict { answer: Answer::Done(Receipt::default()), alone: false };
                let all = vec![verdict; attempt.members.len()];
                if confirmed { AttemptProof::Closed(all) } else { proof }
            };
            attempts.iter().zip(proofs).map(mutated).collect()
        })
    }
}

/// What is signed pays the first member more than it should.
struct PaysMore(Arc<dyn Chain>);

impl ChainWrapper for PaysMore {
    fn inner(&self) -> &dyn Chain {
        &*self.0
    }
    fn sign<'a>(&'a self, request: &'a SignRequest) -> Fut<'a, Result<Signed, Unsigned>> {
        Box::pin(async move {
            let mut signed = self.0.sign(request).await?;
            if let Some(first) = signed.pays.first_mut() {
                first.amount.0 += 1;
            }
            Ok(signed)
        })
    }
}

/// An attempt whose members went on stays open: it is proven again.
struct StaysOpen(Arc<dyn Journal>);

impl JournalWrapper for StaysOpen {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
    fn write(&self, mut units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        for put in units.iter_mut().flat_map(|unit| &mut unit.then.puts) {
            if let Put::AttemptHead { closed, .. } = put {
                *closed = None;
            }
        }
        self.0.write(units)
    }
}

/// A form that sets money aside is read as one that pays the sender.
struct QuarantineCondemned(Arc<dyn Chain>);

impl ChainWrapper for QuarantineCondemned {
    fn inner(&self) -> &dyn Chain {
        &*self.0
    }
    fn sign<'a>(&'a self, request: &'a SignRequest) -> Fut<'a, Result<Signed, Unsigned>> {
        Box::pin(async move {
            let mut signed = self.0.sign(request).await?;
            if request.act.starts_with("quarantine") {
                for (member, pay) in request.members.iter().zip(&mut signed.pays) {
                    pay.account = member.source().account.clone();
                }
            }
            Ok(signed)
        })
    }
}

/// A decision keeps its rule, and not what the rule was given.
struct FactsNotStored(Arc<dyn Journal>);

impl JournalWrapper for FactsNotStored {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
    fn write(&self, mut units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        for event in units.iter_mut().flat_map(|unit| &mut unit.then.events) {
            event.detail.take_if(|detail| detail.starts_with(r#"{"facts""#));
        }
        self.0.write(units)
    }
}

/// A payout is promised without a look at the inventory.
struct NotTaken(Arc<dyn Journal>);

impl JournalWrapper for NotTaken {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
    fn write(&self, mut units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        let takes = |put: &Put| matches!(put, Put::Take { counter, .. } if ChainBook::is_inventory(counter));
        units.iter_mut().for_each(|unit| unit.then.puts.retain(|put| !takes(put)));
        self.0.write(units)
    }
}

/// What is paid leaves the inventory, and no sum of what was paid out.
struct NotBooked(Arc<dyn Journal>);

impl JournalWrapper for NotBooked {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
    fn write(&self, mut units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        let pays =
            |put: &Put| matches!(put, Put::Add { counter, .. } if counter.ends_with("/paid_out"));
        units.iter_mut().for_each(|unit| unit.then.puts.retain(|put| !pays(put)));
        self.0.write(units)
    }
}

/// A watcher's cursor is written in a unit of its own, before what it found.
struct CursorApart(Arc<dyn Journal>);

impl CursorApart {
    async fn apart(&self, mut unit: Unit) -> Option<Wrote> {
        let is_cursor = |name: &Arc<str>| name.starts_with("cursor:");
        let cursor = |put: &mut Put| matches!(put, Put::Resource { name, .. } if is_cursor(name));
        let guard =
            |guard: &mut Guard| matches!(guard, Guard::Resource { name, .. } if is_cursor(name));
        let puts: Vec<Put> = unit.then.puts.extract_if(.., cursor).collect();
        let guards: Vec<Guard> = unit.guards.extract_if(.., guard).collect();
        if !puts.is_empty() {
            let first = self.0.write(vec![Unit::guarded(guards, puts)]).await.pop();
            if !matches!(first, Some(Wrote::Written(_))) {
                return first;
            }
        }
        self.0.write(vec![unit]).await.pop()
    }
}

impl JournalWrapper for CursorApart {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        Box::pin(async move {
            let reads = |put: &Put| matches!(put, Put::Resource { name, .. } if name.starts_with("cursor:"));
            if !units.iter().any(|unit| unit.then.puts.iter().any(reads)) {
                return self.0.write(units).await;
            }
            let mut wrote = Vec::with_capacity(units.len());
            for unit in units {
                wrote.extend(self.apart(unit).await);
            }
            wrote
        })
    }
}
