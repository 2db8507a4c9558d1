//! The oracle of account cases: it checks the service once everything has come to rest.

use super::cases::{AccountCase, TransferEnd};
use crate::bus::SimBus;
use crate::service::SimProcess;
use kernel::accounts::AccountsOf;
use kernel::answer::Cause;
use kernel::audit::hex;
use kernel::flow::life::Outcome;
use kernel::flow::table::Table;
use kernel::ids::Id;
use kernel::message::{Emission, Message, Outgoing};
use kernel::operation::{Operation, StoredOutcome};
use kernel::operators::OpenCase;
use kernel::ports::bus::BusMessage;
use kernel::ports::journal::Linked;
use kernel::ports::ledger::Reply;
use kernel::record::{Account, Head, Record};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How often a message of one kind may have been sent under a new number, where the scanner sends again.
const RESENT: u32 = 60;

/// Everything that the oracles look at, read at one moment of rest.
#[derive(Debug)]
pub(super) struct AccountTruth {
    table: Table,
    records: Vec<Record>,
    histories: BTreeMap<Id, Vec<Linked>>,
    /// What the ledger of accounts has, by its own list.
    operations: Vec<Operation>,
    balances: BTreeMap<Arc<str>, u128>,
    /// Rows of the inbox: group and number of the message.
    consumed: BTreeSet<(&'static str, u128)>,
    messages: Vec<BusMessage>,
    cases: Vec<OpenCase>,
    /// The broker lost messages: of an event any that tells of it counts.
    lost: bool,
    faults: Vec<String>,
}

/// A message that a history asks for.
struct Due {
    id: Id,
    sequence: u32,
    topic: &'static str,
    number: u128,
}

/// The text of a field of a payload that the journal completed.
fn field<'p>(payload: &'p str, name: &str) -> Option<&'p str> {
    let (_, rest) = payload.split_once(&format!("\"{name}\":"))?;
    let end = rest.find([',', '}'])?;
    rest.get(..end).map(|text| text.trim_matches('"'))
}

impl AccountTruth {
    /// Reads what the journal, its ledger and the bus say of these transfers.
    ///
    /// # Errors
    /// The cause for which the journal does not answer.
    pub(super) async fn read(
        process: SimProcess,
        bus: SimBus,
        (table, records): (Table, Vec<Record>),
    ) -> Result<Self, Cause> {
        let (journal, inbox) = (&process.opened.journal, &process.opened.inbox);
        let mut faults = Vec::new();
        for _ in 0..2 {
            let report = process.engine.reconciler.count_now().await?;
            faults.extend(report.breaks.iter().map(|found| format!("a break: {found:?}")));
        }
        faults.extend(process.engine.halted().map(|why| format!("halted: {why}")));
        let mut histories = BTreeMap::new();
        for record in &records {
            histories.insert(record.id, journal.history(record.id).await?);
        }
        let operations = match process.opened.accounts.operations(0, 100_000).await {
            Reply::Answered(_, operations) => operations,
            Reply::OtherLedger(_) => return Err(Cause::of("OTHER_LEDGER")),
            Reply::NoAnswer(cause) => return Err(cause),
        };
        let all = journal.numbered_accounts(AccountsOf::After("".into(), 1_000)).await?;
        let balances = all.into_iter().map(|one| (one.number, one.balance.0)).collect();
        let messages = bus.messages(|_| true);
        let numbers: Vec<u128> = messages.iter().map(|message| message.number).collect();
        let groups = table.consumers.iter().map(|group| group.name);
        let mut consumed = BTreeSet::new();
        for group in groups.chain(table.audit.map(|group| group.name)) {
            let found = inbox.consumed(group, numbers.clone()).await?;
            consumed.extend(found.into_iter().map(|number| (group, number)));
        }
        let cases = journal.open_cases().await?;
        let parked = inbox.parked_keys(None, 1_000).await?;
        faults.extend(parked.iter().map(|key| format!("parked: {key:?}")));
        let asked: Vec<Id> = records.iter().map(|record| record.id).collect();
        let mut records = journal.get(asked.clone()).await?;
        // a journal answers in an order of its own
        records.sort_by_key(|record| asked.iter().position(|id| *id == record.id));
        Ok(Self {
            table,
            records,
            histories,
            operations,
            balances,
            consumed,
            messages,
            cases,
            lost: false,
            faults,
        })
    }

    /// Every message on the bus.
    pub(super) fn messages(&self) -> &[BusMessage] {
        &self.messages
    }

    /// The same without the cases and messages that are known; the broker may have lost messages.
    pub(super) fn beside(
        mut self,
        case: impl Fn(&str) -> bool,
        message: impl Fn(&BusMessage) -> bool,
        lost: bool,
    ) -> Self {
        self.cases.retain(|open| !case(&open.kind));
        self.messages.retain(|one| !message(one));
        self.lost = lost;
        self
    }

    /// Everything that is wrong; nothing where all is well.
    pub(super) fn faults(mut self, case: &AccountCase, fuse: bool) -> Vec<String> {
        let mut faults = std::mem::take(&mut self.faults);
        self.ends(case, &mut faults);
        self.money(case, &mut faults);
        self.told(fuse, &mut faults);
        self.rows(fuse, &mut faults);
        if case.parks && fuse {
            self.order(&mut faults);
        }
        let scripted = |kind: &str| case.parks && kind == "PARKED";
        let cases = self.cases.iter().filter(|open| !scripted(&open.kind));
        faults.extend(cases.map(|open| format!("a case: {open:?}")));
        faults
    }

    fn is(&self, record: &Record, outcome: Outcome) -> bool {
        self.table.ending(outcome) == Some(record.head.state)
    }

    fn ends(&self, case: &AccountCase, faults: &mut Vec<String>) {
        if self.records.len() != case.transfers.len() {
            faults.push(format!("{} transfers are stored", self.records.len()));
        }
        for (record, transfer) in self.records.iter().zip(&*case.transfers) {
            let (paid, failed) = (self.is(record, Outcome::Paid), self.is(record, Outcome::Failed));
            let fits = match transfer.end {
                TransferEnd::Completed => paid,
                TransferEnd::Failed => failed,
                TransferEnd::Either => paid || failed,
            };
            if !fits {
                let state = self.table.state(record.head.state).name;
                faults.push(format!("{transfer:?} is {state}: {:?}", record.error));
            }
        }
        let completed = self.records.iter().filter(|record| self.is(record, Outcome::Paid)).count();
        self.refusals(case, faults);
        if let Some(wanted) = case.completed.filter(|wanted| *wanted != completed) {
            faults.push(format!("{completed} are COMPLETED instead of {wanted}"));
        }
    }

    /// An account that always had the money is not refused for want of it: what came in may have come later.
    fn refusals(&self, case: &AccountCase, faults: &mut Vec<String>) {
        let all = || self.records.iter().zip(&*case.transfers);
        for (record, transfer) in all().filter(|(_, one)| one.end == TransferEnd::Either) {
            let payer = case.accounts.iter().find(|account| account.number == transfer.from);
            let paid = all()
                .filter(|(other, one)| one.from == transfer.from && self.is(other, Outcome::Paid));
            let paid: u128 = paid.map(|(_, one)| one.amount).sum();
            let left = payer.map_or(0, |payer| payer.has.saturating_sub(paid));
            if self.is(record, Outcome::Failed) && left >= transfer.amount {
                faults.push(format!("{transfer:?} is FAILED, and its account had {left} at least"));
            }
        }
    }

    /// One move for each that is COMPLETED and none else, and the balances that follow.
    fn money(&self, case: &AccountCase, faults: &mut Vec<String>) {
        let done = |o: &&Operation| o.outcome == StoredOutcome::Done;
        let moves: Vec<&Operation> = self.operations.iter().filter(done).collect();
        let mut should: BTreeMap<Arc<str>, u128> =
            case.accounts.iter().map(|account| (account.number.into(), account.has)).collect();
        let mut paid: Vec<(Arc<str>, u128)> = Vec::new();
        for record in &self.records {
            let (from, to) = (&record.terms.source.account, &record.terms.target.account);
            let own = moves.iter().filter(|o| o.op.key.id == record.id);
            let as_agreed = own.clone().filter(|o| {
                o.op.amount == record.terms.source.amount
                    && o.op.account == *from
                    && o.op.other.as_ref() == Some(to)
            });
            let wanted = usize::from(self.is(record, Outcome::Paid));
            if (own.count(), as_agreed.count()) != (wanted, wanted) {
                faults.push(format!("{} has other moves than {wanted}", record.id));
            }
            if let (1, Account::Named(from), Account::Named(to)) = (wanted, from, to) {
                let amount = record.terms.source.amount.0;
                *should.entry(to.clone()).or_default() += amount;
                paid.push((from.clone(), amount));
            }
        }
        for (from, amount) in paid {
            // what an account never had is found by its move, or by its balance
            let left = should.entry(from).or_default();
            *left = left.saturating_sub(amount);
        }
        let known: BTreeSet<Id> = self.records.iter().map(|record| record.id).collect();
        let strangers = moves.iter().filter(|o| !known.contains(&o.op.key.id));
        faults.extend(strangers.map(|o| format!("a move of no transfer: {o:?}")));
        if self.balances != should {
            faults.push(format!("the accounts have {:?} instead of {should:?}", self.balances));
        }
    }

    /// The messages that the histories ask for: one for each state that was entered and tells of itself.
    fn due(&self) -> Vec<Due> {
        let mut due = Vec::new();
        for record in &self.records {
            for linked in self.histories.get(&record.id).into_iter().flatten() {
                let entered = linked.entry.from != Some(linked.entry.to);
                let Some(state) = self.table.coded(linked.entry.to).filter(|_| entered) else {
                    continue;
                };
                let then = Record { head: Head { state, ..record.head }, ..record.clone() };
                let Some(message) = (self.table.emits)(state, &then, Emission::Entered) else {
                    continue;
                };
                let (topic, id, sequence) = (message.topic, record.id, linked.entry.seq);
                let number = Outgoing { message, id, n: 0, event: None }.number();
                due.push(Due { id, sequence, topic, number });
            }
        }
        due
    }

    /// How often a message about a transfer may have been sent under a new number.
    fn resent(&self, id: Id) -> u32 {
        let record = self.records.iter().find(|record| record.id == id);
        let retries = record.map_or(RESENT, |record| record.head.retries);
        if retries > RESENT { retries } else { RESENT }
    }

    /// Every event is on its topic under one number, and nothing else is on any topic.
    fn told(&self, fuse: bool, faults: &mut Vec<String>) {
        let mut told: BTreeSet<(Id, u32, &str, u128)> = BTreeSet::new();
        let mut known: BTreeMap<(Id, &str), BTreeSet<u128>> = BTreeMap::new();
        for message in &self.messages {
            let (payload, topic) = (&*message.payload, &*message.topic);
            let id = field(payload, "transfer").and_then(|text| text.parse::<Id>().ok());
            let sequence = field(payload, "sequence").and_then(|text| text.parse::<u32>().ok());
            let (Some(id), Some(sequence)) = (id, sequence) else {
                faults.push(format!("a message names no event: {message:?}"));
                continue;
            };
            let history = self.histories.get(&id).map_or(&[][..], Vec::as_slice);
            let linked = history.iter().find(|linked| linked.entry.seq == sequence);
            let hash = linked.map(|linked| hex(&linked.hash));
            if hash.as_deref() != field(payload, "hash") || topic.ends_with("-dlt") {
                faults.push(format!("a message of no event: {message:?}"));
            }
            let resent = if fuse { 0 } else { self.resent(id) };
            let may_have = || numbers(&self.table, id, topic, resent);
            if !known.entry((id, topic)).or_insert_with(may_have).contains(&message.number) {
                faults.push(format!("a new number for an event: {message:?}"));
            }
            told.insert((id, sequence, topic, message.number));
        }
        for due in self.due() {
            let on_topic =
                || told.iter().any(|(id, _, topic, _)| (*id, *topic) == (due.id, due.topic));
            let exact = told.contains(&(due.id, due.sequence, due.topic, due.number));
            if !(exact || self.lost && on_topic()) {
                let Due { id, sequence, topic, .. } = due;
                faults.push(format!("event {sequence} of {id} is not on {topic}"));
            }
        }
    }

    /// Each message that moved a transfer has its row in the inbox of its group, and so has each in that of
    /// the audit; no edge was taken twice. Where the scanner sends again, what it sent may have moved it.
    fn rows(&self, fuse: bool, faults: &mut Vec<String>) {
        for due in self.due() {
            let resent = if fuse { 0 } else { self.resent(due.id) };
            let under = numbers(&self.table, due.id, due.topic, resent);
            let moved = self.table.consumers.iter().filter(|group| group.topic == due.topic);
            let groups = moved.map(|group| group.name);
            for group in groups.chain(self.table.audit.map(|group| group.name)) {
                if !under.iter().any(|number| self.consumed.contains(&(group, *number))) {
                    let Due { id, topic, .. } = due;
                    faults.push(format!("{group} has no inbox row of {id} on {topic}"));
                }
            }
        }
        for (id, history) in &self.histories {
            let edges = history.iter().map(|linked| (linked.entry.from, linked.entry.to));
            let mut taken = BTreeSet::new();
            for edge in edges.filter(|(from, to)| *from != Some(*to)) {
                if !taken.insert(edge) {
                    faults.push(format!("{id} took {edge:?} twice"));
                }
            }
        }
    }

    /// Of the key that was parked first, the messages that follow come in the order of those before.
    fn order(&self, faults: &mut Vec<String>) {
        let [before, behind] = self.table.consumers else { return };
        let Some(first) = self.records.first() else { return };
        let key = first.terms.source.account.to_string();
        let order = |topic: &str| {
            let of = |one: &&BusMessage| *one.topic == *topic && *one.key == *key;
            let mut ids: Vec<&str> = Vec::new();
            for message in self.messages.iter().filter(of) {
                let id = field(&message.payload, "transfer").unwrap_or_default();
                if !ids.contains(&id) {
                    ids.push(id);
                }
            }
            ids
        };
        let (mut before, behind) = (order(before.topic), order(behind.topic));
        // what is refused goes no further
        before.retain(|id| behind.contains(id));
        if before != behind {
            faults.push(format!("a parked key was passed: {before:?}, then {behind:?}"));
        }
    }
}

/// The numbers that messages about a transfer may have on a topic.
fn numbers(table: &Table, id: Id, topic: &str, resent: u32) -> BTreeSet<u128> {
    let topics = table.audit.map_or(&[][..], |group| group.topics);
    let Some(kind) = topics.iter().find(|known| **known == topic) else { return BTreeSet::new() };
    let number =
        |n| Outgoing { message: Message::new(kind, kind, ""), id, n, event: None }.number();
    (0..=resent).map(number).collect()
}
