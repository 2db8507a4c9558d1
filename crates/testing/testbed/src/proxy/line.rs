//! One connection through the proxy: two threads, one for each direction.

use super::wire::{Client, Host};
use super::{Direction, ProxyState, Strike};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

/// The most bytes that are read at once.
const PIECE: usize = 64 * 1_024;

/// A client's connection and the server's behind it.
#[derive(Debug)]
pub(super) struct Line {
    number: u64,
    client: TcpStream,
    server: TcpStream,
    proxy: Arc<ProxyState>,
    shared: Arc<Shared>,
}

/// What the two directions say to each other.
#[derive(Debug, Default)]
struct Shared {
    /// The server's words are kept from the client.
    mute: AtomicBool,
    /// Answers of one bare byte that are still to come.
    bare: AtomicUsize,
}

impl Line {
    /// Connects to the server; nothing where it cannot be reached.
    pub(super) fn open(number: u64, client: TcpStream, proxy: &Arc<ProxyState>) -> Option<Self> {
        let to = proxy.state().server.clone();
        let server = TcpStream::connect(&to).ok()?;
        // small messages that ask and answer: none of them waits for another
        client.set_nodelay(true).and_then(|()| server.set_nodelay(true)).ok()?;
        let kept = [client.try_clone().ok()?, server.try_clone().ok()?];
        proxy.state().opened(number, kept);
        let shared = Arc::default();
        Some(Self { number, client, server, proxy: proxy.clone(), shared })
    }

    /// Carries bytes both ways until either side is gone.
    pub(super) fn run(self) {
        let (answered, answer) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                self.back(&answered);
                self.close();
            });
            self.forth(&answer);
            self.close();
        });
        self.proxy.state().open.remove(&self.number);
    }

    /// Closes both sides; the other direction sees it also where it was silent.
    fn close(&self) {
        if let Some(open) = self.proxy.state().open.get_mut(&self.number) {
            open.cut();
        }
        self.proxy.bell.notify_all();
    }

    /// From the client to the server. Nothing: either is gone, or the line is to be cut.
    fn forth(&self, answer: &mpsc::Receiver<()>) -> Option<()> {
        let (mut client, mut server) = (&self.client, &self.server);
        let mut said = Client::default();
        let mut buffer = vec![0; PIECE];
        loop {
            let read = client.read(&mut buffer).unwrap_or_default();
            let mut bytes = buffer.get(..read)?;
            self.proxy.sent.fetch_add(u64::try_from(read).ok()?, Ordering::SeqCst);
            loop {
                let (before, commit) = said.take(bytes);
                bytes = &[];
                self.shared.bare.fetch_add(std::mem::take(&mut said.bare), Ordering::SeqCst);
                if let Some(name) = said.name.take() {
                    self.proxy.state().named(self.number, name);
                }
                // also its end: a line that is silent says nothing of it
                self.proxy.pass(self.number, Direction::FromClient);
                if read == 0 {
                    return None;
                }
                server.write_all(&before).ok()?;
                let Some(commit) = commit else { break };
                self.proxy.commits.fetch_add(1, Ordering::SeqCst);
                match self.proxy.next_strike() {
                    None => server.write_all(&commit).ok()?,
                    Some(Strike::ReplySwallowed) => {
                        self.proxy.state().silence(self.number, &Direction::ALL);
                        server.write_all(&commit).ok()?;
                    }
                    Some(strike) => return self.struck(strike, &commit, answer),
                }
            }
        }
    }

    fn struck(&self, strike: Strike, commit: &[u8], answer: &mpsc::Receiver<()>) -> Option<()> {
        self.shared.mute.store(true, Ordering::SeqCst);
        match strike {
            Strike::NeverSent | Strike::ReplySwallowed => {}
            Strike::Cut => (&self.server).write_all(commit).ok()?,
            Strike::ReplyLost => {
                // what was answered before belongs to others
                while answer.try_recv().is_ok() {}
                (&self.server).write_all(commit).ok()?;
                answer.recv().ok()?;
            }
        }
        None
    }

    /// From the server to the client.
    fn back(&self, answered: &mpsc::Sender<()>) -> Option<()> {
        let (mut client, mut server) = (&self.client, &self.server);
        let mut said = Host::default();
        let mut buffer = vec![0; PIECE];
        loop {
            let read = server.read(&mut buffer).unwrap_or_default();
            let bytes = buffer.get(..read)?;
            self.proxy.received.fetch_add(u64::try_from(read).ok()?, Ordering::SeqCst);
            let mut bare = self.shared.bare.swap(0, Ordering::SeqCst);
            if said.answers(bytes, &mut bare) {
                answered.send(()).ok()?;
            }
            self.shared.bare.fetch_add(bare, Ordering::SeqCst);
            self.proxy.pass(self.number, Direction::FromServer);
            if read == 0 {
                return None;
            }
            if !self.shared.mute.load(Ordering::SeqCst) {
                client.write_all(bytes).ok()?;
            }
        }
    }
}
