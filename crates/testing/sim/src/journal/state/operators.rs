//! The operators' rows of the simulated journal: cases, pauses, approvals and actions.

use super::State;
use kernel::answer::Cause;
use kernel::audit::{Entry, Hash, OPERATORS, genesis, link};
use kernel::ids::{AssetId, Day, Id, Millis, UserId};
use kernel::limits::DailyUsage;
use kernel::money::Asset;
use kernel::operators::{
    Accepted, Action, Approval, ApprovalStatus, Case, JOURNAL, Note, OpenCase, PastAction, Paused,
    Proposal, RESUME, Scope, Subject,
};
use kernel::ports::journal::{Linked, PENDING_APPROVALS};
use kernel::record::Record;
use kernel::rules::{ALL_ASSETS, UsageKey};
use kernel::unit::{Put, Wrote};
use std::collections::BTreeMap;
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

#[derive(Debug, Clone)]
pub(in crate::journal) struct Operators {
    pub(super) cases: Vec<StoredCase>,
    pub paused: Vec<Paused>,
    /// Number of pauses that there ever were.
    pauses: u64,
    pub accepted: Vec<Accepted>,
    actions: BTreeMap<(Arc<str>, Arc<str>), PastAction>,
    approvals: BTreeMap<Id, Approval>,
    pub assets: BTreeMap<AssetId, Asset>,
    /// What users moved, each row as the rules left it.
    days: BTreeMap<UsageKey, DailyUsage>,
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
            days: BTreeMap::new(),
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

    /// The comments of every case of a kind, oldest first.
    pub(in crate::journal) fn comments(&self, kind: &str) -> Vec<Arc<str>> {
        let of_kind = self.cases.iter().filter(|kept| kept.case.kind == kind);
        let comment = |note: &Note| match note {
            Note::Comment(words) => Some(words.clone()),
            Note::Assigned(_) => None,
        };
        of_kind.flat_map(|kept| &kept.notes).filter_map(|(_, _, note)| comment(note)).collect()
    }

    pub(super) fn accept(&mut self, accepted: Vec<Accepted>) {
        for one in accepted {
            // what is accepted once more is what was accepted last
            self.accepted.retain(|before| *before != one);
            self.accepted.push(one);
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

    /// Why one of these puts is refused by the table of assets: a symbol names one asset.
    pub(super) fn symbol_taken<'p>(&self, puts: impl Iterator<Item = &'p Put>) -> Option<Wrote> {
        let mut own: Vec<&Asset> = Vec::new();
        for put in puts {
            let Put::Asset(asset) = put else { continue };
            let other = |a: &Asset| a.symbol == asset.symbol && a.id != asset.id;
            let replaced = |a: &Asset| own.iter().any(|new| new.id == a.id);
            if self.assets.values().any(|a| other(a) && !replaced(a))
                || own.iter().any(|a| other(a))
            {
                return Some(Wrote::Unknown(Cause::of("STORE_REFUSED")));
            }
            own.retain(|before| before.id != asset.id);
            own.push(asset);
        }
        None
    }

    /// How an approval is stored, and until when it may be decided.
    pub(super) fn approval_status(&self, id: Id) -> Option<(ApprovalStatus, Millis)> {
        self.approvals.get(&id).map(|approval| (approval.stand, approval.expires_at))
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

    /// What users moved by now.
    pub(super) fn counted(&mut self, days: Vec<(UsageKey, DailyUsage)>) {
        self.days.extend(days);
    }

    pub(super) fn forget_days(&mut self, before: Day) {
        self.days.retain(|(day, ..), _| *day >= before);
    }

    pub(super) fn usage(&self, spend: UsageKey) -> DailyUsage {
        self.days.get(&spend).copied().unwrap_or_default()
    }

    pub(in crate::journal) fn daily_usage(
        &self,
        user: UserId,
        day: Day,
        asset: AssetId,
    ) -> DailyUsage {
        DailyUsage {
            transfers: self.usage((day, user, ALL_ASSETS)).transfers,
            amount: self.usage((day, user, asset)).amount,
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

    pub(in crate::journal) fn actions_on(&self, kind: &str, subject: &str) -> Vec<PastAction> {
        let about = |past: &&PastAction| *past.kind == *kind && *past.subject == *subject;
        let mut found: Vec<PastAction> =
            self.operators.actions.values().filter(about).cloned().collect();
        found.sort_by_key(|past| std::cmp::Reverse(past.number));
        found
    }

    pub(in crate::journal) fn resumes(&self) -> Vec<PastAction> {
        let resumed = |past: &&PastAction| past.result.contains("\"RESUMED\"");
        let mut found: Vec<PastAction> =
            self.operators.actions.values().filter(resumed).cloned().collect();
        found.sort_by_key(|past| past.number);
        found
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

    pub(in crate::journal) fn pending_approvals(&self, now: Millis) -> Vec<Approval> {
        let waits = |a: &&Approval| a.stand.at(now, a.expires_at) == ApprovalStatus::Pending;
        self.operators.approvals.values().filter(waits).take(PENDING_APPROVALS).cloned().collect()
    }

    pub(in crate::journal) fn open_older_than(&self, opened: Millis, limit: usize) -> Vec<Record> {
        let mut open: Vec<_> = self.opens().filter(|r| r.created_at <= opened).cloned().collect();
        open.sort_by_key(|record| (record.created_at, record.serial));
        open.truncate(limit);
        open
    }
}
