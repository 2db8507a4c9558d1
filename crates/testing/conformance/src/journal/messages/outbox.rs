//! Checks the outbox: rows are written with their unit or not at all, each is completed by its event, a bucket has
//! one publisher, published rows can be sent again, and only those are ever deleted.

use super::super::checks;
use super::super::fixture::{JournalFixture, NOON, RICH, guarded, id, message};
use kernel::audit::hex;
use kernel::flow::life::Leg;
use kernel::ids::{LedgerId, Millis, WorkerId};
use kernel::message::{BUCKETS, bucket};
use kernel::ports::outbox::{Backlog, BucketLease, PublishedRange, Queued, UnpublishedQuery};
use kernel::unit::{Fork, Guard, Then, Unit};

checks! {
    a_message_is_written_with_its_unit_alone,
    a_message_carries_its_events_place_and_hash,
    a_fork_emits_on_the_way_it_takes,
    rows_of_one_key_come_in_the_order_of_writing,
    every_bucket_has_one_holder,
    a_bucket_is_marked_by_its_holder_alone,
    what_is_marked_comes_no_more,
    what_was_published_is_sent_again_under_its_number,
    what_is_not_published_is_never_forgotten,
    what_groups_consumed_is_forgotten_when_its_transfer_has_ended,
    keys_that_are_left_out_take_no_place,
    a_lost_message_is_added_where_it_does_not_wait,
}

/// A worker that publishes.
const ONE: WorkerId = WorkerId(1);
const OTHER: WorkerId = WorkerId(2);
const MINUTE: Millis = 60_000;
const DAY: Millis = 86_400_000;

/// Everything that a worker can lease.
async fn leased(b: &JournalFixture, worker: WorkerId) -> Vec<BucketLease> {
    let leases = b.on().outbox.lease_buckets(worker, MINUTE, BUCKETS).await;
    b.ok("leases", leases)
}

fn of(leases: &[BucketLease], limit: usize) -> UnpublishedQuery {
    UnpublishedQuery { leases: leases.to_vec(), limit, without: Vec::new() }
}

async fn unpublished(b: &JournalFixture, leases: &[BucketLease]) -> Vec<Queued> {
    b.ok("unpublished", b.on().outbox.unpublished(of(leases, 100)).await)
}

/// The types of all rows that are to be published, by bucket and place.
async fn waiting(b: &JournalFixture) -> Vec<String> {
    let rows = unpublished(b, &leased(b, ONE).await).await;
    rows.iter().map(|row| row.emitted.kind.to_string()).collect()
}

async fn marked(b: &JournalFixture, leases: &[BucketLease], rows: &[Queued]) -> Vec<u16> {
    let rows = rows.iter().map(|row| (row.bucket, row.place)).collect();
    b.ok("a mark", b.on().outbox.mark_published(ONE, leases.to_vec(), rows).await)
}

async fn backlog(b: &JournalFixture) -> Backlog {
    b.ok("a backlog", b.on().outbox.backlog().await)
}

/// Moves the n-th transfer with a message of this type and key.
async fn emitted(b: &JournalFixture, n: u64, kind: &'static str, key: &str) {
    let mut opening = b.opening(&b.record(n, RICH, 10));
    opening.then.outbox.push(message(n, kind, key, 0));
    b.written("an opening with a message", opening).await;
}

/// The n-th transfer goes to its end.
async fn ends(b: &JournalFixture, n: u64) {
    let record = b.moved(&b.get(id(n)).await, "SOURCE_PENDING").await;
    b.moved(&record, "FAILED").await;
}

async fn a_message_is_written_with_its_unit_alone(b: &mut JournalFixture) {
    let record = b.opened(1).await;
    let mut lost = b.moving(&record, "SOURCE_PENDING", "SOURCE_CALL");
    lost.then.outbox.push(message(1, "lost", "k", 0));
    lost.guards.push(Guard::Fresh(id(1)));
    b.lost("a unit that is lost", lost, Guard::Fresh(id(1))).await;
    let mut unknown = b.moving(&record, "SOURCE_PENDING", "SOURCE_CALL");
    unknown.then.outbox.push(message(1, "unknown", "k", 0));
    unknown.then.ops = vec![(LedgerId::FUNDING, super::super::fixture::op(1, Leg::Settle, 10))];
    b.unknown("a settle without its withdraw", unknown, "CONTRADICTION").await;
    let stranger = Unit {
        guards: Vec::new(),
        then: Then { outbox: vec![message(9, "stranger", "k", 0)], ..Then::default() },
    };
    b.unknown("a message about no transfer", stranger, "NO_SUCH_TRANSFER").await;
    b.same("what is to be published", &waiting(b).await, &vec![]);
    let mut moving = b.moving(&record, "SOURCE_PENDING", "SOURCE_CALL");
    moving.then.outbox.push(message(1, "written", "k", 0));
    b.written("a unit with a message", moving).await;
    for _ in 0..2 {
        b.same("what is to be published", &waiting(b).await, &vec!["written".to_owned()]);
        b.reopen().await;
        b.clock.set(NOON + 2 * MINUTE);
    }
}

async fn a_message_carries_its_events_place_and_hash(b: &mut JournalFixture) {
    emitted(b, 1, "opened", "k").await;
    let record = b.get(id(1)).await;
    let mut moving = b.moving(&record, "SOURCE_PENDING", "SOURCE_CALL");
    let mut later = b.event(&record, "SOURCE_DONE", "SOURCE_OK");
    later.detail = Some("WHY".into());
    moving.then.events.push(later);
    let mut second = message(1, "second", "k", 0);
    second.event = Some(1);
    moving.then.outbox = vec![second, message(1, "first", "k", 0)];
    b.written("two events with a message each", moving).await;
    let record = b.get(id(1)).await;
    let mut again = message(1, "again", "k", 1);
    again.event = None;
    let number = again.number();
    let head = b.head(id(1), b.to(&record, "SOURCE_PENDING"));
    let then = Then { puts: vec![head], outbox: vec![again], ..Then::default() };
    b.written("a message without an event", Unit { guards: vec![b.stands(&record)], then }).await;
    let history = b.history(id(1)).await;
    let rows = unpublished(b, &leased(b, ONE).await).await;
    let should = [
        ("opened", 0, ""),
        ("second", 2, "\"detail\":\"WHY\","),
        ("first", 1, ""),
        ("again", 2, ""),
    ];
    b.same("rows", &rows.len(), &should.len());
    for (row, (kind, place, detail)) in rows.iter().zip(should) {
        let linked = history.get(place);
        let hash = linked.map(|linked| hex(&linked.hash)).unwrap_or_default();
        // the write of a message without an event does not know what was before the last one
        let prev = linked
            .filter(|_| kind != "again")
            .map(|linked| format!("\"prev\":\"{}\",", hex(&linked.prev)))
            .unwrap_or_default();
        let payload = format!(
            r#"{{{detail}"hash":"{hash}","of":"1",{prev}"sequence":{place},"transfer":"{}"}}"#,
            id(1)
        );
        b.same("a type", &&*row.emitted.kind, &kind);
        b.same("a payload", &&*row.emitted.payload, &payload.as_str());
        b.same("its key and topic", &(&*row.emitted.key, &*row.emitted.topic), &("k", "transfers"));
        b.same("its transfer", &row.emitted.id, &id(1));
    }
    b.same(
        "its number",
        &rows.last().map(|row| (row.emitted.number, row.emitted.n)),
        &Some((number, 1)),
    );
}

async fn a_fork_emits_on_the_way_it_takes(b: &mut JournalFixture) {
    for (n, amount, kind) in [(1, 10, "done"), (2, 1_000_000, "refused")] {
        let record = b.record(n, RICH, amount);
        let mut unit = b.opening(&record);
        let way = |state: &str, kind: &'static str| {
            let head = b.to(&record, state);
            let (puts, events) =
                (vec![b.head(id(n), head)], vec![b.event(&record, state, "SOURCE")]);
            Then { puts, events, outbox: vec![message(n, kind, "k", 0)], ..Then::default() }
        };
        unit.then.outbox.push(message(n, "opened", "k", 0));
        unit.then.fork = Some(Box::new(Fork {
            ledger: LedgerId::FUNDING,
            op: super::super::fixture::op(n, Leg::Withdraw, amount),
            done: way("SOURCE_DONE", "done"),
            rejected: Some(way("FAILED", "refused")),
        }));
        b.written("a fork", unit).await;
        let rows = unpublished(b, &leased(b, ONE).await).await;
        let last = rows.last().map(|row| (&*row.emitted.kind, row.emitted.payload.clone()));
        let Some((found, payload)) = last else { panic!("no message of {kind}") };
        b.same("the way", &found, &kind);
        b.holds(payload.contains("\"sequence\":1"), "its place", &payload);
        let refused = payload.contains("\"detail\":\"INSUFFICIENT_BALANCE\"");
        b.same("the refusal's code", &refused, &(kind == "refused"));
    }
    let all = waiting(b).await;
    b.same("rows", &all, &["opened", "done", "opened", "refused"].map(str::to_owned).to_vec());
}

async fn rows_of_one_key_come_in_the_order_of_writing(b: &mut JournalFixture) {
    let keys = ["a", "b", "c"];
    for n in 0..12_u64 {
        let key = keys.iter().cycle().nth(usize::try_from(n).unwrap_or(0)).copied();
        emitted(b, n + 1, "event", key.unwrap_or("a")).await;
    }
    for _ in 0..2 {
        let rows = unpublished(b, &leased(b, ONE).await).await;
        b.same("rows", &rows.len(), &12);
        for key in keys {
            let of: Vec<_> = rows.iter().filter(|row| &*row.emitted.key == key).collect();
            b.holds(of.iter().all(|row| row.bucket == bucket(key)), "one bucket", &key);
            let ids: Vec<_> = of.iter().map(|row| row.emitted.id).collect();
            b.holds(ids.is_sorted() && ids.len() == 4, "in order", &ids);
            b.holds(of.is_sorted_by_key(|row| row.place), "places rise", &key);
        }
        let few = b.on().outbox.unpublished(of(&leased(b, ONE).await, 1)).await;
        let heads: Vec<_> = b.ok("few", few).iter().map(|row| row.bucket).collect();
        let mut buckets: Vec<_> = keys.iter().map(|key| bucket(key)).collect();
        buckets.sort_unstable();
        buckets.dedup();
        b.same("one row of each bucket", &heads, &buckets);
        b.reopen().await;
        b.clock.set(NOON + 2 * MINUTE);
    }
}

async fn every_bucket_has_one_holder(b: &mut JournalFixture) {
    let outbox = b.on().outbox.clone();
    let lease = async |worker, most| {
        let leases = b.ok("leases", outbox.lease_buckets(worker, MINUTE, most).await);
        leases.iter().map(|lease| lease.bucket).collect::<Vec<_>>()
    };
    b.same("all of them", &lease(ONE, BUCKETS).await.len(), &usize::from(BUCKETS));
    b.same("none is left", &lease(OTHER, BUCKETS).await, &vec![]);
    let half = BUCKETS / 2;
    let mine = lease(ONE, half).await;
    b.same("half of them", &mine.len(), &usize::from(half));
    let yours = lease(OTHER, BUCKETS).await;
    b.same("what was given up", &yours.len(), &usize::from(BUCKETS - half));
    b.holds(yours.iter().all(|bucket| !mine.contains(bucket)), "no bucket twice", &yours);
    b.clock.set(NOON + MINUTE / 2);
    b.same("renewed", &lease(ONE, half).await, &mine);
    b.clock.set(NOON + MINUTE + 1);
    b.same("those that ran out", &lease(ONE, BUCKETS).await.len(), &usize::from(BUCKETS));
    b.ok("released", outbox.release_buckets(ONE).await);
    b.same("free at once", &lease(OTHER, BUCKETS).await.len(), &usize::from(BUCKETS));
}

async fn a_bucket_is_marked_by_its_holder_alone(b: &mut JournalFixture) {
    emitted(b, 1, "event", "k").await;
    let own = bucket("k");
    let stale = leased(b, ONE).await;
    let rows = unpublished(b, &stale).await;
    b.clock.set(NOON + MINUTE + 1);
    let taken = leased(b, OTHER).await;
    b.same("taken over", &taken.len(), &usize::from(BUCKETS));
    let stale: Vec<_> = stale.into_iter().filter(|lease| lease.bucket == own).collect();
    b.same("lost", &marked(b, &stale, &rows).await, &vec![own]);
    b.clock.set(NOON + 2 * MINUTE + 2);
    let again = leased(b, ONE).await;
    b.same("an earlier epoch", &marked(b, &stale, &rows).await, &vec![own]);
    b.same("nothing was marked", &unpublished(b, &again).await, &rows);
    b.same("held", &marked(b, &again, &rows).await, &vec![]);
    b.same("nothing is left", &unpublished(b, &again).await, &vec![]);
}

async fn what_is_marked_comes_no_more(b: &mut JournalFixture) {
    b.same("nothing", &backlog(b).await, &Backlog::default());
    for n in 1..=5 {
        emitted(b, n, "event", ["a", "b"].get(usize::from(n > 3)).copied().unwrap_or("a")).await;
    }
    let first = b.get(id(1)).await.created_at;
    b.same("to be published", &backlog(b).await, &Backlog { messages: 5, oldest: Some(first) });
    let leases = leased(b, ONE).await;
    let rows = unpublished(b, &leases).await;
    let (some, rest) = rows.split_at(2);
    b.same("a mark", &marked(b, &leases, some).await, &vec![]);
    b.same("the same mark again", &marked(b, &leases, some).await, &vec![]);
    for _ in 0..2 {
        b.clock.set(NOON + 3 * MINUTE);
        b.same("the others", &unpublished(b, &leased(b, ONE).await).await, &rest.to_vec());
        b.same("how many", &backlog(b).await.messages, &3);
        b.reopen().await;
    }
}

async fn what_was_published_is_sent_again_under_its_number(b: &mut JournalFixture) {
    let outbox = b.on().outbox.clone();
    let mut published = Vec::new();
    for n in 1..=4 {
        b.clock.set(NOON + n * MINUTE);
        emitted(b, n, "event", "k").await;
        let leases = leased(b, ONE).await;
        let rows = unpublished(b, &leases).await;
        marked(b, &leases, &rows).await;
        published.extend(rows);
    }
    let now = b.on().journal.now();
    let range = PublishedRange { from: NOON + 2 * MINUTE, to: NOON + 4 * MINUTE };
    b.same("a preview", &b.ok("published", outbox.published(range).await), &2);
    b.same("nothing was sent", &waiting(b).await.len(), &0);
    b.same("one", &b.ok("again", outbox.emit_again(range, 1).await), &1);
    b.same("the others", &b.ok("again", outbox.emit_again(range, 10).await), &1);
    b.same("no more", &b.ok("again", outbox.emit_again(range, 10).await), &0);
    let leases = leased(b, ONE).await;
    let again = unpublished(b, &leases).await;
    let messages = |rows: &[Queued]| rows.iter().map(|row| row.emitted.clone()).collect::<Vec<_>>();
    let should = published.get(1..3).unwrap_or_default();
    b.same("the same messages in order", &messages(&again), &messages(should));
    b.clock.set(now + MINUTE);
    let leases = leased(b, ONE).await;
    marked(b, &leases, &again).await;
    b.same("published later", &b.ok("published", outbox.published(range).await), &0);
    let all = PublishedRange { from: NOON, to: now + 2 * MINUTE };
    b.same("each is kept once", &b.ok("published", outbox.published(all).await), &4);
}

async fn what_is_not_published_is_never_forgotten(b: &mut JournalFixture) {
    emitted(b, 1, "old", "k").await;
    ends(b, 1).await;
    let leases = leased(b, ONE).await;
    let rows = unpublished(b, &leases).await;
    marked(b, &leases, &rows).await;
    emitted(b, 2, "never published", "k").await;
    ends(b, 2).await;
    b.clock.set(NOON + 8 * DAY);
    emitted(b, 3, "young", "young").await;
    ends(b, 3).await;
    let leases = leased(b, ONE).await;
    let rows = unpublished(b, &leases).await;
    let young: Vec<_> = rows.iter().filter(|row| &*row.emitted.kind == "young").cloned().collect();
    marked(b, &leases, &young).await;
    let expire = async |before| b.ok("expiry", b.on().outbox.expire_published(before, 10).await);
    b.same("younger than the bound", &expire(NOON).await, &0);
    b.same("older", &expire(NOON + 8 * DAY).await, &1);
    b.same("once", &expire(NOON + 8 * DAY).await, &0);
    let all = PublishedRange { from: 0, to: NOON + 9 * DAY };
    b.same("kept", &b.ok("published", b.on().outbox.published(all).await), &1);
    for _ in 0..2 {
        b.same("to be published", &waiting(b).await, &vec!["never published".to_owned()]);
        b.reopen().await;
        b.clock.set(NOON + 8 * DAY + 2 * MINUTE);
    }
}

/// A row of the inbox is needed as long as its message may be sent again and may move its transfer. Those of another
/// message stay, and those of a transfer that is open however old its message is.
async fn what_groups_consumed_is_forgotten_when_its_transfer_has_ended(b: &mut JournalFixture) {
    for n in 1..=3 {
        emitted(b, n, "event", "k").await;
    }
    let leases = leased(b, ONE).await;
    let rows = unpublished(b, &leases).await;
    marked(b, &leases, &rows).await;
    let numbers: Vec<u128> = rows.iter().map(|row| row.emitted.number).collect();
    for (consumer, event) in
        numbers.iter().flat_map(|number| [("a", *number), ("b", *number)]).chain([("a", 7)])
    {
        b.written("a row of the inbox", guarded(Guard::Inbox { consumer, event })).await;
    }
    ends(b, 1).await;
    ends(b, 3).await;
    b.clock.set(NOON + 8 * DAY);
    let expire =
        async |limit| b.ok("expiry", b.on().outbox.expire_published(NOON + 8 * DAY, limit).await);
    b.same("at most one", &expire(1).await, &1);
    b.same("the other one that ended", &expire(10).await, &1);
    b.same("the open one stays", &expire(10).await, &0);
    let open = numbers.get(1).copied().unwrap_or_default();
    for (group, should) in [("a", vec![7, open]), ("b", vec![open])] {
        let asked = numbers.iter().copied().chain([7]).collect();
        let mut had = b.ok("consumed", b.on().inbox.consumed(group, asked).await);
        had.sort_unstable();
        b.same(group, &had, &should);
    }
    ends(b, 2).await;
    b.same("once it has ended too", &expire(10).await, &1);
    let had = b.ok("consumed", b.on().inbox.consumed("b", numbers).await);
    b.same("nothing is left of it", &had, &vec![]);
}

/// Where the rows of a key that takes nothing filled what is read of a bucket, no other key of it would be published.
async fn keys_that_are_left_out_take_no_place(b: &mut JournalFixture) {
    let beside = (0..).map(|n: u32| format!("b{n}")).find(|key| bucket(key) == bucket("a"));
    let beside = beside.unwrap_or_default();
    for n in 1..=3 {
        emitted(b, n, "event", "a").await;
    }
    emitted(b, 4, "event", &beside).await;
    let leases = leased(b, ONE).await;
    for (without, should) in
        [(vec![], vec![1]), (vec!["a", "z"], vec![4]), (vec!["a", &beside], vec![])]
    {
        let without = without.into_iter().map(Into::into).collect();
        let query = UnpublishedQuery { without, ..of(&leases, 1) };
        let rows = b.ok("unpublished", b.on().outbox.unpublished(query).await);
        let found: Vec<_> = rows.iter().map(|row| row.emitted.id).collect();
        let should: Vec<_> = should.into_iter().map(id).collect();
        b.same("the rows of the other keys", &found, &should);
    }
}

/// The message of a stored event that the bus lost: were it added beside one that waits, readers would get it twice.
async fn a_lost_message_is_added_where_it_does_not_wait(b: &mut JournalFixture) {
    for n in 1..=3 {
        emitted(b, n, "event", "k").await;
    }
    let leases = leased(b, ONE).await;
    let rows = unpublished(b, &leases).await;
    let places: Vec<_> = rows.iter().map(|row| (row.bucket, row.emitted.number)).collect();
    let all: Vec<_> = places.iter().map(|(_, number)| *number).collect();
    let queued = async |b: &JournalFixture| {
        let mut found = b.ok("queued", b.on().outbox.queued(places.clone()).await);
        found.sort_by_key(|number| all.iter().position(|known| known == number));
        found
    };
    b.same("all wait", &queued(b).await, &all);
    marked(b, &leases, rows.get(..2).unwrap_or_default()).await;
    b.same("one waits", &queued(b).await, &all.get(2..).unwrap_or_default().to_vec());
    let lost: Vec<_> = rows.iter().rev().map(|row| row.emitted.clone()).collect();
    b.same("two are added", &b.ok("emit", b.on().outbox.emit(lost.clone()).await), &2);
    b.same("no more", &b.ok("emit", b.on().outbox.emit(lost.clone()).await), &0);
    b.same("nothing", &b.ok("emit", b.on().outbox.emit(Vec::new()).await), &0);
    for _ in 0..2 {
        let leases = b.ok("leases", b.on().outbox.lease_buckets(ONE, MINUTE, BUCKETS).await);
        let found: Vec<_> =
            unpublished(b, &leases).await.into_iter().map(|row| row.emitted).collect();
        let should: Vec<_> = [0, 1, 2].iter().filter_map(|n| lost.get(*n).cloned()).collect();
        b.same("behind what waits, in their order", &found, &should);
        b.reopen().await;
    }
}
