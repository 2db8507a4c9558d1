//! The swap campaign: two servers on one PostgreSQL before a local Solana that executes the real token program and whose
//! endpoints lose, delay, repeat, deny and, one of three at a time, lie, while customers pay into the vault. No adapter to Nexus is
//! there, so each deposit is kept as dust or given back, once. The driver kills a server or the database, by chance and at
//! four named moments.

mod chain;
mod customers;
mod oracle;
mod services;

use crate::aim::Aim;
use crate::chain::chance;
use crate::chain::moments::Moment;
use crate::relay::Site;
use crate::rng::Rng;
use crate::{Outcome, clock};
use customers::Customers;
pub use oracle::Ends;
use serde_json::{Value, json};
use services::Services;
use std::collections::BTreeMap;
use std::time::Duration;

/// The methods that send a transaction.
const SENDS: [&str; 1] = ["sendTransaction"];

/// A fault that the campaign makes itself, which its oracles must find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrongStore {
    /// A deposit is gone, and its key with it.
    Lost,
    /// A refund and its attempt are forgotten.
    Forgotten,
}

/// What the campaign came to.
#[derive(Debug, Default, Clone)]
pub struct Killed {
    /// How many kills there were.
    pub kills: u64,
    /// Of them with a swap that had not ended.
    pub open: u64,
    /// By what was killed, or at which moment.
    pub by: BTreeMap<&'static str, u64>,
    /// Attempts that were made.
    pub attempts: u64,
    /// How often one endpoint of three began to lie.
    pub lies: u64,
    /// Deposits by their ends.
    pub ends: Ends,
    /// How long it took.
    pub took: Duration,
}

/// Kills this number of times while customers pay, until there are as many deposits, then lets everything come to its end
/// and holds it against the chain. With a wrong store its fault is made in the middle.
///
/// # Errors
/// What was lost, given back twice or is left, or what stopped the run.
pub fn run(
    site: &Site<'_>,
    kills: u64,
    deposits: u64,
    mut wrong: Option<WrongStore>,
    mut rng: Rng,
) -> Outcome<Killed> {
    let mut services = Services::start(site.program, site.devnet, site.below)?;
    let customers = Customers::start(&services.chain, rng.fork());
    let begun = clock::now();
    let mut moments = Moment::ALL.into_iter().cycle();
    let mut killed = Killed::default();
    let aim = Aim::of(kills);
    while aim.goes_on(killed.kills, killed.open) {
        let chain = &services.chain.process;
        for endpoint in chain.endpoints() {
            chance::trouble(chain, endpoint, &SENDS, &mut rng)?;
        }
        // each of them in its turn
        let liar = usize::try_from(killed.kills).unwrap_or_default() % chain.endpoints().len();
        killed.lies += u64::from(chance::lie(chain, liar, &lies(), &mut rng)?);
        std::thread::sleep(Duration::from_millis(500 + rng.below(2_500)));
        let moment = (killed.kills % 2 == 1).then(|| moments.next()).flatten();
        let name = match moment {
            Some(moment) => services.kill_at(moment)?,
            None => chance::kill(&mut services.servers, &mut rng)?,
        };
        killed.kills += 1;
        *killed.by.entry(name).or_default() += 1;
        killed.open += u64::from(services.open_swaps()? > 0);
        services.servers.all_run()?;
        let spoilt = wrong.take_if(|_| killed.kills > kills / 2);
        if let Some(wrong) = spoilt {
            services.spoil(wrong)?;
        }
        oracle::kept(&services)?;
        if killed.kills.is_multiple_of(10) {
            say(&format!("{} kills, {:?}", killed.kills, killed.by));
        }
    }
    services.calm()?;
    customers.until(deposits)?;
    let paid = customers.end()?;
    killed.ends = oracle::settle(&services, &paid)?;
    killed.attempts = services.attempts()?.all;
    services.servers.stop()?;
    killed.took = begun.elapsed();
    aim.met(killed.kills, killed.open)?;
    all_met(&killed).map(|()| killed)
}

/// A word to the terminal.
#[expect(clippy::print_stdout, reason = "the campaign speaks to its terminal")]
fn say(what: &str) {
    println!("swap: {what}");
}

/// What an endpoint shows otherwise than it is.
fn lies() -> [Value; 6] {
    let edited = |method: &str, at: &str, change: Value| {
        let mut edit = json!({ "at": at });
        if let (Some(edit), Value::Object(change)) = (edit.as_object_mut(), change) {
            edit.extend(change);
        }
        json!({ "kind": "edited", "edits": [edit], "methods": [method] })
    };
    [
        json!({ "kind": "unknown" }),
        json!({ "kind": "unknown_until" }),
        json!({ "kind": "outcome", "err": null }),
        json!({ "kind": "other_chain", "genesis_hash": "11111111111111111111111111111112" }),
        edited("getSignaturesForAddress", "/", json!({ "set": [] })),
        edited("getBlockTime", "/", json!({ "add": 1_000_000 })),
    ]
}

/// A run in which something never happened proves nothing about it.
fn all_met(killed: &Killed) -> Outcome {
    let missed = Moment::ALL.iter().find(|moment| !killed.by.contains_key(moment.name()));
    if let Some(missed) = missed.filter(|_| killed.kills >= 16) {
        return Err(format!("no kill was `{}`: {:?}", missed.name(), killed.by));
    }
    if killed.ends.given_back == 0 || killed.ends.kept == 0 {
        return Err(format!("an end was never met: {:?}", killed.ends));
    }
    Ok(())
}
