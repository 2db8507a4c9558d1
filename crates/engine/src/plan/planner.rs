//! Plans units, without I/O: from a record and an answer it makes the unit that writes the answer, and the
//! head that follows.
//!
//! One code plans fused and plain units: [`FuseMode`] allows a fork, forbids it, or forbids claims.

use crate::plan::decision::{Decision, decided, stored};
use crate::plan::guards::at_state;
use crate::plan::quota::Quota;
use crate::plan::quota::uncount;
use kernel::agreed::Agreed;
use kernel::answer::{Answer, Evidence};
use kernel::books;
use kernel::flow::life::{Leg, Place, Share, Side, Step, Via};
use kernel::flow::table::{A, Flows, S, Table};
use kernel::ids::{FlowId, LedgerId};
use kernel::message::{Emission, Outgoing};
use kernel::operation::{Key, Known, Op, Operation, StoredOutcome};
use kernel::record::{Account, Facts, Head, Record, System};
use kernel::unit::{Event, Fork, Guard, Hold, Put, Then, Unit};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The code of a ledger's refusal of an operation that was fenced before it came.
pub(crate) const FENCED: &str = "FENCED";

/// How far a unit may go on after the answer that it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FuseMode {
    /// It goes through claims and rules to the first call at an enlisted ledger, and makes that.
    Fused,
    /// It goes through claims and rules; stations make the calls.
    Plain,
    /// It stops before the next claim: HALT forbids claims.
    NoClaim,
}

/// What the plan has to know of a ledger.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LedgerCapabilities {
    /// It lives in the journal's database.
    pub enlisted: bool,
    /// A withdraw only holds the money there.
    pub holds: bool,
    /// It can give back what it withdrew.
    pub reversible: bool,
    /// Its core runs in this process. The epoch counts how often a process took it over.
    pub epoch: Option<u64>,
    /// It has an identity, and other workers may adopt another incarnation of it.
    pub named: bool,
    /// It does not promise to keep what it refused: the simple form.
    pub simple: bool,
}

/// The heads that a unit leads to: by the answer of its fork, or otherwise.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NextStep {
    pub otherwise: Head,
    pub done: Option<Head>,
    pub rejected: Option<Head>,
}

impl NextStep {
    /// The head after a unit was written, by the answer of its fork.
    pub(crate) fn by(self, fork: Option<&Answer>) -> Head {
        let chosen = match fork {
            Some(Answer::Done(_)) => self.done,
            Some(Answer::Rejected(..)) => self.rejected,
            Some(Answer::Dead(_) | Answer::Unknown(_)) | None => None,
        };
        chosen.unwrap_or(self.otherwise)
    }
}

/// A unit and the heads that it leads to.
#[derive(Debug)]
pub(crate) struct Planned {
    pub unit: Unit,
    pub next: NextStep,
    /// The ledgers outside the journal's database at which it claims, or of which it stores a receipt. It
    /// must not be written where the journal has another ledger by that name.
    pub depends_on: Vec<LedgerId>,
}

/// One edge of a flow's table, from the state where a record stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Transition {
    pub via: Via,
    pub to: S,
}

/// A call at an enlisted ledger, and where each of its answers leads.
#[derive(Debug, Clone, Copy)]
struct EnlistedCall {
    act: A,
    done: S,
    /// `None` for a call that cannot be refused.
    rejected: Option<S>,
}

/// The tables of the flows, and the ledgers that they use.
#[derive(Debug)]
pub(crate) struct Plan {
    pub flows: Arc<Flows>,
    pub capabilities: BTreeMap<LedgerId, LedgerCapabilities>,
}

/// One branch of a unit while it is being planned.
pub(crate) struct UnitBuilder {
    /// The record as the branch has moved it until now.
    pub(crate) record: Record,
    /// The guard that it stands where it stood before.
    at_state: Guard,
    then: Then,
    /// The unit claims or has effects, so it must not be written under HALT.
    pub(crate) moves: bool,
    /// The unit answers a message, which allows one claim of a flow that events drive.
    pub(crate) received: bool,
    /// The refusal that is stored with the head.
    pub(crate) error: Option<Evidence>,
    depends_on: Vec<LedgerId>,
}

impl UnitBuilder {
    pub(crate) fn of(record: &Record) -> Self {
        Self {
            record: record.clone(),
            at_state: at_state(record),
            then: Then::default(),
            moves: false,
            received: false,
            error: None,
            depends_on: Vec::new(),
        }
    }

    /// Adds what is agreed to the last event, which accepts the transfer.
    fn agree(&mut self, agreed: Option<Arc<Agreed>>) {
        if let Some(event) = self.then.events.last_mut().filter(|_| agreed.is_some()) {
            event.agreed = agreed;
        }
    }

    /// Counts one more explicit rejection.
    fn rejected(&mut self) {
        let head = &mut self.record.head;
        head.rejections = head.rejections.saturating_add(1);
    }
}

impl Plan {
    pub(crate) fn table(&self, flow: FlowId) -> &Table {
        self.flows.table(flow)
    }

    /// The system at which a record's act is made.
    pub(crate) fn system_of(&self, record: &Record, act: A) -> System {
        match self.table(record.flow).act(act).side {
            Side::Source => record.source().system,
            Side::Target => record.target().system,
        }
    }

    /// The ledger at which a record's act is made.
    pub(crate) fn ledger_of(&self, record: &Record, act: A) -> Option<LedgerId> {
        match self.system_of(record, act) {
            System::Ledger(ledger) => Some(ledger),
            System::Chain(_) => None,
        }
    }

    /// The ledger that a record's state calls; `None` for a question, which the flow's own port answers.
    pub(crate) fn calls(&self, record: &Record) -> Option<LedgerId> {
        let table = self.table(record.flow);
        let act = table.makes(record.head.state)?;
        table.act(act).leg?;
        self.ledger_of(record, act)
    }

    /// The document of an answer that has no receipt: the answer to a question, or of a chain.
    fn document(&self, record: &Record, answer: &Answer) -> Option<Arc<str>> {
        let asks = self.table(record.flow).asks(record.head.state).is_some();
        if !asks && !self.in_attempt(record) {
            return None;
        }
        let Answer::Done(receipt) = answer else { return None };
        receipt.doc.clone()
    }

    /// The operation that a record's state makes.
    pub(crate) fn calls_op(&self, record: &Record) -> Option<Op> {
        self.op(record, self.table(record.flow).makes(record.head.state)?)
    }

    fn capabilities(&self, ledger: LedgerId) -> Option<LedgerCapabilities> {
        self.capabilities.get(&ledger).copied()
    }

    /// The guard of claims at a ledger and of its receipts, where the ledger's core runs in this process.
    pub(crate) fn owner(&self, ledger: LedgerId) -> Option<Guard> {
        self.capabilities(ledger)?.epoch.map(|epoch| Guard::Owner { ledger, epoch })
    }

    /// The guard of claims at a ledger and of its receipts, by the incarnation that this process knows.
    /// Where its core runs in this process, the epoch of its owner guards more than the incarnation.
    pub(crate) fn ledger_guard(&self, ledger: LedgerId, known: Option<Known>) -> Option<Guard> {
        let known = known.filter(|_| self.named(ledger));
        let incarnation = || known.map(|known| Guard::Incarnation { ledger, known: Some(known) });
        self.owner(ledger).or_else(incarnation)
    }

    /// True for a ledger of which the journal may have another incarnation than this process.
    pub(crate) fn named(&self, ledger: LedgerId) -> bool {
        self.capabilities(ledger).is_some_and(|capabilities| capabilities.named)
    }

    /// True for a ledger of the simple form.
    pub(crate) fn simple(&self, ledger: LedgerId) -> bool {
        self.capabilities(ledger).is_some_and(|capabilities| capabilities.simple)
    }

    /// True where any ledger is of the simple form.
    pub(crate) fn any_simple(&self) -> bool {
        self.capabilities.values().any(|capabilities| capabilities.simple)
    }

    /// Notes that the unit depends on a ledger. A ledger in the journal's own transaction can be no other
    /// one.
    fn depends_on(&self, builder: &mut UnitBuilder, ledger: LedgerId) {
        if !self.enlisted(ledger) && !builder.depends_on.contains(&ledger) {
            builder.depends_on.push(ledger);
        }
    }

    pub(crate) fn enlisted(&self, ledger: LedgerId) -> bool {
        self.capabilities(ledger).is_some_and(|capabilities| capabilities.enlisted)
    }

    /// The operation that makes a record's act; `None` for a question.
    pub(crate) fn op(&self, record: &Record, act: A) -> Option<Op> {
        let row = self.table(record.flow).act(act);
        let leg = row.leg?;
        let (asset, amount) = record.share(row.share?)?;
        let (mine, other) = match row.side {
            Side::Source => (&record.source().account, &record.target().account),
            Side::Target => (&record.target().account, &record.source().account),
        };
        let other = (leg == Leg::Move).then_some(other);
        // nothing is paid to an account that is agreed later
        if std::iter::once(mine).chain(other).any(|account| *account == Account::Unnamed) {
            return None;
        }
        Some(Op {
            key: Key { id: record.id, leg },
            account: mine.clone(),
            other: other.cloned(),
            asset,
            amount,
        })
    }

    /// Opens a transfer and carries it as far as the fuse mode allows. Where there is a quota, the unit
    /// counts it on its user's day.
    pub(crate) fn open(
        &self,
        record: &Record,
        fuse_mode: FuseMode,
        quota: Option<&Quota>,
    ) -> Planned {
        let mut builder = UnitBuilder::of(record);
        builder.then.puts.extend(quota.and_then(Quota::put));
        let table = self.table(record.flow);
        builder.then.puts.extend(books::moved(table, record, None, record.head.state));
        builder.then.events.push(Event {
            id: record.id,
            from: None,
            to: record.head.state,
            what: "CREATED",
            caller: Some(record.terms.principal.clone()),
            detail: None,
            agreed: None,
        });
        self.emit(&mut builder);
        let (done, rejected) = self.follow(&mut builder, fuse_mode, None);
        let head = builder.record.head;
        builder.then.puts.insert(0, Put::Open(Record { head, ..record.clone() }));
        let mut guards = vec![Guard::NotHalted, Guard::Fresh(record.id)];
        if let Some(binding) = &record.terms.binding {
            let (scope, key) = (binding.scope.clone(), binding.key.clone());
            guards.push(Guard::Unbound { flow: record.flow, scope, key });
        }
        // after the binding: a replay is a replay, whatever was moved that day
        guards.extend(quota.into_iter().flat_map(Quota::guards));
        let next = NextStep { otherwise: head, done, rejected };
        Planned { unit: Unit { guards, then: builder.then }, next, depends_on: builder.depends_on }
    }

    /// Writes an answer. `None`: nothing moves; see [`Plan::later`].
    pub(crate) fn answered(
        &self,
        record: &Record,
        answer: &Answer,
        fuse_mode: FuseMode,
    ) -> Option<Planned> {
        self.answered_from(UnitBuilder::of(record), answer, fuse_mode)
    }

    /// Writes an answer after what a builder has planned already.
    pub(crate) fn answered_from(
        &self,
        mut builder: UnitBuilder,
        answer: &Answer,
        fuse_mode: FuseMode,
    ) -> Option<Planned> {
        let asked = &builder.record;
        let step = self.table(asked.flow).step(asked.head.state);
        let (via, to, evidence) = match step {
            Step::Call { done, rejected, .. } => match answer {
                Answer::Done(_) => (Via::Done, done, None),
                Answer::Rejected(why, _) => (Via::Rejected, rejected, Some(why)),
                Answer::Dead(_) | Answer::Unknown(_) => return None,
            },
            Step::Send { done, rejected, dead, .. } => match answer {
                Answer::Done(_) => (Via::Done, done, None),
                Answer::Rejected(why, _) => (Via::Rejected, rejected, Some(why)),
                Answer::Dead(why) => (Via::Dead, dead, Some(why)),
                Answer::Unknown(_) => return None,
            },
            Step::Push { done, .. } => match answer {
                Answer::Done(_) => (Via::Done, done, None),
                Answer::Rejected(..) | Answer::Dead(_) | Answer::Unknown(_) => return None,
            },
            Step::Claim { .. } | Step::Decide { .. } | Step::End => return None,
        };
        let stored = self.operation(asked, answer);
        if let Some(why) = evidence {
            let proof = why.doc.clone().filter(|_| self.in_attempt(asked));
            let detail = proof.unwrap_or_else(|| why.code.as_ref().into());
            if via == Via::Rejected {
                builder.rejected();
            }
            self.go(&mut builder, Transition { via, to }, Some(detail));
            builder.error = Some(why.clone());
        } else {
            let document = self.document(asked, answer);
            self.go(&mut builder, Transition { via, to }, document);
        }
        if let Some((ledger, operation)) = stored {
            self.depends_on(&mut builder, ledger);
            builder.then.puts.push(Put::Receipt { ledger, operation });
        }
        Some(self.sealed(builder, fuse_mode, None))
    }

    /// Carries a record on from a state that makes no call, or makes its call at an enlisted ledger.
    /// `facts`: those gathered for the rule of that state. `None`: the record stays in its state.
    pub(crate) fn resume(
        &self,
        record: &Record,
        fuse_mode: FuseMode,
        facts: Option<&Facts>,
    ) -> Option<Planned> {
        let mut planned = self.sealed(UnitBuilder::of(record), fuse_mode, facts);
        if self.spoiled(record) && planned.unit.then.fork.is_none() {
            planned.goes_alone(true);
        }
        let moved = planned.next.otherwise.state != record.head.state;
        (moved || planned.unit.then.fork.is_some()).then_some(planned)
    }

    /// The puts by which a transfer gives back to its owner's day when it ends with the money at its
    /// source.
    fn given_back(&self, record: &Record, to: S) -> Vec<Put> {
        let table = self.table(record.flow);
        let back = table.ends(to) && table.state(to).money == Place::AtSource;
        let day = record.terms.day.filter(|_| back);
        day.map_or_else(Vec::new, |day| uncount(&record.terms, day))
    }

    /// True for a refusal that the engine does not follow, since the source could not give the money back.
    pub(crate) fn irreversible(&self, record: &Record, answer: &Answer) -> bool {
        let System::Ledger(source) = record.terms.source.system else { return false };
        matches!(answer, Answer::Rejected(..))
            && self.table(record.flow).state(record.head.state).money == Place::InFlight
            && self.capabilities(source).is_some_and(|capabilities| !capabilities.reversible)
    }

    /// The operation that a ledger outside the journal's database has stored, by its answer to a record's
    /// call.
    pub(crate) fn operation(
        &self,
        record: &Record,
        answer: &Answer,
    ) -> Option<(LedgerId, Operation)> {
        let act = self.table(record.flow).makes(record.head.state)?;
        let (ledger, op) = (self.ledger_of(record, act)?, self.op(record, act)?);
        if self.enlisted(ledger) {
            return None;
        }
        let (outcome, seq) = match answer {
            Answer::Done(receipt) => (StoredOutcome::Done, receipt.seq),
            // as the ledger lists it, so that the receipt equals the operation
            Answer::Rejected(why, receipt) if why.code == FENCED => {
                (StoredOutcome::Fenced, receipt.seq)
            }
            Answer::Rejected(why, receipt) => (StoredOutcome::Rejected(why.clone()), receipt.seq),
            Answer::Dead(_) | Answer::Unknown(_) => return None,
        };
        Some((ledger, Operation { seq, op, outcome }))
    }

    /// Goes on from where the builder's record stands, and completes its unit.
    pub(crate) fn sealed(
        &self,
        mut builder: UnitBuilder,
        fuse_mode: FuseMode,
        facts: Option<&Facts>,
    ) -> Planned {
        builder.record.head = settled(builder.record.head);
        let (done, rejected) = self.follow(&mut builder, fuse_mode, facts);
        let (head, error) = (builder.record.head, builder.error.take());
        if builder.then.fork.is_none() {
            builder.then.puts.push(put(&builder.record, head, error));
        } else if let Some(fork) = &mut builder.then.fork
            && let Some(error) = error
        {
            // the refusal that led here is the error, unless the fork finds another
            for then in std::iter::once(&mut fork.done).chain(&mut fork.rejected) {
                with_error(&mut then.puts, &error);
            }
        }
        let mut guards = vec![builder.at_state];
        if builder.moves {
            guards.push(Guard::NotHalted);
        }
        let next = NextStep { otherwise: head, done, rejected };
        Planned { unit: Unit { guards, then: builder.then }, next, depends_on: builder.depends_on }
    }

    /// Goes through claims and rules; forks at the first call at an enlisted ledger.
    fn follow(
        &self,
        builder: &mut UnitBuilder,
        fuse_mode: FuseMode,
        facts: Option<&Facts>,
    ) -> (Option<Head>, Option<Head>) {
        let table = self.table(builder.record.flow);
        // what was gathered is for the state where this unit begins, and for no later one
        let mut gathered = facts;
        // a table has no circle of claims and rules, but a broken one must not hang a worker
        for _ in 0..=table.states.len() {
            match table.step(builder.record.head.state) {
                // events: the next claim is that of another message
                Step::Claim { .. } if table.follows_events() && !builder.received => break,
                Step::Claim { to } if fuse_mode != FuseMode::NoClaim && !table.sends(to) => {
                    builder.received = false;
                    builder.moves = true;
                    let called =
                        table.makes(to).and_then(|act| self.ledger_of(&builder.record, act));
                    if let Some(ledger) = called {
                        self.depends_on(builder, ledger);
                    }
                    self.go(builder, Transition { via: Via::Claim, to }, None);
                }
                Step::Decide { rule, yes, no } => {
                    let reads = table.gathers(builder.record.head.state).is_some();
                    let known = gathered.take();
                    if reads && known.is_none() {
                        // a station gathers first
                        break;
                    }
                    let (via, to, agreed) = match decided(table, rule, &builder.record, known) {
                        Decision::Yes(agreed) => (Via::Yes, yes, agreed),
                        Decision::No => (Via::No, no, None),
                        Decision::NotYet => break,
                    };
                    let detail = known.filter(|_| reads).map(|facts| stored(table, rule, facts));
                    if let Some(agreed) = &agreed {
                        // what follows reads the target side that was agreed
                        builder.record.agreed = Some(agreed.clone());
                    }
                    self.go(builder, Transition { via, to }, detail);
                    builder.agree(agreed);
                    if via == Via::No
                        && let Some(code) = known.and_then(|facts| (table.refusal)(rule, facts))
                    {
                        builder.error = Some(Evidence { code: code.into(), doc: None });
                    }
                }
                Step::Call { act, done, rejected, .. } if fuse_mode == FuseMode::Fused => {
                    let call = EnlistedCall { act, done, rejected: Some(rejected) };
                    return self.fork(builder, call);
                }
                Step::Push { act, done, .. } if fuse_mode == FuseMode::Fused => {
                    return self.fork(builder, EnlistedCall { act, done, rejected: None });
                }
                Step::Claim { .. } | Step::Call { .. } | Step::Push { .. } => break,
                Step::Send { .. } | Step::End => break,
            }
        }
        (None, None)
    }

    /// Plans what follows each answer of a call at an enlisted ledger, and returns the heads behind them;
    /// nothing where the ledger is not enlisted.
    fn fork(&self, builder: &mut UnitBuilder, call: EnlistedCall) -> (Option<Head>, Option<Head>) {
        let (EnlistedCall { act, done, rejected }, record) = (call, &builder.record);
        let (Some(ledger), Some(op)) = (self.ledger_of(record, act), self.op(record, act)) else {
            return (None, None);
        };
        if !self.enlisted(ledger) {
            return (None, None);
        }
        let side = |via, to| {
            let mut on = UnitBuilder::of(record);
            if via == Via::Rejected {
                on.rejected();
            }
            self.go(&mut on, Transition { via, to }, None);
            self.follow(&mut on, FuseMode::Plain, None);
            on.then.puts.push(put(&on.record, on.record.head, None));
            on
        };
        let done = side(Via::Done, done);
        let rejected = rejected.map(|to| side(Via::Rejected, to));
        builder.moves = true;
        for on in std::iter::once(&done).chain(&rejected) {
            on.depends_on.iter().for_each(|ledger| self.depends_on(builder, *ledger));
        }
        let heads = (Some(done.record.head), rejected.as_ref().map(|on| on.record.head));
        builder.then.fork = Some(Box::new(Fork {
            ledger,
            op,
            done: done.then,
            rejected: rejected.map(|on| on.then),
        }));
        heads
    }

    /// Adds the message of the state that was entered, beside the event that led there.
    fn emit(&self, builder: &mut UnitBuilder) {
        let record = &builder.record;
        let emits = self.table(record.flow).emits;
        let Some(message) = emits(record.head.state, record, Emission::Entered) else { return };
        let event = builder.then.events.len().checked_sub(1);
        builder.then.outbox.push(Outgoing { message, id: record.id, n: 0, event });
    }

    /// Takes one edge: adds its event, and the settle that belongs to it.
    pub(crate) fn go(
        &self,
        builder: &mut UnitBuilder,
        Transition { via, to }: Transition,
        detail: Option<Arc<str>>,
    ) {
        let table = self.table(builder.record.flow);
        let (id, before) = (builder.record.id, builder.record.head.state);
        let what = (table.event)(before, via);
        let (from, caller, agreed) = (Some(before), None, None);
        builder.then.events.push(Event { id, from, to, what, caller, detail, agreed });
        builder.record.head.state = to;
        self.emit(builder);
        if matches!(table.step(to), Step::Push { .. }) || table.trouble.is_some() {
            // failures of a compensation are counted for themselves; where providers' trouble is told, each state's
            // are: the first one of a state begins an episode
            builder.record.head.retries = 0;
        }
        let record = &builder.record;
        builder.then.puts.extend(self.given_back(record, to));
        builder.then.puts.extend(books::moved(table, record, Some(before), to));
        let arrives = table.state(before).money == Place::InFlight
            && table.state(to).money == Place::AtTarget;
        let System::Ledger(source) = record.terms.source.system else { return };
        if arrives && self.capabilities(source).is_some_and(|capabilities| capabilities.holds) {
            let Some((asset, amount)) = record.share(Share::Gross) else { return };
            let account = record.terms.source.account.clone();
            let key = Key { id, leg: Leg::Settle };
            builder.then.ops.push((source, Op { key, account, other: None, asset, amount }));
        }
    }
}

/// The head after an answer: it is not due, and no worker's death counts against it.
pub(crate) fn settled(head: Head) -> Head {
    Head { version: head.version.saturating_add(1), alone: false, deaths: 0, due_at: None, ..head }
}

pub(crate) fn put(record: &Record, head: Head, error: Option<Evidence>) -> Put {
    Put::Head { id: record.id, head, error, hold: Hold::Mine }
}

/// Gives the heads among `puts` the error that led to them.
fn with_error(puts: &mut [Put], error: &Evidence) {
    for put in puts {
        if let Put::Head { error: slot @ None, .. } = put {
            *slot = Some(error.clone());
        }
    }
}
