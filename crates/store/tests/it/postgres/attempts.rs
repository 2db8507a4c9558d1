//! Attempts between two workers of one database: one of them takes a lock, and a dead one's attempt
//! comes to the other without its members.

use super::fixture::{database, open, open_as, reached};
use kernel::attempt::{Attempt, AttemptId, Lock};
use kernel::flow::table::Flows;
use kernel::ids::{AssetId, ChainId, Id, LedgerId, Millis, UserId, WorkerId};
use kernel::money::Amount;
use kernel::ports::journal::{Due, DueQuery, UnitWriter as _, WorkerLeases as _};
use kernel::record::{Head, Record, Terms};
use kernel::unit::{Guard, Hold, Put, Unit, Wrote};
use std::sync::Arc;
use store::postgres::Postgres;
use testkit::ManualClock;

const NOON: Millis = 1_700_000_000_000;
const LEASE: Millis = 2_000;
const FLOW: &str = "internal";

fn flows() -> Arc<Flows> {
    Arc::new(flows::registry())
}

fn record(n: u64) -> Record {
    let flows = flows();
    let flow = flows.named(FLOW).expect("the flow");
    let (ledgers, amount) = ([LedgerId::FUNDING, LedgerId::SPOT], Amount(10));
    let terms = Terms::between_ledgers("test|1".into(), UserId(1), ledgers, AssetId(3), amount);
    let head = Head::start(flows.table(flow).start);
    Record::new(Id::new(NOON + n, 7), flow, head, Arc::new(terms))
}

fn attempt(n: u128, lock: &str, members: &[Record]) -> Attempt {
    let flows = flows();
    let flow = flows.named(FLOW).expect("the flow");
    Attempt {
        id: AttemptId(n),
        chain: ChainId(31),
        flow,
        state: flows.table(flow).named("SOURCE_PENDING").expect("the state"),
        version: Attempt::FIRST,
        lane: "key-1".into(),
        lock: Lock::from(lock),
        members: members.into(),
        forms: Vec::new(),
        sent: false,
        due_at: None,
        closed: None,
    }
}

/// Makes an attempt and claims its members.
fn claim(attempt: &Attempt) -> Unit {
    let mut unit = Unit::puts(vec![Put::Attempt(attempt.clone())]);
    for Record { id, head, .. } in attempt.members.iter() {
        let (id, state, version) = (*id, head.state, head.version);
        unit.guards.push(Guard::Transfer { id, state, version });
        let head = Head { state: attempt.state, version: version + 1, ..*head };
        unit.then.puts.push(Put::Head { id, head, error: None, hold: Hold::Mine });
    }
    unit
}

async fn written(store: &Postgres, unit: Unit) {
    let wrote = store.write(vec![unit]).await;
    assert!(matches!(wrote.as_slice(), [Wrote::Written(_)]), "{wrote:?}");
}

/// The worker has its lease from now on.
async fn lives(store: &Postgres, worker: u64) {
    store.renew_lease(WorkerId(worker), LEASE, None).await.expect("a lease");
}

/// What a worker is given, as words.
async fn due(store: &Postgres, worker: u64) -> Vec<String> {
    let flows = flows();
    let query = DueQuery { flows: flows.ids(&[FLOW]).into(), limit: 100 };
    let due = store.due(WorkerId(worker), query).await.expect("what is due");
    let word = |due: &Due| match due {
        Due::Transfer(record) => format!("transfer {}", record.id),
        Due::Orphan(record) => format!("orphan {}", record.id),
        Due::Attempt(attempt) => format!("attempt {}", attempt.id.0),
    };
    due.iter().map(word).collect()
}

/// Red where the lock is not unique in the table, or where what another transaction wrote at the same
/// time is not asked for again.
#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_workers_takes_a_lock() {
    let (database, clock) = (database(), ManualClock::at(NOON));
    let one = open(database.url(), clock.clone(), flows()).await;
    let other = open(database.url(), clock, flows()).await;
    for n in 1..=20_u64 {
        let lock = n.to_string();
        let (first, second) =
            (attempt(u128::from(2 * n), &lock, &[]), attempt(u128::from(2 * n + 1), &lock, &[]));
        let (a, b) =
            tokio::join!(one.write(vec![claim(&first)]), other.write(vec![claim(&second)]));
        let wrote: Vec<Wrote> = a.into_iter().chain(b).collect();
        let taken = wrote.iter().filter(|wrote| matches!(wrote, Wrote::Written(_))).count();
        let (chain, lane, lock) = (first.chain, first.lane, first.lock);
        let lost = Wrote::Lost(Guard::LockFree { chain, lane, lock });
        assert!(taken == 1 && wrote.contains(&lost), "{wrote:?}");
    }
}

/// Red where members of an open attempt are orphans, where a live worker's attempt is handed over, or a
/// dead one's is not.
#[tokio::test(flavor = "multi_thread")]
async fn a_dead_workers_attempt_is_handed_over_and_its_members_are_not() {
    let (database, clock) = (database(), ManualClock::at(NOON));
    let url = database.url();
    let one = open_as(WorkerId(101), reached(url), clock.clone(), flows()).await;
    let other = open_as(WorkerId(102), reached(url), clock.clone(), flows()).await;
    lives(&one, 101).await;
    lives(&other, 102).await;
    let members = [record(1), record(2)];
    for record in &members {
        written(&one, Unit::puts(vec![Put::Open(record.clone())])).await;
    }
    let alone = record(3);
    written(&one, Unit::puts(vec![Put::Open(alone.clone())])).await;
    let made = attempt(1, "1", &members);
    written(&one, claim(&made)).await;
    let none: Vec<String> = Vec::new();
    assert_eq!(due(&other, 102).await, none, "while its worker lives");
    clock.set(NOON + LEASE + 1);
    lives(&other, 102).await;
    let mut found = due(&other, 102).await;
    found.sort();
    assert_eq!(found, ["attempt 1".to_owned(), format!("orphan {}", alone.id)]);
    assert_eq!(due(&other, 102).await, none, "once");
    // the close by the new worker says of each member who has it
    let (id, version, closed) = (made.id, Attempt::FIRST + 1, Some(NOON));
    let (sent, due_at, hold) = (true, None, Hold::Mine);
    let mut close = Unit::puts(vec![Put::AttemptHead { id, version, sent, due_at, closed, hold }]);
    for (record, (due_at, hold)) in
        members.iter().zip([(None, Hold::Mine), (Some(NOON), Hold::Free)])
    {
        let (id, state, version) = (record.id, made.state, record.head.version + 1);
        close.guards.push(Guard::Transfer { id, state, version });
        let head = Head { state, version: version + 1, due_at, ..record.head };
        close.then.puts.push(Put::Head { id: record.id, head, error: None, hold });
    }
    written(&other, close).await;
    let [kept, free] = members.map(|record| record.id);
    assert_eq!(due(&other, 102).await, [format!("transfer {free}")]);
    clock.set(NOON + 3 * LEASE);
    lives(&one, 101).await;
    let mut found = due(&one, 101).await;
    found.sort();
    let mut all = [alone.id, kept].map(|id| format!("orphan {id}")).to_vec();
    // one whose head has a time waited for it: it is due again, and no orphan
    all.push(format!("transfer {free}"));
    all.sort();
    assert_eq!(found, all, "what the second one held when it died");
}
