//! The server under load, and the load: bare sockets on one thread.

use crate::host::{KEY, Whose};
use crate::load::USERS;
use crate::probe::{Counters, Run, now};
use crate::wire::{Poster, post};
use server::auth::token::Minted;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// A server that runs as long as this lives.
pub(crate) struct Child {
    process: std::process::Child,
    asks: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    address: SocketAddr,
    keys: Arc<AtomicU64>,
}

impl Child {
    pub(crate) fn start(whose: Whose, dir: &Path) -> Result<Self, String> {
        let own = std::env::current_exe().map_err(|e| e.to_string())?;
        let mut process = Command::new(own)
            .args(["host", whose.name()])
            .arg(dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| e.to_string())?;
        let asks = process.stdin.take();
        let out = process.stdout.take().ok_or("no output")?;
        let mut answers = BufReader::new(out);
        let mut line = String::new();
        answers.read_line(&mut line).map_err(|e| e.to_string())?;
        let address = line.split_whitespace().next().and_then(|text| text.parse().ok());
        let address = address.ok_or("the server did not start")?;
        Ok(Self { process, asks, answers, address, keys: Arc::default() })
    }

    fn syncs(&mut self) -> Result<u64, String> {
        let asks = self.asks.as_mut().ok_or("closed")?;
        asks.write_all(b"\n").and_then(|()| asks.flush()).map_err(|e| e.to_string())?;
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(|e| e.to_string())?;
        line.trim().parse().map_err(|_| format!("not a number: {line}"))
    }

    /// Posts over `connections` connections for a time. The costs are the server's alone.
    pub(crate) fn run(&mut self, connections: usize, time: Duration) -> Result<Run, String> {
        let process = self.process.id().to_string();
        let (before, synced, begun) = (Counters::of(&process), self.syncs()?, now());
        let until = begun + time;
        let (address, keys) = (self.address, self.keys.clone());
        let load = std::thread::spawn(move || load(address, &keys, connections, until));
        let took = load.join().map_err(|_| "the load panicked".to_owned())??;
        let elapsed = now().duration_since(begun);
        let cost = Counters::of(&process).since(before);
        Ok(Run::new(took, elapsed, cost, self.syncs()?.saturating_sub(synced)))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.asks = None;
        let _ended = self.process.wait();
    }
}

/// One thread with every connection, so that the load takes no more than one core.
fn load(
    address: SocketAddr,
    keys: &Arc<AtomicU64>,
    connections: usize,
    until: std::time::Instant,
) -> Result<Vec<u32>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|e| e.to_string())?.block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for n in 0..connections {
            let user = u64::try_from(n).unwrap_or(0) % USERS + 1;
            let poster = Poster { path: "/api/v1/internal_transfer", token: token(user)? };
            tasks.spawn(post(address, poster, keys.clone(), until));
        }
        let mut took = Vec::new();
        while let Some(done) = tasks.join_next().await {
            took.extend(done.map_err(|e| e.to_string())?.map_err(|e| e.to_string())?);
        }
        Ok(took)
    })
}

fn token(user: u64) -> Result<String, String> {
    #[expect(clippy::disallowed_methods, reason = "a token is of this hour")]
    let now = std::time::SystemTime::now();
    let now = now.duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs();
    let minted = Minted {
        iss: "portage".to_owned(),
        aud: "portage".to_owned(),
        sub: user.to_string(),
        scope: "transfers:create transfers:read".to_owned(),
        iat: now,
        nbf: now,
        exp: now + 3_000,
    };
    minted.sign("at+jwt", &KEY).map_err(|e| e.to_string())
}
