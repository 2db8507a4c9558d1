//! An HTTP hop between a service and the service that it calls: a gateway, a cache, a balancer. It forwards every
//! message until a test has it answer by itself, keep, repeat or confuse messages.

mod carry;
mod message;

use crate::Outcome;
use message::Message;
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What becomes of one request that the hop would pass on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// It is not delivered; the connection is closed.
    LostRequest,
    /// It is delivered; the connection is closed instead of an answer.
    LostReply,
    /// The connection is closed, and the request kept until [`Hop::deliver_late`].
    Late,
    /// It is delivered twice; the second answer is passed on.
    Duplicate,
    /// It is not delivered; the last answer on the same route is given again.
    Cached,
    /// It is delivered; its answer waits for the next such request, which gets it instead of its own.
    Reordered,
}

impl Fault {
    pub const ALL: [Self; 6] = [
        Self::LostRequest,
        Self::LostReply,
        Self::Late,
        Self::Duplicate,
        Self::Cached,
        Self::Reordered,
    ];
}

/// What the connections share.
#[derive(Debug, Default)]
struct State {
    target: Option<SocketAddr>,
    /// Every request is answered so by the hop itself, and none is delivered.
    uniform: Option<(u16, String)>,
    /// What the next requests meet whose method and path begin so, in their order.
    planned: Vec<(String, Fault)>,
    chance: Option<Chance>,
    /// The last answer on each route.
    answers: BTreeMap<String, Message>,
    /// The answer that waits for the next request that is reordered.
    waiting: Option<Message>,
    late: Vec<Message>,
    met: BTreeMap<Fault, u64>,
    uniformly: u64,
    passed: u64,
}

/// One request in `one_in` meets one of these faults.
#[derive(Debug)]
struct Chance {
    one_in: u64,
    dice: u64,
    faults: Vec<Fault>,
}

impl Chance {
    fn roll(&mut self, sides: u64) -> u64 {
        // Knuth's MMIX constants; the upper bits are the good ones
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.dice >> 33).checked_rem(sides).unwrap_or(0)
    }

    fn draw(&mut self) -> Option<Fault> {
        let unlucky = self.roll(self.one_in) == 0;
        let which = self.roll(u64::try_from(self.faults.len()).ok()?);
        let fault = self.faults.get(usize::try_from(which).ok()?).copied();
        fault.filter(|_| unlucky)
    }
}

impl State {
    /// What a request on this route meets.
    fn fault(&mut self, route: &str) -> Option<Fault> {
        let planned = self.planned.iter().position(|(begins, _)| route.starts_with(begins));
        let fault = match planned {
            Some(place) => Some(self.planned.remove(place).1),
            None => self.chance.as_mut().and_then(Chance::draw),
        };
        // an older greeting, list or sum is what a ledger says that forgot, and stops everything, as
        // it should
        let older = |fault: &Fault| matches!(fault, Fault::Cached | Fault::Reordered);
        let fault = fault.filter(|fault| !older(fault) || route.starts_with("POST "))?;
        let times = self.met.entry(fault).or_default();
        *times = times.saturating_add(1);
        Some(fault)
    }
}

/// What has passed so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HopSeen {
    /// Requests that were delivered and answered as they came.
    pub passed: u64,
    /// Requests that the hop answered alike.
    pub uniform: u64,
    /// How often each fault was met.
    pub met: BTreeMap<Fault, u64>,
}

/// A hop on a port of its own; it ends with this value.
#[derive(Debug)]
pub struct Hop {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    over: Arc<AtomicBool>,
}

impl Hop {
    /// Listens before a service at this address, and passes everything on.
    ///
    /// # Errors
    /// There is no port.
    pub fn start(target: SocketAddr) -> Outcome<Self> {
        let fault = |fault: std::io::Error| format!("no port for a hop: {fault}");
        let listener = TcpListener::bind("127.0.0.1:0").map_err(fault)?;
        let address = listener.local_addr().map_err(fault)?;
        let state = Arc::new(Mutex::new(State { target: Some(target), ..State::default() }));
        let over = Arc::new(AtomicBool::new(false));
        let (own, ends) = (state.clone(), over.clone());
        std::thread::spawn(move || {
            for client in listener.incoming() {
                if ends.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(client) = client else { continue };
                let state = own.clone();
                std::thread::spawn(move || carry::run(client, &state));
            }
        });
        Ok(Self { address, state, over })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Where it listens, as `host:port`.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// From now on what is passed on goes there.
    pub fn lead(&self, target: SocketAddr) {
        self.state().target = Some(target);
    }

    /// From now on every request, on whatever route, is answered so and not delivered.
    pub fn answer_all(&self, status: u16, body: &str) {
        self.state().uniform = Some((status, body.to_owned()));
    }

    /// What the next requests meet whose method and path begin so (`POST /deposit`), one after the
    /// other.
    pub fn plan(&self, begins: &str, faults: &[Fault]) {
        let planned = faults.iter().map(|fault| (begins.to_owned(), *fault));
        self.state().planned.extend(planned);
    }

    /// From now on one request in `one_in` meets one of these faults, drawn from this seed.
    pub fn draw(&self, one_in: u64, seed: u64, faults: &[Fault]) {
        let chance = Chance { one_in, dice: seed, faults: faults.to_vec() };
        self.state().chance = Some(chance);
    }

    /// From now on everything is passed on. What was kept stays kept.
    pub fn pass(&self) {
        let mut state = self.state();
        state.uniform = None;
        state.chance = None;
        state.planned.clear();
        state.waiting = None;
    }

    /// Delivers every request that was kept, in the order in which they came; how many. No caller hears
    /// the answers.
    pub fn deliver_late(&self) -> usize {
        let (kept, target) = {
            let mut state = self.state();
            (std::mem::take(&mut state.late), state.target)
        };
        let delivered = kept.iter().filter(|request| carry::ask(target, request).is_some());
        delivered.count()
    }

    /// How many requests are kept.
    pub fn kept(&self) -> usize {
        self.state().late.len()
    }

    /// What has passed so far.
    pub fn seen(&self) -> HopSeen {
        let state = self.state();
        HopSeen { passed: state.passed, uniform: state.uniformly, met: state.met.clone() }
    }
}

impl Drop for Hop {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // wakes the one who accepts
        let _wake = TcpStream::connect(self.address);
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
