//! What operators are asked, decide and do, as the simulated journal keeps it.

use super::State;
use kernel::answer::Cause;
use kernel::audit::{Entry, Hash, OPERATORS, genesis, link};
use kernel::ids::{AssetId, Day, Id, Millis, UserId};
use kernel::limits::{DailyCount, DailyUsage};
use kernel::money::{Amount, Asset};
use kernel::operators::{
    Accepted, Action, Approval, ApprovalStatus, Case, JOURNAL, Note, OpenCase, PastAction, Paused,
    Proposal, RESUME, Scope, Subject,
};
use kernel::ports::journal::Linked;
use kernel::record::Record;
use kernel::unit::{Guard, Put, Wrote};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The resource that counts how often the assets changed.
const ASSETS: &str = "assets";

/// A case; its number is its place, from 1.
#[derive(Debug, Clone)]
pub(super) struct StoredCase {
    pub case: Case,
    opened_at: Millis,
    closed: Option<(Arc<str>, Millis)>,
    notes: Vec<(Millis, Arc<str>, Note)>,
}

/// What a unit said itself, before any of it is written.
#[derive(Debug, Default)]
pub(super) struct UnitWrites {
    past_action: BTreeSet<(Arc<str>, Arc<str>)>,
    proposed: BTreeSet<Id>,
    decided: BTreeSet<Id>,
    assets: Option<BTreeMap<AssetId, Asset>>,
}

#[derive(Debug, Clone)]
pub(super) struct Operators {
    pub cases: Vec<StoredCase>,
    pub paused: Vec<Paused>,
    /// So many pauses there ever were.
    pauses: u64,
    pub accepted: Vec<Accepted>,
    actions: BTreeMap<(Arc<str>, Arc<str>), PastAction>,
    approvals: BTreeMap<Id, Approval>,
    pub assets: BTreeMap<AssetId, Asset>,
    transfers: BTreeMap<(UserId, Day), u64>,
    amounts: BTreeMap<(UserId, Day, AssetId), Amount>,
}

impl Operators {
    pub(super) fn new() -> Self {
        Self {
            cases: Vec::new(),
            paused: Vec::new(),
            pauses: 0,
            accepted: Vec::new(),
            actions: BTreeMap::new(),
            approvals: BTreeMap::new(),
            assets: Asset::fresh().into_iter().map(|asset| (asset.id, asset)).collect(),
            transfers: BTreeMap::new(),
            amounts: BTreeMap::new(),
        }
    }

    fn open(&mut self, kind: &str, subject: Subject) -> Option<&mut StoredCase> {
        let fits = |kept: &&mut StoredCase| {
            kept.closed.is_none() && (kept.case.kind, kept.case.subject) == (kind, subject)
        };
        self.cases.iter_mut().find(fits)
    }

    pub(super) fn case(&mut self, case: Case, at: Millis) {
        if self.open(case.kind, case.subject).is_none() {
            self.cases.push(StoredCase { case, opened_at: at, closed: None, notes: Vec::new() });
        }
    }

    pub(super) fn close(&mut self, (kind, subject): (&str, Subject), fact: Arc<str>, at: Millis) {
        if let Some(kept) = self.open(kind, subject) {
            kept.closed = Some((fact, at));
        }
    }

    pub(super) fn note(&mut self, case: u64, caller: Arc<str>, note: Note, at: Millis) {
        if let Some((_, kept)) = (1..).zip(&mut self.cases).find(|(number, _)| *number == case) {
            kept.notes.push((at, caller, note));
        }
    }

    pub(super) fn accept(&mut self, accepted: Vec<Accepted>) {
        for one in accepted {
            if !self.accepted.contains(&one) {
                self.accepted.push(one);
            }
        }
    }

    pub(super) fn pause(&mut self, scope: Scope, reason: Arc<str>, caller: Arc<str>, at: Millis) {
        if !self.paused.iter().any(|p| (p.scope, &p.caller) == (scope, &caller)) {
            self.pauses += 1;
            self.paused.push(Paused { number: self.pauses, scope, reason, caller, at });
        }
    }

    /// Whether (caller, key) did something.
    pub(super) fn did(&self, caller: &Arc<str>, key: &Arc<str>) -> bool {
        self.actions.contains_key(&(caller.clone(), key.clone()))
    }

    /// What of a put can never be written beside what is there and what its unit said so far.
    pub(super) fn objection(&self, put: &Put, said: &mut UnitWrites, now: Millis) -> Option<Wrote> {
        if let Put::Action(Action { caller, key, .. }) = put
            && (self.did(caller, key) || !said.past_action.insert((caller.clone(), key.clone())))
        {
            let (caller, key) = (caller.clone(), key.clone());
            return Some(Wrote::Lost(Guard::NoPastAction { caller, key }));
        }
        if let Put::Propose(Proposal { id, .. }) = put
            && (self.approvals.contains_key(id) || !said.proposed.insert(*id))
        {
            return Some(Wrote::Unknown(Cause::of("CONTRADICTION")));
        }
        if let Put::Decide { id, .. } = put
            && (!(self.pending(*id, now) || said.proposed.contains(id))
                || !said.decided.insert(*id))
        {
            return Some(Wrote::Lost(Guard::Pending(*id)));
        }
        if let Put::Asset(asset) = put {
            // a symbol names one asset
            let assets = said.assets.get_or_insert_with(|| self.assets.clone());
            if assets.values().any(|a| a.symbol == asset.symbol && a.id != asset.id) {
                return Some(Wrote::Unknown(Cause::of("STORE_REFUSED")));
            }
            assets.insert(asset.id, asset.clone());
        }
        None
    }

    pub(super) fn pending(&self, id: Id, now: Millis) -> bool {
        let stands = |a: &Approval| a.stand.at(now, a.expires_at);
        self.approvals.get(&id).is_some_and(|approval| stands(approval) == ApprovalStatus::Pending)
    }

    /// Closes what was proposed of a HALT that is another one now, or none.
    pub(super) fn supersede(&mut self, at: Millis) {
        let open = self.approvals.values_mut().filter(|a| a.stand == ApprovalStatus::Pending);
        for approval in open.filter(|approval| *approval.kind == *RESUME) {
            approval.stand = ApprovalStatus::Superseded;
            approval.decided = Some((JOURNAL.into(), at));
        }
    }

    pub(super) fn propose(&mut self, proposal: Proposal, at: Millis) {
        let Proposal { id, kind, subject, value, reason, caller, lasts } = proposal;
        let (stand, decided) = (ApprovalStatus::Pending, None);
        let (kind, expires_at) = (kind.into(), at.saturating_add(lasts));
        let approval =
            Approval { id, kind, subject, value, reason, caller, at, expires_at, stand, decided };
        self.approvals.insert(id, approval);
    }

    pub(super) fn decide(&mut self, id: Id, stand: ApprovalStatus, caller: Arc<str>, at: Millis) {
        if let Some(approval) = self.approvals.get_mut(&id) {
            (approval.stand, approval.decided) = (stand, Some((caller, at)));
        }
    }

    fn day(&mut self, count: DailyCount) -> (&mut u64, &mut Amount) {
        let DailyCount { user, day, asset, .. } = count;
        let transfers = self.transfers.entry((user, day)).or_default();
        (transfers, self.amounts.entry((user, day, asset)).or_default())
    }

    pub(super) fn count(&mut self, count: DailyCount) {
        let (transfers, amount) = self.day(count);
        *transfers += 1;
        *amount = amount.plus(count.amount).unwrap_or(Amount(u128::MAX));
    }

    pub(super) fn uncount(&mut self, count: DailyCount) {
        let (transfers, amount) = self.day(count);
        *transfers = transfers.saturating_sub(1);
        *amount = amount.minus(count.amount).unwrap_or(Amount::ZERO);
    }

    pub(super) fn forget_days(&mut self, before: Day) {
        self.transfers.retain(|(_, day), _| *day >= before);
        self.amounts.retain(|(_, day, _), _| *day >= before);
    }

    pub(in crate::journal) fn daily_usage(
        &self,
        user: UserId,
        day: Day,
        asset: AssetId,
    ) -> DailyUsage {
        DailyUsage {
            transfers: self.transfers.get(&(user, day)).copied().unwrap_or_default(),
            amount: self.amounts.get(&(user, day, asset)).copied().unwrap_or_default(),
        }
    }
}

impl State {
    /// Adds an action to what was done, and to the operators' chain; its hash.
    pub(super) fn action(&mut self, action: Action, at: Millis) -> Hash {
        let hash = self.link(OPERATORS, genesis(OPERATORS), |seq| action.entry(seq, at));
        let number = u64::try_from(self.operators.actions.len()).unwrap_or(u64::MAX);
        let Action { caller, key, kind, subject, value, reason, result } = action;
        let (name, number, kind) = ((caller.clone(), key.clone()), number + 1, kind.into());
        let past_action =
            PastAction { number, at, caller, key, kind, subject, value, reason, result };
        self.operators.actions.insert(name, past_action);
        hash
    }

    /// Adds an entry to a chain that begins with `start`; its hash.
    pub(super) fn link(&mut self, id: Id, start: Hash, entry: impl FnOnce(u32) -> Entry) -> Hash {
        let history = self.history.entry(id).or_default();
        let entry = entry(u32::try_from(history.len()).unwrap_or(u32::MAX));
        let prev = history.last().map_or(start, |linked| linked.hash);
        let hash = link(prev, &entry);
        history.push(Linked { entry, prev, hash });
        self.audited.1 += 1;
        self.touched.push(id);
        hash
    }

    pub(super) fn asset(&mut self, asset: Asset) {
        self.operators.assets.insert(asset.id, asset);
        self.resource(ASSETS.into(), "".into());
    }

    pub(super) fn assets_version(&self) -> u32 {
        self.resources.get(ASSETS).map_or(0, |resource| resource.0)
    }

    pub(in crate::journal) fn open_cases(&self) -> Vec<OpenCase> {
        let open = |(number, kept): (u64, &StoredCase)| {
            let StoredCase { case: Case { kind, severity, subject, facts }, opened_at, .. } =
                kept.clone();
            let kind = kind.into();
            kept.closed.is_none().then_some(OpenCase {
                number,
                kind,
                severity,
                subject,
                facts,
                opened_at,
            })
        };
        (1..).zip(&self.operators.cases).filter_map(open).collect()
    }

    pub(in crate::journal) fn past_action(
        &self,
        caller: Arc<str>,
        key: Arc<str>,
    ) -> Option<PastAction> {
        self.operators.actions.get(&(caller, key)).cloned()
    }

    pub(in crate::journal) fn approval(&self, id: Id, now: Millis) -> Option<Approval> {
        let stored = self.operators.approvals.get(&id).cloned();
        stored.map(|a| Approval { stand: a.stand.at(now, a.expires_at), ..a })
    }

    pub(in crate::journal) fn open_older_than(&self, opened: Millis, limit: usize) -> Vec<Record> {
        let mut open: Vec<_> = self.opens().filter(|r| r.created_at <= opened).cloned().collect();
        open.sort_by_key(|record| (record.created_at, record.serial));
        open.truncate(limit);
        open
    }
}
