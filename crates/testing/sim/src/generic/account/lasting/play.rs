//! Plays a case while faults last, from an empty service to the oracles.

use super::super::cases::AccountCase;
use super::super::client::{AccountClient, Tries, prepare, terms};
use super::super::oracle::AccountTruth;
use super::super::ports::{AccountPorts, BROKER, settings};
use super::concern::{RESEND, RETRY};
use super::observed::{Observer, STUCK_SECONDS, Seen};
use super::{FaultWindow, LastingFault, LastingRun, WrongClock, stranger};
use crate::bus::{BrokerFault, SimBus};
use crate::event_log::LoggedEvent;
use crate::generic::chain::join;
use crate::generic::draws::within;
use crate::journal::Place;
use crate::service::{PortWraps, SimService};
use crate::world::{Sim, SplitMix};
use conformance::journal::Site;
use engine::{Alerts, Settings};
use kernel::ids::Millis;
use kernel::ports::clock::Clock;
use kernel::record::{Record, Terms};
use std::sync::Arc;

/// A run that takes more steps than this is called endless.
const STEPS: u64 = 20_000_000;
/// The number of the process whose clock is the journal's.
const JOURNAL: u64 = u64::MAX - 1;
/// A client looks at its transfer so often at first, and later.
const LOOKS: [Millis; 2] = [250, 4_000];
/// It looks often for this time.
const HASTY: Millis = 4_000;
/// A client waits for an end no longer: the longest fault, and an hour.
const GIVES_UP: Millis = 3 * 3_600_000;
/// How long it may take until all has come to rest after the last fault, and where a broker lost messages: those are
/// missed after minutes.
const RESTS: [Millis; 2] = [120_000, 1_800_000];
/// A stranger writes at most so many messages.
const WRITES: u64 = 12;
/// The longest wait between two of them.
const WAITS: Millis = 20_000;

/// The parts of a run that its tasks share.
#[derive(Clone)]
struct Stage {
    observer: Observer,
    bus: SimBus,
    place: Place,
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
    let mut service =
        SimService::new(sim.clone(), flows, site(&sim, &place, &journal_clock), "account");
    service.settings = Settings {
        resend: RESEND,
        backoff: RETRY,
        batch_max: run.batch,
        alerts: Alerts {
            after_retries: u32::MAX,
            after_seconds: STUCK_SECONDS,
            ..Alerts::default()
        },
        ..settings(run.fuse)
    };
    service.wraps = wraps.clone();
    let process = service.start_alive(&line, |base| ports.parts(base));
    let prepared = sim.block_on(prepare(process.clone(), case.clone()));
    assert_eq!(prepared, Ok(Ok(())), "{line}");
    sim.bound(sim.steps() + STEPS);
    log.begin();
    let observer = Observer::new(process.clone(), sim.clone(), journal_clock);
    let stage = Stage { observer: observer.clone(), bus: ports.bus.clone(), place };
    for (n, window) in run.windows.iter().enumerate() {
        let keys = case.accounts.iter().map(|account| account.number).collect();
        let draws = SplitMix(run.seed ^ (u64::try_from(n).unwrap_or(0) << 48));
        sim.start(stage.clone().fault(window.clone(), keys, draws));
    }
    sim.start(observer.clone().run());
    let (clock, tries) = (Arc::new(sim.clone()), Tries::default());
    let client = AccountClient { process: process.clone(), clock, flow, tries };
    let asks = run.opens.iter().zip(&*case.transfers).enumerate();
    let asks = asks.map(|(n, (at, transfer))| {
        let terms = terms(transfer, format!("case-{n}"));
        Box::pin(ask(client.clone(), observer.clone(), n, *at, terms))
    });
    let asks: Vec<_> = asks.collect();
    let over = run.over();
    let waits = observer.clone();
    let ended = sim.block_on(async move {
        let ended: Result<Vec<Record>, String> = join(asks).await.into_iter().collect();
        waits.sim.sleep(over.saturating_sub(waits.now())).await;
        ended
    });
    let Ok(Ok(ended)) = ended else { panic!("{line}: {ended:?}") };
    let late = late_ends(case, run, &observer);
    assert!(late.is_empty(), "{line}: {late:#?}");
    let table = service.flows.table(flow).clone();
    let mut faults = Vec::new();
    let [short, long] = RESTS;
    let lost = run.has(|fault| matches!(fault, LastingFault::Broker(BrokerFault::Loses(_))));
    let rests_at = observer.now() + if lost { long } else { short };
    while observer.now() < rests_at {
        let read =
            AccountTruth::read(process.clone(), ports.bus.clone(), (table.clone(), ended.clone()));
        let rests = client.clone();
        let bus = ports.bus.clone();
        let truth = sim.block_on(async move {
            rests.rests(&bus).await?;
            read.await.map_err(|cause| cause.to_string())
        });
        let Ok(Ok(truth)) = truth else { panic!("{line}: {truth:?}") };
        let observed = observer.observed();
        faults = observed.not_dead(truth.messages());
        let usual = |kind: &str| allowed(run, kind);
        let truth = truth.beside(usual, |message| observed.is_strange(message), lost);
        faults.extend(truth.faults(case, false));
        drop(observed);
        if faults.is_empty() {
            break;
        }
        sim.run_for(10_000);
    }
    faults.extend(observer.observed().missing_alarms());
    assert!(faults.is_empty(), "{line}: {faults:#?}");
    log.read()
}

/// A journal whose time goes by a clock of its own.
fn site(sim: &Sim, place: &Place, clock: &Sim) -> Site {
    let (sim, place, clock) = (sim.clone(), place.clone(), clock.clone());
    Box::new(move || {
        let journal = place.open(Arc::new(clock.clone()), sim.crash());
        Box::pin(std::future::ready(journal.opened()))
    })
}

/// Cases that persons close, or a day, or a clock that has caught up.
fn allowed(run: &LastingRun, kind: &str) -> bool {
    let strangers = run.has(|fault| *fault == LastingFault::Strangers);
    let loses = run.has(|fault| matches!(fault, LastingFault::Broker(BrokerFault::Loses(_))));
    let clocks = run.has(|fault| matches!(fault, LastingFault::Clock(..)));
    match kind {
        "MESSAGE_MISMATCH" | "DEAD_LETTER" => strangers,
        "MESSAGE_GAP" => loses,
        "CLOCK" => clocks,
        _ => false,
    }
}

/// A client that opens one transfer at its time, and looks until it has ended.
async fn ask(
    client: AccountClient,
    observer: Observer,
    n: usize,
    at: Millis,
    terms: Terms,
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
fn late_ends(case: &AccountCase, run: &LastingRun, observer: &Observer) -> Vec<String> {
    let observed = observer.observed();
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

impl Stage {
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
            LastingFault::LockedAccount(number) => self.place.locked.lock(number),
            LastingFault::Clock(whose, jump) => self.skew(*whose, *jump),
            LastingFault::Strangers => {}
        }
    }

    fn ends(&self, fault: &LastingFault) {
        match fault {
            LastingFault::Broker(fault) => self.bus.end_fault(fault),
            LastingFault::LockedAccount(number) => self.place.locked.unlock(number),
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
