//! What the store's own tests work with: a folder, a clock, and the units of a whole transfer.

use crate::folder_store::{open, options};
use kernel::answer::Answer;
use kernel::flow::life::Leg;
use kernel::flow::table::{Flows, S};
use kernel::ids::{AssetId, Id, LedgerId, UserId};
use kernel::money::Amount;
use kernel::operation::{Key, Op, Operation, StoredOutcome};
use kernel::ports::journal::{DueQuery, UnitWriter as _};
use kernel::ports::ledger::{Ledger, Reply, Whose};
use kernel::record::{Account, Binding, Head, Record, Terms};
use kernel::unit::{Event, Fork, Guard, Hold, Put, Then, Unit, Written, Wrote};
use rusqlite::Connection;
use std::path::Path;
use std::sync::Arc;
use store::sqlite::{Embedded, FILE, OpenError};
use tempfile::TempDir;
use testkit::ManualClock;

/// Where the clock stands at first.
pub(crate) const NOON: u64 = 1_700_000_000_000;
pub(crate) const COIN: AssetId = AssetId(3);

/// A folder with a store in it.
pub(crate) struct Fixture {
    pub(crate) dir: TempDir,
    pub(crate) clock: ManualClock,
    pub(crate) flows: Arc<Flows>,
}

/// The id of the n-th transfer.
pub(crate) fn id(n: u64) -> Id {
    Id::new(NOON + n, 7)
}

impl Fixture {
    /// Asks for what is due of every flow.
    pub(crate) fn every_flow(&self, limit: usize) -> DueQuery {
        let names: Vec<&str> = self.flows.0.iter().map(|table| table.flow).collect();
        DueQuery { flows: self.flows.ids(&names).into(), limit }
    }

    pub(crate) fn new() -> Self {
        let flows = Arc::new(flows::registry());
        Self { dir: tempfile::tempdir().expect("a folder"), clock: ManualClock::at(NOON), flows }
    }

    pub(crate) fn open(&self) -> Arc<Embedded> {
        self.open_at(self.dir.path())
    }

    pub(crate) fn open_at(&self, dir: &Path) -> Arc<Embedded> {
        open(dir, Arc::new(self.clock.clone()), self.flows.clone())
    }

    /// One attempt to open it, with at most `max_bytes` bytes.
    pub(crate) fn try_open(&self, max_bytes: Option<u64>) -> Result<Arc<Embedded>, OpenError> {
        let clock = Arc::new(self.clock.clone());
        let options = options(self.dir.path(), clock, self.flows.clone());
        Embedded::open(store::sqlite::Options { max_bytes, ..options })
    }

    /// The file as an operator's own tool opens it.
    pub(crate) fn tool(&self) -> Connection {
        testbed::beside(&self.dir.path().join(FILE))
    }

    pub(crate) fn state(&self, name: &str) -> S {
        let flow = self.flows.named("internal").expect("the flow");
        self.flows.table(flow).named(name).expect("the state")
    }

    fn record(&self, n: u64, user: u64, amount: u128) -> Record {
        let _account = Account::User(UserId(user));
        let mut terms = Terms::between_ledgers(
            format!("suite|{user}").into(),
            UserId(user),
            [LedgerId::FUNDING, LedgerId::SPOT],
            COIN,
            Amount(amount),
        );
        terms.binding = Some(Binding {
            scope: terms.principal.clone(),
            key: format!("key-{n}").into(),
            fingerprint: terms.fingerprint(),
        });
        Record::new(
            id(n),
            self.flows.named("internal").expect("the flow"),
            Head::start(self.state("SOURCE_PENDING")),
            Arc::new(terms),
        )
    }

    fn way(&self, n: u64, version: u32, steps: &[(&str, &str, &'static str)]) -> Then {
        let event = |(from, to, what): &(&str, &str, &'static str)| Event {
            id: id(n),
            from: Some(self.state(from)),
            to: self.state(to),
            what,
            caller: None,
            detail: None,
            agreed: None,
        };
        let to = steps.last().map_or("", |(_, to, _)| *to);
        let head = Head { version, ..Head::start(self.state(to)) };
        let put = Put::Head { id: id(n), head, error: None, hold: Hold::Mine };
        Then { puts: vec![put], events: steps.iter().map(event).collect(), ..Then::default() }
    }

    /// Opens the n-th transfer and takes its money, in one unit.
    pub(crate) fn opening(&self, n: u64, user: u64, amount: u128) -> Unit {
        let record = self.record(n, user, amount);
        let created = Event {
            id: id(n),
            from: None,
            to: self.state("INIT"),
            what: "CREATED",
            caller: Some(record.terms.principal.clone()),
            detail: None,
            agreed: None,
        };
        let mut then = self.way(n, 0, &[("INIT", "SOURCE_PENDING", "SOURCE_CALL")]);
        then.events.insert(0, created);
        let done = [
            ("SOURCE_PENDING", "SOURCE_DONE", "SOURCE_OK"),
            ("SOURCE_DONE", "TARGET_PENDING", "TARGET_CALL"),
        ];
        then.fork = Some(Box::new(Fork {
            ledger: LedgerId::FUNDING,
            op: leg(n, user, Leg::Withdraw, amount),
            done: self.way(n, 1, &done),
            rejected: Some(self.way(n, 1, &[("SOURCE_PENDING", "FAILED", "SOURCE_FAIL")])),
        }));
        let (flow, binding) = (record.flow, record.terms.binding.clone().expect("a key"));
        then.puts = vec![Put::Open(record)];
        let unbound = Guard::Unbound { flow, scope: binding.scope, key: binding.key };
        Unit { guards: vec![Guard::NotHalted, Guard::Fresh(id(n)), unbound], then }
    }

    /// Spot's receipt, the settle and the end of the n-th transfer, in one unit.
    pub(crate) fn ending(&self, n: u64, user: u64, amount: u128) -> Unit {
        let mut then = self.way(n, 2, &[("TARGET_PENDING", "COMMITTED", "TARGET_OK")]);
        let op = leg(n, user, Leg::Deposit, amount);
        let operation = Operation { seq: n + 1, op, outcome: StoredOutcome::Done };
        then.puts.push(Put::Receipt { ledger: LedgerId::SPOT, operation });
        then.ops = vec![(LedgerId::FUNDING, leg(n, user, Leg::Settle, amount))];
        let state = self.state("TARGET_PENDING");
        Unit { guards: vec![Guard::Transfer { id: id(n), state, version: 1 }], then }
    }
}

/// The n-th transfer's leg.
pub(crate) fn leg(n: u64, user: u64, leg: Leg, amount: u128) -> Op {
    Op {
        key: Key { id: id(n), leg },
        account: Account::User(UserId(user)),
        other: None,
        asset: COIN,
        amount: Amount(amount),
    }
}

/// Writes one unit in a group of its own.
pub(crate) async fn one(store: &Embedded, unit: Unit) -> Wrote {
    store.write(vec![unit]).await.pop().expect("an answer")
}

/// One unit alone, which must be written.
pub(crate) async fn written(store: &Embedded, unit: Unit) -> Written {
    match one(store, unit).await {
        Wrote::Written(written) => written,
        wrote @ (Wrote::Lost(_) | Wrote::Full | Wrote::Refused(_) | Wrote::Unknown(_)) => {
            panic!("{wrote:?}")
        }
    }
}

/// The word for what became of a unit: of its fork, where it has one.
pub(crate) fn word(wrote: &Wrote) -> String {
    match wrote {
        Wrote::Written(written) => match &written.fork {
            Some(Answer::Rejected(why, _)) => why.code.to_string(),
            Some(answer) => answer.word().to_owned(),
            None => "written".to_owned(),
        },
        Wrote::Lost(_) => "lost".to_owned(),
        Wrote::Full => "full".to_owned(),
        Wrote::Refused(refusal) => refusal.clone().into_cause().class.to_owned(),
        Wrote::Unknown(cause) => cause.class.to_owned(),
    }
}

/// Available and frozen of a user's coins.
pub(crate) async fn balance(store: &Embedded, user: u64) -> (u128, u128) {
    let Reply::Answered(_, found) = store.funding().accounts(Whose::User(UserId(user))).await
    else {
        panic!("no accounts")
    };
    let row = found.iter().find(|holding| holding.asset == COIN).expect("a balance");
    (row.available.0, row.frozen.0)
}
