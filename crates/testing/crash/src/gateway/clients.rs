//! The clients of the gateway campaign: they send transfers between three ledgers, and repeat each until it is
//! acknowledged.

use super::Shared;
use super::services::Services;
use crate::Outcome;
use crate::rng::Rng;
use client::types::{CreateTransfer, Movement, UserIdText};
use client::{Client, Error};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// Number of concurrent clients.
const CLIENTS: u64 = 6;
const USERS: u64 = 6;
const FIRST_USER: u64 = 4001;
/// What each is given at FUNDING, in whole units of the asset.
const GIVEN: u64 = 2_000;
const ASSET: &str = "USDT";
const ACCOUNTS: [&str; 3] = ["FUNDING", "MARGIN", "SPOT"];
/// Between two requests of a client.
const REST: Duration = Duration::from_millis(15);
/// How long the clients may take to learn what became of what they sent.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What all of it was given, in base units.
pub(super) const ALL_GIVEN: u64 = USERS * GIVEN * 1_000_000;

/// A transfer that was acknowledged.
#[derive(Debug, Clone)]
pub(super) struct Sent {
    pub id: String,
    pub from: &'static str,
    pub to: &'static str,
}

/// The clients at work.
#[derive(Debug)]
pub(super) struct Load {
    /// No more is begun.
    pub over: Arc<AtomicBool>,
    client: Shared<Client>,
    sent: Shared<Vec<Sent>>,
    broken: Shared<Option<String>>,
    tasks: JoinSet<()>,
}

/// What a client does when its token is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenRefused {
    /// No token of the campaign may be.
    Stops,
    /// The server's clock jumped: another token comes.
    Repeats,
}

impl Load {
    /// From now on the clients show another token.
    pub(super) fn take_client(&self, client: Client) {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = client;
    }

    /// What was acknowledged so far.
    pub(super) fn sent(&self) -> Vec<Sent> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What stops the run.
    pub(super) fn broken(&self) -> Option<String> {
        self.broken.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until every request is acknowledged; all of them.
    pub(super) fn end(mut self, runtime: &Runtime) -> Outcome<Vec<Sent>> {
        let all = async { while self.tasks.join_next().await.is_some() {} };
        let ended = async { tokio::time::timeout(TIMEOUT, all).await };
        if runtime.block_on(ended).is_err() {
            return Err("clients wait for ever".to_owned());
        }
        self.broken().map_or(Ok(()), Err)?;
        Ok(self.sent())
    }
}

/// Gives every user money, and starts clients.
pub(super) fn start(services: &Services, refused: TokenRefused, rng: &mut Rng) -> Outcome<Load> {
    let client = services.client();
    for user in FIRST_USER..FIRST_USER + USERS {
        let movement = Movement {
            user_id: UserIdText(user),
            asset: ASSET.to_owned(),
            amount: GIVEN.to_string(),
            reference: format!("gateway-{user}"),
            reason: "campaign".to_owned(),
        };
        let booked = services.runtime().block_on(client.deposit(&movement));
        booked.map_err(|fault| format!("user {user} has no money: {fault}"))?;
    }
    let mut load = Load {
        over: Arc::default(),
        client: Arc::new(std::sync::Mutex::new(client)),
        sent: Shared::default(),
        broken: Shared::default(),
        tasks: JoinSet::new(),
    };
    let keys = Arc::new(AtomicU64::new(0));
    for _ in 0..CLIENTS {
        let actor = Actor {
            client: load.client.clone(),
            refused,
            rng: rng.fork(),
            keys: keys.clone(),
            over: load.over.clone(),
            sent: load.sent.clone(),
            broken: load.broken.clone(),
        };
        load.tasks.spawn_on(actor.run(), services.runtime().handle());
    }
    Ok(load)
}

struct Actor {
    client: Shared<Client>,
    refused: TokenRefused,
    rng: Rng,
    keys: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    sent: Shared<Vec<Sent>>,
    broken: Shared<Option<String>>,
}

impl Actor {
    async fn run(mut self) {
        while !self.over.load(Ordering::SeqCst) {
            if let Err(why) = self.one().await {
                let mut broken = self.broken.lock().unwrap_or_else(PoisonError::into_inner);
                broken.get_or_insert(why);
                return;
            }
            tokio::time::sleep(REST).await;
        }
    }

    /// One transfer, until it is acknowledged or opened nothing.
    async fn one(&mut self) -> Outcome {
        let from = self.rng.one(&ACCOUNTS).copied().unwrap_or("FUNDING");
        let others: Vec<_> = ACCOUNTS.into_iter().filter(|account| *account != from).collect();
        let to = self.rng.one(&others).copied().unwrap_or("MARGIN");
        // at most a hundredth of what a user has, so that most can be done, and some cannot
        let most = if self.rng.percent(8) { 3_000_000_000 } else { 20_000_000 };
        let units = 1 + self.rng.below(most);
        let new = CreateTransfer {
            from: from.to_owned(),
            to: to.to_owned(),
            asset: ASSET.to_owned(),
            amount: format!("{}.{:06}", units / 1_000_000, units % 1_000_000),
            cid: Some(format!("gateway-{}", self.keys.fetch_add(1, Ordering::Relaxed))),
            user_id: Some(UserIdText(FIRST_USER + self.rng.below(USERS))),
            reference: None,
            metadata: None,
        };
        loop {
            let client = self.client.lock().unwrap_or_else(PoisonError::into_inner).clone();
            match client.create(&new).await {
                Ok(created) => {
                    let id = created.transfer.req_id;
                    let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
                    sent.push(Sent { id, from, to });
                    return Ok(());
                }
                Err(Error::Refused { code, sentence, .. }) if code == "HALTED" => {
                    return Err(format!("the service halted: {sentence}"));
                }
                Err(Error::Refused { status: 401, .. })
                    if self.refused == TokenRefused::Repeats =>
                {
                    tokio::time::sleep(REST).await;
                }
                Err(Error::Refused { status: 401 | 403, sentence, .. }) => return Err(sentence),
                Err(Error::Refused { .. }) => return Ok(()),
                Err(Error::Unfit(why)) => return Err(why),
                // killed, or slow: the same again
                Err(Error::Unknown(_) | Error::Unreachable(_)) => {
                    tokio::time::sleep(REST).await;
                }
            }
        }
    }
}
