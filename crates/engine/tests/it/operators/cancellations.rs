//! Transfers of which nothing was sent, and that two persons end: what waits for ever may end, and nothing that may
//! still be paid.
//!
//! Wrong builds that were run, each of which turns one of these red: attempts of the transfer not looked for; a
//! closed attempt taken for a dead one; the lanes not held against the chain; a stop of the chain, or a HALT,
//! that is passed over.

use crate::fixture::defaults::NEVER;
use crate::fixture::test_service::TestService;
use engine::operators::{
    ActionResult, AdminAction, Objection, PerformedAction, StoredAnswer, Verdict,
};
use kernel::attempt::{Attempt, AttemptId, Form, Lock, Purpose};
use kernel::code::Code;
use kernel::ids::{ChainId, Id};
use kernel::operators::Scope;
use kernel::ports::journal::UnitWriter as _;
use kernel::unit::{Guard, Hold, Put, Unit, Wrote};
use serde_json::{Value, json};
use sim::chain::{ChainRules, Locking, RelayFacts, SimChain, relay_terms};
use std::sync::Arc;
use std::time::Duration;
use testkit::wait_until;

const RULES: ChainRules = ChainRules {
    cap: 5,
    lanes: 1,
    block_ms: 20,
    validity: 2_000,
    ..ChainRules::calm(Locking::Nonce)
};
const NEAR: AdminAction = AdminAction::Pause(Scope::Chain(RULES.id));

/// A relay that pays on a simulated chain.
struct Relay {
    service: TestService,
    chain: SimChain,
    /// The number of actions and payments: each has a key of its own.
    done: usize,
}

impl Relay {
    async fn open() -> Self {
        let mut service = TestService::open(true, NEVER).await;
        let chain = SimChain::new(RULES, Arc::new(service.clock.clone()), 1);
        for account in ["good-1", "good-2"] {
            chain.register(account);
        }
        service.chain = Some(chain.clone());
        service.facts.insert("relay", Arc::new(RelayFacts(chain.clone())));
        service.restart().await;
        Self { service, chain, done: 0 }
    }

    async fn execute_as(
        &mut self,
        who: &str,
        action: AdminAction,
    ) -> Result<PerformedAction, Objection> {
        loop {
            self.done += 1;
            match self.service.execute_as(who, &self.done.to_string(), action.clone()).await {
                // the worker looks at the lanes itself at this moment, or a node has not seen what the journal has
                Err(Objection::NotPossible(why))
                    if why.contains("LANES_MOVED") || why.contains("BEHIND") =>
                {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                done => return done,
            }
        }
    }

    async fn pays(&mut self, receiver: &str) -> Id {
        self.done += 1;
        let flow = self.service.engine.flows().named("relay").expect("the relay");
        let terms = relay_terms(RULES.id, receiver, 100, &format!("key-{}", self.done));
        self.service.engine.intake.create(flow, terms).await.expect("it is opened").record.id
    }

    /// Claims stand for a person's reason.
    async fn stops(&mut self) {
        self.execute_as("ada", NEAR).await.expect("it stands");
    }

    async fn goes_on(&mut self) {
        let paused = self.service.service_status().await.paused;
        for paused in paused {
            self.execute_as("ada", AdminAction::Unpause(paused.number)).await.expect("it goes on");
        }
    }

    /// One that waits for its first attempt.
    async fn waits(&mut self) -> Id {
        self.stops().await;
        let id = self.pays("good-1").await;
        self.service.wait_for_state(id, "QUEUED_TRANSFER").await;
        id
    }

    async fn proposes(&mut self, id: Id) -> Result<Id, Objection> {
        let done = self.execute_as("ada", cancels(id)).await?;
        let ActionResult::Proposed { approval } = done.outcome else { panic!("{done:?}") };
        Ok(approval)
    }

    async fn refusal(&mut self, id: Id) -> String {
        match self.proposes(id).await {
            Err(Objection::NotPossible(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    /// An attempt that has it, as a worker would have stored it, though it stands before its claim.
    async fn attempted(&self, id: Id, lock: &str) -> Attempt {
        let member = self.service.records(&[id]).await.pop().expect("it is there");
        let table = self.service.engine.flows().table(member.flow);
        let name: Arc<[u8]> = lock.as_bytes().into();
        let form = Form {
            purpose: Purpose::Pay,
            name: name.clone(),
            bytes: name,
            repeatable: true,
            expires: Some(1),
            anchor: Some(1),
            reference: None,
        };
        Attempt {
            id: AttemptId(id.0),
            chain: RULES.id,
            flow: member.flow,
            state: table.named("SUBMITTED").expect("a state"),
            version: Attempt::FIRST,
            lane: "key-elsewhere".into(),
            lock: Lock::from(lock),
            members: Arc::new([member]),
            forms: vec![form],
            sent: true,
            due_at: None,
            closed: None,
        }
    }

    async fn writes(&self, unit: Unit) {
        let wrote = self.service.store().write(vec![unit]).await.pop();
        assert!(matches!(wrote, Some(Wrote::Written(_))), "{wrote:?}");
    }
}

fn cancels(id: Id) -> AdminAction {
    AdminAction::Resolve { id, verdict: Verdict::Rejected, evidence: json!({ "ticket": 7 }) }
}

fn failed(dead: usize) -> ActionResult {
    let said = StoredAnswer::NeverSent { dead };
    ActionResult::Resolved { verdict: Verdict::Rejected, said, state: "FAILED".into() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_persons_end_what_was_never_sent() {
    let mut relay = Relay::open().await;
    let id = relay.waits().await;
    for verdict in [Verdict::Done, Verdict::Dead] {
        let resolve = AdminAction::Resolve { id, verdict, evidence: Value::Null };
        let refused = relay.execute_as("ada", resolve).await;
        assert!(matches!(refused, Err(Objection::Invalid(_))), "{refused:?}");
    }
    let approval = relay.proposes(id).await.expect("it is proposed");
    let same = relay.execute_as("Ada", AdminAction::Approve(approval)).await;
    assert_eq!(same, Err(Objection::SamePerson));
    relay.service.restart().await;
    let done = relay.execute_as("bob", AdminAction::Approve(approval)).await.expect("it ends");
    assert_eq!(done.outcome, failed(0));
    let record = relay.service.records(&[id]).await.pop().expect("it is there");
    assert_eq!(record.error.map(|why| why.code), Some("CANCELLED".into()));
    let told = relay.service.history(id).await;
    let last = told.last().expect("its end");
    assert_eq!(last.0, "FAILED");
    assert!(last.2.as_deref().is_some_and(|proof| proof.contains("NEVER_SENT")), "{told:?}");
    let persons: Vec<_> = told.iter().filter_map(|(_, caller, _)| caller.as_deref()).collect();
    assert_eq!(persons, ["sim|relay", "portage|ada", "portage|bob"]);
    // it has ended, for the worker that had it too
    relay.goes_on().await;
    let next = relay.pays("good-1").await;
    relay.service.wait_for_end(&[next]).await;
    let paid = relay.chain.paid();
    assert_eq!((paid.get(&id), paid.get(&next).map(Vec::len)), (None, Some(1)));
    let why = relay.refusal(id).await;
    assert!(why.contains("ended"), "{why}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_sent_is_not_ended_by_persons() {
    let mut relay = Relay::open().await;
    relay.chain.swallow(true);
    let id = relay.waits().await;
    let approval = relay.proposes(id).await.expect("it is proposed");
    relay.goes_on().await;
    relay.service.wait_for_state(id, "SUBMITTED").await;
    let why = relay.refusal(id).await;
    assert!(why.contains("proof of NEAR"), "{why}");
    relay.service.is_superseded(approval).await;
    relay.chain.swallow(false);
    relay.service.wait_for_end(&[id]).await;
    assert_eq!(relay.chain.paid().get(&id).map(Vec::len), Some(1));
}

/// No schedule of ours leads there: should a journal ever say both, the attempt counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_that_may_land_keeps_it() {
    let mut relay = Relay::open().await;
    let id = relay.waits().await;
    let approval = relay.proposes(id).await.expect("it is proposed");
    let attempt = relay.attempted(id, "7").await;
    relay.writes(Unit::puts(vec![Put::Attempt(attempt.clone())])).await;
    let named = Id(attempt.id.0).to_string();
    let why = relay.refusal(id).await;
    assert!(why.contains("is open") && why.contains(&named), "{why}");
    let refused = relay.execute_as("bob", AdminAction::Approve(approval)).await;
    assert!(matches!(refused, Err(Objection::NotPossible(_))), "{refused:?}");
    // closed, and no proof says that it is dead
    let (guard, version) = (Guard::Attempt { id: attempt.id, version: 1 }, 2);
    let (sent, due_at, closed, hold) = (true, None, Some(1), Hold::Mine);
    let head = Put::AttemptHead { id: attempt.id, version, sent, due_at, closed, hold };
    relay.writes(Unit::guarded(vec![guard], vec![head])).await;
    let why = relay.refusal(id).await;
    assert!(why.contains("may have paid it") && why.contains(&named), "{why}");
    assert_eq!(relay.service.states(&[id]).await.get(&id), Some(&"QUEUED_TRANSFER"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_whose_attempts_are_dead_is_ended() {
    let mut relay = Relay::open().await;
    relay.chain.spoil("good-2");
    let id = relay.waits().await;
    let culprit = relay.pays("good-2").await;
    relay.service.wait_for_state(culprit, "QUEUED_TRANSFER").await;
    relay.chain.swallow(true);
    relay.goes_on().await;
    relay.service.wait_for_state(id, "SUBMITTED").await;
    relay.execute_as("ada", AdminAction::PauseTransfer(id)).await.expect("it is held");
    relay.chain.swallow(false);
    // the culprit takes all with it
    relay.service.wait_for_state(id, "RECEIVED").await;
    let approval = relay.proposes(id).await.expect("it is proposed");
    let done = relay.execute_as("bob", AdminAction::Approve(approval)).await.expect("it ends");
    assert_eq!(done.outcome, failed(1));
    relay.service.wait_for_end(&[culprit]).await;
    assert_eq!(relay.chain.paid().get(&id), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_program_may_have_paid_is_kept() {
    let mut relay = Relay::open().await;
    let first = relay.pays("good-1").await;
    relay.service.wait_for_end(&[first]).await;
    let id = relay.waits().await;
    let approval = relay.proposes(id).await.expect("it is proposed");
    relay.chain.used_elsewhere("key-1", 1_000_000);
    let refused = relay.execute_as("bob", AdminAction::Approve(approval)).await;
    let Err(Objection::NotPossible(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("LANE_AHEAD"), "{why}");
    // and where the engine has stopped the chain for it
    let stopped = wait_until(Duration::from_secs(10), async || {
        let paused = relay.service.service_status().await.paused;
        paused.iter().any(|paused| &*paused.caller == "engine:lanes")
    });
    assert!(stopped.await, "the chain is not stopped");
    let why = relay.refusal(id).await;
    assert!(why.contains("NEAR stands"), "{why}");
}

/// A folder that was restored lacks attempts, and stands under HALT until persons looked at that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_ended_so_under_halt() {
    let mut relay = Relay::open().await;
    let id = relay.waits().await;
    let approval = relay.proposes(id).await.expect("it is proposed");
    relay.execute_as("ada", AdminAction::Halt).await.expect("it stands");
    let refused = relay.execute_as("bob", AdminAction::Approve(approval)).await;
    assert_eq!(refused, Err(Objection::Code(Code::Halted)));
    assert_eq!(relay.proposes(id).await, Err(Objection::Code(Code::Halted)));
    assert_eq!(RULES.id, ChainId::NEAR);
}
