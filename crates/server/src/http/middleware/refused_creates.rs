//! Limits the transfers of one user that end without effect, in this process: `limits.refused_per_hour`. Each says
//! something about another account and leaves rows for ever, and costs its user nothing.

use super::rate_limit::RateLimit;
use engine::Engine;
use kernel::flow::life::Outcome;
use kernel::ids::{Id, UserId};
use kernel::record::Record;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The journal is asked for the ends of one user's transfers at most this often, in nanoseconds.
const ASK: u64 = 100_000_000;
/// The most transfers of one user whose ends are waited for; the oldest ones go first.
const MOST: usize = 1_024;
/// After this many nanoseconds a user's transfers are no longer waited for: refused then, they would be of
/// another hour.
const HOUR: u64 = 3_600_000_000_000;
/// Below this number of users nothing is swept.
const FEW: usize = 1_024;

/// Counts transfers that ended without effect. The ends of those that were open when their creates were answered are
/// asked for once there are as many of them as free places.
#[derive(Debug)]
pub struct RefusedCreates {
    limit: RateLimit,
    users: Mutex<Users>,
}

#[derive(Debug)]
struct Users {
    open: HashMap<UserId, OpenTransfers>,
    /// At this number of users the idle ones are forgotten.
    sweep_at: usize,
}

/// One user's transfers that had not ended when they were seen last.
#[derive(Debug, Default)]
struct OpenTransfers {
    ids: VecDeque<Id>,
    /// When the journal was asked last.
    asked: Option<u64>,
    /// When the newest was opened.
    newest: u64,
}

impl RefusedCreates {
    /// This number an hour; 0 is no limit.
    pub fn new(per_hour: u32) -> Self {
        let users = Users { open: HashMap::new(), sweep_at: FEW };
        Self { limit: RateLimit::per_hour(per_hour), users: Mutex::new(users) }
    }

    /// True where there is a limit.
    pub const fn is_set(&self) -> bool {
        self.limit.is_set()
    }

    /// After this many seconds a user who was refused may create again.
    pub const fn seconds_to_a_place(&self) -> u64 {
        self.limit.seconds_to_a_place()
    }

    fn users(&self) -> MutexGuard<'_, Users> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the user may create, by what is known here.
    pub fn would(&self, user: UserId, now: u64) -> bool {
        self.limit.would(user, now)
    }

    /// Whether the user may create, after a look at the ends of those that were open. A journal that does not
    /// answer leaves it at what is known here.
    pub async fn allows(&self, engine: &Engine, user: UserId, now: u64) -> bool {
        let ids = self.due(user, now);
        if !ids.is_empty()
            && let Ok(records) = engine.journal().get(ids).await
        {
            for record in records {
                if let Some(refused) = without_effect(engine, &record)
                    && self.forget(user, record.id)
                {
                    self.count(user, refused, now);
                }
            }
        }
        self.would(user, now)
    }

    /// The transfers whose ends decide whether the user may create.
    fn due(&self, user: UserId, now: u64) -> Vec<Id> {
        let free = self.limit.free(user, now);
        let mut users = self.users();
        let Some(open) = users.open.get_mut(&user) else { return Vec::new() };
        let many = u64::try_from(open.ids.len()).unwrap_or(u64::MAX);
        let just_asked = open.asked.is_some_and(|asked| now.saturating_sub(asked) < ASK);
        let room = many < free && open.ids.len() < MOST;
        if free == 0 || room || just_asked {
            return Vec::new();
        }
        open.asked = Some(now);
        open.ids.iter().copied().collect()
    }

    /// No longer waits for the end of a transfer. False: another request saw it before.
    fn forget(&self, user: UserId, id: Id) -> bool {
        let mut users = self.users();
        let Some(open) = users.open.get_mut(&user) else { return false };
        let before = open.ids.len();
        open.ids.retain(|known| *known != id);
        let waited = open.ids.len() < before;
        if open.ids.is_empty() {
            users.open.remove(&user);
        }
        waited
    }

    /// A create of this user opened a transfer, which stands like this when it is answered.
    pub(crate) fn opened(&self, engine: &Engine, user: UserId, record: &Record, now: u64) {
        if let Some(refused) = without_effect(engine, record) {
            self.count(user, refused, now);
            return;
        }
        let mut users = self.users();
        if users.open.len() >= users.sweep_at {
            users.open.retain(|_, open| now.saturating_sub(open.newest) < HOUR);
            let twice = users.open.len().saturating_mul(2);
            users.sweep_at = if twice > FEW { twice } else { FEW };
        }
        let open = users.open.entry(user).or_default();
        if open.ids.len() >= MOST {
            open.ids.pop_front();
        }
        open.ids.push_back(record.id);
        open.newest = now;
    }

    /// Takes a place for what ended without effect. Where none is free there is none to take: those that were under
    /// way together do not shut a user out for longer.
    fn count(&self, user: UserId, refused: bool, now: u64) {
        if refused {
            self.limit.take(user, now);
        }
    }
}

/// Whether the transfer ended with its money where it was; `None`: it has not ended.
fn without_effect(engine: &Engine, record: &Record) -> Option<bool> {
    let table = engine.flows().table(record.flow);
    let state = record.head.state;
    let outcome = table.state(state).outcome.filter(|_| table.ends(state));
    outcome.map(|outcome| matches!(outcome, Outcome::Failed | Outcome::GivenBack))
}
