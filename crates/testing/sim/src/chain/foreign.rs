//! Transactions that another program signs with a key of the pool, and the way an adapter finds them.

use super::node::Mood;
use super::state::{ChainRules, Locking, SimChain, State};
use super::transaction::{Effect, Inclusion, Outcome, Paid, Transaction};
use kernel::answer::{Cause, Evidence};
use kernel::attempt::{Form, Lock, Purpose};
use kernel::ids::Id;
use kernel::ports::chain::{
    ForeignPayment, ForeignUse, LaneMark, LaneSpent, LaneStart, NewLane, Payment, SpentLock,
};
use kernel::record::Account;
use std::sync::Arc;

/// The height from which wallets leave a relay's keys alone, so that each run ends.
pub const STRANGE_BLOCKS: u64 = 80;

/// The account whose keys the simulated chains know.
const OWN: &str = "relay.near";

fn number(lock: &Lock) -> u64 {
    lock.on_chain().parse().unwrap_or(0)
}

impl State {
    /// Another program's transaction with the key of a lane is in the newest block. It has the next number of
    /// the key: where an attempt of ours has that too, the attempt cannot land any more.
    pub(super) fn spend_elsewhere(&mut self, lane: &str, actions: Vec<Paid>) -> Lock {
        let height = self.height;
        let lock = Lock::from((self.nonce(lane, u64::MAX) + 1).to_string().as_str());
        let tx = Transaction {
            name: format!("elsewhere/{lane}/{lock}").into_bytes().into(),
            lane: lane.into(),
            lock: lock.clone(),
            purpose: Purpose::Pay,
            effect: Effect::Pays,
            actions,
            expires: None,
            session: 0,
        };
        let outcome = self.execute(&tx);
        self.sent.push((tx, Inclusion::Included(height, outcome)));
        lock
    }

    /// A wallet uses one of our keys in a block where the rules draw it.
    pub(super) fn draw_wallet(&mut self) {
        let ChainRules { locking, lanes, strangers, wallets_pay, .. } = self.rules;
        let may = locking == Locking::Nonce && self.height < STRANGE_BLOCKS;
        if !may || !self.draws.once_in(1, strangers) {
            return;
        }
        let lane = 1 + self.draws.next() % u64::try_from(lanes).unwrap_or(1);
        let lane = format!("key-{lane}");
        let pays = wallets_pay && self.draws.once_in(1, 2);
        let actions = if pays { self.paid_next(&lane) } else { Vec::new() };
        self.spend_elsewhere(&lane, actions);
    }

    /// What the form pays that was sent with the next number of a lane: the first of its members, or all. Whatever has
    /// that number pays them in its place.
    fn paid_next(&mut self, lane: &str) -> Vec<Paid> {
        let next = self.nonce(lane, u64::MAX) + 1;
        let is_next = |tx: &&Transaction| {
            &*tx.lane == lane && number(&tx.lock) == next && self.broadcasts.contains_key(&tx.name)
        };
        let form = self.signed.values().filter(|tx| tx.effect == Effect::Pays).find(is_next);
        let mut actions = form.map(|tx| tx.actions.clone()).unwrap_or_default();
        let all = u64::try_from(actions.len()).unwrap_or(1);
        if all > 0 {
            let most = 1 + self.draws.next() % all;
            actions.truncate(usize::try_from(most).unwrap_or(1));
        }
        actions
    }

    /// True while no node shows what a block holds.
    fn hides(&self) -> bool {
        let ChainRules { hides_from, hides_for, .. } = self.rules;
        let drawn = hides_from > 0 && (hides_from..hides_from + hides_for).contains(&self.height);
        self.hides_blocks || drawn
    }

    /// The height up to which two nodes show the final blocks, where neither is older than `floor`.
    fn shown_height(&mut self, floor: u64) -> Result<u64, Cause> {
        let mut last = self.shown_final();
        for mood in self.moods() {
            match mood {
                Mood::Honest => {}
                Mood::Lags(lag) => last = last.saturating_sub(lag),
                Mood::Lies => return Err(Cause::of("NODES_DISAGREE")),
            }
        }
        if last < floor { Err(Cause::of("BEHIND")) } else { Ok(last) }
    }
}

impl SimChain {
    /// Another program makes a transaction with the key of a lane: it is in the next final block. It pays
    /// these, or does nothing that concerns the token.
    pub fn spends_elsewhere(&self, lane: &str, actions: Vec<Paid>) -> Lock {
        self.now().spend_elsewhere(lane, actions)
    }

    /// The lanes of which final blocks have spent more than the marks say. A block below `floor` says nothing.
    pub(super) fn ahead(&self, marks: &[LaneMark], floor: u64) -> Result<Vec<LaneSpent>, Cause> {
        let mut state = self.now();
        if state.rules.locking != Locking::Nonce {
            return Ok(Vec::new());
        }
        let last = state.shown_height(floor)?;
        let spent = |mark: &LaneMark| {
            let seen = mark.seen.as_ref().map_or(0, |seen| number(&seen.lock));
            let shown = state.nonce(&mark.lane, last);
            let nonce = if shown > seen { shown } else { seen };
            let lock = || Lock::from(nonce.to_string().as_str());
            let ahead = || LaneSpent { lane: mark.lane.clone(), lock: lock(), height: last };
            (nonce > number(&mark.lock)).then(ahead)
        };
        Ok(marks.iter().filter_map(spent).collect())
    }

    /// The lanes as final blocks show them, and the lock that each had at a height.
    pub(super) fn new_lanes(
        &self,
        lanes: &[Arc<str>],
        since: Option<u64>,
        floor: u64,
    ) -> Result<Option<Vec<NewLane>>, Cause> {
        let mut state = self.now();
        if state.rules.locking != Locking::Nonce {
            return Ok(None);
        }
        let last = state.shown_height(floor)?;
        let at = |lane: &str, height| LaneStart {
            lock: Lock::from(state.nonce(lane, height).to_string().as_str()),
            height,
        };
        let new = |lane: &Arc<str>| NewLane {
            lane: lane.clone(),
            now: at(lane, last),
            start: match since {
                Some(_) if state.hides() && state.nonce(lane, last) > 0 => None,
                since => Some(at(lane, since.unwrap_or(last))),
            },
        };
        Ok(Some(lanes.iter().filter(|lane| !state.is_deleted(lane, last)).map(new).collect()))
    }

    /// The block up to a height in which a lane's numbers went past a lock, and what was spent before it.
    pub(super) fn spent_lock(&self, lane: &str, lock: &Lock, upto: u64) -> Option<SpentLock> {
        let state = self.now();
        let spends = |(tx, ..): &(&Transaction, u64, Outcome)| {
            &*tx.lane == lane && number(&tx.lock) >= number(lock)
        };
        let included = state.included(upto).filter(|_| !state.hides());
        let height = included.filter(spends).map(|(_, at, _)| at).min()?;
        let nonce = |at| Lock::from(state.nonce(lane, at).to_string().as_str());
        let before = height.saturating_sub(1);
        Some(SpentLock {
            evidence: Evidence {
                code: "SPENT_ELSEWHERE".into(),
                doc: Some(format!(r#"{{"height":{height}}}"#).into()),
            },
            before: LaneStart { lock: nonce(before), height: before },
            left: LaneSpent { lane: lane.into(), lock: nonce(height), height },
        })
    }

    /// What spent them. What is only said to have been used elsewhere is in no block.
    pub(super) fn foreign(&self, mark: &LaneMark) -> Result<Vec<ForeignUse>, Cause> {
        let state = self.now();
        let last = state.shown_final();
        let own = |(tx, ..): &(&Transaction, u64, Outcome)| {
            tx.lane == mark.lane && number(&tx.lock) > number(&mark.lock)
        };
        let mut found: Vec<_> = state.included(last).filter(own).collect();
        found.sort_by_key(|(tx, ..)| number(&tx.lock));
        if found.is_empty() || state.hides() {
            Err(Cause::of("NOT_SHOWN"))
        } else {
            Ok(found.iter().map(used).collect())
        }
    }
}

fn used((tx, at, outcome): &(&Transaction, u64, Outcome)) -> ForeignUse {
    let acts = *outcome == Outcome::Success;
    let payment = |paid: &Paid| ForeignPayment {
        id: paid.id,
        payment: Payment {
            account: Account::Named(paid.account.clone()),
            asset: paid.asset,
            amount: paid.amount,
        },
    };
    let pays = acts && tx.effect == Effect::Pays && !tx.actions.is_empty();
    let names: Vec<Id> = tx.actions.iter().map(|paid| paid.id).filter(|_| acts).collect();
    ForeignUse {
        lock: tx.lock.clone(),
        form: Form {
            purpose: Purpose::Pay,
            name: tx.name.clone(),
            bytes: Arc::new([]),
            repeatable: false,
            expires: None,
            anchor: Some(at.saturating_sub(1)),
            reference: None,
        },
        payer: Account::Named(OWN.into()),
        pays: pays.then(|| tx.actions.iter().map(payment).collect()),
        names,
        facts: String::from_utf8_lossy(&tx.name).into(),
    }
}
