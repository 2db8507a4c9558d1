//! The fixture of the journal checks: one fresh journal, units to write to it, and an image of all its answers.

use super::{Fresh, Site};
use kernel::accounts::AccountsOf;
use kernel::answer::{Answer, Cause};
use kernel::flow::life::Leg;
use kernel::flow::table::{Flows, S};
use kernel::ids::{AssetId, Day, FlowId, Id, LedgerId, Millis, Serial, UserId, WorkerId};
use kernel::message::{Message, Outgoing};
use kernel::money::Amount;
use kernel::operation::{Identity, Incarnation, Key, Known, Op, Operation, StoredOutcome};
use kernel::operators::Scope;
use kernel::ports::Fut;
use kernel::ports::journal::{Due, DueQuery, Line, Linked, ServiceStatus};
use kernel::ports::ledger::{AccountStatus, Moved, Reply, StatusChange, Stored, Whose};
use kernel::record::{Account, Binding, Head, Record, Terms};
use kernel::unit::{Event, Fork, Guard, Hold, Put, Then, Unit, Written, Wrote};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::task::Poll;
use testkit::{ManualClock, OpenedStore, deposit};

/// Where the clock stands when a journal is first opened.
pub(super) const NOON: Millis = 1_700_000_000_000;
/// The day of [`NOON`] in UTC.
pub(super) const TODAY: Day = Day(19_675);
/// The one asset that the checks move.
pub(super) const COIN: AssetId = AssetId(3);
/// Who has money at Funding.
pub(super) const RICH: UserId = UserId(1);
/// What that user begins with, in base units.
pub(super) const START: u128 = 1_000;

/// A journal under one check.
pub(super) struct JournalFixture {
    pub clock: ManualClock,
    pub flow: FlowId,
    now: Option<OpenedStore>,
    pub(super) flows: Arc<Flows>,
    site: Site,
    check: &'static str,
}

/// The id of the n-th transfer; later ones are higher.
pub(super) fn id(n: u64) -> Id {
    Id::new(NOON + n, 7)
}

/// What an outside ledger may be known as.
pub(super) fn known(incarnation: u128, highest: u64) -> Known {
    Known { identity: Identity(99), incarnation: Incarnation(incarnation), highest }
}

/// Puts and nothing else, without a guard.
pub(super) fn plain(puts: Vec<Put>) -> Unit {
    Unit::puts(puts)
}

/// A contradiction stops a flow.
pub(super) fn pause(flow: FlowId, reason: &str) -> Put {
    Put::Pause { scope: Scope::Flow(flow), reason: reason.into(), caller: "engine".into() }
}

/// Nothing but a guard.
pub(super) fn guarded(guard: Guard) -> Unit {
    Unit { guards: vec![guard], then: Then::default() }
}

/// The n-th transfer's leg.
pub(super) fn op(n: u64, leg: Leg, amount: u128) -> Op {
    Op {
        key: Key { id: id(n), leg },
        account: Account::User(RICH),
        other: None,
        asset: COIN,
        amount: Amount(amount),
    }
}

/// What an outside ledger answered.
pub(super) fn receipt(seq: u64, op: Op) -> Put {
    let operation = Operation { seq, op, outcome: StoredOutcome::Done };
    Put::Receipt { ledger: LedgerId::SPOT, operation }
}

/// A message about the n-th transfer, beside the first event of its unit.
pub(super) fn message(of: u64, kind: &'static str, key: &str, n: u32) -> Outgoing {
    let message = Message::new("transfers", kind, key).field("of", of.to_string());
    Outgoing { message, id: id(of), n, event: Some(0) }
}

impl JournalFixture {
    pub(super) async fn open(check: &'static str, fresh: &impl Fresh) -> Self {
        let clock = ManualClock::at(NOON);
        let flows = Arc::new(flows::registry());
        let mut site = fresh(clock.clone(), flows.clone());
        let now = Some(site().await);
        let flow = flows.named("internal").unwrap_or(FlowId(0));
        let fixture = Self { clock, flow, now, flows, site, check };
        fixture.give("start", RICH, START).await;
        fixture
    }

    /// Everything that was given is dropped, and the journal opened again over the same data.
    pub(super) async fn reopen(&mut self) {
        self.now = None;
        self.now = Some((self.site)().await);
    }

    /// What is open now.
    pub(super) fn on(&self) -> &OpenedStore {
        match &self.now {
            Some(opened) => opened,
            None => panic!("{}: nothing is open", self.check),
        }
    }

    /// Fails the check unless both are equal.
    #[track_caller]
    pub(super) fn same<T: Debug + PartialEq>(&self, what: &str, is: &T, should: &T) {
        assert!(is == should, "{}: {what}: {is:?} instead of {should:?}", self.check);
    }

    /// Fails the check unless it holds.
    #[track_caller]
    pub(super) fn holds(&self, holds: bool, what: &str, facts: &impl Debug) {
        assert!(holds, "{}: {what}: {facts:?}", self.check);
    }

    #[track_caller]
    pub(super) fn ok<T>(&self, what: &str, result: Result<T, Cause>) -> T {
        match result {
            Ok(value) => value,
            Err(cause) => panic!("{}: {what}: {cause}", self.check),
        }
    }

    pub(super) fn state(&self, name: &str) -> S {
        self.flows.table(self.flow).named(name).unwrap_or_else(|| panic!("no state {name}"))
    }

    pub(super) fn code(&self, name: &str) -> i16 {
        self.flows.table(self.flow).state(self.state(name)).code
    }

    // --- writing

    pub(super) async fn all(&self, units: Vec<Unit>) -> Vec<Wrote> {
        let asked = units.len();
        let wrote = self.on().journal.write(units).await;
        self.same("answers to a group", &wrote.len(), &asked);
        wrote
    }

    pub(super) async fn one(&self, unit: Unit) -> Wrote {
        let wrote = self.all(vec![unit]).await.pop();
        wrote.unwrap_or_else(|| Wrote::Unknown(Cause::of("NO_ANSWER")))
    }

    /// Written, or the check fails.
    pub(super) async fn written(&self, what: &str, unit: Unit) -> Written {
        match self.one(unit).await {
            Wrote::Written(written) => written,
            wrote @ (Wrote::Lost(_) | Wrote::Full | Wrote::Refused(_) | Wrote::Unknown(_)) => {
                panic!("{}: {what}: {wrote:?} instead of written", self.check)
            }
        }
    }

    /// Lost to this guard, and nothing written by it.
    pub(super) async fn lost(&self, what: &str, unit: Unit, guard: Guard) {
        let before = self.image().await;
        self.same(what, &self.one(unit).await, &Wrote::Lost(guard));
        self.same(&format!("{what}: what it wrote"), &self.image().await, &before);
    }

    /// Lost to its one guard.
    pub(super) async fn loses(&self, what: &str, guard: Guard) {
        self.lost(what, guarded(guard.clone()), guard).await;
    }

    /// Written with its one guard.
    pub(super) async fn wins(&self, what: &str, guard: Guard) {
        self.written(what, guarded(guard)).await;
    }

    /// Unknown with this class, and nothing written by it.
    pub(super) async fn unknown(&self, what: &str, unit: Unit, class: &str) {
        let before = self.image().await;
        let wrote = self.one(unit).await;
        let fits = matches!(&wrote, Wrote::Unknown(cause) if cause.class == class);
        self.holds(fits, &format!("{what}: not unknown with {class}"), &wrote);
        self.same(&format!("{what}: what it wrote"), &self.image().await, &before);
    }

    // --- units

    /// The n-th transfer, from Funding to Spot, before it is opened.
    pub(super) fn record(&self, n: u64, user: UserId, amount: u128) -> Record {
        Record::new(
            id(n),
            self.flow,
            Head::start(self.state("INIT")),
            Arc::new(Terms {
                reference: Some("a reference".to_owned()),
                metadata: BTreeMap::from([("a".to_owned(), "b".to_owned())]),
                ..Terms::between_ledgers(
                    "suite|1".into(),
                    user,
                    [LedgerId::FUNDING, LedgerId::SPOT],
                    COIN,
                    Amount(amount),
                )
            }),
        )
    }

    /// The same with a client's key.
    pub(super) fn bound(&self, record: Record, scope: &str, key: &str) -> Record {
        let fingerprint = record.terms.fingerprint();
        let binding = Some(Binding { scope: scope.into(), key: key.into(), fingerprint });
        Record { terms: Arc::new(Terms { binding, ..(*record.terms).clone() }), ..record }
    }

    /// Opens a record, with its first event.
    pub(super) fn opening(&self, record: &Record) -> Unit {
        let created = Event {
            id: record.id,
            from: None,
            to: record.head.state,
            what: "CREATED",
            caller: Some(record.terms.principal.clone()),
            detail: None,
            agreed: None,
        };
        Unit {
            guards: vec![Guard::NotHalted, Guard::Fresh(record.id)],
            then: Then {
                puts: vec![Put::Open(record.clone())],
                events: vec![created],
                ..Then::default()
            },
        }
    }

    /// Opens the n-th transfer and returns it as it stands.
    pub(super) async fn opened(&self, n: u64) -> Record {
        let written = self.written("an opening", self.opening(&self.record(n, RICH, 10))).await;
        let record = self.get(id(n)).await;
        self.same("its number", &record.serial, &written.serial);
        record
    }

    /// Where a record stands after a move.
    pub(super) fn to(&self, record: &Record, state: &str) -> Head {
        let version = record.head.version + 1;
        Head { state: self.state(state), version, due_at: None, ..record.head }
    }

    /// A put of a head without an error, kept by the writer.
    pub(super) fn head(&self, id: Id, head: Head) -> Put {
        Put::Head { id, head, error: None, hold: Hold::Mine }
    }

    pub(super) fn event(&self, record: &Record, to: &str, what: &'static str) -> Event {
        let (from, to) = (Some(record.head.state), self.state(to));
        Event { id: record.id, from, to, what, caller: None, detail: None, agreed: None }
    }

    /// Where the record must stand for a unit.
    pub(super) fn stands(&self, record: &Record) -> Guard {
        let Head { state, version, .. } = record.head;
        Guard::Transfer { id: record.id, state, version }
    }

    /// Moves a record, with its event.
    pub(super) fn moving(&self, record: &Record, state: &str, what: &'static str) -> Unit {
        let head = self.to(record, state);
        Unit {
            guards: vec![self.stands(record)],
            then: Then {
                puts: vec![self.head(record.id, head)],
                events: vec![self.event(record, state, what)],
                ..Then::default()
            },
        }
    }

    /// Moves a record and returns it as it stands.
    pub(super) async fn moved(&self, record: &Record, state: &str) -> Record {
        self.written("a move", self.moving(record, state, "SOURCE_CALL")).await;
        self.get(record.id).await
    }

    /// Puts a record's time, with everything else as it is.
    pub(super) async fn timed(&self, record: &Record, due: Option<Millis>, hold: Hold) -> Record {
        let head = Head { version: record.head.version + 1, due_at: due, ..record.head };
        let put = Put::Head { id: record.id, head, error: None, hold };
        self.written("a time", Unit::guarded(vec![self.stands(record)], vec![put])).await;
        self.get(record.id).await
    }

    /// A unit that is nothing but a fork at Funding.
    pub(super) fn fork(&self, op: Op, done: Then, rejected: Option<Then>) -> Unit {
        let fork = Box::new(Fork { ledger: LedgerId::FUNDING, op, done, rejected });
        Unit { guards: vec![], then: Then { fork: Some(fork), ..Then::default() } }
    }

    // --- reading

    pub(super) async fn get(&self, id: Id) -> Record {
        let mut found = self.ok("get", self.on().journal.get(vec![id]).await);
        match (found.pop(), found.is_empty()) {
            (Some(record), true) => record,
            (record, _) => panic!("{}: get of {id}: {record:?} and {found:?}", self.check),
        }
    }

    pub(super) async fn is_open(&self, id: Id) -> bool {
        let below = self.ok("open_below", self.on().journal.open_below(Id(u128::MAX)).await);
        below.contains(&id)
    }

    pub(super) async fn history(&self, id: Id) -> Vec<Linked> {
        self.ok("history", self.on().journal.history(id).await)
    }

    /// What a user has moved on a day: transfers, and the amount of an asset.
    pub(super) async fn daily_usage(&self, user: UserId, day: Day, asset: AssetId) -> (u64, u128) {
        let spent = self.ok("spent", self.on().journal.daily_usage(user, day, asset).await);
        (spent.transfers, spent.amount.0)
    }

    pub(super) async fn status(&self) -> ServiceStatus {
        let mut status = self.ok("status", self.on().journal.service_status().await);
        status.assets.sort_by_key(|asset| asset.id);
        status.paused.sort_by_key(|paused| paused.number);
        status.accepted.sort_by(|a, b| (&a.key, a.amount).cmp(&(&b.key, b.amount)));
        status
    }

    /// Everything that is due to this process, as words and numbers of transfers.
    pub(super) async fn due(&self, limit: usize) -> Vec<(&'static str, Id)> {
        let names = self.flows.0.iter().map(|table| table.flow).collect::<Vec<_>>();
        self.due_of(&self.flows.ids(&names), limit).await
    }

    /// The same of these flows alone.
    pub(super) async fn due_of(&self, flows: &[FlowId], limit: usize) -> Vec<(&'static str, Id)> {
        let query = DueQuery { flows: flows.into(), limit };
        let due = self.ok("due", self.on().journal.due(WorkerId(1), query).await);
        let word = |due: &Due| match due {
            Due::Transfer(record) => ("transfer", record.id),
            Due::Orphan(record) => ("orphan", record.id),
            Due::Attempt(attempt) => ("attempt", Id(attempt.id.0)),
        };
        due.iter().map(word).collect()
    }

    /// Everything that a reader can see, as text: equal images are equal journals.
    pub(super) async fn image(&self) -> String {
        let journal = &self.on().journal;
        let mut snapshot = self.ok("snapshot", journal.snapshot().await);
        let lines = self.ok("lines", snapshot.lines(Serial(0), 10_000).await);
        let mut text = String::new();
        for ledger in [LedgerId::FUNDING, LedgerId::SPOT, LedgerId::ACCOUNT] {
            let sums = self.ok("sums", snapshot.sums(ledger, u64::MAX).await);
            text += &format!("{ledger:?} {sums:?}\n");
        }
        self.counts().await;
        let books = self.ok("books", snapshot.books(LedgerId::FUNDING).await);
        let status = self.status().await;
        let counts = self.ok("counts", journal.counts().await);
        text += &format!("{books:?}\n{status:?}\n{counts:?}\n");
        let mut cases = self.ok("open_cases", journal.open_cases().await);
        cases.sort_by_key(|case| case.number);
        let (actions, spent) =
            (self.history(Id(0)).await, self.daily_usage(RICH, TODAY, COIN).await);
        text += &format!("{cases:?}\n{actions:?}\n{spent:?}\n");
        let funding = &self.on().funding;
        text += &format!("{:?}\n", said(funding.operations(0, 10_000).await));
        text += &format!("{:?}\n", said(funding.accounts(Whose::After(0, 10_000)).await));
        let every = AccountsOf::After("".into(), 10_000);
        let numbered = self.ok("accounts", journal.numbered_accounts(every).await);
        let moves = said(self.on().accounts.operations(0, 10_000).await);
        text += &format!("{numbered:?}\n{moves:?}\n");
        let ids = lines.iter().map(|line| line.id).collect();
        let attempts = self.ok("attempts", journal.attempts_of(ids).await);
        let resources = self.ok("resources", journal.resources("".into()).await);
        text += &format!("{attempts:?}\n{resources:?}\n");
        for line in lines {
            let line = sorted(line);
            let (record, history) = (self.get(line.id).await, self.history(line.id).await);
            text += &format!("{line:?}\n{record:?}\n{history:?}\n");
        }
        text
    }

    /// The running sums are what all rows add up to.
    pub(super) async fn counts(&self) {
        let mut snapshot = self.ok("snapshot", self.on().journal.snapshot().await);
        let mut rows = self.ok("recount", snapshot.recount().await);
        let mut running = Vec::new();
        for ledger in [LedgerId::FUNDING, LedgerId::SPOT, LedgerId::ACCOUNT] {
            let sums = self.ok("sums", snapshot.sums(ledger, u64::MAX).await);
            running.extend(sums.into_iter().map(|(asset, sums)| (ledger, asset, sums)));
        }
        rows.sort_by_key(|(ledger, asset, _)| (*ledger, *asset));
        running.sort_by_key(|(ledger, asset, _)| (*ledger, *asset));
        self.same("the running sums", &running, &rows);
    }

    pub(super) async fn line(&self, id: Id) -> Option<Line> {
        let mut snapshot = self.ok("snapshot", self.on().journal.snapshot().await);
        let key = Key { id, leg: Leg::Withdraw };
        let lines = self.ok("lines_of", snapshot.lines_of(vec![key]).await);
        lines.into_iter().find(|line| line.id == id).map(sorted)
    }

    // --- the ledger in it

    /// External money for a user.
    pub(super) async fn give(&self, reference: &str, user: UserId, amount: u128) -> Moved {
        let movement = deposit(reference, user.0, COIN, amount);
        self.ok("external money", self.on().world.external(movement).await)
    }

    /// Available and frozen of user 1.
    pub(super) async fn balance(&self) -> (u128, u128) {
        let Reply::Answered(_, found) = self.on().funding.accounts(Whose::User(RICH)).await else {
            panic!("{}: no accounts", self.check)
        };
        let row = found.iter().find(|holding| holding.asset == COIN);
        row.map_or((0, 0), |holding| (holding.available.0, holding.frozen.0))
    }

    pub(super) async fn funding_known(&self) -> Known {
        match self.on().funding.hello().await {
            Reply::Answered(known, ()) | Reply::OtherLedger(known) => known,
            Reply::NoAnswer(cause) => panic!("{}: hello: {cause}", self.check),
        }
    }

    /// What the ledger answers to legs of their own.
    pub(super) async fn ledger(&self, what: &str, ops: Vec<Op>) -> Vec<Answer> {
        match self.on().funding.execute(self.funding_known().await, ops.into()).await {
            Reply::Answered(_, answers) => answers,
            reply @ (Reply::OtherLedger(_) | Reply::NoAnswer(_)) => {
                panic!("{}: {what}: {reply:?}", self.check)
            }
        }
    }

    /// What it answers to a fence, or why it does not decide.
    pub(super) async fn fence(&self, key: Key) -> Result<Stored, Cause> {
        match self.on().funding.fence(self.funding_known().await, key).await {
            Reply::Answered(_, stored) => Ok(stored),
            Reply::NoAnswer(cause) => Err(cause),
            Reply::OtherLedger(_) => Err(Cause::of("WRONG_LEDGER")),
        }
    }

    pub(super) async fn set_status(&self, status: AccountStatus, key: &str) {
        let change = StatusChange {
            user: RICH,
            status,
            reason: "a check".into(),
            caller: "suite|1".into(),
            key: key.into(),
        };
        let reply = self.on().funding.status(self.funding_known().await, change).await;
        self.holds(matches!(reply, Reply::Answered(_, true)), "a status", &reply);
    }
}

/// What a ledger said, without who it was then.
fn said<T>(reply: Reply<T>) -> Result<T, String> {
    match reply {
        Reply::Answered(_, said) => Ok(said),
        Reply::OtherLedger(known) => Err(format!("{known:?}")),
        Reply::NoAnswer(cause) => Err(cause.to_string()),
    }
}

fn sorted(mut line: Line) -> Line {
    line.operations.sort_by_key(|(ledger, operation)| (*ledger, operation.op.key));
    line
}

/// Waits for all of them at once: the writes of several stations.
pub(super) async fn together<T>(futures: Vec<Fut<'_, T>>) -> Vec<T> {
    let mut left: Vec<_> = futures.into_iter().map(|future| (Some(future), None)).collect();
    std::future::poll_fn(|cx| {
        let mut pending = false;
        for (future, out) in &mut left {
            if let Some(running) = future {
                match running.as_mut().poll(cx) {
                    Poll::Ready(value) => {
                        *out = Some(value);
                        *future = None;
                    }
                    Poll::Pending => pending = true,
                }
            }
        }
        if pending { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    left.into_iter().filter_map(|(_, out)| out).collect()
}
