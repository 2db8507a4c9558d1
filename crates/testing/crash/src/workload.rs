//! The clients of a campaign: many at once, on the same keys and accounts, through every life of the server.

use crate::book::{ASSET, Book, Known, Wish, ended};
use crate::history::{CallResult, Event, Kind, Op};
use crate::journal::Journal;
use crate::rng::Rng;
use crate::{Outcome, create};
use client::{Client, Error};
use create::CreateResult;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// What is written down of a call that was not waited for any longer.
const NO_REPLY: &str = "no reply in time";

pub(crate) const FIRST_USER: u64 = 4001;
/// Number of users, from the first on.
pub(crate) const USERS: u64 = 16;
/// Whose Spot account takes nothing: what is sent there comes back.
pub(crate) const CLOSED_USER: u64 = 4999;

/// What all clients share.
#[derive(Debug)]
pub struct Workload {
    /// Where everything is written down.
    pub journal: Journal,
    /// What clients were told of each key.
    pub book: Book,
    /// Whether a server is there.
    pub up: watch::Sender<bool>,
    /// No more is begun; what is not known yet is found out.
    pub over: AtomicBool,
    /// Names that only this run uses.
    pub name: String,
    /// One for each server, in turn.
    clients: RwLock<Vec<Client>>,
    turn: AtomicUsize,
    /// How long a client waits for a reply; after that it is unknown what became of the call.
    reply: Duration,
    keys: AtomicU64,
    /// What stops the run: a fault of the driver, or an answer that none may be.
    broken: Mutex<Option<String>>,
}

impl Workload {
    /// A workload whose servers do not run yet.
    ///
    /// # Errors
    /// There is no client.
    pub fn new(
        journal: Journal,
        clients: Vec<Client>,
        name: String,
        reply: Duration,
    ) -> Outcome<Arc<Self>> {
        if clients.is_empty() {
            return Err("a workload without a server".to_owned());
        }
        Ok(Arc::new(Self {
            journal,
            book: Book::default(),
            up: watch::Sender::new(false),
            over: AtomicBool::new(false),
            name,
            clients: RwLock::new(clients),
            turn: AtomicUsize::new(0),
            reply,
            keys: AtomicU64::new(0),
            broken: Mutex::default(),
        }))
    }

    /// What stops the run.
    pub fn broken(&self) -> Option<String> {
        self.broken.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn breaks(&self, what: String) {
        self.broken.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(what);
    }

    /// The client of the next server, with the newest token.
    ///
    /// # Panics
    /// There is none, which no fixture is made with.
    pub fn client(&self) -> Client {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let clients = self.clients.read().unwrap_or_else(PoisonError::into_inner);
        let at = turn.checked_rem(clients.len()).unwrap_or_default();
        #[expect(clippy::indexing_slicing, reason = "a remainder of its length, which is not 0")]
        let client = clients[at].clone();
        client
    }

    /// From now on with other tokens.
    ///
    /// # Errors
    /// There is none.
    pub fn take_clients(&self, clients: Vec<Client>) -> Outcome {
        if clients.is_empty() {
            return Err("a workload without a server".to_owned());
        }
        *self.clients.write().unwrap_or_else(PoisonError::into_inner) = clients;
        Ok(())
    }

    /// One client, until it is over and nothing of its own is unknown.
    pub async fn run(self: Arc<Self>, client: u64, rng: Rng) {
        let mut actor = Actor { workload: &self, client, rng, unknown: None };
        if let Err(fault) = actor.run().await {
            self.breaks(fault);
        }
    }

    /// Sends a create, written down before and after.
    ///
    /// # Errors
    /// The driver's own.
    pub async fn put(&self, client: u64, key: &str, wish: &Wish) -> Outcome<CreateResult> {
        let n = self.journal.number();
        let (kind, body, units) = (wish.kind, wish.body(), wish.units);
        let op = Op::Put { kind, key: key.to_owned(), body, units };
        self.journal.write(&Event::Invoke { n, client, op }).await?;
        let client = self.client();
        let told = match timeout(self.reply, create::put(&client, key, wish)).await {
            Ok(told) => told?,
            Err(_) => CreateResult::Unknown(NO_REPLY.to_owned()),
        };
        let event = match &told {
            CreateResult::Known { id, body, state, replayed } => {
                let state = (kind == Kind::Transfer).then(|| state.clone());
                let (id, body) = (id.clone(), body.clone());
                Event::Ok { n, said: CallResult::Put { id, body, state, replayed: *replayed } }
            }
            CreateResult::Refused(code) => Event::Fail { n, code: code.clone() },
            CreateResult::Unreachable => Event::Fail { n, code: "UNREACHABLE".to_owned() },
            CreateResult::Unknown(why) => Event::Info { n, why: why.clone() },
        };
        self.journal.write(&event).await?;
        if let CreateResult::Known { id, body, state, .. } = &told
            && *body == wish.body()
        {
            let (wish, id, state) = (wish.clone(), id.clone(), state.clone());
            self.book.learn(key, Known { wish, id, state });
        }
        Ok(told)
    }

    async fn get(&self, client: u64, id: &str) -> Outcome {
        let n = self.journal.number();
        let op = Op::Get { id: id.to_owned() };
        self.journal.write(&Event::Invoke { n, client, op }).await?;
        let event = match timeout(self.reply, self.client().transfer(id)).await {
            Err(_) => Event::Info { n, why: NO_REPLY.to_owned() },
            Ok(Ok(story)) => {
                let version = u64::try_from(story.history.len()).unwrap_or(u64::MAX);
                Event::Ok { n, said: CallResult::Story { state: story.transfer.state, version } }
            }
            Ok(Err(Error::Refused { code, .. })) => Event::Fail { n, code },
            Ok(Err(Error::Unreachable(_))) => Event::Fail { n, code: "UNREACHABLE".to_owned() },
            Ok(Err(fault @ (Error::Unknown(_) | Error::Unfit(_)))) => {
                Event::Info { n, why: fault.to_string() }
            }
        };
        self.journal.write(&event).await
    }
}

struct Actor<'a> {
    workload: &'a Workload,
    client: u64,
    rng: Rng,
    /// A request whose reply is missing: it is repeated until there is one.
    unknown: Option<(String, Wish)>,
}

impl Actor<'_> {
    async fn run(&mut self) -> Outcome {
        let mut up = self.workload.up.subscribe();
        loop {
            let over = self.workload.over.load(Ordering::Relaxed);
            if over && self.unknown.is_none() || self.workload.broken().is_some() {
                return Ok(());
            }
            if up.wait_for(|up| *up).await.is_err() {
                return Ok(());
            }
            if let Some((key, wish)) = self.unknown.take() {
                self.put(key, wish).await?;
            } else if self.rng.percent(12) {
                self.look().await?;
            } else {
                let (key, wish) = self.choose();
                self.put(key, wish).await?;
            }
        }
    }

    async fn put(&mut self, key: String, wish: Wish) -> Outcome {
        self.workload.book.used(&key, &wish);
        match self.workload.put(self.client, &key, &wish).await? {
            CreateResult::Known { .. } | CreateResult::Refused(_) => {}
            CreateResult::Unknown(_) => self.unknown = Some((key, wish)),
            CreateResult::Unreachable => {
                self.unknown = Some((key, wish));
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        Ok(())
    }

    async fn look(&mut self) -> Outcome {
        let Some((key, wish)) = self.workload.book.recent(self.rng.next()) else { return Ok(()) };
        if wish.kind == Kind::Transfer
            && let Some(known) = self.workload.book.of(Kind::Transfer, &key)
        {
            self.workload.get(self.client, &known.id).await?;
        }
        Ok(())
    }

    /// What to send next.
    fn choose(&mut self) -> (String, Wish) {
        let fresh = self.workload.keys.fetch_add(1, Ordering::Relaxed);
        let name = &self.workload.name;
        match self.rng.below(100) {
            // a key that many use at the same time, now and then for something else
            0..15 => {
                let key = format!("{name}-hot-{}", fresh / 24);
                let mut same = Rng(fresh / 24);
                let mut wish = wish(&mut same, Kind::Transfer);
                if self.rng.percent(15) {
                    wish.units += 1;
                }
                (key, wish)
            }
            // one that somebody used before, mostly as it was
            15..27 => match self.workload.book.recent(self.rng.next()) {
                Some((key, mut wish)) => {
                    if self.rng.percent(15) && wish.kind == Kind::Transfer {
                        wish.units += 1;
                    }
                    (key, wish)
                }
                None => (format!("{name}-{fresh}"), wish(&mut self.rng, Kind::Transfer)),
            },
            27..34 => (format!("{name}-in-{fresh}"), wish(&mut self.rng, Kind::Deposit)),
            34..37 => (format!("{name}-out-{fresh}"), wish(&mut self.rng, Kind::Withdrawal)),
            _ => (format!("{name}-{fresh}"), wish(&mut self.rng, Kind::Transfer)),
        }
    }
}

/// Something to ask for.
fn wish(rng: &mut Rng, kind: Kind) -> Wish {
    let (user, in_to_spot) = (FIRST_USER + rng.below(USERS), rng.percent(55));
    let units = i64::try_from(1 + rng.below(3_000_000)).unwrap_or(1);
    let plain = Wish { kind, user, in_to_spot, units, asset: ASSET };
    if kind != Kind::Transfer {
        return plain;
    }
    match rng.below(100) {
        // more than anybody has: FAILED, and the key is bound
        0..5 => Wish { units: 9_000_000_000_000, ..plain },
        // comes back
        5..12 => Wish { user: CLOSED_USER, in_to_spot: true, ..plain },
        // opens nothing
        12..15 => Wish { asset: "NONE", ..plain },
        _ => plain,
    }
}

/// Money for all users, and the account that takes nothing.
///
/// # Errors
/// The service's.
pub async fn furnish(workload: &Workload) -> Outcome {
    let users = (0..USERS).map(|n| FIRST_USER + n).chain([CLOSED_USER]);
    for user in users {
        let (kind, in_to_spot, units) = (Kind::Deposit, true, 2_000_000_000);
        let wish = Wish { kind, user, in_to_spot, units, asset: ASSET };
        workload.put(0, &format!("{}-first-{user}", workload.name), &wish).await?;
        let (kind, units) = (Kind::Transfer, 500_000_000);
        let wish = Wish { kind, user, in_to_spot, units, asset: ASSET };
        let told = workload.put(0, &format!("{}-fill-{user}", workload.name), &wish).await?;
        if !matches!(&told, CreateResult::Known { .. }) {
            return Err(format!("the workload cannot be set: {told:?}"));
        }
    }
    let closed = workload.client().set_status(CLOSED_USER, "SPOT", "DISABLED", "campaign").await;
    closed.map(drop).map_err(|fault| format!("the workload cannot be set: {fault}"))
}

/// What the users must have when all has ended: Funding and Spot, by user.
pub fn balances(book: &Book) -> Outcome<std::collections::BTreeMap<u64, (i64, i64)>> {
    let mut all = std::collections::BTreeMap::<u64, (i64, i64)>::new();
    for ((kind, key), known) in book.all() {
        let Wish { user, in_to_spot, units, .. } = known.wish;
        let has = all.entry(user).or_default();
        match kind {
            Kind::Deposit => has.0 += units,
            Kind::Withdrawal => has.0 -= units,
            Kind::Transfer if known.state == "COMMITTED" => {
                let there = if in_to_spot { units } else { -units };
                *has = (has.0 - there, has.1 + there);
            }
            Kind::Transfer if ended(&known.state) => {}
            Kind::Transfer => return Err(format!("{key} has not ended: {known:?}")),
        }
    }
    Ok(all)
}
