//! What operators and the engine itself stop on a chain, and what they are asked.

use engine::operators::{ActionResult, Actor, AdminAction, Objection, PerformedAction, Verdict};
use engine::{Accepted, Engine, Refused};
use kernel::answer::Cause;
use kernel::attempt::Attempt;
use kernel::ids::{ChainId, Id};
use kernel::operators::{Scope, Severity, Subject};
use kernel::ports::Fut;
use kernel::ports::chain::{AttemptProof, Chain, Concern};
use kernel::ports::journal::Journal;
use kernel::record::{Record, Terms};
use sim::chain::{ChainFlow, ChainPorts, ChainRules, Locking, Moment, SimChain, relay_terms};
use sim::journal::{Backup, Faults, Place};
use sim::service::{ProcessBase, SimProcess, SimService, Wrap, simulated};
use sim::world::Sim;
use sim::wrong;
use std::sync::{Arc, Mutex, PoisonError};
use testkit::wrapper::{ChainWrapper, Wrapper};

/// A port whose looks find this as long as it is said, and which tells that of the chain.
struct Finds {
    inner: Arc<dyn Chain>,
    found: Arc<Mutex<Option<Cause>>>,
    concerns: Vec<Concern>,
}

impl ChainWrapper for Finds {
    fn inner(&self) -> &dyn Chain {
        &*self.inner
    }

    fn concerns(&self) -> Vec<Concern> {
        self.concerns.clone()
    }

    fn prove<'a>(&'a self, attempts: &'a [Attempt]) -> Fut<'a, Vec<AttemptProof>> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match found {
            Some(cause) => Box::pin(async move {
                attempts.iter().map(|_| AttemptProof::NotYet(cause.clone())).collect()
            }),
            None => self.inner.prove(attempts),
        }
    }
}

/// A service with one process on a calm chain.
pub(crate) struct ChainEnv {
    pub(crate) service: SimService,
    pub(crate) ports: ChainPorts,
    pub(crate) place: Place,
    process: SimProcess,
}

impl ChainEnv {
    pub(crate) fn open(wrong: Option<&str>) -> Self {
        Self::around(wrong.and_then(wrong::chain))
    }

    /// The same with something around the port of the chain.
    pub(crate) fn around(around: Option<Wrap<dyn Chain>>) -> Self {
        let (sim, flows) = (Sim::new(11), Arc::new(flows::registry()));
        let place = Place::new(flows.clone());
        let chain = SimChain::new(ChainRules::calm(Locking::Nonce), Arc::new(sim.clone()), 11);
        for receiver in ["alice", "bob", "carol", "dave", "erin"] {
            chain.register(receiver);
        }
        let site = simulated(&sim, &place);
        let ports = ChainPorts::new(&sim, &flows, ChainFlow::relay(chain));
        let mut service = ports.service(sim, flows, site);
        if let Some(around) = around {
            service.wraps.chain = around;
        }
        let process = service.start_alive("a calm chain", |base| ports.next_process(base));
        Self { service, ports, place, process }
    }

    pub(crate) fn run(&self, ms: u64) {
        self.service.sim.run_for(ms);
    }

    /// The process ends, and another one begins.
    pub(crate) fn restart(&mut self) {
        let begin = |base: ProcessBase<'_>| self.ports.next_process(base);
        self.process = self.service.start_alive("the next process", begin);
    }

    /// The process ends, the journal is set back to a backup, and another process begins.
    pub(crate) fn restore(&mut self, backup: Backup) {
        self.service.sim.kill("killed by the test");
        self.place.restore(backup);
        self.restart();
    }

    pub(crate) fn chain(&self) -> &SimChain {
        &self.ports.chain
    }

    /// What goes wrong with the writes of the journal.
    pub(crate) fn faults(&self) -> &Faults {
        &self.place.faults
    }

    pub(crate) fn chain_id(&self) -> ChainId {
        self.ports.chain_id()
    }

    pub(crate) fn journal(&self) -> Arc<dyn Journal> {
        self.process.opened.journal.clone()
    }

    pub(crate) fn block_on<T: Send + 'static>(
        &self,
        run: impl Future<Output = T> + Send + 'static,
    ) -> T {
        self.service.sim.block_on(run).unwrap_or_else(|stop| panic!("{stop:?}"))
    }

    /// Every call of the chain's port so far.
    pub(crate) fn log(&self) -> Vec<Moment> {
        self.ports.link.log()
    }

    /// Opens a transfer to each of these.
    pub(crate) fn pays(&self, receivers: &[&str]) -> Vec<Id> {
        self.pays_for("to", receivers)
    }

    /// The same once more: other transfers.
    pub(crate) fn pays_again(&self, receivers: &[&str]) -> Vec<Id> {
        self.pays_for("again to", receivers)
    }

    fn pays_for(&self, key: &str, receivers: &[&str]) -> Vec<Id> {
        self.opens(receivers, |chain, to| relay_terms(chain, to, 100, &format!("{key} {to}")))
    }

    /// Opens a transfer of these terms to each of these.
    pub(crate) fn opens(
        &self,
        receivers: &[&str],
        terms: impl Fn(ChainId, &str) -> Terms,
    ) -> Vec<Id> {
        let engine = self.process.engine.clone();
        let Some(flow) = engine.flows().named("relay") else { panic!("no relay") };
        let chain = self.ports.chain_id();
        let terms: Vec<_> = receivers.iter().map(|to| terms(chain, to)).collect();
        let opened = self.service.sim.block_on(async move {
            let mut ids = Vec::new();
            for terms in terms {
                let created = engine.intake.create(flow, terms).await;
                ids.push(created.map(|accepted| accepted.record.id));
            }
            ids
        });
        let opened = opened.unwrap_or_else(|stop| panic!("{stop:?}"));
        opened.into_iter().map(|id| id.unwrap_or_else(|why| panic!("{why:?}"))).collect()
    }

    /// Asks for a transfer once.
    #[expect(clippy::panic_in_result_fn, reason = "the answer is the result; a stop is a fault")]
    pub(crate) fn creates(&self, terms: Terms) -> Result<Accepted, Refused> {
        let engine = self.process.engine.clone();
        let Some(flow) = engine.flows().named("relay") else { panic!("no relay") };
        self.block_on(async move { engine.intake.create(flow, terms).await })
    }

    pub(crate) fn executes(
        &self,
        key: &str,
        action: AdminAction,
    ) -> Result<PerformedAction, Objection> {
        self.executes_for("ops|1", key, action)
    }

    /// Lifts a pause: for what the engine stopped a second person approves.
    pub(crate) fn lifts(&self, number: u64) {
        let done = self.by_two_persons(AdminAction::Unpause(number));
        assert_eq!(done, Ok(ActionResult::Unpaused));
    }

    /// One person orders an action, and where it takes two another one approves.
    pub(crate) fn by_two_persons(&self, action: AdminAction) -> Result<ActionResult, Objection> {
        let key = format!("{action:?}");
        let done = self.executes(&key, action)?.outcome;
        let ActionResult::Proposed { approval } = done else { return Ok(done) };
        self.executes_for("ops|2", &key, AdminAction::Approve(approval)).map(|done| done.outcome)
    }

    #[expect(clippy::panic_in_result_fn, reason = "the answer is the result; a stop is a fault")]
    fn executes_for(
        &self,
        caller: &str,
        key: &str,
        action: AdminAction,
    ) -> Result<PerformedAction, Objection> {
        let engine: Arc<Engine> = self.process.engine.clone();
        let actor = Actor { caller: caller.into(), key: key.into(), reason: "a test".into() };
        let done =
            self.service.sim.block_on(async move { engine.operators.execute(actor, action).await });
        done.unwrap_or_else(|stop| panic!("{stop:?}"))
    }

    /// Whether anything was signed or sent in this number of milliseconds, and how often the chain was asked.
    fn acts(&self, ms: u64) -> (bool, usize) {
        let before = self.ports.link.log().len();
        self.service.sim.run_for(ms);
        let log = self.ports.link.log().split_off(before);
        let acts = log.iter().any(|moment| matches!(moment, Moment::Sign | Moment::Broadcast));
        (acts, log.iter().filter(|moment| **moment == Moment::Prove).count())
    }

    pub(crate) fn records(&self, ids: &[Id]) -> Vec<Record> {
        let (journal, ids) = (self.process.opened.journal.clone(), ids.to_vec());
        let read = self.service.sim.block_on(async move { journal.get(ids).await });
        let Ok(Ok(records)) = read else { panic!("{read:?}") };
        records
    }

    pub(crate) fn states(&self, ids: &[Id]) -> Vec<&'static str> {
        let flows = &self.service.flows;
        self.records(ids).iter().map(|r| flows.table(r.flow).state(r.head.state).name).collect()
    }

    /// The kinds and subjects of the open cases.
    pub(crate) fn open_cases(&self) -> Vec<(String, Subject)> {
        let journal = self.process.opened.journal.clone();
        let read = self.service.sim.block_on(async move { journal.open_cases().await });
        let Ok(Ok(cases)) = read else { panic!("{read:?}") };
        cases.into_iter().map(|case| (case.kind.to_string(), case.subject)).collect()
    }

    /// What the open case of a kind says.
    pub(crate) fn facts(&self, kind: &str) -> String {
        let journal = self.process.opened.journal.clone();
        let read = self.service.sim.block_on(async move { journal.open_cases().await });
        let Ok(Ok(cases)) = read else { panic!("{read:?}") };
        let case = cases.into_iter().find(|case| &*case.kind == kind);
        case.map_or_else(String::new, |case| case.facts.to_string())
    }

    pub(crate) fn pause(&self) -> u64 {
        let scope = Scope::Chain(self.ports.chain_id());
        match self.executes("pause", AdminAction::Pause(scope)).map(|done| done.outcome) {
            Ok(ActionResult::Paused { number: Some(number) }) => number,
            other => panic!("{other:?}"),
        }
    }

    /// The numbers of the pauses that stand.
    pub(crate) fn pauses(&self) -> Vec<u64> {
        let journal = self.process.opened.journal.clone();
        let read = self.service.sim.block_on(async move { journal.service_status().await });
        let Ok(Ok(status)) = read else { panic!("{:?}", read.map(|_| ())) };
        status.paused.iter().map(|paused| paused.number).collect()
    }
}

/// Turns red where a pause of a chain stops intake, or answers while something is still being sent.
#[test]
fn a_paused_chain_takes_in_and_proves_and_sends_nothing() {
    let env = ChainEnv::open(None);
    let first = env.pays(&["alice", "bob"]);
    env.ports.chain.swallow(true);
    env.service.sim.run_for(1_500);
    let number = env.pause();
    let (acts, proofs) = env.acts(20_000);
    assert!(!acts && proofs > 0, "acts: {acts}, proofs: {proofs}");
    let second = env.pays(&["carol"]);
    assert!(!env.acts(5_000).0);
    env.ports.chain.swallow(false);
    assert_eq!(
        env.executes("unpause", AdminAction::Unpause(number)).map(|d| d.outcome),
        Ok(ActionResult::Unpaused)
    );
    env.service.sim.run_for(120_000);
    assert_eq!(env.states(&[first, second].concat()), ["COMPLETED"; 3]);
    assert_eq!(env.ports.chain.faults(), [""; 0]);
}

/// Under HALT nothing is signed or sent, and what was sent before is proven and recorded.
#[test]
fn a_halt_is_quiet_and_what_was_sent_is_recorded() {
    let env = ChainEnv::open(None);
    let ids = env.pays(&["alice", "bob"]);
    env.service.sim.run_for(700);
    let halted = env.executes("halt", AdminAction::Halt).map(|done| done.outcome);
    assert!(matches!(halted, Ok(ActionResult::Halted { quiet: true, .. })), "{halted:?}");
    let (acts, proofs) = env.acts(60_000);
    assert!(!acts && proofs > 0, "acts: {acts}, proofs: {proofs}");
    assert_eq!(env.states(&ids), ["COMPLETED"; 2]);
}

/// Turns red where each member of a slow attempt has a case of its own.
#[test]
fn a_slow_attempt_is_one_case() {
    let env = ChainEnv::open(None);
    env.ports.chain.swallow(true);
    let ids = env.pays(&["alice", "bob", "carol", "dave", "erin"]);
    env.service.sim.run_for(60_000);
    let journal = env.process.opened.journal.clone();
    let chain = env.ports.chain_id();
    let open = env.service.sim.block_on(async move { journal.open_attempts(chain).await });
    let Ok(Ok(open)) = open else { panic!("{open:?}") };
    let members: usize = open.iter().map(|attempt| attempt.members.len()).sum();
    assert!(open.iter().all(|attempt| attempt.sent), "{open:?}");
    let mut subjects: Vec<_> = open.iter().map(|attempt| Subject::Attempt(attempt.id)).collect();
    subjects.sort_unstable();
    let cases = env.open_cases();
    let mut told: Vec<_> = cases.iter().map(|(_, subject)| *subject).collect();
    told.sort_unstable();
    assert_eq!(told, subjects, "{members} members: {cases:?}");
    assert!(cases.iter().all(|(kind, _)| kind == "ATTEMPT_SLOW"), "{cases:?}");
    env.ports.chain.swallow(false);
    env.service.sim.run_for(120_000);
    assert_eq!(env.states(&ids), ["COMPLETED"; 5]);
    assert_eq!(env.open_cases(), []);
}

/// Turns red where a person's word ends an attempt, or a retry breaks the unit that does.
#[test]
fn no_verdict_ends_an_attempt_and_a_retry_has_it_asked() {
    let env = ChainEnv::open(None);
    env.ports.chain.swallow(true);
    let ids = env.pays(&["alice", "bob"]);
    env.service.sim.run_for(5_000);
    for (n, verdict) in [Verdict::Done, Verdict::Rejected, Verdict::Dead].into_iter().enumerate() {
        for id in &ids {
            let action = AdminAction::Resolve { id: *id, verdict, evidence: Default::default() };
            let refused = env.executes(&format!("resolve {n} {id}"), action);
            assert!(matches!(refused, Err(Objection::NotPossible(_))), "{refused:?}");
        }
    }
    let before = env.ports.link.log().len();
    for id in &ids {
        let retried = env.executes(&format!("retry {id}"), AdminAction::Retry(*id));
        assert_eq!(retried.map(|done| done.outcome), Ok(ActionResult::Retried));
    }
    env.service.sim.run_for(50);
    assert!(env.ports.link.log().len() > before, "the chain was not asked");
    env.ports.chain.swallow(false);
    env.service.sim.run_for(120_000);
    assert_eq!(env.states(&ids), ["COMPLETED"; 2]);
    assert_eq!(env.ports.chain.faults(), [""; 0]);
}

/// A key that another program uses stops the pool; other transfers are taken in and wait.
#[test]
fn a_lane_that_is_ahead_stops_the_chain() {
    let env = ChainEnv::open(None);
    let first = env.pays(&["alice"]);
    env.service.sim.run_for(20_000);
    assert_eq!(env.states(&first), ["COMPLETED"]);
    for lane in ["key-1", "key-2"] {
        env.ports.chain.used_elsewhere(lane, 50);
    }
    let second = env.pays(&["bob", "carol", "dave", "erin"]);
    env.service.sim.run_for(60_000);
    let chain = env.ports.chain_id();
    let cases = env.open_cases();
    assert!(cases.contains(&("LANE_AHEAD".to_owned(), Subject::Chain(chain))), "{cases:?}");
    assert_eq!(env.pauses().len(), 1, "the chain is paused");
    assert!(!env.acts(30_000).0);
    let waiting = env.states(&second);
    assert!(waiting.contains(&"QUEUED_TRANSFER"), "{waiting:?}");
}

/// Turns red where a form is stored that does not pay what its members say.
#[test]
fn a_form_that_pays_something_else_is_never_stored() {
    let env = ChainEnv::open(Some("pays-more"));
    let ids = env.pays(&["alice", "bob"]);
    env.service.sim.run_for(30_000);
    let chain = env.ports.chain_id();
    let cases = env.open_cases();
    assert_eq!(cases, [("CHAIN_CONTRADICTION".to_owned(), Subject::Chain(chain))]);
    assert_eq!(env.states(&ids), ["QUEUED_TRANSFER"; 2]);
    assert!(!env.ports.link.log().contains(&Moment::Broadcast), "something was sent");
    for number in env.pauses() {
        env.lifts(number);
    }
    env.service.sim.run_for(10_000);
    assert_eq!(env.states(&ids), ["QUEUED_TRANSFER"; 2]);
}

/// Turns red where a transaction that did less than its members say, or bytes that are not of the attempt,
/// leave the chain at work, or where the attempt is closed for it.
#[test]
fn what_conservation_excludes_stops_the_chain_and_closes_nothing() {
    for (found, kind) in
        [("EVENTS_MISMATCH", "EVENTS_MISMATCH"), ("FOREIGN_FORM", "CHAIN_CONTRADICTION")]
    {
        let said = Arc::new(Mutex::new(Some(Cause::of(found))));
        let shared = said.clone();
        let env = ChainEnv::around(Some(Arc::new(move |inner| {
            Arc::new(Wrapper(Finds { inner, found: shared.clone(), concerns: Vec::new() }))
        })));
        let first = env.pays(&["alice", "bob"]);
        env.service.sim.run_for(20_000);
        let case = (kind.to_owned(), Subject::Chain(env.ports.chain_id()));
        assert!(env.open_cases().contains(&case), "{:?}", env.open_cases());
        let numbers = env.pauses();
        assert_eq!(numbers.len(), 1, "the chain is paused");
        let second = env.pays(&["carol"]);
        assert!(!env.acts(20_000).0);
        assert!(!env.states(&first).contains(&"COMPLETED"), "{:?}", env.states(&first));
        *said.lock().unwrap_or_else(PoisonError::into_inner) = None;
        for number in numbers {
            env.lifts(number);
        }
        env.service.sim.run_for(120_000);
        assert_eq!(env.states(&[first, second].concat()), ["COMPLETED"; 3]);
        assert_eq!(env.ports.chain.faults(), [""; 0]);
    }
}

/// Turns red where what a port tells of its chain reaches no person.
#[test]
fn a_concern_of_a_chain_is_a_case() {
    let low = Concern { kind: "NEAR_LOW", severity: Severity::Critical, facts: "1 yocto".into() };
    let env = ChainEnv::around(Some(Arc::new(move |inner| {
        Arc::new(Wrapper(Finds { inner, found: Arc::default(), concerns: vec![low.clone()] }))
    })));
    env.service.sim.run_for(60_000);
    assert_eq!(env.open_cases(), [("NEAR_LOW".to_owned(), Subject::Chain(env.ports.chain_id()))]);
}
