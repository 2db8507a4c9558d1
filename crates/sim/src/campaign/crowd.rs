//! The clients: many at once, each with a key for what it asks, and after anything unclear the same
//! key again.

use super::line;
use super::stage::{Process, Stage};
use super::witness::{Shown, Witness};
use super::{Build, Knob};
use crate::world::{Sim, SplitMix};
use engine::{Accepted, Refused};
use kernel::answer::Cause;
use kernel::code::Code;
use kernel::ids::{AssetId, FlowId, LedgerId, Millis, UserId};
use kernel::money::Amount;
use kernel::ports::clock::Clock;
use kernel::record::{Account, Binding, Party, System, Terms};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

/// What moves.
pub(super) const ASSETS: [AssetId; 2] = [AssetId(3), AssetId(5)];
/// What each user is given of each.
pub(super) const GIVEN: u128 = 20_000;
/// The most that can be asked for of an asset of few decimals.
const CEILING: u128 = 9_223_372_036_854_775_807;

/// So many tries of a client come one like the other; then it waits twice as long each such time,
/// as whoever has a clock that ran an hour ahead behind it has to.
const HASTY: u32 = 8;
/// So often that is doubled at most: to half a minute.
const DOUBLED: u32 = 6;

/// How a request stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stand {
    Waits,
    InHand,
    Over,
}

/// One transfer that is asked for.
#[derive(Debug, Clone)]
struct Ask {
    terms: Terms,
    key: Arc<str>,
    stand: Stand,
    /// Something was answered, or not answered, that leaves open whether it was opened.
    unclear: bool,
}

/// Everybody who asks. A handle: clones are the same one.
#[derive(Clone)]
pub(super) struct Crowd {
    asks: Arc<Mutex<Vec<Ask>>>,
    draws: Arc<Mutex<SplitMix>>,
    rates: Arc<BTreeMap<Knob, u64>>,
    clients: u64,
    build: Arc<dyn Build>,
    witness: Witness,
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
    let party = |ledger| Party { system: System::Ledger(ledger), account: Account::User(user) };
    let binding = Binding { scope: "crowd|1".into(), key: key.into(), fingerprint: [0; 32] };
    Terms {
        principal: "crowd|1".into(),
        user,
        binding: Some(binding),
        source: party(from),
        target: party(to),
        asset,
        amount: Amount(amount),
        fee: Amount::ZERO,
        deadline: None,
        memo: None,
        reference: None,
        metadata: BTreeMap::new(),
        day: None,
    }
}

/// A request that a seed draws.
fn drawn(n: u64, draws: &mut SplitMix, (users, edges): (u64, u64)) -> Ask {
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
    Ask { terms, key, stand: Stand::Waits, unclear: false }
}

/// The value of a future, unless so much time passes before.
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
        Some(sim) => line::call(sim, asked).await,
        None => Some(asked.await),
    }
}

/// Where a client asks next.
pub(super) type Doors = Arc<dyn Fn() -> Process + Send + Sync>;

/// The one door there is.
pub(super) fn one(process: &Process) -> Doors {
    let process = process.clone();
    Arc::new(move || process.clone())
}

impl Crowd {
    /// A crowd that has asked for nothing yet.
    pub(super) fn new(stage: &Stage) -> Self {
        let mut draws = SplitMix(stage.options.seed ^ 5);
        let get = |knob| stage.options.get(knob);
        let of = (stage.options.some(Knob::Users), get(Knob::Edges));
        let asks = (0..get(Knob::Transfers)).map(|n| drawn(n, &mut draws, of)).collect();
        Self {
            asks: Arc::new(Mutex::new(asks)),
            draws: Arc::new(Mutex::new(draws)),
            rates: Arc::new(Knob::ALL.iter().map(|knob| (*knob, get(*knob))).collect()),
            clients: stage.options.some(Knob::Clients),
            build: stage.build.clone(),
            witness: stage.witness.clone(),
            sim: stage.sim.clone(),
            flow: stage.flow,
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

    /// Nobody waits for an answer any more.
    pub(super) fn over(&self) -> bool {
        held(&self.asks).iter().all(|ask| ask.stand == Stand::Over)
    }

    /// Sets the clients to work with processes; those whose last one died ask again.
    pub(super) fn ask(&self, doors: &Doors) {
        for ask in held(&self.asks).iter_mut().filter(|ask| ask.stand == Stand::InHand) {
            ask.stand = Stand::Waits;
            ask.unclear = true;
        }
        for _ in 0..self.clients {
            let (crowd, doors) = (self.clone(), doors.clone());
            self.sim.start(async move {
                while let Some(n) = crowd.next() {
                    crowd.serve(&doors, n).await;
                    let think = crowd.below(crowd.knob(Knob::Think) + 1);
                    crowd.sim.sleep(think).await;
                }
            });
        }
    }

    fn next(&self) -> Option<usize> {
        let mut asks = held(&self.asks);
        let n = asks.iter().position(|ask| ask.stand == Stand::Waits)?;
        asks.get_mut(n)?.stand = Stand::InHand;
        Some(n)
    }

    fn get(&self, n: usize) -> Option<Ask> {
        held(&self.asks).get(n).cloned()
    }

    fn change(&self, n: usize, change: impl FnOnce(&mut Ask)) {
        if let Some(ask) = held(&self.asks).get_mut(n) {
            change(ask);
        }
    }

    /// One request to its end, or until the client goes away.
    async fn serve(&self, doors: &Doors, n: usize) {
        let Some(ask) = self.get(n) else { return };
        if self.often(Knob::Leaves) {
            self.change(n, |ask| ask.stand = Stand::Over);
            let (process, sim) = (doors(), self.sim.clone());
            let asked = self.build.create(process.engine.clone(), self.flow, ask.terms);
            let wait = self.below(60);
            // the process hears of it and lets go
            over(&process, async move { within(&sim, wait, asked).await }).await;
            return;
        }
        if self.often(Knob::Bodies) {
            self.change(n, |ask| ask.unclear = true);
            let mut other = ask.clone();
            other.terms.amount = Amount(other.terms.amount.0 + 1);
            self.beside(doors, other);
        }
        if self.often(Knob::Repeats) {
            self.change(n, |ask| ask.unclear = true);
            self.beside(doors, ask.clone());
        }
        let mut tries = 0_u32;
        while !self.once(doors, n).await {
            tries += 1;
            let doubled = tries / HASTY;
            let wait = 50 + self.below(400);
            self.sim.sleep(wait << if doubled < DOUBLED { doubled } else { DOUBLED }).await;
        }
        self.change(n, |ask| ask.stand = Stand::Over);
        if self.often(Knob::Again) {
            let wait = self.below(60_000);
            let (crowd, doors) = (self.clone(), doors.clone());
            self.sim.start(async move {
                crowd.sim.sleep(wait).await;
                crowd.beside(&doors, ask);
            });
        }
    }

    /// What a process answers to a request; nobody knows where it died meanwhile.
    async fn asks(&self, process: &Process, ask: &Ask) -> Result<Accepted, Refused> {
        let asked = self.build.create(process.engine.clone(), self.flow, ask.terms.clone());
        let came = over(process, asked).await;
        came.unwrap_or_else(|| Err(Refused::Unknown(Cause::of("CUT"))))
    }

    /// A request that nobody repeats.
    fn beside(&self, doors: &Doors, ask: Ask) {
        let (crowd, process) = (self.clone(), doors());
        self.sim.start(async move {
            let floor = crowd.witness.floor(&ask.key);
            match crowd.asks(&process, &ask).await {
                Ok(Accepted { record, .. }) => {
                    crowd.witness.told(&ask.key, &ask.terms, floor, Shown::Transfer(&record));
                }
                Err(Refused::Mismatch(record)) => {
                    crowd.witness.told(&ask.key, &ask.terms, floor, Shown::Mismatch(&record));
                }
                Err(Refused::Code(_) | Refused::Unknown(_)) => {}
            }
        });
    }

    /// Asks once; true where there is nothing left to ask.
    async fn once(&self, doors: &Doors, n: usize) -> bool {
        let Some(ask) = self.get(n) else { return true };
        let floor = self.witness.floor(&ask.key);
        let process = doors();
        match self.asks(&process, &ask).await {
            Ok(Accepted { record, .. }) => {
                self.witness.told(&ask.key, &ask.terms, floor, Shown::Transfer(&record));
                process.engine.flows().table(self.flow).ends(record.head.state)
            }
            Err(Refused::Code(Code::Overloaded | Code::Halted)) => false,
            Err(Refused::Code(_)) => {
                // a repeat, or what was not answered, may have been taken in before
                let unclear = self.get(n).is_none_or(|ask| ask.unclear);
                if !unclear {
                    self.witness.told(&ask.key, &ask.terms, floor, Shown::Refused);
                }
                true
            }
            Err(Refused::Unknown(_)) => {
                self.change(n, |ask| ask.unclear = true);
                false
            }
            Err(Refused::Mismatch(record)) => {
                self.witness.told(&ask.key, &ask.terms, floor, Shown::Mismatch(&record));
                true
            }
        }
    }

    /// Whoever was answered asks once more, long after, and is told the same.
    pub(super) async fn all_again(self, process: Process) {
        let asks = held(&self.asks).clone();
        for ask in asks {
            let (engine, floor) = (process.engine.clone(), self.witness.floor(&ask.key));
            if let Ok(Accepted { record, .. }) =
                self.build.create(engine, self.flow, ask.terms.clone()).await
            {
                // a client that went away was never told, and may be now
                self.witness.told(&ask.key, &ask.terms, floor, Shown::Transfer(&record));
            }
        }
    }
}
