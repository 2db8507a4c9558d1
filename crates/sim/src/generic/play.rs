//! One scene, from an empty house to the oracles.

use super::{Outside, Scene, Spot, Trial};
use crate::chronicle::Happening;
use crate::disk::SimDisk;
use crate::house::{
    Ended, Expected, House, Process, Restart, Truth, insist, settle_down, simulated,
};
use crate::journal::Place;
use crate::suite::journal::{Opened, Site};
use crate::world::{Sim, Stop};
use crate::wrong;
use kernel::ids::{AssetId, FlowId, LedgerId, UserId};
use kernel::money::Amount;
use kernel::people::Spent;
use kernel::ports::journal::Journal;
use kernel::ports::ledger::{Direction, External, Moved, StatusChange, World};
use kernel::record::{Account, Binding, Party, Record, System, Terms};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Who plays.
const USER: UserId = UserId(4001);
/// With what.
const COIN: AssetId = AssetId(3);
/// More processes than any disturbance needs.
const LIVES: usize = 20;

/// What the scene took, so that each part of it may be disturbed.
#[derive(Debug)]
pub(crate) struct Disturbed {
    pub writes: u64,
    pub calls: Vec<(LedgerId, u64)>,
    pub disk: u64,
    /// What happened to the scene's transfer, with numbers counted from where the scene begins.
    pub log: Vec<Happening>,
}

/// A scene being played; its words begin every complaint, and repeat the run.
struct Stage<'a> {
    house: House,
    place: Place,
    disk: Option<SimDisk>,
    flow: FlowId,
    line: String,
    scene: &'a Scene,
}

/// Plays a scene with these disturbances and holds its end against the oracles.
pub(crate) fn play(
    trial: &Trial,
    scene: &Scene,
    fuse: bool,
    seed: u64,
    spots: &[Spot],
) -> Disturbed {
    let line = format!("{} {} fuse={fuse} seed={seed} {spots:?}", trial.flow, scene.name);
    let (sim, flows) = (Sim::new(seed), Arc::new(flows::registry()));
    let Some(flow) = flows.named(trial.flow) else { panic!("{line}: no such flow") };
    let place = Place::new(flows.clone());
    let Outside { restart, disk } = (trial.outside)(&sim);
    let site = wrong_site(trial.wrong, simulated(&sim, &place));
    let restart = wrong_restart(trial.wrong, restart);
    let mut house = House::new(sim.clone(), flows, site, restart);
    house.settings.fuse = fuse;
    // as many as there are: one that is counted twice, or not given back, is refused
    house.settings.limits.transfers_per_day = 2;
    let mut stage = Stage { house, place, disk, flow, line, scene };
    let process = stage.prepare();
    let before = stage.count();
    stage.listen();
    stage.disturb(spots);
    let (process, ended) = stage.perform(process);
    let after = stage.count();
    stage.judge(process, ended);
    let log = stage.heard(&before);
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
            let Opened { journal, funding, world } = opening.await;
            let (journal, funding) = (wrong::journal(name, journal), wrong::ledger(name, funding));
            Opened { journal, funding, world: wrong::world(name, world) }
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

impl Stage<'_> {
    /// The value, or a complaint that names the run.
    #[track_caller]
    fn well<T>(&self, what: &str, result: Result<T, impl std::fmt::Debug>) -> T {
        match result {
            Ok(value) => value,
            Err(error) => panic!("{}: {what}: {error:?}", self.line),
        }
    }

    fn terms(&self, key: &str, (from, to): (LedgerId, LedgerId), amount: u128) -> Terms {
        let party = |ledger| Party { system: System::Ledger(ledger), account: Account::User(USER) };
        let binding = Binding { scope: "sim|1".into(), key: key.into(), fingerprint: [0; 32] };
        Terms {
            principal: "sim|1".into(),
            user: USER,
            binding: Some(binding),
            source: party(from),
            target: party(to),
            asset: COIN,
            amount: Amount(amount),
            fee: Amount::ZERO,
            deadline: None,
            memo: None,
            reference: None,
            metadata: BTreeMap::new(),
            day: None,
        }
    }

    /// The user has what the scene wants at both ends, and what is to be barred is.
    fn prepare(&mut self) -> Process {
        let started = self.house.start();
        let process = self.well("the first start", started);
        let (sim, world) = (&self.house.sim, process.opened.world.clone());
        let moved = sim.block_on(async move { fund(&*world).await });
        self.well("money from outside", moved.map_err(|stop| format!("{stop:?}")).flatten());
        let terms = self.terms("before", (LedgerId::FUNDING, LedgerId::SPOT), Scene::HAS);
        let first = sim.block_on(insist(process.clone(), sim.clone(), self.flow, terms));
        self.well("the money at Spot", first.map_err(|stop| format!("{stop:?}")).flatten());
        if let Some((ledger, status)) = self.scene.barred {
            let change = StatusChange {
                user: USER,
                status,
                reason: "the scene".into(),
                caller: "sim|1".into(),
                key: "the scene".into(),
            };
            let engine = process.engine.clone();
            let set = sim.block_on(async move { engine.set_status(ledger, change).await });
            let set = self.well("a status", set.map_err(|stop| format!("{stop:?}")));
            assert_eq!(set, Ok(true), "{}: a status", self.line);
        }
        process
    }

    fn count(&self) -> Disturbed {
        let calls = [LedgerId::FUNDING, LedgerId::SPOT];
        let of = |ledger| self.house.way(ledger).map_or(0, |way| way.calls());
        Disturbed {
            writes: self.place.faults.writes(),
            calls: calls.map(|ledger| (ledger, of(ledger))).to_vec(),
            disk: self.disk.as_ref().map_or(0, SimDisk::calls),
            log: Vec::new(),
        }
    }

    /// Everything from now on is kept.
    fn listen(&self) {
        self.place.chronicle.begin();
        for ledger in [LedgerId::FUNDING, LedgerId::SPOT] {
            self.house.way(ledger).iter().for_each(|way| way.tell(self.place.chronicle.clone()));
        }
    }

    /// What happened to the scene's transfer since. Nothing else moves then: what is about any
    /// transfer is about it.
    fn heard(&self, before: &Disturbed) -> Vec<Happening> {
        let first = |ledger| before.calls.iter().find(|(at, _)| *at == ledger).map_or(0, |c| c.1);
        let counted = |happening| match happening {
            Happening::Write { about, .. } if about.is_empty() => None,
            Happening::Write { n, about, edges } => {
                Some(Happening::Write { n: n - before.writes, about, edges })
            }
            Happening::Call { ledger, n, keys } => {
                Some(Happening::Call { ledger, n: n - first(ledger), keys })
            }
        };
        self.place.chronicle.read().into_iter().filter_map(counted).collect()
    }

    fn disturb(&self, spots: &[Spot]) {
        let writes = self.place.faults.writes();
        for spot in spots {
            match *spot {
                Spot::Write(n, fault) => self.place.faults.plan(writes + n, fault),
                Spot::Call(ledger, n, trouble) => {
                    let Some(way) = self.house.way(ledger) else { continue };
                    way.plan(way.calls() + n, trouble);
                }
                Spot::Disk(n, fault) => {
                    let Some(disk) = &self.disk else { continue };
                    disk.plan(disk.calls() + n, fault);
                }
                Spot::Twice => {
                    for ledger in [LedgerId::FUNDING, LedgerId::SPOT] {
                        self.house.way(ledger).iter().for_each(|way| way.twice(true));
                    }
                }
            }
        }
    }

    /// A client insists until the transfer ended, over as many processes as it takes.
    fn perform(&mut self, mut process: Process) -> (Process, Ended) {
        let Scene { from, to, amount, .. } = *self.scene;
        let terms = self.terms("the scene", (from, to), amount);
        for _ in 0..LIVES {
            let sim = self.house.sim.clone();
            let insists = insist(process.clone(), sim.clone(), self.flow, terms.clone());
            let rests = async move {
                let ended = insists.await;
                settle_down(sim).await;
                ended
            };
            match self.house.sim.block_on(rests) {
                Ok(ended) => return (process, ended),
                Err(Stop::Dead(why)) if why.starts_with("crashed") => {}
                Err(stop) => panic!("{}: {stop:?}", self.line),
            }
            drop(process);
            process = self.next_life();
        }
        panic!("{}: it dies for ever", self.line)
    }

    fn next_life(&mut self) -> Process {
        for _ in 0..LIVES {
            match self.house.start() {
                Ok(process) => return process,
                Err(Stop::Dead(why)) if why.starts_with("crashed") => {}
                Err(stop) => panic!("{}: a start: {stop:?}", self.line),
            }
        }
        panic!("{}: it dies at every start", self.line)
    }

    /// What is wrong with the count of the user's day: the transfer before, and the scene's where
    /// its money moved for good.
    fn counted(&self, journal: Arc<dyn Journal>, record: &Record) -> Option<String> {
        let day = record.terms.day?;
        let spent = self.house.sim.block_on(async move { journal.spent(USER, day, COIN).await });
        let spent = self.well("the day's count", spent.map_err(|stop| format!("{stop:?}")));
        let spent = self.well("the day's count", spent);
        let Scene { amount, ends, .. } = *self.scene;
        let (transfers, amount) = if ends == "COMMITTED" { (2, amount) } else { (1, 0) };
        let wanted = Spent { transfers, amount: Amount(Scene::HAS + amount) };
        (spent != wanted).then(|| format!("the day counts {spent:?} instead of {wanted:?}"))
    }

    fn judge(&self, process: Process, ended: Ended) {
        let record = self.well("the transfer", ended);
        let table = self.house.flows.table(self.flow);
        let state = table.state(record.head.state).name;
        assert_eq!(state, self.scene.ends, "{}: {:?}", self.line, record.error);
        let journal = process.opened.journal.clone();
        let read = self.house.sim.block_on(Truth::read(process));
        let read = read.map_err(|stop| format!("{stop:?}")).flatten();
        let truth = self.well("the truth", read);
        let counted = self.counted(journal, &record);
        let Scene { from, to, amount, ends, .. } = *self.scene;
        let moved = if ends == "COMMITTED" { amount } else { 0 };
        let expected = [(from, Scene::HAS - moved), (to, Scene::HAS + moved)];
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
async fn fund(world: &dyn World) -> Result<(), String> {
    let movement = External {
        direction: Direction::In,
        reference: "before".into(),
        user: USER,
        asset: COIN,
        amount: Amount(Scene::HAS * 2),
        reason: "the scene".into(),
        caller: "sim|1".into(),
    };
    match world.external(movement).await {
        Ok(Moved::Done { .. }) => Ok(()),
        other => Err(format!("{other:?}")),
    }
}
