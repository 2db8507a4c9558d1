//! The clients' record: every key with its requests and their answers.

use crate::Outcome;
use crate::history::Kind;
use crate::store::{Store, body};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The asset of everything that moves.
pub(crate) const ASSET: &str = "USDT";
/// The number of that asset.
pub(crate) const ASSET_ID: u32 = 3;
/// Number of keys that are remembered as recent.
const RECENT: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    pub kind: Kind,
    pub user: u64,
    /// From Funding to Spot.
    pub in_to_spot: bool,
    /// The amount in base units.
    pub units: i64,
    /// The asset's symbol; one that does not exist is refused.
    pub asset: &'static str,
}

impl Wish {
    /// One spelling of it.
    pub fn body(&self) -> String {
        let plain = match self.kind {
            Kind::Transfer => body(self.user, self.in_to_spot, self.units),
            Kind::Deposit | Kind::Withdrawal => format!("{} {}", self.user, self.units),
        };
        if self.asset == ASSET { plain } else { format!("{plain} {}", self.asset) }
    }

    /// The amount as the service reads it.
    pub fn amount(&self) -> String {
        let (whole, rest) = (self.units / 1_000_000, self.units % 1_000_000);
        format!("{whole}.{rest:06}")
    }
}

/// What is known of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// What it is bound to.
    pub wish: Wish,
    /// The id that was answered.
    pub id: String,
    /// The last state that was answered.
    pub state: String,
}

/// What is known of every key, behind a lock.
#[derive(Debug, Default)]
pub struct Book(Mutex<Pages>);

#[derive(Debug, Default)]
struct Pages {
    known: BTreeMap<(Kind, String), Known>,
    ids: BTreeMap<(Kind, String), String>,
    recent: Vec<(String, Wish)>,
    next: usize,
    fresh: Vec<(Kind, String)>,
    faults: Vec<String>,
}

/// Whether a state is an end.
pub(crate) fn ended(state: &str) -> bool {
    matches!(state, "COMMITTED" | "FAILED" | "ROLLED_BACK")
}

impl Book {
    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A key that is about to be used.
    pub fn used(&self, key: &str, wish: &Wish) {
        let mut pages = self.pages();
        let entry = (key.to_owned(), wish.clone());
        if pages.recent.len() < RECENT {
            pages.recent.push(entry);
        } else {
            let at = pages.next % RECENT;
            pages.next = pages.next.wrapping_add(1);
            if let Some(place) = pages.recent.get_mut(at) {
                *place = entry;
            }
        }
    }

    /// One of the last keys.
    pub fn recent(&self, drawn: u64) -> Option<(String, Wish)> {
        let pages = self.pages();
        let len = u64::try_from(pages.recent.len()).ok()?;
        let at = usize::try_from(drawn.checked_rem(len)?).ok()?;
        pages.recent.get(at).cloned()
    }

    /// What a key was answered with.
    pub fn of(&self, kind: Kind, key: &str) -> Option<Known> {
        self.pages().known.get(&(kind, key.to_owned())).cloned()
    }

    /// An answer. What contradicts an earlier one is kept as a fault.
    pub fn learn(&self, key: &str, known: Known) {
        let mut pages = self.pages();
        let kind = known.wish.kind;
        let place = (kind, key.to_owned());
        let other = pages.ids.insert((kind, known.id.clone()), key.to_owned());
        if let Some(other) = other.filter(|other| other != key) {
            pages.faults.push(format!("{} is the id of both {other} and {key}", known.id));
        }
        if let Some(before) = pages.known.get(&place).cloned() {
            let same = before.id == known.id && before.wish == known.wish;
            let kept = !ended(&before.state) || before.state == known.state || !ended(&known.state);
            if !same || !kept {
                pages.faults.push(format!("{key}: answered {before:?}, then {known:?}"));
            }
            if ended(&before.state) {
                return;
            }
        }
        pages.fresh.push(place.clone());
        pages.known.insert(place, known);
    }

    /// What contradicted itself so far.
    pub fn faults(&self) -> Vec<String> {
        self.pages().faults.clone()
    }

    /// A transfer's key that was answered since [`Book::fresh`] was asked last.
    pub fn last(&self) -> Option<String> {
        let pages = self.pages();
        let last = pages.fresh.iter().rev().find(|(kind, _)| *kind == Kind::Transfer);
        last.map(|(_, key)| key.clone())
    }

    /// Every key that was answered.
    pub fn all(&self) -> Vec<((Kind, String), Known)> {
        self.pages().known.iter().map(|(key, known)| (key.clone(), known.clone())).collect()
    }

    /// The keys that were answered since this was asked last.
    pub fn fresh(&self) -> Vec<((Kind, String), Known)> {
        let mut pages = self.pages();
        let fresh = std::mem::take(&mut pages.fresh);
        let known = |key: (Kind, String)| pages.known.get(&key).cloned().map(|known| (key, known));
        fresh.into_iter().filter_map(known).collect()
    }
}

/// What was acknowledged and is not in the store as it was acknowledged.
///
/// # Errors
/// The store's.
pub fn missing(store: &dyn Store, known: &[((Kind, String), Known)]) -> Outcome<Vec<String>> {
    let mut faults = Vec::new();
    for ((kind, key), known) in known {
        match kind {
            Kind::Transfer => match store.bound(key)? {
                None => faults.push(format!("acknowledged and gone: {key} {known:?}")),
                Some(row) => {
                    let same = row.id == known.id && row.body == known.wish.body();
                    let kept = !ended(&known.state) || row.state == known.state;
                    if !same || !kept {
                        faults.push(format!("acknowledged {key} {known:?}, found {row:?}"));
                    }
                }
            },
            Kind::Deposit | Kind::Withdrawal => {
                let found = store.external(key)?;
                let same = found.as_ref().is_some_and(|(id, user, units)| {
                    id.to_string() == known.id
                        && *user == known.wish.user
                        && *units == known.wish.units
                });
                if !same {
                    faults.push(format!("acknowledged {key} {known:?}, found {found:?}"));
                }
            }
        }
    }
    Ok(faults)
}
