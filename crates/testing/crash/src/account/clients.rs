//! Clients that move money between accounts, and repeat each transfer at either server until it is
//! acknowledged.

use super::services::Services;
use crate::Outcome;
use crate::rng::Rng;
use client::types::{NewAccountTransfer, NumberedMovement};
use client::{Client, Error};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;

/// So many at once.
const CLIENTS: u64 = 8;
/// So many accounts move money among them.
pub(super) const ACCOUNTS: u64 = 10;
const FIRST_OWNER: u64 = 4001;
/// What each account is given, in whole units of the asset.
const GIVEN: u64 = 1_000;
/// The same in base units.
pub(super) const GIVEN_UNITS: u64 = GIVEN * 1_000_000;
const CURRENCY: &str = "USDT";
/// An account that does not exist.
const NOWHERE: &str = "ACC-NOWHERE";
/// Between two requests of a client.
const REST: Duration = Duration::from_millis(20);
/// How long the clients may take to learn what became of what they sent.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The number of an account.
pub(super) fn number(n: u64) -> String {
    format!("ACC-{n}")
}

/// A transfer that a client asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub from: String,
    pub to: String,
    /// The amount in base units of the asset.
    pub units: u64,
}

/// A transfer that was acknowledged.
#[derive(Debug, Clone)]
pub(super) struct Sent {
    pub id: String,
    pub wanted: Wanted,
}

/// What clients and driver share.
#[derive(Debug, Default)]
struct Book {
    /// What was acknowledged, by its key.
    sent: BTreeMap<String, Sent>,
    /// Keys that were acknowledged since they were last looked at.
    fresh: Vec<String>,
    broken: Option<String>,
}

/// The clients at work.
#[derive(Debug)]
pub(super) struct Load {
    over: Arc<AtomicBool>,
    book: Arc<Mutex<Book>>,
    tasks: Mutex<JoinSet<()>>,
}

fn open(book: &Mutex<Book>) -> MutexGuard<'_, Book> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Load {
    /// What stops the run.
    pub(super) fn broken(&self) -> Option<String> {
        open(&self.book).broken.clone()
    }

    /// How many transfers were acknowledged.
    pub(super) fn acknowledged(&self) -> usize {
        open(&self.book).sent.len()
    }

    /// Every transfer that was acknowledged, by its key.
    pub(super) fn all(&self) -> BTreeMap<String, Sent> {
        open(&self.book).sent.clone()
    }

    /// Those that were acknowledged since this was called last.
    pub(super) fn fresh(&self) -> BTreeMap<String, Sent> {
        let mut book = open(&self.book);
        let fresh = std::mem::take(&mut book.fresh);
        fresh
            .into_iter()
            .filter_map(|key| Some((key.clone(), book.sent.get(&key)?.clone())))
            .collect()
    }

    /// No more is begun; waits until every request is acknowledged.
    pub(super) fn end(&self, services: &Services) -> Outcome {
        self.over.store(true, Ordering::SeqCst);
        let mut tasks =
            std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        let all = async { while tasks.join_next().await.is_some() {} };
        let ended = async { tokio::time::timeout(TIMEOUT, all).await };
        if services.runtime().block_on(ended).is_err() {
            return Err("clients wait for ever".to_owned());
        }
        self.broken().map_or(Ok(()), Err)
    }
}

/// Opens the accounts, gives each its money, and starts clients.
pub(super) fn start(services: &Services, rng: &mut Rng) -> Outcome<Load> {
    for n in 0..ACCOUNTS {
        let number = number(n);
        let body = json!({
            "number": number, "owner": FIRST_OWNER + n, "currency": CURRENCY, "reason": "campaign",
        });
        services.act("/ops/accounts/pipeline", &body, &format!("open-{n}"))?;
        let movement = NumberedMovement {
            currency: CURRENCY.to_owned(),
            amount: GIVEN.to_string(),
            reference: format!("given-{n}"),
            reason: "campaign".to_owned(),
        };
        let body = serde_json::to_value(&movement).map_err(|error| error.to_string())?;
        let path = format!("/ops/accounts/pipeline/{number}/deposits");
        services.act(&path, &body, &format!("given-{n}"))?;
    }
    let (over, book, keys) = (Arc::default(), Arc::default(), Arc::new(AtomicU64::new(0)));
    let mut tasks = JoinSet::new();
    for _ in 0..CLIENTS {
        let actor = Actor {
            clients: services.clients(),
            rng: rng.fork(),
            keys: Arc::clone(&keys),
            over: Arc::clone(&over),
            book: Arc::clone(&book),
        };
        tasks.spawn_on(actor.run(), services.runtime().handle());
    }
    Ok(Load { over, book, tasks: Mutex::new(tasks) })
}

struct Actor {
    clients: Arc<Mutex<Vec<Client>>>,
    rng: Rng,
    keys: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    book: Arc<Mutex<Book>>,
}

impl Actor {
    async fn run(mut self) {
        while !self.over.load(Ordering::SeqCst) {
            let (key, wanted) = self.drawn();
            if let Err(error) = self.insist(&key, &wanted).await {
                open(&self.book).broken.get_or_insert(error);
                return;
            }
            tokio::time::sleep(REST).await;
        }
    }

    /// A transfer with a key of its own, or one that was acknowledged before.
    fn drawn(&mut self) -> (String, Wanted) {
        if self.rng.percent(12) {
            let book = open(&self.book);
            let at = self.rng.below(u64::try_from(book.sent.len()).unwrap_or(0));
            let before = book.sent.iter().nth(usize::try_from(at).unwrap_or_default());
            if let Some((key, sent)) = before {
                return (key.clone(), sent.wanted.clone());
            }
        }
        let from = self.rng.below(ACCOUNTS);
        let to = (from + 1 + self.rng.below(ACCOUNTS - 1)) % ACCOUNTS;
        let to = if self.rng.percent(4) { NOWHERE.to_owned() } else { number(to) };
        // most can be paid, and some never
        let most = if self.rng.percent(6) { 50_000_000_000 } else { 20_000_000 };
        let units = 1 + self.rng.below(most);
        let key = format!("account-{}", self.keys.fetch_add(1, Ordering::Relaxed));
        (key, Wanted { from: number(from), to, units })
    }

    /// Asks at either server until the transfer is acknowledged.
    async fn insist(&mut self, key: &str, wanted: &Wanted) -> Outcome {
        let new = NewAccountTransfer {
            from_account_number: wanted.from.clone(),
            to_account_number: wanted.to.clone(),
            amount: format!("{}.{:06}", wanted.units / 1_000_000, wanted.units % 1_000_000),
            currency: CURRENCY.to_owned(),
            description: None,
        };
        loop {
            let client = {
                let clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
                self.rng.one(&clients).cloned()
            };
            let client = client.ok_or("no server")?;
            match client.create_account_transfer(&new, key).await {
                Ok(found) => {
                    return self.note(key, Sent { id: found.transfer_id, wanted: wanted.clone() });
                }
                Err(Error::Refused { status: 503, code, .. }) if code != "HALTED" => {}
                Err(Error::Unknown(_) | Error::Unreachable(_)) => {}
                Err(Error::Refused { code, sentence, .. }) => {
                    return Err(format!("{key} {wanted:?} was refused: {code}: {sentence}"));
                }
                Err(Error::Unfit(error)) => return Err(error),
            }
            tokio::time::sleep(REST).await;
        }
    }

    /// A key has one id, whichever client asks and when.
    fn note(&self, key: &str, sent: Sent) -> Outcome {
        let mut book = open(&self.book);
        if let Some(before) = book.sent.get(key) {
            let same = before.id == sent.id;
            return if same { Ok(()) } else { Err(format!("{key} is {before:?} and {sent:?}")) };
        }
        book.fresh.push(key.to_owned());
        book.sent.insert(key.to_owned(), sent);
        Ok(())
    }
}
