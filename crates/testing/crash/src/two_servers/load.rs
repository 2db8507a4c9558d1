//! The clients of two servers, which repeat each request at either until it is acknowledged, and the record of
//! acknowledged requests.

use super::TwoServers;
use crate::rng::Rng;
use crate::{Outcome, clock};
use client::{Client, Error};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;

/// Number of concurrent clients.
const CLIENTS: u64 = 8;
/// Percentage of requests that repeat one that was acknowledged before.
const REPEATED: u64 = 12;
/// Before a kill, more transfers than this number are acknowledged, or [`WAITED`] is over.
const SOME: usize = 16;
/// How long a campaign waits for these transfers.
const WAITED: Duration = Duration::from_secs(10);
/// How long the clients may take to learn what became of what they sent.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A transfer that a client asks for.
pub(crate) trait Request: Debug + Clone + PartialEq + Send + Sync + 'static {
    /// What its keys begin with.
    const KEYS: &'static str;
    /// Between two requests of a client.
    const REST: Duration;

    fn drawn(rng: &mut Rng) -> Self;

    /// Asks once; the name that the service gives it.
    fn ask(&self, client: &Client, key: &str)
    -> impl Future<Output = Result<String, Error>> + Send;
}

/// A transfer that was acknowledged.
#[derive(Debug, Clone)]
pub(crate) struct Sent<R> {
    pub(crate) id: String,
    pub(crate) wanted: R,
}

/// What clients and driver share.
#[derive(Debug)]
struct Book<R> {
    /// What was acknowledged, by its key.
    sent: BTreeMap<String, Sent<R>>,
    /// Keys that were acknowledged since they were last looked at.
    fresh: Vec<String>,
    broken: Option<String>,
}

/// The clients at work.
#[derive(Debug)]
pub(crate) struct Load<R> {
    over: Arc<AtomicBool>,
    book: Arc<Mutex<Book<R>>>,
    tasks: Mutex<JoinSet<()>>,
}

fn open<R>(book: &Mutex<Book<R>>) -> MutexGuard<'_, Book<R>> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<R: Request> Load<R> {
    pub(crate) fn start(servers: &TwoServers, rng: &mut Rng) -> Self {
        let book = Book { sent: BTreeMap::new(), fresh: Vec::new(), broken: None };
        let (over, book, keys) =
            (Arc::default(), Arc::new(Mutex::new(book)), Arc::new(AtomicU64::new(0)));
        let mut tasks = JoinSet::new();
        for _ in 0..CLIENTS {
            let actor = Actor {
                clients: servers.clients(),
                rng: rng.fork(),
                keys: Arc::clone(&keys),
                over: Arc::clone(&over),
                book: Arc::clone(&book),
            };
            tasks.spawn_on(actor.run(), servers.runtime().handle());
        }
        Self { over, book, tasks: Mutex::new(tasks) }
    }

    /// What stops the run.
    pub(crate) fn broken(&self) -> Option<String> {
        open(&self.book).broken.clone()
    }

    /// How many transfers were acknowledged.
    fn acknowledged(&self) -> usize {
        open(&self.book).sent.len()
    }

    /// The clients work until some more is acknowledged, and then for the time `on`; no process ends by itself.
    pub(crate) fn works(&self, servers: &mut TwoServers, on: Duration) -> Outcome {
        let before = self.acknowledged();
        let some =
            || (self.acknowledged() > before + SOME || self.broken().is_some()).then_some(());
        clock::until(WAITED, some);
        std::thread::sleep(on);
        servers.all_live()?;
        self.broken().map_or(Ok(()), Err)
    }

    /// Every transfer that was acknowledged, by its key.
    pub(crate) fn all(&self) -> BTreeMap<String, Sent<R>> {
        open(&self.book).sent.clone()
    }

    /// Those that were acknowledged since this was called last.
    pub(crate) fn fresh(&self) -> BTreeMap<String, Sent<R>> {
        let mut book = open(&self.book);
        let fresh = std::mem::take(&mut book.fresh);
        fresh
            .into_iter()
            .filter_map(|key| Some((key.clone(), book.sent.get(&key)?.clone())))
            .collect()
    }

    /// No more is begun; waits until every request is acknowledged.
    pub(crate) fn end(&self, servers: &TwoServers) -> Outcome {
        self.over.store(true, Ordering::SeqCst);
        let mut tasks =
            std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        let all = async { while tasks.join_next().await.is_some() {} };
        let ended = async { tokio::time::timeout(TIMEOUT, all).await };
        if servers.runtime().block_on(ended).is_err() {
            return Err("clients wait for ever".to_owned());
        }
        self.broken().map_or(Ok(()), Err)
    }
}

struct Actor<R> {
    clients: Arc<Mutex<Vec<Client>>>,
    rng: Rng,
    keys: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    book: Arc<Mutex<Book<R>>>,
}

impl<R: Request> Actor<R> {
    async fn run(mut self) {
        while !self.over.load(Ordering::SeqCst) {
            let (key, wanted) = self.drawn();
            if let Err(error) = self.insist(&key, &wanted).await {
                open(&self.book).broken.get_or_insert(error);
                return;
            }
            tokio::time::sleep(R::REST).await;
        }
    }

    /// A transfer with a key of its own, or one that was acknowledged before.
    fn drawn(&mut self) -> (String, R) {
        if self.rng.percent(REPEATED) {
            let book = open(&self.book);
            let at = self.rng.below(u64::try_from(book.sent.len()).unwrap_or(0));
            let before = book.sent.iter().nth(usize::try_from(at).unwrap_or_default());
            if let Some((key, sent)) = before {
                return (key.clone(), sent.wanted.clone());
            }
        }
        let key = format!("{}-{}", R::KEYS, self.keys.fetch_add(1, Ordering::Relaxed));
        (key, R::drawn(&mut self.rng))
    }

    /// Asks at either server until the transfer is acknowledged.
    async fn insist(&mut self, key: &str, wanted: &R) -> Outcome {
        loop {
            let client = {
                let clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
                self.rng.one(&clients).cloned()
            };
            match wanted.ask(&client.ok_or("no server")?, key).await {
                Ok(id) => return self.note(key, Sent { id, wanted: wanted.clone() }),
                Err(Error::Refused { status: 503, code, .. }) if code != "HALTED" => {}
                Err(Error::Unknown(_) | Error::Unreachable(_)) => {}
                Err(Error::Refused { code, sentence, .. }) => {
                    return Err(format!("{key} {wanted:?} was refused: {code}: {sentence}"));
                }
                Err(Error::Unfit(error)) => return Err(error),
            }
            tokio::time::sleep(R::REST).await;
        }
    }

    /// A key has one id, whichever client asks and when.
    fn note(&self, key: &str, sent: Sent<R>) -> Outcome {
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
