//! The server under load, and the load: bare sockets on one thread.

use super::host::{Host, KEY};
use super::wire::Wire;
use crate::Outcome;
use crate::load::Spread;
use crate::probe::{micros, now};
use server::auth::token::Minted;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Connections of a load of batches.
const BATCHERS: usize = 4;
/// The most items of one batch.
const MOST: usize = 1_000;

/// A server that runs as long as this lives.
pub(crate) struct Child {
    process: std::process::Child,
    address: SocketAddr,
    keys: Arc<AtomicU64>,
}

impl Child {
    pub(crate) fn start(host: Host, url: &str, folder: &Path) -> Outcome<Self> {
        let own = std::env::current_exe().map_err(|why| why.to_string())?;
        let mut command = Command::new(own);
        command.args(["host", host.name(), url]).arg(folder);
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|why| why.to_string())?;
        let out = process.stdout.take().ok_or("no output")?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line).map_err(|why| why.to_string())?;
        let address = line.trim().parse().map_err(|_| "the server did not start")?;
        Ok(Self { process, address, keys: Arc::default() })
    }

    /// The address that it listens on.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Keeps `level` transfers in flight for a time: over a connection each, or in a few batches. Returns
    /// one duration for each transfer, and the whole.
    pub(crate) async fn run(
        &self,
        batches: bool,
        (spread, level): (Spread, usize),
        time: Duration,
    ) -> Outcome<(Vec<u32>, Duration)> {
        let begun = now();
        let until = begun + time;
        let (address, keys) = (self.address, self.keys.clone());
        let load = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(|why| why.to_string())?;
            runtime.block_on(load(batches, (spread, level), (address, keys), until))
        });
        let joined = tokio::task::spawn_blocking(|| load.join()).await;
        let joined = joined.map_err(|why| why.to_string())?;
        let took = joined.map_err(|_| "the load panicked".to_owned())??;
        Ok((took, now().duration_since(begun)))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ended = self.process.wait();
    }
}

async fn load(
    batches: bool,
    (spread, level): (Spread, usize),
    (address, keys): (SocketAddr, Arc<AtomicU64>),
    until: Instant,
) -> Outcome<Vec<u32>> {
    let mut tasks = tokio::task::JoinSet::new();
    let connections = if batches && level > BATCHERS { BATCHERS } else { level };
    let each = if batches { level.div_ceil(connections) } else { 1 };
    let each = if each > MOST { MOST } else { each };
    for n in 0..connections {
        let keys = keys.clone();
        let user = spread.user(u64::try_from(n).unwrap_or(0));
        let (path, token) = if batches {
            ("/api/v1/internal_transfers", token("bench", "transfers:create transfers:any")?)
        } else {
            ("/api/v1/internal_transfer", token(&user.to_string(), "transfers:create")?)
        };
        tasks.spawn(async move {
            let mut wire = Wire::open(address, path, &token).await?;
            let mut took = Vec::new();
            while now() < until {
                let first = keys.fetch_add(u64::try_from(each).unwrap_or(1), Ordering::Relaxed);
                let body = if batches { many(first, each, spread) } else { one(first, None) };
                let begun = now();
                wire.post(&body, each).await?;
                took.extend(std::iter::repeat_n(micros(begun), each));
            }
            Ok::<_, String>(took)
        });
    }
    let mut took = Vec::new();
    while let Some(done) = tasks.join_next().await {
        took.extend(done.map_err(|why| why.to_string())??);
    }
    Ok(took)
}

fn one(n: u64, user: Option<i64>) -> String {
    let user = user.map_or_else(String::new, |user| format!(r#","user_id":{user}"#));
    format!(
        r#"{{"from":"FUNDING","to":"SPOT","asset":"USDT","amount":"0.001","cid":"h{n}"{user}}}"#
    )
}

fn many(first: u64, items: usize, spread: Spread) -> String {
    let numbers = (first..).take(items);
    let all: Vec<String> = numbers.map(|n| one(n, Some(spread.user(n)))).collect();
    format!(r#"{{"transfers":[{}]}}"#, all.join(","))
}

fn token(sub: &str, scope: &str) -> Outcome<String> {
    #[expect(clippy::disallowed_methods, reason = "a token is of this hour")]
    let now = std::time::SystemTime::now();
    let now = now.duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs();
    let minted = Minted {
        iss: "portage".to_owned(),
        aud: "portage".to_owned(),
        sub: sub.to_owned(),
        scope: scope.to_owned(),
        iat: now,
        nbf: now,
        exp: now + 3_000,
    };
    minted.sign("at+jwt", &KEY).map_err(|why| why.to_string())
}
