//! Users who never stop: there and back, one transfer after the other, each answer remembered.

use super::front::{Front, ProxyReply};
use crate::fixture::http_socket::{Answer, post};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Whose money moves first.
pub(super) const FIRST: u64 = 4001;
pub(super) const USERS: u64 = 6;
/// What each has at the beginning, at either account.
pub(super) const HAS: u64 = 10_000;

/// One request: its key, and what it asks for.
#[derive(Debug, Clone)]
pub(super) struct Wish {
    pub(super) user: u64,
    pub(super) cid: String,
    pub(super) to_spot: bool,
    pub(super) amount: u64,
}

impl Wish {
    pub(super) fn request(&self, token: &str) -> String {
        let (from, to) = if self.to_spot { ("FUNDING", "SPOT") } else { ("SPOT", "FUNDING") };
        let body = json!({
            "from": from, "to": to, "asset": "USDT", "amount": self.amount.to_string(),
            "cid": self.cid, "user_id": self.user,
        });
        post("/api/v1/internal_transfer", token, "", &body.to_string())
    }
}

/// What the users share.
#[derive(Debug)]
pub(super) struct Square {
    pub(super) front: Front,
    token: String,
    over: AtomicBool,
    answered: AtomicU64,
    seen: Mutex<Seen>,
}

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// What was acknowledged: the wish, and its id.
    pub(super) made: Vec<(Wish, String)>,
    /// Answers that say anything but yes.
    pub(super) failed: Vec<String>,
    /// How often a request was cut off, by the port where it was. Each was repeated.
    pub(super) cut: BTreeMap<u16, u64>,
}

/// The users at work.
#[derive(Debug)]
pub(super) struct Clients {
    pub(super) square: Arc<Square>,
    users: Vec<JoinHandle<()>>,
}

impl Square {
    pub(super) fn new(token: String) -> Arc<Self> {
        Arc::new(Self {
            front: Front::default(),
            token,
            over: AtomicBool::new(false),
            answered: AtomicU64::new(0),
            seen: Mutex::default(),
        })
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks until a server answers: the same thing under the same key.
    pub(super) fn insist(&self, n: usize, request: &str) -> Answer {
        for turn in n.. {
            match self.front.ask(turn, request) {
                ProxyReply::Answered(answer) => return answer,
                ProxyReply::Cut(port) => *self.seen().cut.entry(port).or_default() += 1,
                ProxyReply::NoServer => thread::sleep(Duration::from_millis(10)),
            }
        }
        unreachable!("turns have no end")
    }

    /// One transfer, acknowledged or noted as failed.
    pub(super) fn move_money(&self, n: usize, wish: Wish) {
        let answer = self.insist(n, &wish.request(&self.token));
        let mut seen = self.seen();
        if matches!(answer.status, 200 | 202) {
            seen.made.push((wish, answer.text("req_id").to_owned()));
        } else {
            seen.failed.push(format!("{wish:?}: {answer:?}"));
        }
        drop(seen);
        self.answered.fetch_add(1, Ordering::SeqCst);
    }

    fn user(&self, user: u64) {
        let mut n: usize = 0;
        while !self.over.load(Ordering::SeqCst) {
            n += 1;
            let (cid, to_spot) = (format!("{user}-{n}"), n % 2 == 1);
            let amount = 1 + u64::try_from(n % 5).expect("a small number");
            self.move_money(n, Wish { user, cid, to_spot, amount });
        }
    }
}

impl Clients {
    pub(super) fn start(square: &Arc<Square>) -> Self {
        let begin = |user| {
            let square = square.clone();
            thread::spawn(move || square.user(user))
        };
        let users = (FIRST..FIRST + USERS).map(begin).collect();
        Self { square: square.clone(), users }
    }

    /// Waits until `answers` more requests were answered: the users are at work.
    pub(super) fn more(&self, answers: u64) {
        let from = self.square.answered.load(Ordering::SeqCst);
        for _ in 0..6_000 {
            if self.square.answered.load(Ordering::SeqCst) >= from + answers {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("no client is answered any more: {:?}", self.square.seen().failed);
    }

    /// They end; what they saw.
    pub(super) fn end(self) -> Seen {
        self.square.over.store(true, Ordering::SeqCst);
        for user in self.users {
            user.join().expect("a user");
        }
        std::mem::take(&mut *self.square.seen())
    }
}
