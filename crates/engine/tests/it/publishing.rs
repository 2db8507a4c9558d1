//! The publisher over the real outbox of the embedded store and the bus of the process.
//!
//! Wrong builds that were run: marking before publishing (`a_crash_between_sending_and_marking`), every
//! good answer of a batch counted (`nothing_overtakes_a_message_of_its_key`).

use crate::fixture::defaults::{COIN, FUNDING, terms};
use crate::fixture::folders::store_at;
use engine::messaging::{Publisher, PublisherParts, Sent};
use engine::tasks::Background;
use kernel::answer::Cause;
use kernel::ids::{Id, Millis, WorkerId};
use kernel::message::{Message, Outgoing, bucket as bucket_of, partition};
use kernel::ports::Fut;
use kernel::ports::bus::{Acknowledgement, Bus, BusMessage, acknowledged};
use kernel::ports::clock::{Clock, TICKS};
use kernel::ports::journal::UnitWriter as _;
use kernel::ports::meter::NoMeter;
use kernel::ports::outbox::{BucketLease, Outbox, Queued, UnpublishedQuery};
use kernel::ports::spawn::Spawn as _;
use kernel::record::{Head, Record};
use kernel::unit::{Event, Put, Unit, Wrote};
use links::in_process::{InProcess, PARTITIONS};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store::sqlite::Embedded;
use tempfile::TempDir;
use testkit::wrapper::{BusWrapper, OutboxWrapper, Wrapper};
use testkit::{KillableTasks, ShiftedClock};
use tokio::sync::Notify;

const TOPIC: &str = "transfer-validation";
/// Another topic of the same keys.
const OTHER: &str = "transfer-failed";

/// A bus that may keep some numbers out, say nothing of some, or die before it answers.
struct FaultyBus {
    inner: InProcess,
    refuses: Mutex<BTreeSet<u128>>,
    /// What is sent of these gets no answer, and is not there.
    silent: Mutex<BTreeSet<u128>>,
    /// What is sent to this topic and partition gets no answer, and is not there.
    silent_partition: Mutex<Option<(&'static str, u32)>>,
    dies: Mutex<bool>,
}

impl FaultyBus {
    /// Refuses everything that waits; its numbers, in the order in which it was written.
    async fn refused_numbers(&self, store: &Embedded) -> Vec<u128> {
        let leases: Vec<_> = (0..16).map(|bucket| BucketLease { bucket, epoch: 0 }).collect();
        let query = UnpublishedQuery { leases, limit: 10_000, without: Vec::new() };
        let mut rows = store.unpublished(query).await.expect("the outbox");
        rows.sort_by_key(|row| row.emitted.id);
        let numbers: Vec<u128> = rows.iter().map(|row| row.emitted.number).collect();
        self.refuses.lock().expect("no panic").extend(numbers.iter().copied());
        numbers
    }
}

impl BusWrapper for FaultyBus {
    fn inner(&self) -> &dyn Bus {
        &self.inner
    }

    fn send(&self, messages: Vec<BusMessage>) -> Fut<'_, Vec<Acknowledgement>> {
        Box::pin(async move {
            let mut deliveries: Vec<Acknowledgement> = Vec::new();
            for message in messages {
                let number = partition(&message.key, PARTITIONS);
                let silent = *self.silent_partition.lock().expect("no panic")
                    == Some((&*message.topic, number))
                    || self.silent.lock().expect("no panic").contains(&message.number);
                if silent {
                    deliveries.push(Box::pin(std::future::pending()));
                } else {
                    let answers = self.publish(vec![message]).await.into_iter();
                    deliveries.extend(answers.map(acknowledged));
                }
            }
            deliveries
        })
    }

    fn publish(&self, messages: Vec<BusMessage>) -> Fut<'_, Vec<Result<(), Cause>>> {
        Box::pin(async move {
            let refuses = self.refuses.lock().expect("no panic").clone();
            let taken = |message: &&BusMessage| !refuses.contains(&message.number);
            let some: Vec<_> = messages.iter().filter(taken).cloned().collect();
            let said = self.inner.publish(some).await;
            assert!(said.iter().all(Result::is_ok), "{said:?}");
            assert!(!*self.dies.lock().expect("no panic"), "it dies before it answers");
            let answer = |message: &BusMessage| {
                if taken(&message) { Ok(()) } else { Err(Cause::of("TIMEOUT")) }
            };
            messages.iter().map(answer).collect()
        })
    }
}

/// An outbox whose reader stands still for longer than its lease once it has read the first rows.
struct Freeze {
    inner: Arc<Embedded>,
    frozen: Arc<AtomicU64>,
}

/// The clock of that reader.
struct FrozenClock {
    inner: ShiftedClock,
    frozen: Arc<AtomicU64>,
}

impl OutboxWrapper for Freeze {
    fn inner(&self) -> &dyn Outbox {
        &*self.inner
    }

    fn unpublished(&self, query: UnpublishedQuery) -> Fut<'_, Result<Vec<Queued>, Cause>> {
        Box::pin(async move {
            let rows = self.inner.unpublished(query).await;
            self.frozen.store(61_000 * TICKS, Ordering::SeqCst);
            rows
        })
    }
}

impl Clock for FrozenClock {
    fn now(&self) -> Millis {
        self.inner.now()
    }

    fn ticks(&self) -> u64 {
        self.inner.ticks().saturating_add(self.frozen.load(Ordering::SeqCst))
    }

    fn sleep(&self, ms: Millis) -> Fut<'static, ()> {
        self.inner.sleep(ms)
    }
}

struct Fixture {
    _dir: TempDir,
    clock: ShiftedClock,
    store: Arc<Embedded>,
    bus: Arc<Wrapper<FaultyBus>>,
    bell: Arc<Notify>,
    opened: u64,
}

impl Fixture {
    fn new() -> Self {
        let (dir, clock) = (tempfile::tempdir().expect("a folder"), ShiftedClock::new());
        let store = store_at(&dir.path().join("store"), &flows::registry(), &clock);
        let file = dir.path().join("bus.db");
        let inner = InProcess::open(&file, Arc::new(clock.clone())).expect("a bus");
        let bus = FaultyBus {
            inner,
            refuses: Mutex::default(),
            silent: Mutex::default(),
            silent_partition: Mutex::default(),
            dies: Mutex::default(),
        };
        Self {
            _dir: dir,
            clock,
            store,
            bus: Arc::new(Wrapper(bus)),
            bell: Arc::default(),
            opened: 0,
        }
    }

    fn publisher(&self, worker: u64) -> Arc<Publisher> {
        self.publisher_with(worker, self.store.clone(), Arc::new(self.clock.clone()))
    }

    fn publisher_with(
        &self,
        worker: u64,
        outbox: Arc<dyn Outbox>,
        clock: Arc<dyn Clock>,
    ) -> Arc<Publisher> {
        Publisher::new(PublisherParts {
            source: "/portage/1".into(),
            outbox,
            bus: self.bus.clone(),
            journal: self.store.clone(),
            clock,
            worker: WorkerId(worker),
            lease_ms: 60_000,
            poll_ms: 10,
            batch: 100,
            meter: Arc::new(NoMeter),
            bell: self.bell.clone(),
        })
    }

    /// Opens a transfer with a message under this key; the message's number.
    async fn emit(&mut self, key: &str) -> u128 {
        let (unit, number) = self.unit(TOPIC, key);
        let wrote = self.store.write(vec![unit]).await;
        assert!(matches!(wrote[..], [Wrote::Written(_)]), "{wrote:?}");
        number
    }

    /// Opens a transfer with a message to this topic, for each key.
    async fn emit_all(&mut self, topic: &'static str, keys: &[String]) {
        let units = keys.iter().map(|key| self.unit(topic, key).0).collect();
        let wrote = self.store.write(units).await;
        assert!(wrote.iter().all(|one| matches!(one, Wrote::Written(_))), "{wrote:?}");
    }

    fn unit(&mut self, topic: &'static str, key: &str) -> (Unit, u128) {
        self.opened += 1;
        let flows = flows::registry();
        let flow = flows.named("internal").expect("the flow");
        let head = Head::start(flows.table(flow).start);
        let id = Id::new(self.clock.now(), self.opened.into());
        let terms = Arc::new(terms(FUNDING, 1, 1, COIN));
        let record = Record::new(id, flow, head, terms);
        let message = Message::new(topic, "transfer-created", key);
        let outgoing = Outgoing { message, id, n: 0, event: Some(0) };
        let number = outgoing.number();
        let mut unit = Unit::puts(vec![Put::Open(record)]);
        let (from, caller, detail, agreed) = (None, None, None, None);
        let event = Event { id, from, to: head.state, what: "CREATED", caller, detail, agreed };
        unit.then.events.push(event);
        unit.then.outbox.push(outgoing);
        (unit, number)
    }

    /// Every number on the bus, in the order of its partition.
    async fn on_bus(&self) -> Vec<u128> {
        let group = format!("reader {}", self.clock.ticks());
        let topics = vec![TOPIC.into()];
        let mut member = self.bus.subscribe(group.into(), topics).await.expect("a member");
        let mut all = Vec::new();
        for _ in 0..20 {
            let polled = member.poll(1_000, 0).await.expect("a poll");
            all.extend(polled.messages.into_iter().map(|delivery| delivery.message.number));
        }
        all
    }

    async fn left(&self) -> u64 {
        self.store.backlog().await.expect("a backlog").messages
    }
}

#[tokio::test]
async fn what_was_written_is_published_once_and_marked() {
    let mut fixture = Fixture::new();
    let publisher = fixture.publisher(1);
    let mut sent = Vec::new();
    for _ in 0..5 {
        sent.push(fixture.emit("alice").await);
    }
    assert_eq!(publisher.round().await, Ok(Sent { marked: 5, left: 0 }));
    assert_eq!(publisher.round().await, Ok(Sent::default()));
    assert_eq!((fixture.on_bus().await, fixture.left().await), (sent, 0));
}

#[tokio::test]
async fn nothing_overtakes_a_message_of_its_key() {
    let mut fixture = Fixture::new();
    let publisher = fixture.publisher(1);
    let first = fixture.emit("alice").await;
    let second = fixture.emit("alice").await;
    let third = fixture.emit("alice").await;
    fixture.emit("bob").await;
    fixture.bus.0.refuses.lock().expect("no panic").insert(second);
    assert_eq!(publisher.round().await, Ok(Sent { marked: 2, left: 2 }));
    fixture.bus.0.refuses.lock().expect("no panic").clear();
    // its key rests for ten milliseconds
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(publisher.round().await, Ok(Sent { marked: 2, left: 0 }));
    let all = fixture.on_bus().await;
    let last = |number| all.iter().rposition(|found| *found == number);
    // the third was on the bus before, and comes again behind the second
    assert!(last(first) < last(second) && last(second) < last(third), "{all:?}");
    assert_eq!(fixture.left().await, 0);
}

/// Turns red where a round waits for every acknowledgement, and where the rows of a key that has none fill what is
/// read of a bucket (run: the release before).
#[tokio::test]
async fn a_key_without_acknowledgements_keeps_no_other_back() {
    let mut fixture = Fixture::new();
    let publisher = fixture.publisher(1);
    // more than a batch, in the bucket of another key
    let bucket = bucket_of("mallory");
    let beside = (0..).map(|n| format!("alice-{n}"));
    let alice = beside.into_iter().find(|key| bucket_of(key) == bucket).expect("a key");
    for _ in 0..250 {
        let number = fixture.emit("mallory").await;
        fixture.bus.0.silent.lock().expect("no panic").insert(number);
    }
    assert_eq!(publisher.round().await, Ok(Sent::default()));
    for _ in 0..3 {
        fixture.emit(&alice).await;
        assert_eq!(publisher.round().await, Ok(Sent { marked: 1, left: 0 }));
    }
    assert_eq!(fixture.on_bus().await.len(), 3);
    assert_eq!(fixture.left().await, 250, "what has no acknowledgement is not marked");
}

/// A partition that takes nothing has a backlog of many keys, longer than everything that may be on its way; the
/// other partitions go on, and so does another topic in the partition of the same number.
///
/// Turns red where one bound holds for the messages of all partitions (run: the release before), and where the rows
/// of held keys fill what is read of a bucket.
#[tokio::test]
async fn a_partition_that_takes_nothing_keeps_no_other_back() {
    let mut fixture = Fixture::new();
    let publisher = fixture.publisher(1);
    let number = partition("mallory", PARTITIONS);
    *fixture.bus.0.silent_partition.lock().expect("no panic") = Some((TOPIC, number));
    let of_partition = |key: &String| partition(key, PARTITIONS) == number;
    let stuck: Vec<String> =
        (0..).map(|n| format!("stuck-{n}")).filter(of_partition).take(2_500).collect();
    let beside = (0..).map(|n| format!("beside-{n}")).find(of_partition).expect("a key");
    let apart = (0..).map(|n| format!("apart-{n}")).find(|key| !of_partition(key)).expect("a key");
    fixture.emit_all(TOPIC, &stuck).await;
    for _ in 0..30 {
        publisher.round().await.expect("the journal answers");
    }
    assert_eq!(fixture.left().await, 2_500, "what has no acknowledgement is not marked");
    fixture.emit_all(TOPIC, &[apart]).await;
    fixture.emit_all(OTHER, &[beside]).await;
    let mut marked = 0;
    for _ in 0..5 {
        marked += publisher.round().await.expect("the journal answers").marked;
    }
    assert_eq!((marked, fixture.left().await), (2, 2_500));
}

/// What a partition holds back is published when it takes messages again, each key in its order.
#[tokio::test]
async fn held_keys_go_on_when_their_partition_does() {
    let mut fixture = Fixture::new();
    let number = partition("mallory", PARTITIONS);
    let keys: Vec<String> = (0..)
        .map(|n| format!("held-{n}"))
        .filter(|key| partition(key, PARTITIONS) == number)
        .take(600)
        .collect();
    let publisher = fixture.publisher(1);
    fixture.emit_all(TOPIC, &keys).await;
    fixture.emit_all(TOPIC, &keys).await;
    let first = fixture.bus.0.refused_numbers(&fixture.store).await;
    assert_eq!(first.len(), 1_200);
    for _ in 0..20 {
        publisher.round().await.expect("the journal answers");
    }
    assert_eq!(fixture.left().await, 1_200);
    fixture.bus.0.refuses.lock().expect("no panic").clear();
    for _ in 0..200 {
        publisher.round().await.expect("the journal answers");
        if fixture.left().await == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(fixture.left().await, 0);
    let all = fixture.on_bus().await;
    let place = |number| all.iter().rposition(|found| *found == number).expect("it is there");
    for (one, next) in first.iter().zip(first.iter().skip(600)) {
        assert!(place(*one) < place(*next), "a message overtook one of its key");
    }
}

#[tokio::test]
async fn a_crash_between_sending_and_marking_sends_again() {
    let mut fixture = Fixture::new();
    let number = fixture.emit("alice").await;
    *fixture.bus.0.dies.lock().expect("no panic") = true;
    assert_eq!(fixture.publisher(1).round().await, Ok(Sent { marked: 0, left: 1 }));
    assert_eq!(fixture.left().await, 1, "nothing is marked that no answer came for");
    fixture.bus.0.dies.clear_poison();
    *fixture.bus.0.dies.lock().expect("no panic") = false;
    assert_eq!(fixture.publisher(1).round().await, Ok(Sent { marked: 1, left: 0 }));
    assert_eq!(fixture.on_bus().await, [number, number]);
}

#[tokio::test]
async fn a_bucket_goes_to_another_publisher_once_its_lease_ran_out() {
    let mut fixture = Fixture::new();
    let (one, other) = (fixture.publisher(1), fixture.publisher(2));
    fixture.emit("alice").await;
    assert_eq!(one.round().await, Ok(Sent { marked: 1, left: 0 }));
    fixture.emit("alice").await;
    assert_eq!(other.round().await, Ok(Sent::default()), "the first one has every bucket");
    fixture.clock.forward(61_000);
    let late = fixture.publisher(2);
    assert_eq!(late.round().await, Ok(Sent { marked: 1, left: 0 }));
    fixture.emit("alice").await;
    // it believes that it still has them: the bus gets the message, and the mark is refused
    assert_eq!(one.round().await, Ok(Sent { marked: 0, left: 1 }));
    assert_eq!(late.round().await, Ok(Sent { marked: 1, left: 0 }));
    late.stop().await.expect("it stops");
    fixture.emit("alice").await;
    assert_eq!(fixture.publisher(3).round().await, Ok(Sent { marked: 1, left: 0 }));
    assert_eq!(fixture.left().await, 0);
}

/// Turns red where rows are sent without a look at the lease under which they were read (the release before).
#[tokio::test]
async fn rows_that_a_process_read_before_it_stood_still_are_not_sent() {
    let mut fixture = Fixture::new();
    fixture.emit("alice").await;
    let frozen = Arc::new(AtomicU64::new(0));
    let outbox = Wrapper(Freeze { inner: fixture.store.clone(), frozen: frozen.clone() });
    let clock = FrozenClock { inner: fixture.clock.clone(), frozen };
    let publisher = fixture.publisher_with(1, Arc::new(outbox), Arc::new(clock));
    assert_eq!(publisher.round().await, Ok(Sent::default()));
    assert_eq!((fixture.on_bus().await.len(), fixture.left().await), (0, 1));
    // it has its lease anew
    assert_eq!(publisher.round().await, Ok(Sent { marked: 1, left: 0 }));
}

#[tokio::test]
async fn a_woken_publisher_sends_at_once_and_a_sleeping_one_soon() {
    let mut fixture = Fixture::new();
    let publisher = fixture.publisher(1);
    let tasks = KillableTasks::default();
    tasks.spawn(Background::Publisher.task(), Box::pin(publisher.clone().run()));
    for wakes in [true, false] {
        fixture.emit("alice").await;
        if wakes {
            fixture.bell.notify_one();
        }
        while fixture.left().await > 0 {
            tokio::task::yield_now().await;
        }
    }
    tasks.kill().await;
    assert_eq!(fixture.on_bus().await.len(), 2);
}
