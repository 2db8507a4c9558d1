//! Turns the items of a batch into changes: the rules read the workspace, and this module adds what
//! they decide to the rows that will be written.

use super::work::EnlistedOp;
use super::workspace::{BalanceChange, BalanceRow, BatchWorkspace, Undecided, UsageRow};
use crate::postgres::attempts::write::ChangedAttempt;
use crate::postgres::error::StoreError;
use crate::postgres::named_values;
use kernel::answer::Answer;
use kernel::flow::table::Flows;
use kernel::ids::{FlowId, Id, Serial};
use kernel::limits::DailyUsage;
use kernel::rules::{
    self, Added, AttemptChange, Plan, Posting, Row, Stamp, Stopped, StoredBalance, TransferChange,
    UsageKey,
};
use kernel::unit::{Guard, Put, Then, Unit, Written, Wrote};

impl BatchWorkspace {
    /// Decides a unit, or says why nothing of it is written.
    pub(crate) fn unit(&mut self, flows: &Flows, unit: &Unit) -> Result<Wrote, Undecided> {
        if named(unit).any(|id| self.changes.touched.contains(&id)) {
            return Err(Undecided::Again);
        }
        match rules::unit(self, flows, unit) {
            Ok(plan) => self.apply_plan(flows, plan).map(Wrote::Written),
            Err(Stopped::Answer(wrote)) => Ok(wrote),
            Err(Stopped::Error(stop)) => Err(stop),
        }
    }

    /// Decides a single leg, on the plain path.
    pub(crate) fn leg(&mut self, asked: &EnlistedOp) -> Result<Answer, Undecided> {
        let (answer, posting) = rules::leg(self, asked.ledger, &asked.op)?;
        self.post(posting);
        Ok(answer)
    }

    /// Adds the changes of a unit, except its rare ones.
    pub(crate) fn apply_plan(
        &mut self,
        flows: &Flows,
        plan: Plan<'_>,
    ) -> Result<Written, Undecided> {
        for then in plan.thens() {
            self.receipts(then);
            for put in &then.puts {
                if let Put::Resource { name, value } = put {
                    self.set_named(&named_values::resource(name), value.clone());
                }
            }
        }
        for (name, sum) in plan.counters {
            self.set_named(&named_values::counter(name), sum.to_string().into());
        }
        let changed = plan.attempts.into_values().filter(AttemptChange::is_changed);
        self.changes.attempts.extend(changed.map(ChangedAttempt::of));
        self.changes.inbox.extend(plan.inbox);
        self.post(plan.posting);
        for (spend, spent) in plan.days {
            self.spend(spend, spent);
        }
        let mut serial = None;
        for touch in plan.changes {
            serial = self.touch(flows, touch)?.or(serial);
        }
        Ok(Written { at: self.at, serial, fork: plan.fork })
    }

    pub(crate) fn post(&mut self, posting: Posting) {
        let Posting { operations, balances, books, accounts, sums: _ } = posting;
        for (ledger, operation) in operations {
            self.numbers.seq = operation.seq.saturating_add(1);
            let legs = self.legs.entry(operation.op.key.id).or_default();
            legs.push((ledger, operation.clone()));
            self.changes.operations.push((ledger, operation));
        }
        for (key, balance) in balances {
            let change = match self.balances.get(&key) {
                Some(BalanceRow::Owned(change)) => *change,
                // nothing is posted to what was not read
                Some(BalanceRow::Absent | BalanceRow::Locked) | None => {
                    BalanceChange::read(StoredBalance::empty(balance.status))
                }
            };
            self.balances.insert(key, BalanceRow::Owned(BalanceChange { now: balance, ..change }));
        }
        self.post_accounts(accounts);
        for (book, delta) in books {
            let sum = self.changes.books.entry(book).or_default();
            *sum = sum.saturating_add(delta);
        }
    }

    fn spend(&mut self, spend: UsageKey, spent: DailyUsage) {
        if let Some(UsageRow::Owned(_, now, _)) = self.usage.get_mut(&spend) {
            *now = spent;
        }
    }

    /// Adds the changes of one transfer; gives back its number where the unit opens it.
    fn touch(&mut self, flows: &Flows, touch: TransferChange) -> Result<Option<Serial>, Undecided> {
        let (id, next) = (touch.id, self.numbers.serial);
        let lane = Some(self.numbers.lane);
        let stamp = Stamp { at: self.at, unit: self.numbers.unit, lane };
        let to = Added { entries: &mut self.changes.entries, messages: &mut self.changes.outbox };
        let row = touch.row(flows, stamp, next, to);
        let Some(row) = row.map_err(|_| StoreError::Damaged("a history that is no JSON"))? else {
            return Ok(None);
        };
        self.changes.touched.insert(id);
        match row {
            Row::Changed(changed) => {
                if let (true, Some((head, _))) = (changed.ends, changed.head) {
                    self.ended(
                        changed.was.flow,
                        flows.table(changed.was.flow).state(head.state).code,
                    );
                }
                self.changes.changed.push(changed);
                Ok(None)
            }
            Row::Opened(opened) => {
                self.numbers.serial = next.saturating_add(1);
                let (record, table) = (&opened.record, flows.table(opened.record.flow));
                if let Some(binding) = &record.terms.binding {
                    let bound = (record.flow, binding.scope.clone(), binding.key.clone());
                    self.changes.bound_keys.insert(bound);
                }
                if table.ends(record.head.state) {
                    self.ended(record.flow, table.state(record.head.state).code);
                }
                self.changes.opened.push(opened);
                Ok(Some(Serial(u64::try_from(next).unwrap_or(0))))
            }
        }
    }

    fn ended(&mut self, flow: FlowId, state: i16) {
        let count = self.changes.ends.entry((flow, state)).or_default();
        *count = count.saturating_add(1);
    }

    /// The receipts of ledgers outside, each once.
    fn receipts(&mut self, then: &Then) {
        for put in &then.puts {
            let Put::Receipt { ledger, operation } = put else { continue };
            let highest = self.changes.highest.entry(*ledger).or_default();
            if *highest < operation.seq {
                *highest = operation.seq;
            }
            let legs = self.legs.entry(operation.op.key.id).or_default();
            let known =
                legs.iter().any(|(at, o)| at == ledger && o.op.key.leg == operation.op.key.leg);
            if !known {
                legs.push((*ledger, operation.clone()));
                self.changes.operations.push((*ledger, operation.clone()));
            }
        }
    }
}

/// Every transfer that a unit names.
fn named(unit: &Unit) -> impl Iterator<Item = Id> {
    let thens = unit.thens().flat_map(|then| {
        let events = then.events.iter().map(|event| event.id);
        let ops = then.ops.iter().map(|(_, op)| op.key.id);
        let messages = then.outbox.iter().map(|message| message.id);
        then.puts.iter().filter_map(Put::transfer).chain(events).chain(ops).chain(messages)
    });
    let guards = unit.guards.iter().filter_map(|guard| match guard {
        Guard::Fresh(id) | Guard::Transfer { id, .. } => Some(*id),
        Guard::Unbound { .. }
        | Guard::NotHalted
        | Guard::Halt(_)
        | Guard::Incarnation { .. }
        | Guard::Owner { .. }
        | Guard::DayCount { .. }
        | Guard::DayAmount { .. }
        | Guard::Attempt { .. }
        | Guard::LockFree { .. }
        | Guard::Resource { .. }
        | Guard::Inbox { .. }
        | Guard::Account { .. }
        | Guard::AtMost { .. }
        | Guard::AtLeast { .. }
        | Guard::NoPastAction { .. }
        | Guard::Pending(_) => None,
    });
    guards.chain(thens).chain(unit.then.fork.iter().map(|fork| fork.op.key.id))
}
