//! The state of the simulated chain: signed transactions, waiting ones, and blocks.

use super::held_back::HeldBack;
use super::transaction::{Effect, Inclusion, Outcome, Paid, QUARANTINE, Transaction};
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

/// Maximum number of blocks until what was paid is taken; after that it is called back.
const TAKEN_WITHIN: u64 = 8;

/// How a chain behaves, and what goes wrong on it.
#[derive(Debug, Clone, Copy)]
pub struct ChainRules {
    /// The number that the systems' table gives it.
    pub id: ChainId,
    /// What it spends at most once in a lane.
    pub locking: Locking,
    /// The most members of an attempt.
    pub cap: usize,
    /// How many lanes its pool has.
    pub lanes: usize,
    /// The time between two blocks, in milliseconds.
    pub block_ms: u64,
    /// How many blocks behind the head nothing changes any more.
    pub finality: u64,
    /// For how many blocks from its signing a transaction is valid.
    pub validity: u64,
    /// One block in this number takes blocks before it back; 0: none.
    pub reorganises: u64,
    /// One transaction in this number comes late, or not at all; 0: none.
    pub loses: u64,
    /// One reading in this number is of a node that lags or lies; 0: none.
    pub misleads: u64,
    /// In one block of this number, a wallet spends a nonce of one of our keys; 0: none.
    pub strangers: u64,
    /// From this block on the contract refuses whatever comes, for [`REFUSES_FOR`] blocks; 0: never.
    ///
    /// [`REFUSES_FOR`]: super::REFUSES_FOR
    pub refuses_from: u64,
    /// The wallets that use our keys pay now and then what the next transaction of that key pays.
    pub wallets_pay: bool,
    /// The first block in which no node shows what a block holds; 0: each always does.
    pub hides_from: u64,
    /// For how many blocks that is so.
    pub hides_for: u64,
    /// From this block on no block takes what the first lane signs; 0: each does.
    pub holds_from: u64,
    /// For how many blocks that is so.
    pub holds_for: u64,
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
            strangers: 0,
            refuses_from: 0,
            wallets_pay: false,
            hides_from: 0,
            hides_for: 0,
            holds_from: 0,
            holds_for: 0,
        }
    }

    /// The same chain on a bad day.
    pub const fn rough(locking: Locking) -> Self {
        Self { reorganises: 3, loses: 3, misleads: 4, ..Self::calm(locking) }
    }

    /// Whether it takes blocks back, loses transactions or has nodes that lie.
    pub const fn is_rough(&self) -> bool {
        self.reorganises > 0 || self.loses > 0 || self.misleads > 0 || self.strangers > 0
    }
}

pub(super) struct State {
    pub rules: ChainRules,
    pub draws: SplitMix,
    /// The number of the last block.
    pub height: u64,
    began: u64,
    /// What the first block is told from others by.
    pub genesis: u64,
    /// What the bytes of each form say, by its name.
    pub signed: BTreeMap<Arc<[u8]>, Transaction>,
    /// What was given to the network, in order. Where the node signs, each call is another one.
    pub sent: Vec<(Transaction, Inclusion)>,
    /// How often each form was given to a node.
    pub broadcasts: BTreeMap<Arc<[u8]>, u32>,
    pub registered: BTreeSet<Arc<str>>,
    /// Accounts whose payment fails, and its transaction with it; the value says how many times.
    pub spoils: BTreeMap<Arc<str>, usize>,
    /// How many forms that pay this account, or void what it was paid, never come to a block.
    pub loses: BTreeMap<(Effect, Arc<str>), usize>,
    /// The forms that were lost so.
    lost: BTreeSet<Arc<[u8]>>,
    /// Accounts that do not take what they are paid; `false`: until it is called back.
    pub sleeps: BTreeMap<Arc<str>, bool>,
    /// The accounts that called back what they sent us before we took it in.
    pub revokes: BTreeSet<Arc<str>>,
    /// The last session of the node.
    pub session: u64,
    /// Nothing that is sent reaches the chain.
    pub swallows: bool,
    /// The key of a lane was used elsewhere, up to this number.
    pub elsewhere: BTreeMap<Arc<str>, u64>,
    /// The lanes whose keys were deleted, and the block that did it.
    pub deleted: BTreeMap<Arc<str>, u64>,
    /// Those whose keys were added again later, and the block that did it.
    pub added: BTreeMap<Arc<str>, u64>,
    /// No node shows what a block holds.
    pub hides_blocks: bool,
    /// No node has seen a block behind this one.
    pub stuck_at: Option<u64>,
    /// The transfers that a transaction which was held back pays, registers or calls back.
    pub held_back: BTreeSet<HeldBack>,
    /// What an oracle found on the way.
    pub faults: Vec<String>,
}

impl State {
    pub(super) fn final_height(&self) -> u64 {
        self.height.saturating_sub(self.rules.finality)
    }

    /// The newest of these blocks that any node has seen.
    pub(super) fn shown(&self, height: u64) -> u64 {
        self.stuck_at.filter(|stuck| *stuck < height).unwrap_or(height)
    }

    /// The newest final block that any node shows.
    pub(super) fn shown_final(&self) -> u64 {
        self.shown(self.final_height())
    }

    pub(super) fn included(&self, upto: u64) -> impl Iterator<Item = (&Transaction, u64, Outcome)> {
        self.sent.iter().filter_map(move |(tx, inclusion)| match inclusion {
            Inclusion::Included(at, outcome) if *at <= upto => Some((tx, *at, *outcome)),
            Inclusion::Included(..) | Inclusion::Waits(_) | Inclusion::Gone => None,
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
        let known = [spent, elsewhere, self.began_at(lane, upto)];
        known.into_iter().max().unwrap_or(0)
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
                tx.effect == Effect::Registers && outcome == Outcome::Success && mine
            })
    }

    /// What this transfer sent us was taken in.
    fn is_credited(&self, id: Id, upto: u64) -> bool {
        self.included(upto).any(|(tx, _, outcome)| {
            let mine = tx.actions.iter().any(|action| action.id == id);
            tx.effect == Effect::Credits && outcome == Outcome::Success && mine
        })
    }

    /// As far as the final blocks say.
    pub(super) fn registered_for_good(&self, account: &Arc<str>) -> bool {
        self.is_registered(account, self.final_height())
    }

    /// A payment to this account fails once more.
    fn spoils(&self, account: &Arc<str>) -> bool {
        let Some(times) = self.spoils.get(account) else { return false };
        let failed = self.included(u64::MAX).filter(|(tx, _, outcome)| match outcome {
            Outcome::Failed(culprit) => {
                tx.actions.get(*culprit).is_some_and(|action| action.account == *account)
            }
            Outcome::Success => false,
        });
        failed.count() < *times
    }

    /// A form that the script of the case loses, however often it is sent.
    fn is_lost(&mut self, tx: &Transaction) -> bool {
        if self.lost.contains(&tx.name) {
            return true;
        }
        if tx.purpose == Purpose::Void {
            return false;
        }
        let of = |action: &Paid| (tx.effect, action.account.clone());
        let left = tx.actions.iter().map(of).find_map(|key| match self.loses.get(&key) {
            Some(0) | None => None,
            Some(left) => Some((key, left - 1)),
        });
        let Some((key, left)) = left else { return false };
        self.loses.insert(key, left);
        self.lost.insert(tx.name.clone());
        true
    }

    pub(super) fn execute(&self, tx: &Transaction) -> Outcome {
        let refuses = self.refuses_all();
        let fails = |action: &Paid| match tx.effect {
            Effect::Registers => refuses || self.spoils(&action.account),
            Effect::Pays => {
                let registered = self.is_registered(&action.account, u64::MAX);
                refuses || self.spoils(&action.account) || !registered
            }
            // where the receiver wakes up, it takes the money when it is called back
            Effect::Voids => self.sleeps.get(&action.account) != Some(&true),
            Effect::Credits => {
                self.revokes.contains(&action.account) || self.is_credited(action.id, u64::MAX)
            }
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
        self.draw_wallet();
        for n in 0..self.sent.len() {
            let Some((tx, Inclusion::Waits(from))) = self.sent.get(n).cloned() else { continue };
            let expired = tx.expires.is_some_and(|last| height > last);
            let refused = self.spent(&tx) || self.is_deleted(&tx.lane, height);
            let inclusion = if expired || refused {
                Inclusion::Gone
            } else if from <= height && !self.holds_back(&tx) {
                Inclusion::Included(height, self.execute(&tx))
            } else {
                continue;
            };
            if let Some(slot) = self.sent.get_mut(n) {
                slot.1 = inclusion;
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
            if let Some((_, inclusion @ Inclusion::Included(..))) = self.sent.get_mut(n)
                && let Inclusion::Included(at, _) = *inclusion
                && at > kept
            {
                *inclusion = if forgets { Inclusion::Gone } else { Inclusion::Waits(late) };
            }
        }
    }

    /// A form is given to a node. Where the node signs each call is a transaction of its own.
    pub(super) fn send(&mut self, tx: &Transaction, session: u64) {
        let calls = self.broadcasts.entry(tx.name.clone()).or_default();
        *calls += 1;
        if *calls == 1 {
            self.sends_too_early(tx);
        }
        if self.swallows || self.is_lost(tx) {
            return;
        }
        let lost = self.draws.once_in(1, self.rules.loses);
        let late = self.draws.next() % (self.rules.validity + self.rules.validity / 2);
        let from = if lost { self.height + late } else { self.height + 1 };
        let once = self.rules.locking != Locking::Reference || tx.purpose == Purpose::Void;
        let known = self.sent.iter_mut().find(|(sent, _)| once && sent.name == tx.name);
        match known {
            // identical bytes: a node that forgot them takes them again
            Some((_, inclusion @ Inclusion::Gone)) => *inclusion = Inclusion::Waits(from),
            Some(_) => {}
            None => {
                let session = if tx.purpose == Purpose::Void { tx.session } else { session };
                self.sent.push((Transaction { session, ..tx.clone() }, Inclusion::Waits(from)));
            }
        }
    }

    /// Nothing is sent under another lock of a lane while an older one may still land. What a worker signs
    /// that lost its lease is neither stored nor sent.
    fn sends_too_early(&mut self, tx: &Transaction) {
        let last = self.final_height();
        let lives = |(sent, inclusion): &&(Transaction, Inclusion)| {
            // what a wallet signed with the key is not of this law
            let ours = !sent.name.starts_with(b"elsewhere/");
            let other = ours && sent.lane == tx.lane && sent.lock != tx.lock;
            let pays = sent.purpose == Purpose::Pay;
            let lands = match inclusion {
                Inclusion::Waits(_) => {
                    !self.spent(sent) && sent.expires.is_none_or(|end| last <= end)
                }
                Inclusion::Included(at, _) => *at > last,
                Inclusion::Gone => false,
            };
            other && pays && lands
        };
        if let Some((sent, inclusion)) = self.sent.iter().find(lives) {
            let (old, new) = (&sent.lock, &tx.lock);
            self.faults.push(format!("{new} is sent for {} while {old} is {inclusion:?}", tx.lane));
        }
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
    /// The first block of every chain until a test shows another one: one store may see chain after chain.
    pub const GENESIS: u64 = 7;

    /// A chain whose first block is made now. These accounts hold the token.
    pub fn new(rules: ChainRules, clock: Arc<dyn Clock>, seed: u64) -> Self {
        let state = State {
            rules,
            draws: SplitMix(seed ^ 0x0ff1_ce0f_f1ce_0ff1),
            height: 0,
            began: clock.now(),
            genesis: Self::GENESIS,
            signed: BTreeMap::new(),
            sent: Vec::new(),
            broadcasts: BTreeMap::new(),
            registered: BTreeSet::new(),
            spoils: BTreeMap::new(),
            loses: BTreeMap::new(),
            lost: BTreeSet::new(),
            sleeps: BTreeMap::new(),
            revokes: BTreeSet::new(),
            session: 0,
            swallows: false,
            elsewhere: BTreeMap::new(),
            added: BTreeMap::new(),
            deleted: BTreeMap::new(),
            hides_blocks: false,
            stuck_at: None,
            held_back: BTreeSet::new(),
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

    /// The time by which its blocks are made.
    pub(super) fn time(&self) -> u64 {
        self.clock.now()
    }

    /// Its nodes show this first block from now on, by which it is told from other chains of its name.
    pub fn shows_genesis(&self, genesis: u64) {
        self.now().genesis = genesis;
    }

    /// What this transfer sent us was taken in, by the final blocks.
    pub fn is_credited(&self, id: Id) -> bool {
        let state = self.now();
        state.is_credited(id, state.final_height())
    }

    /// Nothing that is sent from now on reaches the chain, or everything does.
    pub fn swallow(&self, swallows: bool) {
        self.now().swallows = swallows;
    }

    /// The key of a lane is used by another program, up to this number.
    pub fn used_elsewhere(&self, lane: &str, nonce: u64) {
        self.now().elsewhere.insert(lane.into(), nonce);
    }

    /// No node shows from now on what a block holds, or all of them do.
    pub fn hide_blocks(&self, hides: bool) {
        self.now().hides_blocks = hides;
    }

    /// From now on no node shows a block behind this one, or each shows all of them.
    pub fn shows_upto(&self, height: Option<u64>) {
        self.now().stuck_at = height;
    }

    /// The newest final block.
    pub fn final_height(&self) -> u64 {
        self.now().final_height()
    }

    /// From now on nothing goes wrong any more.
    pub fn calm(&self) {
        let rules = &mut self.now().rules;
        (rules.reorganises, rules.loses, rules.misleads, rules.strangers) = (0, 0, 0, 0);
        rules.hides_from = 0;
    }

    /// How often each transfer was paid in final blocks.
    pub fn paid(&self) -> BTreeMap<Id, Vec<Paid>> {
        let state = self.now();
        let mut paid: BTreeMap<Id, Vec<Paid>> = BTreeMap::new();
        for (tx, _, outcome) in state.included(state.final_height()) {
            if outcome == Outcome::Success && tx.effect == Effect::Pays {
                for action in &tx.actions {
                    paid.entry(action.id).or_default().push(action.clone());
                }
            }
        }
        paid
    }

    /// How often a payment to each transfer was called back in final blocks.
    pub fn voided(&self) -> BTreeMap<Id, usize> {
        let state = self.now();
        let mut voided: BTreeMap<Id, usize> = BTreeMap::new();
        for (tx, _, outcome) in state.included(state.final_height()) {
            if outcome == Outcome::Success && tx.effect == Effect::Voids {
                for action in &tx.actions {
                    *voided.entry(action.id).or_default() += 1;
                }
            }
        }
        voided
    }

    /// Whether the last payment to a transfer was taken, by the final blocks: `Some(false)` where the time
    /// for it is over, `None` where it still may be.
    pub fn taken(&self, id: Id) -> Option<bool> {
        let state = self.now();
        let last = state.final_height();
        let (mut payment, mut woken) = (None, false);
        for (tx, at, outcome) in state.included(last) {
            let Some(place) = tx.actions.iter().position(|action| action.id == id) else {
                continue;
            };
            match (tx.effect, outcome) {
                (Effect::Pays, Outcome::Success) => {
                    payment = tx.actions.get(place).map(|paid| (at, paid.account.clone()));
                }
                (Effect::Voids, Outcome::Failed(culprit)) => woken |= culprit == place,
                (Effect::Pays | Effect::Registers | Effect::Voids | Effect::Credits, _) => {}
            }
        }
        let (at, account) = payment?;
        let awake = woken || !state.sleeps.contains_key(&account);
        if awake { Some(true) } else { (last > at + TAKEN_WITHIN).then_some(false) }
    }

    /// The time of the newest final block, in milliseconds since 1970.
    pub fn final_time(&self) -> u64 {
        let state = self.now();
        state.began + state.final_height() * state.rules.block_ms
    }

    /// How it behaves now.
    pub fn rules(&self) -> ChainRules {
        self.now().rules
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

    /// Transfers that final blocks paid more than once, whatever signed it: what was called back counts not, nor what
    /// was set aside.
    fn paid_twice(&self) -> Vec<String> {
        let voided = self.voided();
        let twice = self.paid().into_iter().filter_map(|(id, paid)| {
            let times = paid.iter().filter(|paid| &*paid.account != QUARANTINE).count();
            let most = voided.get(&id).map_or(1, |voided| voided + 1);
            (times > most).then(|| format!("{id} was paid {times} times by the chain's blocks"))
        });
        twice.collect()
    }

    /// What is wrong with the chain's own history: a transfer that was paid twice, a lock of which two forms are final,
    /// and whatever was noticed on the way.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = self.paid_twice();
        let state = self.now();
        faults.extend(state.faults.iter().cloned());
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
