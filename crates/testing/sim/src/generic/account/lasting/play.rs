//! Plays a case while faults last, from an empty service to the oracles.

use super::super::cases::AccountCase;
use super::super::client::{AccountClient, Tries, prepare, terms};
use super::super::oracle::AccountTruth;
use super::super::ports::{AccountPorts, BROKER, settings};
use super::concern::{RESEND, RETRY};
use super::observed::{Observed, Observer, STUCK_SECONDS, Seen};
use super::{FaultWindow, LastingFault, LastingRun, WrongClock, stranger};
use crate::bus::{BrokerFault, SimBus};
use crate::event_log::LoggedEvent;
use crate::generic::chain::join;
use crate::generic::draws::within;
use crate::journal::Place;
use crate::service::{PortWraps, SimService};
use crate::world::{Sim, SplitMix, Stop};
use conformance::journal::Site;
use engine::{Alerts, Settings};
use kernel::flow::table::Table;
use kernel::ids::Millis;
use kernel::ports::bus::BusMessage;
use kernel::ports::clock::Clock;
use kernel::record::{Record, Terms};
use std::sync::Arc;

/// A run that takes more steps than this is called endless.
const STEPS: u64 = 20_000_000;
/// The number of the process whose clock is the journal's.
const JOURNAL: u64 = u64::MAX - 1;
/// The intervals at which a client looks at its transfer, at first and later.
const LOOKS: [Millis; 2] = [250, 4_000];
/// It looks often for this time.
const HASTY: Millis = 4_000;
/// A client waits for an end no longer: the longest fault, and an hour.
const GIVES_UP: Millis = 3 * 3_600_000;
/// How long it may take until all has come to rest after the last fault, and where a broker lost messages: those are
/// missed after minutes.
const RESTS: [Millis; 2] = [120_000, 1_800_000];
/// How long it rests between two looks at what is true.
const AGAIN: Millis = 10_000;
/// The most messages that a stranger writes.
const WRITES: u64 = 12;
/// The longest wait between two of them.
const WAITS: Millis = 20_000;

/// A run that is played; its tasks share these parts.
#[derive(Clone)]
struct LastingPlay {
    observer: Observer,
    bus: SimBus,
    client: AccountClient,
}

/// Plays a case under the faults of a run, and holds it against the oracles. What happened is given back.
///
/// # Panics
/// Where something is wrong, with the line that repeats it.
pub(in super::super) fn play_lasting(
    case: &AccountCase,
    run: &LastingRun,
    wraps: &PortWraps,
) -> Vec<LoggedEvent> {
    let line = format!("account, {}, {run:?}", case.name);
    let (sim, flows) = (Sim::new(run.seed), Arc::new(flows::registry()));
    let Some(flow) = flows.named("account") else { panic!("{line}: no such flow") };
    let place = Place::new(flows.clone());
    let journal_clock = sim.process(JOURNAL);
    let log = place.event_log.clone();
    let ports = AccountPorts::new(&sim, case, log.clone());
    let site = site(&sim, &place, &journal_clock);
    let mut service = SimService::new(sim.clone(), flows, site, "account");
    (service.settings, service.wraps) = (run.settings(), wraps.clone());
    let process = service.start_alive(&line, |base| ports.parts(base));
    let prepared = sim.block_on(prepare(process.clone(), case.clone()));
    assert_eq!(prepared, Ok(Ok(())), "{line}");
    sim.bound(sim.steps() + STEPS);
    log.begin();
    let (clock, tries) = (Arc::new(sim.clone()), Tries::default());
    let client = AccountClient { process: process.clone(), clock, flow, tries };
    let observer = Observer::new(process, place, sim, journal_clock);
    let stage = LastingPlay { observer, bus: ports.bus.clone(), client };
    let ended = stage.transfers(case, run);
    let Ok(Ok(ended)) = ended else { panic!("{line}: {ended:?}") };
    let late = late_ends(case, run, &stage.observer.observed());
    assert!(late.is_empty(), "{line}: {late:#?}");
    let table = service.flows.table(flow).clone();
    let faults = stage.rests(case, run, &table, &ended);
    assert!(faults.is_empty(), "{line}: {faults:#?}");
    log.read()
}

impl LastingRun {
    fn settings(&self) -> Settings {
        let alerts =
            Alerts { after_retries: u32::MAX, after_seconds: STUCK_SECONDS, ..Alerts::default() };
        let base = settings(self.fuse);
        Settings { resend: RESEND, backoff: RETRY, batch_max: self.batch, alerts, ..base }
    }

    /// Cases that only persons close, or a day, or a clock that has caught up.
    fn leaves_open(&self, kind: &str) -> bool {
        match kind {
            "MESSAGE_MISMATCH" | "DEAD_LETTER" => {
                self.has(|fault| *fault == LastingFault::Strangers)
            }
            "MESSAGE_GAP" => self.loses(),
            "CLOCK" => self.has(|fault| matches!(fault, LastingFault::Clock(..))),
            _ => false,
        }
    }

    fn loses(&self) -> bool {
        self.has(|fault| matches!(fault, LastingFault::Broker(BrokerFault::Loses(_))))
    }
}

/// A journal whose time goes by a clock of its own.
fn site(sim: &Sim, place: &Place, clock: &Sim) -> Site {
    let (sim, place, clock) = (sim.clone(), place.clone(), clock.clone());
    Box::new(move || {
        let journal = place.open(Arc::new(clock.clone()), sim.crash());
        Box::pin(std::future::ready(journal.opened()))
    })
}

/// A transfer that is opened at its time.
struct Opening {
    n: usize,
    at: Millis,
    terms: Terms,
}

/// A client that opens one transfer, and looks until it has ended.
async fn ask(
    client: AccountClient,
    observer: Observer,
    Opening { n, at, terms }: Opening,
) -> Result<Record, String> {
    let table = client.process.engine.flows().table(client.flow);
    client.clock.sleep(at).await;
    let mut record = client.opens(&terms).await?;
    let opened = observer.now();
    observer.observed().transfers.insert(n, Seen { id: record.id, opened, ended: None });
    loop {
        let waited = observer.now() - opened;
        if table.ends(record.head.state) {
            let seen = Seen { id: record.id, opened, ended: Some(opened + waited) };
            observer.observed().transfers.insert(n, seen);
            return Ok(record);
        }
        if waited > GIVES_UP {
            let state = table.state(record.head.state).name;
            return Err(format!("it does not end: it is {state} {:?}", record.error));
        }
        let [often, seldom] = LOOKS;
        client.clock.sleep(if waited < HASTY { often } else { seldom }).await;
        record = client.opens(&terms).await?;
    }
}

/// The transfers that ended later than they must.
fn late_ends(case: &AccountCase, run: &LastingRun, observed: &Observed) -> Vec<String> {
    let mut late = Vec::new();
    for (n, transfer) in case.transfers.iter().enumerate() {
        let Some(seen) = observed.transfers.get(&n) else { continue };
        let by = run.must_end(case, transfer, seen.opened);
        if seen.ended.is_none_or(|ended| ended > by) {
            late.push(format!("late: {transfer:?}, {seen:?}, which must have ended by {by}"));
        }
    }
    late
}

impl LastingPlay {
    /// Starts the faults, opens each transfer at its time, and waits until all have ended and the faults are over.
    fn transfers(
        &self,
        case: &AccountCase,
        run: &LastingRun,
    ) -> Result<Result<Vec<Record>, String>, Stop> {
        let observer = &self.observer;
        let keys: Vec<&'static str> = case.accounts.iter().map(|account| account.number).collect();
        for (n, window) in (0_u64..).zip(&run.windows) {
            let draws = SplitMix(run.seed ^ (n << 48));
            observer.sim.start(self.clone().fault(window.clone(), keys.clone(), draws));
        }
        observer.sim.start(observer.clone().run());
        let opens = run.opens.iter().zip(&*case.transfers).enumerate();
        let asks = opens.map(|(n, (at, transfer))| {
            let terms = terms(transfer, format!("case-{n}"));
            Box::pin(ask(self.client.clone(), observer.clone(), Opening { n, at: *at, terms }))
        });
        let (asks, over, waits) = (asks.collect(), run.over(), observer.clone());
        observer.sim.block_on(async move {
            let ended: Result<Vec<Record>, String> = join(asks).await.into_iter().collect();
            waits.sim.sleep(over.saturating_sub(waits.now())).await;
            ended
        })
    }

    /// What is wrong once all has come to rest: nothing where all is well.
    fn rests(
        &self,
        case: &AccountCase,
        run: &LastingRun,
        table: &Table,
        ended: &[Record],
    ) -> Vec<String> {
        let (observer, [short, long]) = (&self.observer, RESTS);
        let until = observer.now() + if run.loses() { long } else { short };
        let mut faults = Vec::new();
        while observer.now() < until {
            let (client, bus, table) = (self.client.clone(), self.bus.clone(), table.clone());
            let (process, ended) = (client.process.clone(), ended.to_vec());
            let truth = observer.sim.block_on(async move {
                client.rests(&bus).await?;
                let truth = AccountTruth::read(process, bus, (table, ended)).await;
                truth.map_err(|cause| cause.to_string())
            });
            let Ok(Ok(truth)) = truth else { return vec![format!("{truth:?}")] };
            let observed = observer.observed();
            faults = observed.not_dead(truth.messages());
            let known = |message: &BusMessage| observed.is_strange(message);
            let truth = truth.beside(|kind| run.leaves_open(kind), known, run.loses());
            faults.extend(truth.faults(case, false));
            // what did not come at its time does not come in time later
            let missing = observed.missing_alarms(observer.now());
            let reported = observed.all_reported();
            drop(observed);
            if (faults.is_empty() && reported) || !missing.is_empty() {
                faults.extend(missing);
                break;
            }
            observer.sim.run_for(AGAIN);
        }
        faults
    }

    /// A fault begins at its time, and ends.
    async fn fault(self, window: FaultWindow, keys: Vec<&'static str>, draws: SplitMix) {
        let sim = self.observer.sim.clone();
        sim.sleep(window.from).await;
        self.begins(&window.fault);
        let lasts = window.until - window.from;
        if window.fault == LastingFault::Strangers {
            self.strangers(window.until, &keys, draws).await;
        } else {
            sim.sleep(lasts).await;
        }
        self.ends(&window.fault);
    }

    fn begins(&self, fault: &LastingFault) {
        match fault {
            LastingFault::Broker(fault) => self.bus.begin_fault(fault.clone()),
            LastingFault::LockedAccount(number) => self.observer.place.locked.lock(number),
            LastingFault::Clock(whose, jump) => self.skew(*whose, *jump),
            LastingFault::Strangers => {}
        }
    }

    fn ends(&self, fault: &LastingFault) {
        match fault {
            LastingFault::Broker(fault) => self.bus.end_fault(fault),
            LastingFault::LockedAccount(number) => self.observer.place.locked.unlock(number),
            LastingFault::Clock(whose, _) => self.skew(*whose, 0),
            LastingFault::Strangers => {}
        }
    }

    fn skew(&self, whose: WrongClock, jump: i64) {
        match whose {
            WrongClock::Machine => {
                self.observer.sim.skew(jump);
                self.observer.clock.skew(jump);
            }
            WrongClock::Journal => self.observer.clock.skew(jump),
            WrongClock::Broker => self.observer.sim.process(BROKER).skew(jump),
        }
    }

    /// Strangers write until then.
    async fn strangers(&self, until: Millis, keys: &[&'static str], mut draws: SplitMix) {
        for _ in 0..WRITES {
            let at = self.observer.now();
            if at >= until {
                return;
            }
            let one = stranger::message(&mut draws, &self.bus, keys, at);
            self.observer.observed().strangers.push(one.clone());
            self.bus.append(vec![one.message]);
            self.observer.sim.sleep(within(&mut draws, 0, WAITS)).await;
        }
    }
}
