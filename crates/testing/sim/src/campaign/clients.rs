//! The clients of a campaign: many at once, each with a key for its request, which it repeats after every unclear
//! answer.

use super::env::{Env, Process};
use super::oracles::{ClientView, Oracles};
use super::{Build, Knob, connection};
use crate::world::{Sim, SplitMix};
use engine::{Accepted, Refused};
use kernel::answer::Cause;
use kernel::code::Code;
use kernel::ids::{AssetId, FlowId, LedgerId, Millis, UserId};
use kernel::money::Amount;
use kernel::ports::clock::Clock;
use kernel::record::{Binding, Terms};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

pub(super) const ASSETS: [AssetId; 2] = [AssetId(3), AssetId(5)];
/// What each user is given of each.
pub(super) const GIVEN: u128 = 20_000;
/// The most that can be asked for of an asset of few decimals.
const CEILING: u128 = 9_223_372_036_854_775_807;

/// A client doubles its wait after this number of tries, and again after each such number, as it must where
/// its process has a clock that ran an hour ahead.
const HASTY: u32 = 8;
/// How often the wait is doubled at most: to half a minute.
const DOUBLED: u32 = 6;

/// How a request stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestState {
    Waits,
    InHand,
    Over,
}

/// One transfer that is asked for.
#[derive(Debug, Clone)]
struct ClientRequest {
    terms: Terms,
    key: Arc<str>,
    state: RequestState,
    /// Something was answered, or not answered, that leaves open whether it was opened.
    unknown: bool,
}

/// All clients of a run. A handle: clones are the same one.
#[derive(Clone)]
pub(super) struct Clients {
    requests: Arc<Mutex<Vec<ClientRequest>>>,
    draws: Arc<Mutex<SplitMix>>,
    rates: Arc<BTreeMap<Knob, u64>>,
    clients: u64,
    build: Arc<dyn Build>,
    oracles: Oracles,
    sim: Sim,
    flow: FlowId,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The terms of a transfer between a user's two accounts.
pub(super) fn terms(
    key: &str,
    user: UserId,
    (from, to): (LedgerId, LedgerId),
    (asset, amount): (AssetId, u128),
) -> Terms {
    let binding = Binding { scope: "clients|1".into(), key: key.into(), fingerprint: [0; 32] };
    Terms {
        binding: Some(binding),
        ..Terms::between_ledgers("clients|1".into(), user, [from, to], asset, Amount(amount))
    }
}

/// A request that a seed draws.
fn drawn(n: u64, draws: &mut SplitMix, (users, edges): (u64, u64)) -> ClientRequest {
    let user = UserId(1 + draws.next() % users);
    let ends = if draws.once_in(1, 2) {
        (LedgerId::FUNDING, LedgerId::SPOT)
    } else {
        (LedgerId::SPOT, LedgerId::FUNDING)
    };
    let [often, seldom] = ASSETS;
    let asset = if draws.once_in(1, 4) { seldom } else { often };
    let amount = if draws.once_in(edges, 1_000) {
        match draws.next() % 6 {
            0 => 0,
            1 => 1,
            2 => GIVEN,
            3 => GIVEN / 2,
            4 => CEILING,
            _ => CEILING + 1,
        }
    } else {
        u128::from(1 + draws.next() % 6_000)
    };
    let key: Arc<str> = format!("client {n}").into();
    let terms = terms(&key, user, ends, (asset, amount));
    ClientRequest { terms, key, state: RequestState::Waits, unknown: false }
}

/// The value of a future, unless this time passes before.
async fn within<T>(sim: &Sim, ms: Millis, future: impl Future<Output = T>) -> Option<T> {
    let (mut future, mut sleep) = (pin!(future), sim.sleep(ms));
    poll_fn(|cx| {
        if let Poll::Ready(value) = future.as_mut().poll(cx) {
            return Poll::Ready(Some(value));
        }
        sleep.as_mut().poll(cx).map(|()| None)
    })
    .await
}

/// What a client asks of a process, over a line of its own where that may die alone.
pub(super) async fn over<T: Send + 'static>(
    process: &Process,
    asked: impl Future<Output = T> + Send + 'static,
) -> Option<T> {
    match &process.among {
        Some(sim) => connection::call(sim, asked).await,
        None => Some(asked.await),
    }
}

/// Where a client asks next.
pub(super) type NextProcess = Arc<dyn Fn() -> Process + Send + Sync>;

/// The only process there is.
pub(super) fn one(process: &Process) -> NextProcess {
    let process = process.clone();
    Arc::new(move || process.clone())
}

impl Clients {
    /// Clients that have asked for nothing yet.
    pub(super) fn new(env: &Env) -> Self {
        let mut draws = SplitMix(env.options.seed ^ 5);
        let get = |knob| env.options.get(knob);
        let of = (env.options.some(Knob::Users), get(Knob::Edges));
        let requests = (0..get(Knob::Transfers)).map(|n| drawn(n, &mut draws, of)).collect();
        Self {
            requests: Arc::new(Mutex::new(requests)),
            draws: Arc::new(Mutex::new(draws)),
            rates: Arc::new(Knob::ALL.iter().map(|knob| (*knob, get(*knob))).collect()),
            clients: env.options.some(Knob::Clients),
            build: env.build.clone(),
            oracles: env.oracles.clone(),
            sim: env.sim.clone(),
            flow: env.flow,
        }
    }

    fn knob(&self, knob: Knob) -> u64 {
        self.rates.get(&knob).copied().unwrap_or_default()
    }

    fn often(&self, knob: Knob) -> bool {
        held(&self.draws).once_in(self.knob(knob), 1_000)
    }

    fn below(&self, n: u64) -> u64 {
        held(&self.draws).next().checked_rem(n).unwrap_or(0)
    }

    /// No client waits for an answer any more.
    pub(super) fn over(&self) -> bool {
        held(&self.requests).iter().all(|request| request.state == RequestState::Over)
    }

    /// Sets the clients to work with processes; those whose last one died ask again.
    pub(super) fn start(&self, next_process: &NextProcess) {
        for request in
            held(&self.requests).iter_mut().filter(|request| request.state == RequestState::InHand)
        {
            request.state = RequestState::Waits;
            request.unknown = true;
        }
        for _ in 0..self.clients {
            let (clients, next_process) = (self.clone(), next_process.clone());
            self.sim.start(async move {
                while let Some(n) = clients.next() {
                    clients.serve(&next_process, n).await;
                    let think = clients.below(clients.knob(Knob::Think) + 1);
                    clients.sim.sleep(think).await;
                }
            });
        }
    }

    fn next(&self) -> Option<usize> {
        let mut requests = held(&self.requests);
        let n = requests.iter().position(|request| request.state == RequestState::Waits)?;
        requests.get_mut(n)?.state = RequestState::InHand;
        Some(n)
    }

    fn get(&self, n: usize) -> Option<ClientRequest> {
        held(&self.requests).get(n).cloned()
    }

    fn change(&self, n: usize, change: impl FnOnce(&mut ClientRequest)) {
        if let Some(request) = held(&self.requests).get_mut(n) {
            change(request);
        }
    }

    /// One request to its end, or until the client goes away.
    async fn serve(&self, next_process: &NextProcess, n: usize) {
        let Some(request) = self.get(n) else { return };
        if self.often(Knob::Leaves) {
            self.change(n, |request| request.state = RequestState::Over);
            let (process, sim) = (next_process(), self.sim.clone());
            let asked = self.build.create(process.engine.clone(), self.flow, request.terms);
            let wait = self.below(60);
            // the process hears of it and lets go
            over(&process, async move { within(&sim, wait, asked).await }).await;
            return;
        }
        if self.often(Knob::Bodies) {
            self.change(n, |request| request.unknown = true);
            let mut other = request.clone();
            for party in other.terms.parties_mut() {
                party.amount = Amount(party.amount.0 + 1);
            }
            self.beside(next_process, other);
        }
        if self.often(Knob::Repeats) {
            self.change(n, |request| request.unknown = true);
            self.beside(next_process, request.clone());
        }
        let mut tries = 0_u32;
        while !self.once(next_process, n).await {
            tries += 1;
            let doubled = tries / HASTY;
            let wait = 50 + self.below(400);
            self.sim.sleep(wait << if doubled < DOUBLED { doubled } else { DOUBLED }).await;
        }
        self.change(n, |request| request.state = RequestState::Over);
        if self.often(Knob::Again) {
            let wait = self.below(60_000);
            let (clients, next_process) = (self.clone(), next_process.clone());
            self.sim.start(async move {
                clients.sim.sleep(wait).await;
                clients.beside(&next_process, request);
            });
        }
    }

    /// What a process answers to a request; the outcome is unknown where it died meanwhile.
    async fn send(&self, process: &Process, request: &ClientRequest) -> Result<Accepted, Refused> {
        let asked = self.build.create(process.engine.clone(), self.flow, request.terms.clone());
        let came = over(process, asked).await;
        came.unwrap_or_else(|| Err(Refused::Unknown(Cause::of("CUT"))))
    }

    /// A request that is not repeated.
    fn beside(&self, next_process: &NextProcess, request: ClientRequest) {
        let (clients, process) = (self.clone(), next_process());
        self.sim.start(async move {
            let floor = clients.oracles.floor(&request.key);
            match clients.send(&process, &request).await {
                Ok(Accepted { record, .. }) => {
                    clients.oracles.told(
                        &request.key,
                        &request.terms,
                        floor,
                        ClientView::Transfer(&record),
                    );
                }
                Err(Refused::Mismatch(record)) => {
                    clients.oracles.told(
                        &request.key,
                        &request.terms,
                        floor,
                        ClientView::Mismatch(&record),
                    );
                }
                Err(Refused::Code(_) | Refused::Unknown(_)) => {}
            }
        });
    }

    /// Asks once; true where there is nothing left to ask.
    async fn once(&self, next_process: &NextProcess, n: usize) -> bool {
        let Some(request) = self.get(n) else { return true };
        let floor = self.oracles.floor(&request.key);
        let process = next_process();
        match self.send(&process, &request).await {
            Ok(Accepted { record, .. }) => {
                self.oracles.told(
                    &request.key,
                    &request.terms,
                    floor,
                    ClientView::Transfer(&record),
                );
                process.engine.flows().table(self.flow).ends(record.head.state)
            }
            Err(Refused::Code(Code::Overloaded | Code::Halted)) => false,
            Err(Refused::Code(_)) => {
                // a repeat, or what was not answered, may have been taken in before
                let unknown = self.get(n).is_none_or(|request| request.unknown);
                if !unknown {
                    self.oracles.told(&request.key, &request.terms, floor, ClientView::Refused);
                }
                true
            }
            Err(Refused::Unknown(_)) => {
                self.change(n, |request| request.unknown = true);
                false
            }
            Err(Refused::Mismatch(record)) => {
                self.oracles.told(
                    &request.key,
                    &request.terms,
                    floor,
                    ClientView::Mismatch(&record),
                );
                true
            }
        }
    }

    /// Each client that was answered asks once more, long after, and gets the same answer.
    pub(super) async fn all_again(self, process: Process) {
        let requests = held(&self.requests).clone();
        for request in requests {
            let (engine, floor) = (process.engine.clone(), self.oracles.floor(&request.key));
            if let Ok(Accepted { record, .. }) =
                self.build.create(engine, self.flow, request.terms.clone()).await
            {
                // a client that went away was never told, and may be now
                self.oracles.told(
                    &request.key,
                    &request.terms,
                    floor,
                    ClientView::Transfer(&record),
                );
            }
        }
    }
}
