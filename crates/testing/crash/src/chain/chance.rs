//! What happens by chance before a local chain: an endpoint that is unfair for a while, and a process that is killed.

use crate::Outcome;
use crate::chain::local_chain::LocalChain;
use crate::rng::Rng;
use crate::two_servers::TwoServers;
use serde_json::{Value, json};
use std::time::Duration;

/// What is killed by chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    /// One of the two servers.
    Server(usize),
    /// The database, with all of its processes.
    Database,
    /// Everything but the chain.
    All,
}

impl Victim {
    fn drawn(rng: &mut Rng) -> Self {
        match rng.below(100) {
            0..60 => Self::Server(usize::from(rng.percent(50))),
            60..82 => Self::Database,
            _ => Self::All,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Server(0) => "serve-1",
            Self::Server(_) => "serve-2",
            Self::Database => "postgres",
            Self::All => "all",
        }
    }
}

/// What an endpoint does for a while; the others may be fair, or not. `sends`: the methods that send a transaction.
pub(crate) fn trouble(
    chain: &LocalChain,
    endpoint: usize,
    sends: &[&str],
    rng: &mut Rng,
) -> Outcome {
    chain.calm(endpoint)?;
    if rng.percent(15) {
        chain.lag(endpoint, 2 + rng.below(8))?;
    }
    if rng.percent(25) {
        return Ok(());
    }
    let rules = rules(sends, 1 + rng.below(6));
    rng.one(&rules).map_or(Ok(()), |rule| chain.add(endpoint, rule))
}

/// One endpoint lies until the next kill, in half of all times. Never two at once: two that lie alike are believed.
pub(crate) fn lie(chain: &LocalChain, liar: usize, lies: &[Value], rng: &mut Rng) -> Outcome<bool> {
    let drawn = rng.one(lies).filter(|_| rng.percent(50));
    drawn.map_or(Ok(()), |lie| chain.add(liar, lie))?;
    Ok(drawn.is_some())
}

/// Faults of an endpoint, each for `times` requests.
fn rules(sends: &[&str], times: u64) -> [Value; 10] {
    [
        json!({ "kind": "drop_reply", "times": times }),
        json!({ "kind": "drop_reply", "methods": sends, "times": times }),
        json!({ "kind": "refuse", "times": times }),
        json!({ "kind": "status", "code": 429, "times": times }),
        json!({ "kind": "status", "code": 503, "times": times }),
        json!({ "kind": "delay", "millis": 400, "times": times }),
        json!({ "kind": "timeout", "methods": sends, "times": times }),
        json!({ "kind": "late", "blocks": 12, "times": times }),
        json!({ "kind": "withhold", "times": times }),
        json!({ "kind": "unknown", "times": times }),
    ]
}

/// Kills one of them, or more; the name of what was killed.
pub(crate) fn kill(servers: &mut TwoServers, rng: &mut Rng) -> Outcome<&'static str> {
    let victim = Victim::drawn(rng);
    match victim {
        Victim::Server(n) => servers.kill_server(n)?,
        Victim::Database => servers.postgres.kill9()?,
        Victim::All => {
            servers.postgres.kill9()?;
            servers.kill_all()?;
        }
    }
    // the others go on without it
    std::thread::sleep(Duration::from_micros(rng.below(400_000)));
    if matches!(victim, Victim::Database | Victim::All) {
        servers.postgres.restart()?;
    }
    Ok(victim.name())
}
