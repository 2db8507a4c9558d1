//! Engine, Spot core and flow on one thread, with time, chance, disk, journal and network simulated:
//! many clients at once, losses at a rate, power cuts in between.

use crate::spot::on_disk;
use conformance::journal::Site;
use kernel::ids::{AssetId, LedgerId, UserId};
use kernel::money::Amount;
use kernel::ports::clock::Clock;
use kernel::record::{Binding, System, Terms};
use sim::generic::RemoteLedger;
use sim::journal::Place;
use sim::service::{
    Ended, Expected, LedgerPorts, SimProcess, SimService, Truth, ask_until_ended, settle_down,
    simulated,
};
use sim::world::{Sim, SplitMix, Stop};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use testkit::deposit;

const COIN: AssetId = AssetId(3);
const USERS: u64 = 6;
const START: u128 = 1_000;
const TRANSFERS: u64 = 60;

/// What goes wrong in a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FaultRates {
    /// One call in this number; 0: none.
    pub calls: u64,
    /// One journal write in this number; 0: none.
    pub writes: u64,
    /// Number of power cuts.
    pub cuts: u64,
}

fn terms(n: u64, draws: &mut SplitMix) -> Terms {
    let user = UserId(1 + draws.next() % USERS);
    let ends = [LedgerId::FUNDING, LedgerId::SPOT];
    let (from, to) = if draws.once_in(1, 2) { (ends[0], ends[1]) } else { (ends[1], ends[0]) };
    let key = format!("client {n}");
    Terms {
        binding: Some(Binding { scope: "clients|1".into(), key: key.into(), fingerprint: [0; 32] }),
        ..Terms::between_ledgers(
            "clients|1".into(),
            user,
            [from, to],
            COIN,
            Amount(u128::from(1 + draws.next() % 400)),
        )
    }
}

struct SimClients {
    service: SimService,
    ports: LedgerPorts,
    ended: Arc<Mutex<BTreeMap<u64, Ended>>>,
    asked: Vec<Terms>,
    draws: SplitMix,
}

impl SimClients {
    fn fund(&self, process: &SimProcess) {
        for user in 1..=USERS {
            let movement = deposit(&format!("start {user}"), user, COIN, START);
            let world = process.opened.world.clone();
            let insists = async move {
                // it is unknown whether it was booked: the same reference again
                while world.external(movement.clone()).await.is_err() {}
            };
            self.service.sim.block_on(insists).unwrap();
        }
    }

    /// Every client that has not seen its transfer end asks, each after a while of its own.
    fn ask(&mut self, process: &SimProcess) {
        let flow = self.service.flows.named("internal").unwrap();
        for (n, terms) in (0..).zip(self.asked.clone()) {
            if self.ended.lock().unwrap().contains_key(&n) {
                continue;
            }
            let (process, sim, ended) =
                (process.clone(), self.service.sim.clone(), self.ended.clone());
            let wait = self.draws.next() % 2_000;
            self.service.sim.start(async move {
                sim.sleep(wait).await;
                let end = ask_until_ended(process, sim, flow, terms).await;
                ended.lock().unwrap().insert(n, end);
            });
        }
    }

    /// Over as many processes as it takes, all of them end.
    fn run(&mut self, line: &str, mut cuts: u64) -> SimProcess {
        let mut process = self.next_life(line);
        self.fund(&process);
        for _ in 0..100 {
            self.ask(&process);
            if cuts > 0 {
                cuts -= 1;
                let (sim, after) = (self.service.sim.clone(), 20 + self.draws.next() % 3_000);
                self.service.sim.start(async move {
                    sim.sleep(after).await;
                    sim.kill("crashed: the power went");
                });
            }
            match self.until_all_ended() {
                Ok(()) => return process,
                Err(Stop::Dead(why)) if why.starts_with("crashed") => {}
                Err(stop) => panic!("{line}: {stop:?}"),
            }
            drop(process);
            process = self.next_life(line);
        }
        panic!("{line}: it does not come to an end");
    }

    fn until_all_ended(&self) -> Result<(), Stop> {
        for _ in 0..3_000 {
            match self.service.sim.run_for(500) {
                Stop::Dead(why) => return Err(Stop::Dead(why)),
                Stop::Time | Stop::Idle => {}
            }
            if self.ended.lock().unwrap().len() == self.asked.len() {
                return Ok(());
            }
        }
        Err(Stop::Time)
    }

    fn next_life(&mut self, line: &str) -> SimProcess {
        self.service.start_alive(line, |base| self.ports.parts(base))
    }

    /// What each user has at the end, by what became of their transfers.
    fn expected(&self, line: &str) -> Vec<Expected> {
        let mut has: BTreeMap<_, i128> = BTreeMap::new();
        for user in (1..=USERS).map(UserId) {
            has.insert((LedgerId::FUNDING, user), i128::try_from(START).unwrap());
            has.insert((LedgerId::SPOT, user), 0);
        }
        let table = &self.service.flows.0[0];
        for (n, end) in &*self.ended.lock().unwrap() {
            let record = end.as_ref().unwrap_or_else(|why| panic!("{line}: client {n}: {why}"));
            let terms = &record.terms;
            if table.state(record.head.state).name == "COMMITTED" {
                let (System::Ledger(from), System::Ledger(to)) =
                    (terms.source.system, terms.target.system)
                else {
                    panic!("{terms:?}")
                };
                let user = terms.owner.user().unwrap();
                *has.get_mut(&(from, user)).unwrap() -= terms.source.amount.signed().unwrap();
                *has.get_mut(&(to, user)).unwrap() += terms.target.amount.signed().unwrap();
            }
        }
        let one = |((ledger, user), amount)| Expected {
            ledger,
            user,
            asset: COIN,
            amount: u128::try_from(amount).unwrap(),
        };
        has.into_iter().map(one).collect()
    }
}

/// One run over a journal; its end is held against the oracles. `heal` ends what goes wrong with
/// the journal's writes.
pub(crate) fn run(
    (seed, fuse, rates): (u64, bool, FaultRates),
    sim: &Sim,
    site: Site,
    heal: impl FnOnce(),
) -> Truth {
    let line = format!("clients seed={seed} fuse={fuse} {rates:?}");
    let flows = Arc::new(flows::registry());
    let RemoteLedger { restart, .. } = on_disk(sim);
    let ports = LedgerPorts::new(sim);
    let mut service = SimService::new(sim.clone(), flows, ports.site(site, restart), "internal");
    service.settings.fuse = fuse;
    let mut draws = SplitMix(seed);
    let asked = (0..TRANSFERS).map(|n| terms(n, &mut draws)).collect();
    let mut clients = SimClients { service, ports, ended: Arc::default(), asked, draws };
    // nothing goes wrong at the first start
    drop(clients.next_life(&line));
    for ledger in [LedgerId::FUNDING, LedgerId::SPOT] {
        clients.ports.link(ledger).rate(rates.calls, seed);
    }
    drop(clients.run(&line, rates.cuts));
    for ledger in [LedgerId::FUNDING, LedgerId::SPOT] {
        clients.ports.link(ledger).rate(0, 0);
    }
    heal();
    // whatever stands open now is carried to its end by a process of its own
    let process = clients.next_life(&line);
    sim.block_on(settle_down(sim.clone())).unwrap();
    let truth = sim.block_on(Truth::read(process, clients.ports.ledgers())).unwrap();
    let truth = truth.unwrap_or_else(|why| panic!("{line}: {why}"));
    let mut faults = truth.faults(&clients.service.flows.0[0], &clients.expected(&line));
    if truth.transfers().len() != clients.asked.len() {
        faults.push(format!("{} transfers were opened", truth.transfers().len()));
    }
    assert!(faults.is_empty(), "{line}: {faults:#?}");
    truth
}

/// One run over the simulated journal.
pub(crate) fn on_simulated(seed: u64, fuse: bool, rates: FaultRates) -> Truth {
    let sim = Sim::new(seed);
    let place = Place::new(Arc::new(flows::registry()));
    place.faults.rate(rates.writes, seed);
    let faults = place.faults.clone();
    let truth = run((seed, fuse, rates), &sim, simulated(&sim, &place), || faults.rate(0, 0));
    // under many faults the owner of a transfer dies often, or the transfer waits long: then an operator is asked
    let foul = ["POISON", "STUCK", "TARGET_PENDING", "COMPENSATION"];
    let cases: Vec<_> = place.cases().into_iter().filter(|case| !foul.contains(case)).collect();
    assert_eq!(cases, [""; 0], "seed={seed} fuse={fuse}: no operator is asked anything else");
    truth
}

#[test]
fn clients_without_faults() {
    for (seed, fuse) in [(1, true), (2, false)] {
        on_simulated(seed, fuse, FaultRates { calls: 0, writes: 0, cuts: 0 });
    }
}

#[test]
fn clients_with_losses_and_power_cuts() {
    for seed in 0..8 {
        for fuse in [true, false] {
            on_simulated(seed, fuse, FaultRates { calls: 5, writes: 5, cuts: seed % 4 });
        }
    }
}

#[test]
fn a_seed_is_a_run() {
    let rates = FaultRates { calls: 5, writes: 0, cuts: 2 };
    let traces = |seed| on_simulated(seed, true, rates).traces();
    assert_eq!(traces(5), traces(5));
    assert_ne!(traces(5), traces(6));
}
