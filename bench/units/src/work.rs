//! The units that are compared: what each of them needs is written before its time is taken.

use crate::Outcome;
use kernel::attempt::{Attempt, AttemptId, Form, Lock, Purpose};
use kernel::flow::life::Leg;
use kernel::flow::table::{Flows, S};
use kernel::ids::{AssetId, ChainId, FlowId, Id, LedgerId, UserId};
use kernel::money::Amount;
use kernel::operation::{Key, Op, Operation, StoredOutcome};
use kernel::ports::journal::Journal;
use kernel::record::{Account, Head, Record, Terms};
use kernel::unit::{Event, Guard, Hold, Put, Unit, Wrote};
use std::sync::Arc;

/// Number of units with an inbox row, and of the units that they are compared with.
const SINGLES: usize = 500;
/// Attempts that are opened in one round.
const ATTEMPTS: usize = 100;
/// Number of members of each attempt.
const MEMBERS: usize = 100;

/// What a batch of units is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A transfer moves, and an inbox row.
    Inbox,
    /// A transfer moves, and a receipt.
    PlainPairs,
    /// An attempt, its form and its lane, and the claims of its members.
    Claims,
    /// An attempt is closed, its lane and a counter move, and all members end.
    Closes,
    /// As many transfers end as a close writes rows.
    PlainHundreds,
}

impl Kind {
    pub(crate) const ALL: [Self; 5] =
        [Self::PlainPairs, Self::Inbox, Self::Claims, Self::PlainHundreds, Self::Closes];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Inbox => "500 with a transfer and an inbox row",
            Self::PlainPairs => "500 with a transfer and a receipt",
            Self::Claims => "100 claims of 100 members",
            Self::Closes => "100 closes of 100 members",
            Self::PlainHundreds => "100 with 103 transfers",
        }
    }
}

/// A journal, and what is numbered in it.
pub(crate) struct Workload {
    journal: Arc<dyn Journal>,
    flows: Flows,
    flow: FlowId,
    next: u64,
    /// The attempts that stand open, with their lanes' next versions.
    open: Vec<Attempt>,
    round: u32,
}

impl Workload {
    pub(crate) fn new(journal: Arc<dyn Journal>) -> Self {
        let flows = flows::registry();
        let flow = flows.named("internal").unwrap_or(FlowId(0));
        Self { journal, flows, flow, next: 0, open: Vec::new(), round: 0 }
    }

    fn state(&self, name: &str) -> Outcome<S> {
        self.flows.table(self.flow).named(name).ok_or_else(|| format!("no state {name}"))
    }

    /// Writes units; each must be written.
    pub(crate) async fn write(&self, units: Vec<Unit>) -> Outcome {
        let asked = units.len();
        let wrote = self.journal.write(units).await;
        match wrote.iter().find(|wrote| !matches!(wrote, Wrote::Written(_))) {
            None if wrote.len() == asked => Ok(()),
            other => Err(format!("{asked} units, {} answers, among them {other:?}", wrote.len())),
        }
    }

    /// The units of a kind, once what they stand on is written.
    pub(crate) async fn prepare(&mut self, kind: Kind) -> Outcome<Vec<Unit>> {
        match kind {
            Kind::Inbox => {
                let records = self.opened(SINGLES).await?;
                let inbox =
                    |record: &Record| Guard::Inbox { consumer: "bench", event: record.id.0 };
                let unit = |record: &Record| {
                    let mut unit = self.moving(std::slice::from_ref(record), "FAILED")?;
                    unit.guards.push(inbox(record));
                    Ok(unit)
                };
                records.iter().map(unit).collect()
            }
            Kind::PlainPairs => {
                let records = self.opened(SINGLES).await?;
                let unit = |record: &Record| {
                    let mut unit = self.moving(std::slice::from_ref(record), "FAILED")?;
                    unit.then.puts.push(receipt(record));
                    Ok(unit)
                };
                records.iter().map(unit).collect()
            }
            Kind::PlainHundreds => {
                let records = self.opened(ATTEMPTS * (MEMBERS + 3)).await?;
                records.chunks(MEMBERS + 3).map(|of| self.moving(of, "FAILED")).collect()
            }
            Kind::Claims => self.claims().await,
            Kind::Closes => self.closes(),
        }
    }

    async fn claims(&mut self) -> Outcome<Vec<Unit>> {
        let records = self.opened(ATTEMPTS * MEMBERS).await?;
        let state = self.state("SOURCE_PENDING")?;
        let mut units = Vec::with_capacity(ATTEMPTS);
        for (n, members) in (0_u32..).zip(records.chunks(MEMBERS)) {
            self.next += 1;
            let attempt = Attempt {
                id: AttemptId(u128::from(self.next) << 64 | 0x5bd1_e995),
                chain: ChainId(31),
                flow: self.flow,
                state,
                version: Attempt::FIRST,
                lane: format!("key-{n}").into(),
                lock: Lock(self.next.to_string().into()),
                members: members.into(),
                forms: vec![form(self.next)],
                sent: false,
                due_at: None,
                closed: None,
            };
            let mut unit = self.moving(members, "SOURCE_PENDING")?;
            let limit = u128::MAX;
            unit.guards.extend([
                Guard::NotHalted,
                self.lane(n, 2 * self.round),
                Guard::AtMost { name: counter(n), n: 100, limit },
            ]);
            unit.then.puts.extend([Put::Attempt(attempt.clone()), lane_value(n)]);
            units.push(unit);
            self.open.push(attempt);
        }
        Ok(units)
    }

    fn closes(&mut self) -> Outcome<Vec<Unit>> {
        let mut units = Vec::with_capacity(ATTEMPTS);
        for (n, attempt) in (0_u32..).zip(std::mem::take(&mut self.open)) {
            let head = |record: &Record| Record {
                head: Head { state: attempt.state, version: 1, ..record.head },
                ..record.clone()
            };
            let members: Vec<Record> = attempt.members.iter().map(head).collect();
            let mut unit = self.moving(&members, "FAILED")?;
            let id = attempt.id;
            unit.guards.extend([
                Guard::Attempt { id, version: Attempt::FIRST },
                self.lane(n, 2 * self.round + 1),
            ]);
            let closed = Some(self.journal.now());
            let (version, sent, due_at, hold) = (Attempt::FIRST + 1, true, None, Hold::Mine);
            unit.then.puts.extend([
                Put::AttemptHead { id, version, sent, due_at, closed, hold },
                lane_value(n),
                Put::Take { counter: counter(n), n: 100 },
            ]);
            units.push(unit);
        }
        self.round += 1;
        Ok(units)
    }

    fn lane(&self, n: u32, version: u32) -> Guard {
        Guard::Resource { name: format!("lane:31:key-{n}").into(), version }
    }

    /// Writes new transfers, and gives them back.
    async fn opened(&mut self, count: usize) -> Outcome<Vec<Record>> {
        let (start, now) = (self.state("INIT")?, self.journal.now());
        let mut records = Vec::with_capacity(count);
        for _ in 0..count {
            self.next += 1;
            let user = UserId(self.next % 1_000 + 1);
            let ledgers = [LedgerId::FUNDING, LedgerId::SPOT];
            let terms =
                Terms::between_ledgers("bench|1".into(), user, ledgers, AssetId(3), Amount(10));
            let id = Id::new(now, u128::from(self.next));
            records.push(Record::new(id, self.flow, Head::start(start), Arc::new(terms)));
        }
        for page in records.chunks(1_000) {
            self.write(page.iter().map(opening).collect()).await?;
        }
        Ok(records)
    }

    /// Moves transfers in one unit.
    fn moving(&self, records: &[Record], to: &str) -> Outcome<Unit> {
        let state = self.state(to)?;
        let mut unit = Unit::default();
        for Record { id, head: before, .. } in records {
            let (id, version) = (*id, before.version);
            unit.guards.push(Guard::Transfer { id, state: before.state, version });
            let head = Head { state, version: version + 1, ..*before };
            unit.then.puts.push(Put::Head { id, head, error: None, hold: Hold::Mine });
            unit.then.events.push(Event {
                id,
                from: Some(before.state),
                to: state,
                what: "SOURCE_CALL",
                caller: None,
                detail: None,
                agreed: None,
            });
        }
        Ok(unit)
    }
}

fn opening(record: &Record) -> Unit {
    let created = Event {
        id: record.id,
        from: None,
        to: record.head.state,
        what: "CREATED",
        caller: None,
        detail: None,
        agreed: None,
    };
    let mut unit = Unit::guarded(vec![Guard::Fresh(record.id)], vec![Put::Open(record.clone())]);
    unit.then.events.push(created);
    unit
}

fn receipt(record: &Record) -> Put {
    let op = Op {
        key: Key { id: record.id, leg: Leg::Deposit },
        account: Account::User(UserId(1)),
        other: None,
        asset: AssetId(3),
        amount: Amount(10),
    };
    let seq = u64::try_from(record.id.0 & u128::from(u32::MAX)).unwrap_or(0);
    let operation = Operation { seq, op, outcome: StoredOutcome::Done };
    Put::Receipt { ledger: LedgerId::SPOT, operation }
}

/// A form as a chain has it: a hash, and some kilobytes that were signed.
fn form(n: u64) -> Form {
    Form {
        purpose: Purpose::Pay,
        name: [n.to_be_bytes(), [7; 8], [8; 8], [9; 8]].concat().into(),
        bytes: vec![5; 8_192].into(),
        repeatable: true,
        expires: Some(n),
        anchor: None,
        reference: None,
    }
}

fn counter(n: u32) -> Arc<str> {
    format!("reserved:key-{n}").into()
}

fn lane_value(n: u32) -> Put {
    let value = format!(r#"{{"attempt":"{n}","next":"{n}"}}"#).into();
    Put::Resource { name: format!("lane:31:key-{n}").into(), value }
}
