//! A proxy between clients and a PostgreSQL server: it cuts the connection at the worst moment of a COMMIT, or lets
//! it fall silent.

mod line;
mod silence;
mod wire;

pub use silence::{Direction, Healing, Side, Silence};

use crate::Outcome;
use line::Line;
use silence::Open;
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// What befalls a connection at a COMMIT. To the client all of them look the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strike {
    /// It was forwarded and has happened; its reply is lost.
    ReplyLost,
    /// It was forwarded, and the line is cut at once: the process cannot know.
    Cut,
    /// It never reached the server.
    NeverSent,
    /// It was forwarded; its reply is swallowed, and the connection stays open and silent.
    ReplySwallowed,
}

/// What has passed so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Connections that were made through it.
    pub connections: u64,
    /// Those that are open now.
    pub open: u64,
    /// COMMITs that clients sent.
    pub commits: u64,
    /// COMMITs that were struck.
    pub struck: u64,
    /// Bytes from clients, those that are held back too.
    pub sent: u64,
    /// Bytes from the server, the same.
    pub received: u64,
}

/// What the lines share.
#[derive(Debug)]
struct ProxyState {
    state: Mutex<State>,
    /// Rung when bytes flow again, and when a line or the proxy ends.
    bell: Condvar,
    over: AtomicBool,
    connections: AtomicU64,
    commits: AtomicU64,
    struck: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    /// Where new connections lead, as `host:port`.
    server: String,
    held: bool,
    refusing: bool,
    /// What befalls the next COMMITs, in their order.
    strikes: Vec<Strike>,
    /// The open connections, by their number.
    open: BTreeMap<u64, Open>,
    /// What befalls connections that are made now.
    silences: Vec<Silence>,
}

/// A proxy on a port of its own; it ends, with all its connections, with this value.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    proxy: Arc<ProxyState>,
}

impl Proxy {
    /// Listens in front of a server at `host:port`.
    ///
    /// # Errors
    /// There is no port.
    pub fn start(server: &str) -> Outcome<Self> {
        let fault = |fault: std::io::Error| format!("no port for a proxy: {fault}");
        let listener = TcpListener::bind("127.0.0.1:0").map_err(fault)?;
        let address = listener.local_addr().map_err(fault)?;
        let proxy = Arc::new(ProxyState {
            state: Mutex::new(State { server: server.to_owned(), ..State::default() }),
            bell: Condvar::new(),
            over: AtomicBool::new(false),
            connections: AtomicU64::new(0),
            commits: AtomicU64::new(0),
            struck: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
        });
        let lines = proxy.clone();
        std::thread::spawn(move || listen(&listener, &lines));
        Ok(Self { address, proxy })
    }

    /// Where it listens, as `host:port`.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// Cuts all connections, in whatever they are doing.
    pub fn cut(&self) {
        self.proxy.cut();
    }

    /// Whether new connections are closed at once.
    pub fn refuse(&self, refusing: bool) {
        self.proxy.state().refusing = refusing;
    }

    /// New connections lead to another server, at `host:port`; those that are open stay where they are.
    pub fn lead_to(&self, server: &str) {
        server.clone_into(&mut self.proxy.state().server);
    }

    /// What befalls the next COMMITs, one after the other, from any process.
    pub fn strike(&self, at: &[Strike]) {
        self.proxy.state().strikes.extend_from_slice(at);
    }

    /// Keeps every byte back, of both sides, until [`Proxy::release`].
    pub fn hold(&self) {
        self.proxy.state().held = true;
    }

    /// Lets the bytes flow again.
    pub fn release(&self) {
        self.proxy.state().held = false;
        self.proxy.bell.notify_all();
    }

    /// What has passed so far.
    pub fn seen(&self) -> Seen {
        let read = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
        let proxy = &self.proxy;
        Seen {
            connections: read(&proxy.connections),
            open: u64::try_from(proxy.state().open.len()).unwrap_or(u64::MAX),
            commits: read(&proxy.commits),
            struck: read(&proxy.struck),
            sent: read(&proxy.sent),
            received: read(&proxy.received),
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.proxy.over.store(true, Ordering::SeqCst);
        self.release();
        self.cut();
        // wakes the one who accepts
        let _wake = TcpStream::connect(self.address);
    }
}

impl ProxyState {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cut(&self) {
        for open in self.state().open.values_mut() {
            open.cut();
        }
        self.bell.notify_all();
    }

    /// Waits while the bytes of a connection are held back.
    fn pass(&self, number: u64, direction: Direction) {
        let kept = |state: &mut State| {
            let silent = state.open.get(&number).is_some_and(|open| open.silent(direction));
            (state.held || silent) && !self.over.load(Ordering::SeqCst)
        };
        drop(self.bell.wait_while(self.state(), kept));
    }

    fn next_strike(&self) -> Option<Strike> {
        let mut state = self.state();
        let next = (!state.strikes.is_empty()).then(|| state.strikes.remove(0));
        drop(state);
        if next.is_some() {
            self.struck.fetch_add(1, Ordering::SeqCst);
        }
        next
    }
}

fn listen(listener: &TcpListener, proxy: &Arc<ProxyState>) {
    for client in listener.incoming() {
        if proxy.over.load(Ordering::SeqCst) {
            return;
        }
        let Ok(client) = client else { continue };
        if proxy.state().refusing {
            continue;
        }
        let number = proxy.connections.fetch_add(1, Ordering::SeqCst);
        let proxy = proxy.clone();
        // a server that cannot be reached closes the client's connection
        std::thread::spawn(move || Line::open(number, client, &proxy).map(Line::run));
    }
}
