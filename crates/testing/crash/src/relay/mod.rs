//! The relay campaign: two servers on one PostgreSQL before a local chain that executes a real token and whose
//! endpoints lose, delay, repeat, deny and, one of three, lie, while clients request payments and a wallet signs with the relay's keys.
//! The driver kills a server or the database, by chance and at four named moments.

mod chain;
mod clients;
mod oracle;
mod services;

use crate::aim::Aim;
use crate::chain::chance;
use crate::chain::moments::Moment;
use crate::rng::Rng;
use crate::two_servers::Load;
use crate::{Outcome, clock};
pub use oracle::Ends;
use serde_json::{Value, json};
use services::Services;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// Number of kills after which every acknowledged transfer is checked again.
const ALL_AFTER: u64 = 10;
/// The methods that send a transaction.
const SENDS: [&str; 2] = ["send_tx", "broadcast_tx_async"];
/// A token lives an hour.
const TOKEN_AFTER: Duration = Duration::from_secs(1_500);

/// A fault that the campaign makes itself, which its oracles must find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrongStore {
    /// An acknowledged transfer is gone.
    Lost,
    /// A payment and its attempt are forgotten.
    Forgotten,
}

/// The programs under test, and where their folders go.
#[derive(Debug)]
pub struct Site<'a> {
    /// The binary that is killed.
    pub program: &'a Path,
    /// The program of the local chain.
    pub devnet: &'a Path,
    /// All folders are below this one.
    pub below: &'a Path,
}

/// What the campaign came to.
#[derive(Debug, Default, Clone)]
pub struct Killed {
    /// How many kills there were.
    pub kills: u64,
    /// Of them with a transfer that had not ended.
    pub open: u64,
    /// By what was killed, or at which moment.
    pub by: BTreeMap<&'static str, u64>,
    /// Attempts that were made.
    pub attempts: u64,
    /// Transactions that another program signed with a key of the relay.
    pub wallets: u64,
    /// How often one endpoint of three began to lie.
    pub lies: u64,
    /// Transfers that were acknowledged, by their ends.
    pub ends: Ends,
    /// How long it took.
    pub took: Duration,
}

/// Kills this number of times while clients ask for payments, then lets everything come to its end and holds it
/// against the oracles. With a wrong store its fault is made in the middle.
///
/// # Errors
/// What was lost, paid twice or is left, or what stopped the run.
pub fn run(
    site: &Site<'_>,
    kills: u64,
    mut wrong: Option<WrongStore>,
    mut rng: Rng,
) -> Outcome<Killed> {
    let mut services = Services::start(site.program, site.devnet, site.below)?;
    let load = Load::start(&services.servers, &mut rng);
    let (begun, mut token) = (clock::now(), clock::now());
    let mut moments = Moment::ALL.into_iter().cycle();
    let mut killed = Killed::default();
    let aim = Aim::of(kills);
    while aim.goes_on(killed.kills, killed.open) {
        if token.elapsed() > TOKEN_AFTER {
            services.servers.renew()?;
            token = clock::now();
        }
        let chain = &services.chain.process;
        for endpoint in chain.endpoints() {
            chance::trouble(chain, endpoint, &SENDS, &mut rng)?;
        }
        // what one says is kept for a while: the next one must not lie alike
        let liar = chain.endpoints().len() - 1;
        killed.lies += u64::from(chance::lie(chain, liar, &lies(), &mut rng)?);
        if killed.kills % 4 == 1 {
            services.chain.wallet_signs(rng.below(chain::KEYS))?;
            killed.wallets += 1;
        }
        let on = Duration::from_micros(rng.below(1_500_000));
        load.works(&mut services.servers, on)?;
        let moment = (killed.kills % 2 == 1).then(|| moments.next()).flatten();
        let name = match moment {
            Some(moment) => services.kill_at(moment)?,
            None => chance::kill(&mut services.servers, &mut rng)?,
        };
        killed.kills += 1;
        *killed.by.entry(name).or_default() += 1;
        killed.open += u64::from(services.open_transfers()? > 0);
        services.servers.all_run()?;
        let spoilt = wrong.take_if(|_| killed.kills > kills / 2);
        if let Some(wrong) = spoilt {
            services.spoil(wrong)?;
        }
        let everything = spoilt.is_some() || killed.kills.is_multiple_of(ALL_AFTER);
        oracle::kept(&services, &load, everything)?;
        if killed.kills.is_multiple_of(10) {
            say(&format!("{} kills, {:?}", killed.kills, killed.by));
        }
    }
    services
        .chain
        .process
        .endpoints()
        .try_for_each(|endpoint| services.chain.process.calm(endpoint))?;
    load.end(&services.servers)?;
    killed.ends = oracle::settle(&services, &load)?;
    killed.attempts = services.attempts()?.all;
    services.servers.stop()?;
    killed.took = begun.elapsed();
    aim.met(killed.kills, killed.open)?;
    all_met(&killed).map(|()| killed)
}

/// A word to the terminal.
#[expect(clippy::print_stdout, reason = "the campaign speaks to its terminal")]
fn say(what: &str) {
    println!("relay: {what}");
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
    let keys = "query view_access_key_list";
    let no_block = json!({ "set": "11111111111111111111111111111112" });
    [
        json!({ "kind": "silent" }),
        edited("block final", "/header/hash", no_block),
        edited("block final", "/header/height", json!({ "add": 1_000 })),
        edited(keys, "/keys/*/access_key/nonce", json!({ "add": 1_000 })),
        edited(keys, "/keys/*/access_key/nonce", json!({ "add": -1 })),
        edited(keys, "/keys", json!({ "set": [] })),
    ]
}

/// A run in which something never happened proves nothing about it.
fn all_met(killed: &Killed) -> Outcome {
    let missed = Moment::ALL.iter().find(|moment| !killed.by.contains_key(moment.name()));
    if let Some(missed) = missed.filter(|_| killed.kills >= 16) {
        return Err(format!("no kill was `{}`: {:?}", missed.name(), killed.by));
    }
    if killed.ends.completed == 0 || killed.ends.failed == 0 {
        return Err(format!("an end was never met: {:?}", killed.ends));
    }
    Ok(())
}
