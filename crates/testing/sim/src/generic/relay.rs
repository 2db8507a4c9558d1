//! The same three tests for a flow that sends: every step twice, every step failed, a crash at every write
//! and at every call of the chain.
//!
//! A [`RelayCase`] is some transfers that are opened together, and how each must end. Whatever is done to
//! it, each member is paid exactly once where it is COMPLETED and never otherwise, at most one form of each
//! lock is final, no attempt is left open, and no operator is asked.

use crate::chain::{
    ChainProcess, ChainRules, ChainService, ChainTrouble, ChainWrap, JournalWrap, Locking, Moment,
    SimChain, relay_terms,
};
use crate::journal::{Fault, Place};
use crate::service::simulated;
use crate::suite::journal::Site;
use crate::world::{Sim, Stop};
use engine::{Accepted, Refused};
use kernel::code::Code;
use kernel::ports::clock::Clock;
use kernel::record::{Record, Terms};
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

/// More processes than any disturbance needs.
const LIVES: usize = 30;
/// How often a client asks before it gives up: some hours.
const TRIES: u32 = 20_000;

/// Transfers that are opened together: receiver and end of each.
#[derive(Debug, Clone, Copy)]
pub struct RelayCase {
    /// What it shows.
    pub name: &'static str,
    /// Whom each transfer pays, and the state that it ends in.
    pub transfers: &'static [(&'static str, &'static str)],
}

/// Receivers whose names say what they are: `new` ones do not hold the token yet, `ghost`s do not exist,
/// `bad` ones spoil their transaction.
pub const CASES: [RelayCase; 4] = [
    RelayCase {
        name: "all hold the token",
        transfers: &[
            ("alice", "COMPLETED"),
            ("bob", "COMPLETED"),
            ("carol", "COMPLETED"),
            ("dave", "COMPLETED"),
        ],
    },
    RelayCase {
        name: "some are registered first",
        transfers: &[("new-1", "COMPLETED"), ("alice", "COMPLETED"), ("new-2", "COMPLETED")],
    },
    RelayCase {
        name: "one spoils its attempt",
        transfers: &[("alice", "COMPLETED"), ("bad-1", "FAILED"), ("bob", "COMPLETED")],
    },
    RelayCase { name: "one does not exist", transfers: &[("ghost", "FAILED")] },
];

/// Makes the place of a journal for one run.
pub type FreshSite = Arc<dyn Fn(&Sim, &Place) -> Site + Send + Sync>;

/// The relay on one sort of chain, and what it is played with.
#[derive(Clone)]
pub struct RelayTrial {
    /// How the chain behaves.
    pub rules: ChainRules,
    /// The cases that are played.
    pub cases: Vec<RelayCase>,
    /// The schedules that each disturbance is tried with.
    pub seeds: std::ops::Range<u64>,
    /// Fused, plain, or both.
    pub fuse: Vec<bool>,
    /// The journal.
    pub site: FreshSite,
    /// Around the port, on the engine's side: where a wrong build stands.
    pub around_chain: ChainWrap,
    /// Around the journal.
    pub around_journal: JournalWrap,
}

impl fmt::Debug for RelayTrial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RelayTrial").field("rules", &self.rules).finish_non_exhaustive()
    }
}

impl RelayTrial {
    /// All cases on the simulated journal.
    pub fn new(rules: ChainRules) -> Self {
        Self {
            rules,
            cases: CASES.to_vec(),
            seeds: 0..1,
            fuse: vec![true, false],
            site: Arc::new(simulated),
            around_chain: Arc::new(|port| port),
            around_journal: Arc::new(|journal| journal),
        }
    }
}

/// One place to disturb, counted from where the case begins.
#[derive(Debug, Clone, Copy)]
enum Spot {
    Write(u64, Fault),
    Call(u64, ChainTrouble),
}

/// What the undisturbed case took.
struct Calm {
    writes: u64,
    calls: Vec<Moment>,
}

/// Plays every case without a disturbance but for what the chain's rules say.
pub fn undisturbed(trial: &RelayTrial) {
    each(trial, |_| Vec::new());
}

/// Each step is done twice: the answer of each write and of each call is lost after its effect, and what is
/// sent arrives twice.
pub fn every_step_twice(trial: &RelayTrial) {
    each(trial, |calm| {
        let mut all = spots(calm, &[Fault::LostAfter], &[ChainTrouble::LoseReply]);
        all.extend(spots(calm, &[], &[ChainTrouble::PanicAfter]));
        for (n, moment) in (0..).zip(&calm.calls) {
            // where the node signs each call is an effect of its own
            let sends = *moment == Moment::Broadcast && trial.rules.locking != Locking::Reference;
            if sends || *moment == Moment::Sign {
                all.push(Spot::Call(n, ChainTrouble::Twice));
            }
        }
        let mut each: Vec<Vec<Spot>> = all.iter().map(|spot| vec![*spot]).collect();
        each.push(spots(calm, &[Fault::LostAfter], &[ChainTrouble::LoseReply]));
        each
    });
}

/// Each step fails once, in every way that leaves the process alive.
pub fn every_step_failed(trial: &RelayTrial) {
    each(trial, |calm| {
        let failed = spots(calm, &[Fault::LostBefore, Fault::Full], &ChainTrouble::HINDRANCES);
        let all = spots(calm, &[Fault::LostBefore], &[ChainTrouble::LoseRequest]);
        failed.iter().map(|spot| vec![*spot]).chain([all]).collect()
    });
}

/// The process dies before and after each write and each call of the chain, and again while it recovers.
pub fn crash_after_every_write(trial: &RelayTrial) {
    each(trial, |calm| {
        let faults = [Fault::CrashBefore, Fault::CrashAfter];
        let troubles = [ChainTrouble::CrashBefore, ChainTrouble::CrashAfter];
        let once = spots(calm, &faults, &troubles);
        let mut all: Vec<Vec<Spot>> = once.iter().map(|spot| vec![*spot]).collect();
        for n in 0..calm.writes {
            let second = Spot::Write(n + 2, Fault::CrashAfter);
            all.push(vec![Spot::Write(n, Fault::CrashAfter), second]);
        }
        all
    });
}

fn spots(calm: &Calm, faults: &[Fault], troubles: &[ChainTrouble]) -> Vec<Spot> {
    let writes = (0..calm.writes).flat_map(|n| faults.iter().map(move |f| Spot::Write(n, *f)));
    let calls = u64::try_from(calm.calls.len()).unwrap_or(0);
    let calls = (0..calls).flat_map(|n| troubles.iter().map(move |t| Spot::Call(n, *t)));
    writes.chain(calls).collect()
}

fn each(trial: &RelayTrial, disturb: impl Fn(&Calm) -> Vec<Vec<Spot>>) {
    for case in &trial.cases {
        for fuse in &trial.fuse {
            for seed in trial.seeds.clone() {
                let calm = play(trial, case, (*fuse, seed), &[]);
                for spots in disturb(&calm) {
                    play(trial, case, (*fuse, seed), &spots);
                }
            }
        }
    }
}

/// A case being played; its words begin every complaint, and repeat the run.
struct Run<'a> {
    service: ChainService,
    place: Place,
    case: &'a RelayCase,
    line: String,
}

/// Plays a case with these disturbances and holds its end against the oracles.
fn play(trial: &RelayTrial, case: &RelayCase, (fuse, seed): (bool, u64), spots: &[Spot]) -> Calm {
    let locking = trial.rules.locking;
    let line = format!("relay, {}, {locking:?} fuse={fuse} seed={seed} {spots:?}", case.name);
    let (sim, flows) = (Sim::new(seed), Arc::new(flows::registry()));
    sim.bound(20_000_000);
    let place = Place::new(flows.clone());
    let chain = SimChain::new(trial.rules, Arc::new(sim.clone()), seed);
    for (receiver, _) in case.transfers {
        if !receiver.starts_with("new") && !receiver.starts_with("ghost") {
            chain.register(receiver);
        }
        if receiver.starts_with("bad") {
            chain.spoil(receiver);
        }
    }
    let site = (trial.site)(&sim, &place);
    let mut service = ChainService::new(sim, flows, site, chain);
    service.settings.fuse = fuse;
    service.around_chain = trial.around_chain.clone();
    service.around_journal = trial.around_journal.clone();
    let mut run = Run { service, place, case, line };
    let process = run.start();
    let (writes, calls) = (run.place.faults.writes(), run.service.link.calls());
    for spot in spots {
        match *spot {
            Spot::Write(n, fault) => run.place.faults.plan(writes + n, fault),
            Spot::Call(n, trouble) => run.service.link.plan(calls + n, trouble),
        }
    }
    let (process, ended) = run.perform(process);
    let calm = Calm {
        writes: run.place.faults.writes() - writes,
        calls: run.service.link.log().split_off(usize::try_from(calls).unwrap_or(0)),
    };
    run.judge(&process, &ended);
    calm
}

impl Run<'_> {
    fn start(&mut self) -> ChainProcess {
        for _ in 0..LIVES {
            match self.service.start() {
                Ok(process) => return process,
                Err(Stop::Dead(why)) if why.starts_with("crashed") => {}
                Err(stop) => panic!("{}: a start: {stop:?}", self.line),
            }
        }
        panic!("{}: it dies at every start", self.line)
    }

    /// Clients insist until every transfer ended, over as many processes as it takes.
    fn perform(&mut self, mut process: ChainProcess) -> (ChainProcess, Vec<Record>) {
        for _ in 0..LIVES {
            let id = self.service.chain_id();
            let asks = (0_u128..).zip(self.case.transfers).map(|(n, (receiver, _))| {
                let terms = relay_terms(id, receiver, 100 + n, &format!("case-{n}"));
                ask(process.clone(), self.service.sim.clone(), terms)
            });
            let all = join(asks.map(Box::pin).collect::<Vec<_>>());
            let sim = self.service.sim.clone();
            let rests = async move {
                let ended = all.await;
                // what goes on beside the clients comes to rest, and to the final blocks
                sim.sleep(60_000).await;
                ended
            };
            match self.service.sim.block_on(rests) {
                Ok(ended) => {
                    let all: Result<Vec<Record>, String> = ended.into_iter().collect();
                    match all {
                        Ok(ended) => return (process, ended),
                        Err(why) => panic!("{}: {why}; {:?}", self.line, self.place.cases()),
                    }
                }
                Err(Stop::Dead(why)) if why.starts_with("crashed") => {}
                Err(stop) => panic!("{}: {stop:?}", self.line),
            }
            drop(process);
            process = self.start();
        }
        panic!("{}: it dies for ever", self.line)
    }

    fn judge(&self, process: &ChainProcess, ended: &[Record]) {
        let mut faults = self.service.chain.faults();
        let paid = self.service.chain.paid();
        let table = self.service.flows.named("relay").map(|flow| self.service.flows.table(flow));
        for (record, (receiver, end)) in ended.iter().zip(self.case.transfers) {
            let state = table.map_or("", |table| table.state(record.head.state).name);
            let times = paid.get(&record.id).map_or(0, Vec::len);
            let wanted = usize::from(*end == "COMPLETED");
            if state != *end || times != wanted {
                faults.push(format!("{receiver} is {state} and was paid {times} times"));
            }
        }
        let strangers = paid.keys().filter(|id| !ended.iter().any(|record| record.id == **id));
        faults.extend(strangers.map(|id| format!("{id} was paid, and is none of the case")));
        faults.extend(self.left_open(process));
        faults.extend(self.place.cases().iter().map(|case| format!("a case: {case}")));
        assert!(faults.is_empty(), "{}: {faults:#?}", self.line);
    }

    /// Attempts and lanes that are not over.
    fn left_open(&self, process: &ChainProcess) -> Vec<String> {
        let journal = process.opened.journal.clone();
        let chain = self.service.chain_id();
        let read = self.service.sim.block_on(async move {
            let attempts = journal.open_attempts(chain).await?;
            let lanes = journal.resources("lane:".into()).await?;
            Ok::<_, kernel::answer::Cause>((attempts, lanes))
        });
        match read {
            Ok(Ok((attempts, lanes))) => {
                let attempts = attempts.iter().map(|attempt| format!("open: {attempt:?}"));
                let busy = lanes.iter().filter(|lane| !lane.value.contains(r#""open":null"#));
                attempts.chain(busy.map(|lane| format!("busy: {lane:?}"))).collect()
            }
            other => vec![format!("the journal does not answer: {other:?}")],
        }
    }
}

/// Creates a transfer with its key and asks until it ended.
async fn ask(process: ChainProcess, clock: Sim, terms: Terms) -> Result<Record, String> {
    let Some(flow) = process.engine.flows().named("relay") else { return Err("no relay".into()) };
    let mut last = String::new();
    for _ in 0..TRIES {
        match process.engine.create(flow, terms.clone()).await {
            Ok(Accepted { record, .. }) => {
                let table = process.engine.flows().table(flow);
                if table.ends(record.head.state) {
                    return Ok(record);
                }
                last = format!("it is {} {:?}", table.state(record.head.state).name, record.error);
            }
            Err(Refused::Code(Code::Overloaded)) => "overloaded".clone_into(&mut last),
            Err(Refused::Unknown(cause)) => last = cause.to_string(),
            Err(Refused::Code(code)) => return Err(format!("refused with {code}")),
            Err(Refused::Mismatch(record)) => return Err(format!("another body: {record:?}")),
        }
        clock.sleep(250).await;
    }
    Err(format!("it does not end: {last}"))
}

/// Every output, in the order of the futures.
async fn join<F: Future<Output: Unpin> + Unpin>(mut futures: Vec<F>) -> Vec<F::Output> {
    let mut outputs: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    poll_fn(|cx| {
        for (future, output) in futures.iter_mut().zip(&mut outputs) {
            if output.is_none()
                && let Poll::Ready(ready) = Pin::new(future).poll(cx)
            {
                *output = Some(ready);
            }
        }
        if outputs.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    outputs.into_iter().flatten().collect()
}
