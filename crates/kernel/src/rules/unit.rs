//! What one unit comes to: guards first, then the enlisted operations, then what they choose.

use super::accounts::WantedAccount;
use super::{
    ALL_ASSETS, AttemptChange, AttemptHead, Posting, StateReader, Stopped, StoredTransfer,
    TransferChanges, UsageKey,
};
use crate::answer::{Answer, Cause, Evidence};
use crate::attempt::AttemptId;
use crate::flow::table::Flows;
use crate::ids::{Day, Id, LedgerId};
use crate::limits::{DailyCount, DailyUsage};
use crate::money::Amount;
use crate::operation::{Op, Operation};
use crate::record::Record;
use crate::unit::{Guard, Put, Then, Unit, Wrote};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a unit comes to: all of it is written.
#[derive(Debug)]
pub struct Plan<'u> {
    unit: &'u Unit,
    /// The continuation that its fork chose.
    chosen: Option<&'u Then>,
    /// The answer of its fork.
    pub fork: Option<Answer>,
    /// What it does at enlisted ledgers.
    pub posting: Posting,
    /// What it does to transfers.
    pub changes: TransferChanges,
    /// What it does to attempts, those it only looked at among them.
    pub attempts: BTreeMap<AttemptId, AttemptChange<'u>>,
    /// What users moved by then.
    pub days: Vec<(UsageKey, DailyUsage)>,
    /// Counters as they are then; the last of a name counts.
    pub counters: Vec<(&'u Arc<str>, u128)>,
    /// Events that were not seen before.
    pub inbox: Vec<(&'static str, u128)>,
}

impl<'u> Plan<'u> {
    /// The whole unit, as its driver planned it.
    pub(super) fn unit(&self) -> &'u Unit {
        self.unit
    }

    /// The parts of the unit that are written.
    pub fn thens(&self) -> impl Iterator<Item = &'u Then> + use<'u> {
        std::iter::once(&self.unit.then).chain(self.chosen)
    }

    /// It raises or lifts a HALT, which supersedes the proposals of a resume that it does not
    /// decide.
    pub fn supersedes(&self) -> bool {
        self.puts().any(|put| matches!(put, Put::Halt { .. } | Put::Resume { .. }))
    }

    /// Every put of them.
    pub fn puts(&self) -> impl Iterator<Item = &'u Put> + use<'u> {
        self.thens().flat_map(|then| &then.puts)
    }
}

/// Decides a unit, or says why nothing of it is written.
pub fn unit<'u, S: StateReader>(
    state: &mut S,
    flows: &Flows,
    unit: &'u Unit,
) -> Result<Plan<'u>, Stopped<Wrote, S::Error>> {
    let plan = Plan {
        unit,
        chosen: None,
        fork: None,
        posting: Posting::default(),
        changes: TransferChanges::default(),
        attempts: BTreeMap::new(),
        days: Vec::new(),
        counters: Vec::new(),
        inbox: Vec::new(),
    };
    let mut decision = UnitDecision { state, flows, plan, own_entries: OwnEntries::default() };
    for guard in &unit.guards {
        if !decision.holds(guard)? {
            return Err(Stopped::Answer(Wrote::Lost(guard.clone())));
        }
    }
    let refusal = decision.operate()?;
    decision.gather(&unit.then, None)?;
    if let Some(chosen) = decision.plan.chosen {
        decision.gather(chosen, refusal.as_ref())?;
    }
    let adds_up = decision.plan.posting.adds_up();
    if let Err(broken) = adds_up.and_then(|()| decision.plan.changes.are_guarded(unit)) {
        return Err(unknown(Cause::CONTRADICTION, broken));
    }
    if decision.plan.changes.agreed_unmoved() {
        return Err(unknown(
            "AGREED_UNMOVED",
            "what is agreed is written by the unit that accepts",
        ));
    }
    Ok(decision.plan)
}

/// A unit that is being decided.
pub(super) struct UnitDecision<'s, 'u, S> {
    pub(super) state: &'s mut S,
    pub(super) flows: &'s Flows,
    pub(super) plan: Plan<'u>,
    own_entries: OwnEntries<'u>,
}

/// What a unit says itself, before any of it is written.
#[derive(Default)]
struct OwnEntries<'u> {
    acts: Vec<(&'u Arc<str>, &'u Arc<str>)>,
    proposals: Vec<Id>,
    decisions: Vec<Id>,
    /// What was moved before this day is forgotten.
    forgets: Option<Day>,
}

/// Adds one; false where it was there.
fn once<T: PartialEq>(all: &mut Vec<T>, one: T) -> bool {
    let fresh = !all.contains(&one);
    all.push(one);
    fresh
}

fn unknown<T>(class: &'static str, detail: &str) -> Stopped<Wrote, T> {
    Stopped::Answer(Wrote::Unknown(Cause::because(class, detail)))
}

impl<'u, S: StateReader> UnitDecision<'_, 'u, S> {
    /// Where a transfer stands; asked once.
    pub(super) fn transfer(&mut self, id: Id) -> Result<Option<StoredTransfer>, S::Error> {
        if let Some(change) = self.plan.changes.of(id) {
            return Ok(change.stored);
        }
        let stored = self.state.transfer(id)?;
        self.plan.changes.add(id, stored);
        Ok(stored)
    }

    /// Decides settles, the fork, and what its continuation settles; gives back the fork's refusal.
    fn operate(&mut self) -> Result<Option<Evidence>, Stopped<Wrote, S::Error>> {
        let then = &self.plan.unit.then;
        self.settle(then)?;
        let Some(fork) = &then.fork else { return Ok(None) };
        let answer = self.at_enlisted(fork.ledger, &fork.op)?;
        let Some(chosen) = fork.chosen(&answer) else {
            return Err(match answer {
                Answer::Unknown(cause) => Stopped::Answer(Wrote::Unknown(cause)),
                Answer::Done(_) | Answer::Rejected(..) | Answer::Dead(_) => {
                    unknown(Cause::CONTRADICTION, "an answer that the fork does not spell")
                }
            });
        };
        self.settle(chosen)?;
        let refusal = match &answer {
            Answer::Rejected(why, _) => Some(why.clone()),
            Answer::Done(_) | Answer::Dead(_) | Answer::Unknown(_) => None,
        };
        (self.plan.chosen, self.plan.fork) = (Some(chosen), Some(answer));
        Ok(refusal)
    }

    /// Decides operations that cannot be refused.
    fn settle(&mut self, then: &Then) -> Result<(), Stopped<Wrote, S::Error>> {
        for (ledger, op) in &then.ops {
            match self.at_enlisted(*ledger, op)? {
                Answer::Done(_) => {}
                Answer::Unknown(cause) => return Err(Stopped::Answer(Wrote::Unknown(cause))),
                Answer::Rejected(..) | Answer::Dead(_) => {
                    return Err(unknown(Cause::CONTRADICTION, "a settle was refused"));
                }
            }
        }
        Ok(())
    }

    fn at_enlisted(
        &mut self,
        ledger: LedgerId,
        op: &Op,
    ) -> Result<Answer, Stopped<Wrote, S::Error>> {
        if !ledger.is_enlisted() {
            return Err(Stopped::Answer(Wrote::Unknown(Cause::of("NOT_ENLISTED"))));
        }
        Ok(self.plan.posting.decide(self.state, ledger, op)?)
    }

    /// Gathers what one part does. `refusal` completes it: heads without an error get it, the first
    /// event without a detail its code.
    fn gather(
        &mut self,
        then: &'u Then,
        refusal: Option<&Evidence>,
    ) -> Result<(), Stopped<Wrote, S::Error>> {
        for put in &then.puts {
            self.take(put, refusal)?;
        }
        self.messages(then)?;
        let mut code = refusal.map(|why| why.code.as_ref());
        for event in &then.events {
            self.transfer(event.id)?;
            let detail = event.detail.as_deref().or_else(|| code.take());
            if !self.plan.changes.event(event, detail) {
                return Err(unknown(Cause::CONTRADICTION, "something was agreed before"));
            }
        }
        Ok(())
    }

    /// Places messages at their events, before those are gathered.
    fn messages(&mut self, then: &'u Then) -> Result<(), Stopped<Wrote, S::Error>> {
        for outgoing in &then.outbox {
            self.transfer(outgoing.id)?;
            let before = self.plan.changes.events(outgoing.id);
            let event = outgoing.event.map(|n| {
                let earlier = then.events.iter().take(n).filter(|event| event.id == outgoing.id);
                before.saturating_add(earlier.count())
            });
            if !self.plan.changes.message(outgoing, event) {
                return Err(Stopped::Answer(Wrote::Unknown(Cause::of("NO_SUCH_TRANSFER"))));
            }
        }
        Ok(())
    }

    /// What a put does to transfers and counts, or why it can never be written beside what is
    /// there.
    fn take(
        &mut self,
        put: &'u Put,
        refusal: Option<&Evidence>,
    ) -> Result<(), Stopped<Wrote, S::Error>> {
        let no = |wrote| Err(Stopped::Answer(wrote));
        match put {
            Put::Open(record) => self.open(record)?,
            Put::Head { id, head, error, hold } => {
                self.transfer(*id)?;
                let error = error.as_ref().or(refusal);
                if !self.plan.changes.head(*id, *head, *hold, error) {
                    return no(Wrote::Unknown(Cause::of("NO_SUCH_TRANSFER")));
                }
            }
            Put::Receipt { ledger, operation } => self.receipt(*ledger, operation)?,
            Put::Count(count) => self.count(count, |spent, amount| DailyUsage {
                transfers: spent.transfers.saturating_add(1),
                amount: spent.amount.plus(amount).unwrap_or(Amount(u128::MAX)),
            })?,
            Put::Uncount(count) => self.count(count, |spent, amount| DailyUsage {
                transfers: spent.transfers.saturating_sub(1),
                amount: spent.amount.minus(amount).unwrap_or(Amount::ZERO),
            })?,
            Put::Adopt { ledger, known } | Put::AdoptAfterLoss { ledger, known } => {
                if self.state.superseded(*ledger, known)? {
                    return no(Wrote::Unknown(Cause::of("SUPERSEDED")));
                }
            }
            Put::ForgetDays(before) => {
                self.plan.days.retain(|((day, ..), _)| day >= before);
                if self.own_entries.forgets.is_none_or(|day| day < *before) {
                    self.own_entries.forgets = Some(*before);
                }
            }
            Put::Action(action) => self.act(&action.caller, &action.key)?,
            Put::Propose(proposal) => self.propose(proposal.id)?,
            Put::Decide { id, .. } => self.decide(*id)?,
            Put::Account { number, owner, asset, status } => {
                let (owner, asset, status) = (*owner, *asset, *status);
                let wanted = WantedAccount { number, owner, asset, status };
                self.plan.posting.put_account(self.state, &wanted)?;
            }
            Put::Attempt(attempt) => self.open_attempt(attempt)?,
            Put::Form(id, form) => self.add_form(*id, form)?,
            Put::AttemptHead { id, version, sent, due_at, closed, hold } => {
                let (sent, due_at, closed) = (*sent, *due_at, *closed);
                let head = AttemptHead { sent, due_at, closed, hold: *hold };
                self.move_attempt(*id, *version, head)?;
            }
            Put::Raise { name, to } if self.counter(name)? < *to => {
                self.plan.counters.push((name, *to));
            }
            Put::Add { counter, n } => self.add_to(counter, *n)?,
            Put::Take { counter, n } => self.take_from(counter, *n)?,
            Put::Raise { .. }
            | Put::Own { .. }
            | Put::Resource { .. }
            | Put::Horizon(_)
            | Put::Case(_)
            | Put::Close { .. }
            | Put::Note { .. }
            | Put::Halt { .. }
            | Put::Resume { .. }
            | Put::Pause { .. }
            | Put::Unpause(_)
            | Put::Asset(_)
            | Put::ForgetCases(_) => {}
        }
        Ok(())
    }

    /// A ledger has one answer to an operation.
    fn receipt(
        &mut self,
        ledger: LedgerId,
        operation: &Operation,
    ) -> Result<(), Stopped<Wrote, S::Error>> {
        let (key, legs) = (operation.op.key, self.state.legs(operation.op.key.id)?);
        let stored = self.plan.posting.find(legs, ledger, key);
        if stored.is_some_and(|stored| stored != operation) {
            return Err(unknown(Cause::CONTRADICTION, "another receipt is stored"));
        }
        Ok(())
    }

    /// Raises a counter, as far as it goes.
    fn add_to(&mut self, counter: &'u Arc<str>, n: u128) -> Result<(), Stopped<Wrote, S::Error>> {
        let Some(sum) = self.counter(counter)?.checked_add(n) else {
            return Err(unknown(Cause::CONTRADICTION, "a counter holds no such sum"));
        };
        self.plan.counters.push((counter, sum));
        Ok(())
    }

    /// Lowers a counter, or refuses the unit where it has less.
    fn take_from(
        &mut self,
        counter: &'u Arc<str>,
        n: u128,
    ) -> Result<(), Stopped<Wrote, S::Error>> {
        let Some(rest) = self.counter(counter)?.checked_sub(n) else {
            let guard = Guard::AtLeast { name: counter.clone(), n };
            return Err(Stopped::Answer(Wrote::Lost(guard)));
        };
        self.plan.counters.push((counter, rest));
        Ok(())
    }

    /// A new transfer under a free id, and under a free key whether a guard looked or not.
    fn open(&mut self, record: &'u Record) -> Result<(), Stopped<Wrote, S::Error>> {
        if let Some(binding) = &record.terms.binding {
            let (flow, scope, key) = (record.flow, &binding.scope, &binding.key);
            let looked = |guard: &Guard| {
                matches!(guard, Guard::Unbound { flow: f, scope: s, key: k }
                    if (f, s, k) == (&flow, scope, key))
            };
            if !self.plan.unit.guards.iter().any(looked)
                && self.state.find_by_idempotency_key(flow, scope, key)?
            {
                let (scope, key) = (scope.clone(), key.clone());
                return Err(Stopped::Answer(Wrote::Lost(Guard::Unbound { flow, scope, key })));
            }
        }
        if self.transfer(record.id)?.is_some() {
            return Err(Stopped::Answer(Wrote::Lost(Guard::Fresh(record.id))));
        }
        self.plan.changes.open(record.clone());
        Ok(())
    }

    /// A person does something once for each key.
    fn act(
        &mut self,
        who: &'u Arc<str>,
        key: &'u Arc<str>,
    ) -> Result<(), Stopped<Wrote, S::Error>> {
        if !once(&mut self.own_entries.acts, (who, key)) || self.state.past_action(who, key)? {
            let (caller, key) = (who.clone(), key.clone());
            return Err(Stopped::Answer(Wrote::Lost(Guard::NoPastAction { caller, key })));
        }
        Ok(())
    }

    fn propose(&mut self, id: Id) -> Result<(), Stopped<Wrote, S::Error>> {
        if !once(&mut self.own_entries.proposals, id) || self.state.approval_status(id)?.is_some() {
            return Err(unknown(Cause::CONTRADICTION, "the approval's id is taken"));
        }
        Ok(())
    }

    /// A decision of what waits; with one person alone the unit that proposes it decides it.
    fn decide(&mut self, id: Id) -> Result<(), Stopped<Wrote, S::Error>> {
        let own = self.own_entries.proposals.contains(&id);
        let waits = own || self.pending(id)?;
        if !once(&mut self.own_entries.decisions, id) || !waits {
            return Err(Stopped::Answer(Wrote::Lost(Guard::Pending(id))));
        }
        Ok(())
    }

    /// Changes both rows of a count.
    fn count(
        &mut self,
        count: &DailyCount,
        change: impl Fn(DailyUsage, Amount) -> DailyUsage,
    ) -> Result<(), S::Error> {
        let DailyCount { user, day, asset, amount } = *count;
        for (asset, amount) in [(ALL_ASSETS, Amount::ZERO), (asset, amount)] {
            let spend = (day, user, asset);
            let forgotten = self.own_entries.forgets.is_some_and(|before| day < before);
            let days = &mut self.plan.days;
            if let Some((_, spent)) = days.iter_mut().find(|(other, _)| *other == spend) {
                *spent = change(*spent, amount);
            } else {
                let spent = if forgotten {
                    DailyUsage::default()
                } else {
                    self.state.daily_usage(spend)?
                };
                days.push((spend, change(spent, amount)));
            }
        }
        Ok(())
    }
}
