//! The fixture of the chain checks plays the engine's part: it signs, stores in RAM, sends and queries.

use super::ChainSite;
use kernel::answer::{Answer, Cause};
use kernel::attempt::{Attempt, AttemptId, Form, Lock, MemberVerdict, Purpose};
use kernel::ids::FlowId;
use kernel::ports::chain::{
    AttemptProof, Chain, ChainIdentity, ForeignUse, LaneMark, SignRequest, Signed, Unsigned,
};
use kernel::record::Record;
use std::sync::Arc;

/// Number of looks that end every attempt on a chain on which nothing goes wrong.
const LOOKS: usize = 12;

/// One check's chain and port.
pub(super) struct ChainFixture {
    check: &'static str,
    pub(super) site: Arc<dyn ChainSite>,
    pub(super) port: Arc<dyn Chain>,
}

impl ChainFixture {
    pub(super) async fn open(check: &'static str, site: Arc<dyn ChainSite>) -> Self {
        let port = site.port();
        let fixture = Self { check, site, port };
        let identity = fixture.identity().await;
        fixture.port.bind(&identity);
        fixture
    }

    /// Which chain its providers show.
    pub(super) async fn identity(&self) -> ChainIdentity {
        let shown = self.port.identity().await;
        self.holds(matches!(shown, Ok(Some(_))), "it shows which chain it is", &shown);
        let none = || ChainIdentity { name: "".into(), genesis: "".into() };
        shown.ok().flatten().unwrap_or_else(none)
    }

    /// Fails the check where an adapter answers, signs, sends or proves anything, for another reason than this.
    pub(super) async fn idle_with(&self, port: Arc<dyn Chain>, why: &'static str) {
        let attempt = self.stored(self.members(1), None).await;
        let members = attempt.members.clone();
        let other = Self { check: self.check, site: self.site.clone(), port };
        let not = |what: &str, cause: Option<Cause>| {
            let class = cause.as_ref().map(|cause| cause.class);
            self.holds(class == Some(why), &format!("{what} is refused with {why}"), &cause);
        };
        let lock = other.port.next_lock(&self.lane(), None, &members).await;
        not("a lock", lock.err());
        let signed = other.sign((&attempt.lock, Purpose::Pay), &members, Vec::new()).await;
        not("a form", signed.err().map(|unsigned| unsigned.cause));
        let one = std::slice::from_ref(&attempt);
        not("a send", other.port.broadcast(one).await.pop().and_then(Result::err));
        let anchor = attempt.forms.first().and_then(|form| form.anchor);
        let mark = LaneMark { lane: self.lane(), lock: attempt.lock.clone(), anchor, seen: None };
        not("what is ahead", other.port.ahead(std::slice::from_ref(&mark)).await.err());
        not("foreign use", other.port.foreign(&mark).await.err());
        not("the lanes on the chain", other.port.lanes_on_chain().await.err());
        not("the presence of a lane", other.port.lane_presence(&self.lane(), None).await.err());
        // it landed, and that is proven by an adapter that may say so alone
        self.send(&attempt).await;
        self.site.settle().await;
        match other.prove(&attempt).await {
            AttemptProof::NotYet(cause) => not("a proof", Some(cause)),
            proof @ (AttemptProof::Closed(_)
            | AttemptProof::Form(_)
            | AttemptProof::SpentElsewhere(_)) => {
                self.holds(false, "nothing is proven", &proof);
            }
        }
        self.holds(all_done(&self.see_through(&mut attempt.clone(), true).await), "it is paid", &0);
        self.same("payments", &self.paid(&members).await, &vec![1]);
    }

    /// The attempt that the engine stores of a transaction of another program.
    pub(super) fn foreign(&self, used: &ForeignUse, members: Arc<[Record]>) -> Attempt {
        Attempt {
            id: AttemptId(2),
            chain: self.port.id(),
            flow: FlowId(0),
            state: 0,
            version: Attempt::FIRST,
            lane: self.lane(),
            lock: used.lock.clone(),
            members,
            forms: vec![used.form.clone()],
            sent: true,
            due_at: None,
            closed: None,
        }
    }

    /// Fails the check with what was seen, where it does not hold.
    #[track_caller]
    pub(super) fn holds(&self, holds: bool, what: &str, seen: &impl std::fmt::Debug) {
        assert!(holds, "{}: {what}: {seen:?}", self.check);
    }

    #[track_caller]
    pub(super) fn same<T: PartialEq + std::fmt::Debug>(&self, what: &str, is: &T, should: &T) {
        assert!(is == should, "{}: {what} is {is:?} instead of {should:?}", self.check);
    }

    /// Transfers that can be paid: this number of them, or the most that one attempt pays.
    pub(super) fn members(&self, many: usize) -> Arc<[Record]> {
        let most = self.cap();
        let many = if many < most { many } else { most };
        (0..many).map(|_| self.site.member()).collect()
    }

    /// The most members of one attempt.
    pub(super) fn cap(&self) -> usize {
        self.port.cap(self.site.act().1)
    }

    /// Fails the check where not each of these was paid this number of times.
    pub(super) async fn all_paid(&self, what: &str, members: &[Record], times: usize) {
        self.same(what, &self.paid(members).await, &vec![times; members.len()]);
    }

    /// The first lane of the pool.
    pub(super) fn lane(&self) -> Arc<str> {
        let lanes = self.port.lanes(self.site.act().1);
        let first = lanes.first().cloned();
        self.holds(first.is_some(), "the pool has a lane", &lanes);
        first.unwrap_or_default()
    }

    pub(super) async fn lock(&self, stored: Option<&Lock>, members: &[Record]) -> Lock {
        let lock = self.port.next_lock(&self.lane(), stored, members).await;
        self.holds(lock.is_ok(), "there is a next lock", &lock);
        lock.unwrap_or_else(|_| Lock::from(""))
    }

    pub(super) async fn sign(
        &self,
        (lock, purpose): (&Lock, Purpose),
        members: &Arc<[Record]>,
        forms: Vec<Form>,
    ) -> Result<Signed, Unsigned> {
        let (flow, act) = self.site.act();
        let (lane, members, lock) = (self.lane(), members.clone(), lock.clone());
        let request = SignRequest { flow, act, lane, lock, members, purpose, forms };
        self.port.sign(&request).await
    }

    /// An attempt of these members, signed and stored and not yet sent.
    pub(super) async fn stored(&self, members: Arc<[Record]>, last: Option<&Lock>) -> Attempt {
        let lock = self.lock(last, &members).await;
        let signed = self.sign((&lock, Purpose::Pay), &members, Vec::new()).await;
        self.holds(signed.is_ok(), "it signs", &signed.as_ref().err());
        let forms = signed.into_iter().map(|signed| signed.form).collect();
        Attempt {
            id: AttemptId(1),
            chain: self.port.id(),
            flow: FlowId(0),
            state: 0,
            version: Attempt::FIRST,
            lane: self.lane(),
            lock,
            members,
            forms,
            sent: false,
            due_at: None,
            closed: None,
        }
    }

    pub(super) async fn send(&self, attempt: &Attempt) {
        let replies = self.port.broadcast(std::slice::from_ref(attempt)).await;
        self.same("replies to one broadcast", &replies.len(), &1);
    }

    pub(super) async fn prove(&self, attempt: &Attempt) -> AttemptProof {
        let mut proofs = self.port.prove(std::slice::from_ref(attempt)).await;
        self.same("proofs of one attempt", &proofs.len(), &1);
        proofs.pop().unwrap_or(AttemptProof::Closed(Vec::new()))
    }

    /// Looks until it is closed, as the engine does. `sent`: this run has sent the newest form.
    pub(super) async fn see_through(
        &self,
        attempt: &mut Attempt,
        mut sent: bool,
    ) -> Vec<MemberVerdict> {
        let mut last = None;
        for _ in 0..LOOKS {
            if !sent || attempt.forms.last().is_some_and(|form| form.repeatable) {
                self.send(attempt).await;
                sent = true;
            }
            self.site.settle().await;
            match self.prove(attempt).await {
                AttemptProof::Closed(verdicts) => {
                    let admitted = attempt.admit(&verdicts);
                    self.holds(admitted.is_ok(), "the law admits the verdicts", &verdicts);
                    return verdicts;
                }
                AttemptProof::NotYet(cause) => last = Some(cause),
                proof @ AttemptProof::SpentElsewhere(_) => {
                    self.holds(false, "no other program has the key", &proof);
                }
                AttemptProof::Form(purpose) => {
                    let forms = attempt.forms.clone();
                    let signed = self.sign((&attempt.lock, purpose), &attempt.members, forms).await;
                    self.holds(signed.is_ok(), "it signs once more", &signed.as_ref().err());
                    attempt.forms.extend(signed.into_iter().map(|signed| signed.form));
                    sent = false;
                }
            }
        }
        self.holds(false, "it is proven in the end", &last);
        Vec::new()
    }

    /// How often each of these was paid.
    pub(super) async fn paid(&self, members: &[Record]) -> Vec<usize> {
        let mut paid = Vec::with_capacity(members.len());
        for member in members {
            paid.push(self.site.times_paid(member).await);
        }
        paid
    }
}

/// True where all are done.
pub(super) fn all_done(verdicts: &[MemberVerdict]) -> bool {
    verdicts.iter().all(|verdict| matches!(verdict.answer, Answer::Done(_)))
}

/// True where all are dead.
pub(super) fn all_dead(verdicts: &[MemberVerdict]) -> bool {
    verdicts.iter().all(|verdict| matches!(verdict.answer, Answer::Dead(_)))
}
