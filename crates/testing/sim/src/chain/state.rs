//! The chain itself: what was signed, what waits, what the blocks hold.

use super::transaction::{Fate, Outcome, Paid, Transaction};
use crate::world::SplitMix;
use kernel::attempt::{Lock, Purpose};
use kernel::ids::{ChainId, Id};
use kernel::ports::clock::Clock;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the chain spends at most once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locking {
    /// A number of a key, each above the one before: at most one transaction has it.
    Nonce,
    /// An account that is created with the payment.
    Marker,
    /// Nothing: the node signs, each call makes a transaction, and a reference only names it. A fence ends
    /// the sessions before it.
    Reference,
}

/// How a chain behaves.
#[derive(Debug, Clone, Copy)]
pub struct ChainRules {
    /// Its number.
    pub id: ChainId,
    /// What its locks are.
    pub locking: Locking,
    /// The most members of an attempt.
    pub cap: usize,
    /// How many lanes its pool has.
    pub lanes: usize,
    /// A block is made every so many milliseconds.
    pub block_ms: u64,
    /// So many blocks behind the head nothing changes any more.
    pub finality: u64,
    /// A transaction is valid for so many blocks from its signing.
    pub validity: u64,
    /// One block in so many takes blocks before it back; 0: none.
    pub reorganises: u64,
    /// One transaction in so many comes late, or not at all; 0: none.
    pub loses: u64,
    /// One reading in so many is of a node that lags or lies; 0: none.
    pub misleads: u64,
}

impl ChainRules {
    /// A chain on which nothing goes wrong.
    pub const fn calm(locking: Locking) -> Self {
        Self {
            id: ChainId(20),
            locking,
            cap: 3,
            lanes: 2,
            block_ms: 500,
            finality: 4,
            validity: 40,
            reorganises: 0,
            loses: 0,
            misleads: 0,
        }
    }

    /// The same chain on a bad day.
    pub const fn rough(locking: Locking) -> Self {
        Self { reorganises: 3, loses: 3, misleads: 4, ..Self::calm(locking) }
    }
}

pub(super) struct State {
    pub rules: ChainRules,
    pub draws: SplitMix,
    /// The last block.
    pub height: u64,
    began: u64,
    /// What the bytes of each form say, by its name.
    pub signed: BTreeMap<Arc<[u8]>, Transaction>,
    /// What was given to the network, in order. Where the node signs, each call is another one.
    pub sent: Vec<(Transaction, Fate)>,
    /// How often each form was given to a node.
    pub broadcasts: BTreeMap<Arc<[u8]>, u32>,
    pub registered: BTreeSet<Arc<str>>,
    /// Accounts whose payment always fails.
    pub spoils: BTreeSet<Arc<str>>,
    /// The last session of the node.
    pub session: u64,
    /// Nothing reaches the chain.
    pub swallows: bool,
    /// The key of a lane was used elsewhere, up to this number.
    pub elsewhere: BTreeMap<Arc<str>, u64>,
    /// What an oracle found on the way.
    pub faults: Vec<String>,
}

impl State {
    pub(super) fn final_height(&self) -> u64 {
        self.height.saturating_sub(self.rules.finality)
    }

    fn included(&self, upto: u64) -> impl Iterator<Item = (&Transaction, u64, Outcome)> {
        self.sent.iter().filter_map(move |(tx, fate)| match fate {
            Fate::Included(at, outcome) if *at <= upto => Some((tx, *at, *outcome)),
            Fate::Included(..) | Fate::Waits(_) | Fate::Gone => None,
        })
    }

    /// The transaction of that name in a block up to this height.
    pub(super) fn find(&self, name: &[u8], upto: u64) -> Option<(u64, Outcome)> {
        let named = self.included(upto).find(|(tx, ..)| &*tx.name == name);
        named.map(|(_, at, outcome)| (at, outcome))
    }

    /// The highest number of a lane that blocks up to this height have spent.
    pub(super) fn nonce(&self, lane: &str, upto: u64) -> u64 {
        let mine = self.included(upto).filter(|(tx, ..)| &*tx.lane == lane);
        let spent = mine.filter_map(|(tx, ..)| tx.lock.0.parse().ok()).max().unwrap_or(0);
        let elsewhere = self.elsewhere.get(lane).copied().unwrap_or(0);
        if spent > elsewhere { spent } else { elsewhere }
    }

    fn spent(&self, tx: &Transaction) -> bool {
        match self.rules.locking {
            Locking::Nonce => {
                let lock = tx.lock.0.parse::<u64>().unwrap_or(0);
                lock <= self.nonce(&tx.lane, u64::MAX)
            }
            Locking::Marker => self
                .included(u64::MAX)
                .any(|(other, ..)| other.lane == tx.lane && other.lock == tx.lock),
            Locking::Reference => {
                let fences = self
                    .included(u64::MAX)
                    .filter(|(fence, ..)| fence.purpose == Purpose::Void && fence.lane == tx.lane);
                // a fence made every session before its own end
                fences.into_iter().any(|(fence, ..)| fence.session > tx.session)
            }
        }
    }

    fn is_registered(&self, account: &Arc<str>, upto: u64) -> bool {
        self.registered.contains(account)
            || self.included(upto).any(|(tx, _, outcome)| {
                let mine = tx.actions.iter().any(|action| action.account == *account);
                tx.registers && outcome == Outcome::Success && mine
            })
    }

    /// As far as the final blocks say.
    pub(super) fn registered_for_good(&self, account: &Arc<str>) -> bool {
        self.is_registered(account, self.final_height())
    }

    fn execute(&self, tx: &Transaction) -> Outcome {
        let fails = |action: &Paid| {
            self.spoils.contains(&action.account)
                || (!tx.registers && !self.is_registered(&action.account, u64::MAX))
        };
        tx.actions.iter().position(fails).map_or(Outcome::Success, Outcome::Failed)
    }

    /// Makes the blocks whose time has come.
    pub(super) fn advance(&mut self, now: u64) {
        let due = now.saturating_sub(self.began) / self.rules.block_ms + 1;
        while self.height < due {
            self.height += 1;
            self.make_block();
            if self.draws.once_in(1, self.rules.reorganises) {
                self.reorganise();
            }
        }
    }

    fn make_block(&mut self) {
        let height = self.height;
        for n in 0..self.sent.len() {
            let Some((tx, Fate::Waits(from))) = self.sent.get(n).cloned() else { continue };
            let fate = if tx.expires.is_some_and(|last| height > last) || self.spent(&tx) {
                Fate::Gone
            } else if from <= height {
                Fate::Included(height, self.execute(&tx))
            } else {
                continue;
            };
            if let Some(slot) = self.sent.get_mut(n) {
                slot.1 = fate;
            }
        }
    }

    /// Blocks that are not final go; what they held waits again, or is forgotten.
    fn reorganise(&mut self) {
        let most = self.rules.finality.saturating_sub(1);
        if most == 0 {
            return;
        }
        let depth = 1 + self.draws.next() % most;
        let kept = self.height.saturating_sub(depth);
        for n in 0..self.sent.len() {
            let forgets = self.draws.once_in(1, 3);
            let late = self.height + 1 + self.draws.next() % 3;
            if let Some((_, fate @ Fate::Included(..))) = self.sent.get_mut(n)
                && let Fate::Included(at, _) = *fate
                && at > kept
            {
                *fate = if forgets { Fate::Gone } else { Fate::Waits(late) };
            }
        }
    }

    /// A form is given to a node. Where the node signs each call is a transaction of its own.
    pub(super) fn send(&mut self, tx: &Transaction, session: u64) {
        *self.broadcasts.entry(tx.name.clone()).or_default() += 1;
        if self.swallows {
            return;
        }
        let lost = self.draws.once_in(1, self.rules.loses);
        let late = self.draws.next() % (self.rules.validity + self.rules.validity / 2);
        let from = if lost { self.height + late } else { self.height + 1 };
        let once = self.rules.locking != Locking::Reference || tx.purpose == Purpose::Void;
        let known = self.sent.iter_mut().find(|(sent, _)| once && sent.name == tx.name);
        match known {
            // identical bytes: a node that forgot them takes them again
            Some((_, fate @ Fate::Gone)) => *fate = Fate::Waits(from),
            Some(_) => {}
            None => {
                let session = if tx.purpose == Purpose::Void { tx.session } else { session };
                self.sent.push((Transaction { session, ..tx.clone() }, Fate::Waits(from)));
            }
        }
    }

    /// Nothing is signed under another lock of a lane while an older one may still land.
    pub(super) fn signs(&mut self, tx: &Transaction) {
        let last = self.final_height();
        let lives = |(sent, fate): &&(Transaction, Fate)| {
            let other = sent.lane == tx.lane && sent.lock != tx.lock;
            let pays = sent.purpose == Purpose::Pay;
            let lands = match fate {
                Fate::Waits(_) => !self.spent(sent) && sent.expires.is_none_or(|end| last <= end),
                Fate::Included(at, _) => *at > last,
                Fate::Gone => false,
            };
            other && pays && lands
        };
        if let Some((sent, fate)) = self.sent.iter().find(lives) {
            let (old, new) = (&sent.lock, &tx.lock);
            self.faults.push(format!("{new} is signed for {} while {old} is {fate:?}", tx.lane));
        }
        self.signed.insert(tx.name.clone(), tx.clone());
    }
}

/// The chain. A handle: clones are the same one.
#[derive(Clone)]
pub struct SimChain {
    state: Arc<Mutex<State>>,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for SimChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimChain").finish_non_exhaustive()
    }
}

impl SimChain {
    /// A chain whose first block is made now. These accounts hold the token.
    pub fn new(rules: ChainRules, clock: Arc<dyn Clock>, seed: u64) -> Self {
        let state = State {
            rules,
            draws: SplitMix(seed ^ 0x0ff1_ce0f_f1ce_0ff1),
            height: 0,
            began: clock.now(),
            signed: BTreeMap::new(),
            sent: Vec::new(),
            broadcasts: BTreeMap::new(),
            registered: BTreeSet::new(),
            spoils: BTreeSet::new(),
            session: 0,
            swallows: false,
            elsewhere: BTreeMap::new(),
            faults: Vec::new(),
        };
        Self { state: Arc::new(Mutex::new(state)), clock }
    }

    /// The chain as it is now.
    pub(super) fn now(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.advance(self.clock.now());
        state
    }

    /// An account that can hold the token.
    pub fn register(&self, account: &str) {
        self.now().registered.insert(account.into());
    }

    /// Every transaction that pays this account fails.
    pub fn spoil(&self, account: &str) {
        self.now().spoils.insert(account.into());
    }

    /// Nothing that is sent from now on reaches the chain, or everything does.
    pub fn swallow(&self, swallows: bool) {
        self.now().swallows = swallows;
    }

    /// The key of a lane is used by another program, up to this number.
    pub fn used_elsewhere(&self, lane: &str, nonce: u64) {
        self.now().elsewhere.insert(lane.into(), nonce);
    }

    /// From now on nothing goes wrong any more.
    pub fn calm(&self) {
        let rules = &mut self.now().rules;
        (rules.reorganises, rules.loses, rules.misleads) = (0, 0, 0);
    }

    /// How often each transfer was paid in final blocks.
    pub fn paid(&self) -> BTreeMap<Id, Vec<Paid>> {
        let state = self.now();
        let mut paid: BTreeMap<Id, Vec<Paid>> = BTreeMap::new();
        for (tx, _, outcome) in state.included(state.final_height()) {
            if outcome == Outcome::Success && !tx.registers {
                for action in &tx.actions {
                    paid.entry(action.id).or_default().push(action.clone());
                }
            }
        }
        paid
    }

    /// How often a form was given to a node.
    pub fn broadcasts(&self, name: &[u8]) -> u32 {
        self.now().broadcasts.get(name).copied().unwrap_or(0)
    }

    /// How many transactions are in final blocks.
    pub fn transactions(&self) -> usize {
        let state = self.now();
        state.included(state.final_height()).count()
    }

    /// What is wrong with the chain's own history: a lock of which two forms are final, and whatever was
    /// noticed on the way.
    pub fn faults(&self) -> Vec<String> {
        let state = self.now();
        let mut faults = state.faults.clone();
        let mut forms: BTreeMap<(Arc<str>, Lock), usize> = BTreeMap::new();
        for (tx, ..) in state.included(state.final_height()) {
            *forms.entry((tx.lane.clone(), tx.lock.clone())).or_default() += 1;
        }
        // a fence is no form of the reference: both may stand where the payment came first
        let most = if state.rules.locking == Locking::Reference { 2 } else { 1 };
        let twice = forms.into_iter().filter(|(_, forms)| *forms > most);
        faults
            .extend(twice.map(|((lane, lock), n)| format!("{n} forms of {lane}/{lock} are final")));
        for ((tx, _), n) in state.sent.iter().zip(0..) {
            let calls = state.broadcasts.get(&tx.name).copied().unwrap_or(0);
            let once = state.rules.locking == Locking::Reference && tx.purpose == Purpose::Pay;
            if once && calls > 1 {
                faults.push(format!("form {n} of {} was sent {calls} times", tx.lane));
            }
        }
        faults
    }
}
