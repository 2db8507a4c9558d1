//! Plays one cell: waves of transfers while one provider lies, a look at what it made of them, then the same
//! provider healed, and another look.

use crate::case::{NearCase, on_local_chain};
use crate::local_chain::{LocalChain, RULES, Setup};
use crate::providers::Sends;
use devnet::near::Rule;
use kernel::ids::{Id, Millis};
use kernel::operators::OpenCase;
use kernel::record::Terms;
use sim::chain::{ChainPorts, Paid, PlayedChain};
use sim::generic::chain::{CaseEnv, ChainCase, ChainClient};
use sim::generic::relay::{AskedTransfer, RelayCase};
use sim::journal::Place;
use sim::service::{SimProcess, SimService, simulated};
use sim::world::Sim;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// From one wave to the next, in milliseconds.
const PAUSE: Millis = 25_000;
/// How long the provider lies.
pub(super) const LIES: Millis = 75_000;
/// How long after that all has ended.
const AFTER: Millis = 300_000;
/// How long after the last sight of what it is about a case is closed.
const CASES_CLOSE: Millis = 150_000;
/// The pause between two looks, in milliseconds.
const LOOK: Millis = 250;
/// How many seconds after the transfer a case opens: fewer than by default, since a cell lies for less.
pub(super) const CASE_AFTER: u64 = 30;

/// The provider that lies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Liar<'a> {
    /// Its place among the providers.
    pub(super) place: usize,
    /// How it is brought to it.
    pub(super) rules: &'a [Rule],
}

/// What is paid, and what else happens to the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Load {
    /// Receivers that hold the token and some that do not.
    Plain,
    /// One payment after the other, so that each provider has its turn at what one alone is asked before a payment.
    Steady,
    /// One of them makes its transaction fail.
    Spoiled,
    /// What is sent at first is taken in by no provider's chain.
    Lost,
    /// Another program uses a key of the relay.
    Wallet,
}

impl Load {
    pub(super) const ALL: [Self; 5] =
        [Self::Plain, Self::Steady, Self::Spoiled, Self::Lost, Self::Wallet];

    /// The receivers of each wave.
    const fn waves(self) -> &'static [&'static [&'static str]] {
        const ONE_EACH: [&[&str]; 13] = [&["alice"]; 13];
        match self {
            Self::Plain | Self::Lost | Self::Wallet => {
                &[&["alice", "bob", "carol", "dave", "new-1", "new-2"], &["alice", "new-3"]]
            }
            Self::Steady => &ONE_EACH,
            Self::Spoiled => &[&["alice", "bad-1", "bob", "new-1"], &["carol", "bad-2"]],
        }
    }

    /// The number of waves.
    pub(super) const fn wave_count(self) -> usize {
        self.waves().len()
    }

    /// From one wave to the next, in milliseconds.
    const fn pause(self) -> Millis {
        match self {
            Self::Steady => PAUSE / 5,
            Self::Plain | Self::Spoiled | Self::Lost | Self::Wallet => PAUSE,
        }
    }
}

/// One transfer of the load, and its end.
#[derive(Debug, Clone)]
pub(super) struct Transfer {
    pub(super) receiver: &'static str,
    /// Its wave, the first is 0.
    pub(super) wave: usize,
    /// Which it is, once it is accepted.
    pub(super) id: Option<Id>,
    /// The state that it ended in, and how long after its client asked first.
    pub(super) ended: Option<(&'static str, Millis)>,
    /// The times that the chain itself has paid it.
    pub(super) paid: usize,
}

/// What stood at one moment.
#[derive(Debug, Clone)]
pub(super) struct Look {
    pub(super) transfers: Vec<Transfer>,
    pub(super) open_cases: Vec<OpenCase>,
    pub(super) paused: Vec<String>,
    /// What is wrong with the chain's own history.
    pub(super) chain: Vec<String>,
}

/// What a cell came to.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) providers: usize,
    /// As the cases name the provider that lies.
    pub(super) liar: String,
    /// The kinds of requests that it had while it lied.
    pub(super) asked: Vec<String>,
    pub(super) lying: Look,
    pub(super) healed: Look,
    /// The kinds of the cases that were opened.
    pub(super) cases: Vec<&'static str>,
    /// The rows of the relay's keys in the end.
    pub(super) lanes: Vec<Arc<str>>,
}

type Accepting = Arc<Mutex<BTreeMap<usize, Id>>>;

/// A run under way.
struct Playing {
    sim: Sim,
    place: Place,
    process: SimProcess,
    /// Drops the tasks at the end.
    service: SimService,
    ports: ChainPorts<LocalChain>,
    transfers: Vec<Transfer>,
    terms: Vec<Terms>,
    accepted: Accepting,
    /// When each wave was asked for.
    asked_at: Vec<Millis>,
}

impl Run {
    pub(super) fn of(providers: usize, liar: Liar<'_>, load: Load) -> Self {
        let mut playing = Playing::start(providers, liar, load);
        let chain = playing.ports.chain.clone();
        let began = playing.sim.time();
        if load == Load::Wallet {
            chain.wallet_signs();
        }
        let mut next = began;
        for wave in 0..load.wave_count() {
            playing.runs_until(next, |_| false);
            chain.checks_token();
            playing.asks(wave);
            next += load.pause();
        }
        playing.runs_until(began + LIES, |_| false);
        let (lying, asked) = (playing.look(), chain.asked_of_liar());
        chain.heal();
        chain.checks_token();
        playing.runs_until(began + LIES + AFTER, Playing::all_ended);
        playing.sim.run_for(CASES_CLOSE);
        let (healed, cases) = (playing.look(), playing.place.cases());
        let lanes = playing.lanes();
        Self { providers, liar: chain.liar(), asked, lying, healed, cases, lanes }
    }
}

impl Playing {
    fn start(providers: usize, Liar { place, rules }: Liar<'_>, load: Load) -> Self {
        let waves = load.waves();
        let receivers: Vec<&'static str> = waves.concat();
        let relay = RelayCase { name: "lies", receivers: receivers.clone().into() };
        let sends = match load {
            Load::Lost => Sends::Withheld { until: 20 },
            Load::Plain | Load::Steady | Load::Spoiled | Load::Wallet => Sends::Arrive,
        };
        let needed = if providers == 1 { 1 } else { 2 };
        let lies = rules.to_vec();
        let setup = Setup {
            providers,
            providers_needed: needed,
            liar: place,
            lies,
            sends,
            ..Setup::default()
        };
        let on_chain = |mut asked: AskedTransfer| {
            on_local_chain(&mut asked.terms);
            asked.terms
        };
        let terms = relay.asked(0).into_iter().map(on_chain).collect();
        let of_waves = waves.iter().enumerate();
        let transfers = of_waves.flat_map(|(wave, receivers)| {
            let of_wave =
                move |receiver| Transfer { receiver, wave, id: None, ended: None, paid: 0 };
            receivers.iter().copied().map(of_wave)
        });
        let transfers = transfers.collect();
        let (sim, flows) = (Sim::new(1), Arc::new(flows::registry()));
        let place = Place::new(flows.clone());
        let site = simulated(&sim, &place);
        let case = NearCase { relay, setup };
        let env = CaseEnv { sim: sim.clone(), flows, site, seed: 1 };
        let (mut service, ports) = case.service(RULES, env);
        let alerts = &mut service.settings.alerts;
        (alerts.after_seconds, alerts.target_pending_seconds) = (CASE_AFTER, CASE_AFTER);
        let process = service.start_alive("lies", |base| ports.next_process(base));
        let (accepted, asked_at) = (Accepting::default(), vec![0; load.wave_count()]);
        Self { sim, place, process, service, ports, transfers, terms, accepted, asked_at }
    }

    /// The clients of a wave ask until each transfer is accepted.
    fn asks(&mut self, wave: usize) {
        self.asked_at[wave] = self.sim.time();
        let of_wave = self.transfers.iter().zip(&self.terms).enumerate();
        for (n, (_, terms)) in of_wave.filter(|(_, (transfer, _))| transfer.wave == wave) {
            let at = ChainClient::at(&self.sim, &self.process, &self.ports);
            self.sim.start(accept(at, n, terms.clone(), self.accepted.clone()));
        }
    }

    /// Time passes to that moment, or until this is so.
    fn runs_until(&mut self, until: Millis, over: impl Fn(&Self) -> bool) {
        while self.sim.time() < until && !over(self) {
            self.sim.run_for(LOOK);
            self.sees_ends();
        }
    }

    fn all_ended(&self) -> bool {
        self.transfers.iter().all(|transfer| transfer.ended.is_some())
    }

    fn sees_ends(&mut self) {
        let accepted = self.accepted.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (n, id) in accepted {
            self.transfers[n].id = Some(id);
        }
        let waiting = self.transfers.iter().filter(|transfer| transfer.ended.is_none());
        let ids: Vec<Id> = waiting.filter_map(|transfer| transfer.id).collect();
        if ids.is_empty() {
            return;
        }
        let (journal, now) = (self.process.opened.journal.clone(), self.sim.time());
        let records = self.sim.block_on(async move { journal.get(ids).await }).unwrap().unwrap();
        for record in records {
            let table = self.service.flows.table(record.flow);
            let transfer = self.transfers.iter_mut().find(|one| one.id == Some(record.id));
            let Some(transfer) = transfer.filter(|_| table.ends(record.head.state)) else {
                continue;
            };
            let state = table.state(record.head.state).name;
            transfer.ended = Some((state, now - self.asked_at[transfer.wave]));
        }
    }

    fn lanes(&self) -> Vec<Arc<str>> {
        let journal = self.process.opened.journal.clone();
        let rows = self.sim.block_on(async move { journal.resources("lane:".into()).await });
        rows.unwrap().unwrap().into_iter().map(|row| row.value).collect()
    }

    fn look(&mut self) -> Look {
        self.sees_ends();
        let paid: BTreeMap<Id, Vec<Paid>> = self.ports.chain.paid();
        for transfer in &mut self.transfers {
            transfer.paid = transfer.id.and_then(|id| paid.get(&id)).map_or(0, Vec::len);
        }
        let journal = self.process.opened.journal.clone();
        let read = async move { (journal.open_cases().await, journal.service_status().await) };
        let (open_cases, status) = self.sim.block_on(read).unwrap();
        let paused = status.unwrap().paused.iter().map(|pause| format!("{pause:?}")).collect();
        let (transfers, open_cases) = (self.transfers.clone(), open_cases.unwrap());
        Look { transfers, open_cases, paused, chain: self.ports.chain.faults() }
    }
}

/// A client asks until its transfer is accepted.
async fn accept(at: ChainClient, n: usize, terms: Terms, accepted: Accepting) {
    let Some(flow) = at.engine.flows().named("relay") else { return };
    loop {
        if let Ok(taken) = at.engine.intake.create(flow, terms.clone()).await {
            accepted.lock().unwrap_or_else(PoisonError::into_inner).insert(n, taken.record.id);
            return;
        }
        at.clock.sleep(LOOK).await;
    }
}
