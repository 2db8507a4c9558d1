//! Plays one case of a flow between ledgers, from an empty service to the oracles.

use super::{RemoteLedger, Spot, TestTransfer, Trial};
use crate::disk::SimDisk;
use crate::event_log::LoggedEvent;
use crate::journal::Place;
use crate::service::{
    Ended, Expected, LedgerPorts, Restart, SimProcess, SimService, Truth, ask_until_ended,
    settle_down, simulated,
};
use crate::world::Sim;
use crate::wrong;
use conformance::journal::Site;
use kernel::ids::{AssetId, FlowId, LedgerId, UserId};
use kernel::limits::DailyUsage;
use kernel::money::Amount;
use kernel::ports::journal::Journal;
use kernel::ports::ledger::{StatusChange, World};
use kernel::record::{Binding, Record, Terms};
use std::sync::Arc;
use testkit::{OpenedStore, book, deposit};

const USER: UserId = UserId(4001);
const COIN: AssetId = AssetId(3);

/// What the case took, so that each part of it may be disturbed.
#[derive(Debug)]
pub(crate) struct Disturbed {
    pub writes: u64,
    pub calls: Vec<(LedgerId, u64)>,
    pub disk: u64,
    /// What happened to the case's transfer, with numbers counted from where the case begins.
    pub log: Vec<LoggedEvent>,
}

/// A case being played; its words begin every complaint, and repeat the run.
struct Run<'a> {
    service: SimService,
    ports: LedgerPorts,
    place: Place,
    disk: Option<SimDisk>,
    flow: FlowId,
    line: String,
    case: &'a TestTransfer,
}

/// Plays a case with these disturbances and holds its end against the oracles.
pub(crate) fn play(
    trial: &Trial,
    case: &TestTransfer,
    fuse: bool,
    seed: u64,
    spots: &[Spot],
) -> Disturbed {
    let line = format!("{} {} fuse={fuse} seed={seed} {spots:?}", trial.flow, case.name);
    let (sim, flows) = (Sim::new(seed), Arc::new(flows::registry()));
    let Some(flow) = flows.named(trial.flow) else { panic!("{line}: no such flow") };
    let place = Place::new(flows.clone());
    let RemoteLedger { restart, disk } = (trial.outside)(&sim);
    let site = wrong_site(trial.wrong, simulated(&sim, &place));
    let restart = wrong_restart(trial.wrong, restart);
    let ports = LedgerPorts::new(&sim);
    let mut service = SimService::new(sim, flows, ports.site(site, restart), trial.flow);
    service.settings.fuse = fuse;
    // as many as there are: one that is counted twice, or not given back, is refused
    service.settings.limits.transfers_per_day = 2;
    let mut stage = Run { service, ports, place, disk, flow, line, case };
    let process = stage.prepare();
    let before = stage.count();
    stage.listen();
    stage.disturb(spots);
    let (process, ended) = stage.perform(process);
    let after = stage.count();
    stage.judge(process, ended);
    let log = stage.happened(&before);
    let calls = before.calls.iter().zip(&after.calls);
    Disturbed {
        writes: after.writes - before.writes,
        calls: calls.map(|((ledger, b), (_, a))| (*ledger, a - b)).collect(),
        disk: after.disk - before.disk,
        log,
    }
}

/// The journal and its ledger, with the lie that is asked for.
fn wrong_site(name: Option<&'static str>, mut site: Site) -> Site {
    Box::new(move || {
        let opening = site();
        Box::pin(async move {
            let opened = opening.await;
            OpenedStore {
                journal: wrong::journal(name, opened.journal),
                funding: wrong::ledger(name, opened.funding),
                world: wrong::world(name, opened.world),
                ..opened
            }
        })
    })
}

/// The outside ledger, with the lie that is asked for.
fn wrong_restart(name: Option<&'static str>, restart: Restart) -> Restart {
    Arc::new(move |acknowledged| {
        let starting = restart(acknowledged);
        Box::pin(async move { wrong::ledger(name, starting.await) })
    })
}

impl Run<'_> {
    /// The value, or a complaint that names the run.
    #[track_caller]
    fn well<T>(&self, what: &str, result: Result<T, impl std::fmt::Debug>) -> T {
        match result {
            Ok(value) => value,
            Err(error) => panic!("{}: {what}: {error:?}", self.line),
        }
    }

    fn terms(&self, key: &str, (from, to): (LedgerId, LedgerId), amount: u128) -> Terms {
        let binding = Binding { scope: "sim|1".into(), key: key.into(), fingerprint: [0; 32] };
        Terms {
            binding: Some(binding),
            ..Terms::between_ledgers("sim|1".into(), USER, [from, to], COIN, Amount(amount))
        }
    }

    /// The user has what the case wants at both ends, and what is to be barred is.
    fn prepare(&mut self) -> SimProcess {
        let process = self.service.start_alive(&self.line, |base| self.ports.parts(base));
        let (sim, world) = (&self.service.sim, process.opened.world.clone());
        self.well("money from outside", sim.block_on(fund(world)));
        let terms = self.terms("before", (LedgerId::FUNDING, LedgerId::SPOT), TestTransfer::HAS);
        let first = sim.block_on(ask_until_ended(process.clone(), sim.clone(), self.flow, terms));
        self.well("the money at Spot", first.map_err(|stop| format!("{stop:?}")).flatten());
        if let Some((ledger, status)) = self.case.barred {
            let change = StatusChange {
                user: USER,
                status,
                reason: "the case".into(),
                caller: "sim|1".into(),
                key: "the case".into(),
            };
            let engine = process.engine.clone();
            let set = sim.block_on(async move { engine.ledgers.set_status(ledger, change).await });
            let set = self.well("a status", set.map_err(|stop| format!("{stop:?}")));
            assert_eq!(set, Ok(true), "{}: a status", self.line);
        }
        process
    }

    fn count(&self) -> Disturbed {
        let calls = [LedgerId::FUNDING, LedgerId::SPOT];
        Disturbed {
            writes: self.place.faults.writes(),
            calls: calls.map(|ledger| (ledger, self.ports.link(ledger).calls())).to_vec(),
            disk: self.disk.as_ref().map_or(0, SimDisk::calls),
            log: Vec::new(),
        }
    }

    /// Everything from now on is kept.
    fn listen(&self) {
        self.place.event_log.begin();
        for ledger in [LedgerId::FUNDING, LedgerId::SPOT] {
            self.ports.link(ledger).tell(self.place.event_log.clone());
        }
    }

    /// What happened to the case's transfer since. Nothing else moves then: what is about any
    /// transfer is about it.
    fn happened(&self, before: &Disturbed) -> Vec<LoggedEvent> {
        let first = |ledger| before.calls.iter().find(|(at, _)| *at == ledger).map_or(0, |c| c.1);
        let counted = |event| match event {
            LoggedEvent::Write { subject, .. } if subject.is_empty() => None,
            LoggedEvent::Write { n, subject, edges } => {
                Some(LoggedEvent::Write { n: n - before.writes, subject, edges })
            }
            LoggedEvent::Call { ledger, n, keys } => {
                Some(LoggedEvent::Call { ledger, n: n - first(ledger), keys })
            }
            // the flows that are played here have no bus
            LoggedEvent::Bus { .. } => None,
        };
        self.place.event_log.read().into_iter().filter_map(counted).collect()
    }

    fn disturb(&self, spots: &[Spot]) {
        let writes = self.place.faults.writes();
        for spot in spots {
            match *spot {
                Spot::Write(n, fault) => self.place.faults.plan(writes + n, fault),
                Spot::Call(ledger, n, trouble) => {
                    let link = self.ports.link(ledger);
                    link.plan(link.calls() + n, trouble);
                }
                Spot::Disk(n, fault) => {
                    let Some(disk) = &self.disk else { continue };
                    disk.plan(disk.calls() + n, fault);
                }
                Spot::Twice => {
                    for ledger in [LedgerId::FUNDING, LedgerId::SPOT] {
                        self.ports.link(ledger).twice(true);
                    }
                }
            }
        }
    }

    /// A client insists until the transfer ended, over as many processes as it takes.
    fn perform(&mut self, process: SimProcess) -> (SimProcess, Ended) {
        let TestTransfer { from, to, amount, .. } = *self.case;
        let terms = self.terms("the case", (from, to), amount);
        let Self { service, ports, line, flow, .. } = self;
        let sim = service.sim.clone();
        let insist = |process: &SimProcess| {
            let insists = ask_until_ended(process.clone(), sim.clone(), *flow, terms.clone());
            let sim = sim.clone();
            async move {
                let ended = insists.await;
                settle_down(sim).await;
                ended
            }
        };
        let ended = service.outlive(line, process, |base| ports.parts(base), insist);
        ended.unwrap_or_else(|stop| panic!("{}: {stop:?}", self.line))
    }

    /// What is wrong with the count of the user's day: the transfer before, and the case's where
    /// its money moved for good.
    fn counted(&self, journal: Arc<dyn Journal>, record: &Record) -> Option<String> {
        let day = record.terms.day?;
        let spent =
            self.service.sim.block_on(async move { journal.daily_usage(USER, day, COIN).await });
        let spent = self.well("the day's count", spent.map_err(|stop| format!("{stop:?}")));
        let spent = self.well("the day's count", spent);
        let TestTransfer { amount, ends, .. } = *self.case;
        let (transfers, amount) = if ends == "COMMITTED" { (2, amount) } else { (1, 0) };
        let wanted = DailyUsage { transfers, amount: Amount(TestTransfer::HAS + amount) };
        (spent != wanted).then(|| format!("the day counts {spent:?} instead of {wanted:?}"))
    }

    fn judge(&self, process: SimProcess, ended: Ended) {
        let record = self.well("the transfer", ended);
        let table = self.service.flows.table(self.flow);
        let state = table.state(record.head.state).name;
        assert_eq!(state, self.case.ends, "{}: {:?}", self.line, record.error);
        let journal = process.opened.journal.clone();
        let read = self.service.sim.block_on(Truth::read(process, self.ports.ledgers()));
        let read = read.map_err(|stop| format!("{stop:?}")).flatten();
        let truth = self.well("the truth", read);
        let counted = self.counted(journal, &record);
        let TestTransfer { from, to, amount, ends, .. } = *self.case;
        let moved = if ends == "COMMITTED" { amount } else { 0 };
        let expected = [(from, TestTransfer::HAS - moved), (to, TestTransfer::HAS + moved)];
        let expected =
            expected.map(|(ledger, amount)| Expected { ledger, user: USER, asset: COIN, amount });
        let mut faults = truth.faults(table, &expected);
        if truth.transfers().len() != 2 {
            faults.push(format!("the key opened several: {:?}", truth.states(table)));
        }
        faults.extend(counted);
        faults.extend(self.place.cases().iter().map(|case| format!("a case: {case}")));
        assert!(faults.is_empty(), "{}: {faults:#?}", self.line);
    }
}

/// Twice what the user has at each end comes in at Funding.
async fn fund(world: Arc<dyn World>) {
    book(&*world, deposit("before", USER.0, COIN, TestTransfer::HAS * 2)).await;
}
