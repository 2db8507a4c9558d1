//! The contract suite of a bus: order by key, delivery at least once, groups apart, rebalances.
//!
//! A check that fails panics with its name and the facts. A bus may answer a poll with nothing while it
//! has something, so each check polls until it stays quiet.

mod fixture;

use fixture::BusFixture;
use kernel::ids::Millis;
use kernel::ports::Fut;
use kernel::ports::bus::{Bus, BusMessage, Partition, Seek};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The place of one bus's data. Each call opens it; everything that an earlier call gave was dropped, and
/// the bus's time has gone on since.
pub type BusSite = Box<dyn FnMut() -> Fut<'static, Arc<dyn Bus>> + Send + Sync>;

/// A bus that is held to the suite.
#[expect(missing_debug_implementations, reason = "a place is a function")]
pub struct BusSuite {
    /// A new place for each check.
    pub fresh: Box<dyn Fn() -> BusSite + Send + Sync>,
    /// How long a poll waits; a bus that gives nothing in five polls has nothing.
    pub wait: Millis,
    /// What follows the names of topics and groups, where many runs share one bus.
    pub names: String,
}

/// Runs every check, each over a bus of its own.
pub async fn run(suite: &BusSuite) {
    messages_of_a_key_keep_their_order(&mut BusFixture::open("order", suite).await).await;
    groups_consume_apart(&mut BusFixture::open("groups", suite).await).await;
    what_was_not_committed_comes_again(&mut BusFixture::open("again", suite).await).await;
    a_restart_keeps_messages_and_offsets(&mut BusFixture::open("restart", suite).await).await;
    two_members_share_and_one_takes_over(&mut BusFixture::open("rebalance", suite).await).await;
    a_paused_partition_waits(&mut BusFixture::open("pause", suite).await).await;
    lag_is_what_a_group_has_not_committed(&mut BusFixture::open("lag", suite).await).await;
    a_late_commit_takes_no_group_back(&mut BusFixture::open("late", suite).await).await;
    a_group_goes_to_a_time(&mut BusFixture::open("seek", suite).await).await;
    a_message_of_a_megabyte_arrives(&mut BusFixture::open("large", suite).await).await;
    the_newest_messages_are_read_without_a_group(&mut BusFixture::open("newest", suite).await)
        .await;
}

/// A dead letter is nearly as large as the largest message that a broker takes by default (1 048 588 bytes).
async fn a_message_of_a_megabyte_arrives(b: &mut BusFixture) {
    let payload = format!(r#"{{"text":"{}"}}"#, "x".repeat(1_040_000));
    let large = BusMessage { payload: payload.into(), ..b.message("t", "a", 1) };
    let said = b.publish_all(vec![large.clone()]).await;
    b.holds(matches!(&*said, [Ok(())]), "a large message is published", &said);
    let mut member = b.join("g", &["t"]).await;
    let found: Vec<_> = b.drain(&mut *member).await.into_iter().map(|one| one.message).collect();
    b.holds(found == [large], "it arrives whole", &found.len());
}

async fn the_newest_messages_are_read_without_a_group(b: &mut BusFixture) {
    b.same("of a topic that does not exist", &b.newest(&["none"], 2).await, &vec![]);
    for n in 1..=5 {
        b.publish("t", "a", n).await;
    }
    b.publish("other", "a", 6).await;
    let found = b.newest(&["t", "other"], 2).await;
    let mut should =
        vec![b.message("other", "a", 6), b.message("t", "a", 4), b.message("t", "a", 5)];
    should.sort_by_key(|message| (message.topic.clone(), message.number));
    let mut messages: Vec<_> = found.iter().map(|one| one.message.clone()).collect();
    messages.sort_by_key(|message| (message.topic.clone(), message.number));
    b.same("the last ones of each", &messages, &should);
    let offsets: Vec<_> =
        found.iter().filter(|one| one.message.number < 6).map(|one| one.offset).collect();
    b.same("in their order", &offsets, &vec![3, 4]);
    let mut member = b.join("g", &["t"]).await;
    b.same("a group begins at the first", &b.numbers(&mut *member).await.len(), &5);
}

async fn messages_of_a_key_keep_their_order(b: &mut BusFixture) {
    for n in 0..30 {
        b.publish("t", ["a", "b", "c"].get(n % 3).copied().unwrap_or("a"), n).await;
    }
    b.publish("other", "a", 99).await;
    let mut member = b.join("g", &["t"]).await;
    let found = b.drain(&mut *member).await;
    b.same("messages of the topic", &found.len(), &30);
    for key in ["a", "b", "c"] {
        let of: Vec<_> = found.iter().filter(|d| &*d.message.key == key).collect();
        b.holds(of.is_sorted_by_key(|d| d.message.number), "in order", &of);
        b.holds(of.is_sorted_by_key(|d| d.offset), "offsets rise", &of);
        let partitions: BTreeSet<_> = of.iter().map(|d| &d.partition).collect();
        b.same("partitions of a key", &partitions.len(), &1);
    }
    let first = found.first().map(|d| &d.message);
    let sent = first.map(|m| b.message("t", &m.key, m.number));
    b.same("as it was published", &first.cloned(), &sent);
}

async fn groups_consume_apart(b: &mut BusFixture) {
    b.publish("t", "a", 1).await;
    let mut one = b.join("one", &["t"]).await;
    let found = b.drain(&mut *one).await;
    b.commit(&mut *one, &found).await;
    let mut other = b.join("other", &["t"]).await;
    b.same("the other group's", &b.numbers(&mut *other).await, &vec![1]);
    b.same("the first group's", &b.numbers(&mut *one).await, &vec![]);
}

async fn what_was_not_committed_comes_again(b: &mut BusFixture) {
    for n in 1..=4 {
        b.publish("t", "a", n).await;
    }
    let mut dies = b.join("g", &["t"]).await;
    let found = b.drain(&mut *dies).await;
    b.commit(&mut *dies, found.get(..2).unwrap_or_default()).await;
    drop(dies);
    let mut next = b.join("g", &["t"]).await;
    b.same("what was not committed", &b.numbers(&mut *next).await, &vec![3, 4]);
}

async fn a_restart_keeps_messages_and_offsets(b: &mut BusFixture) {
    for n in 1..=3 {
        b.publish("t", "a", n).await;
    }
    let mut member = b.join("g", &["t"]).await;
    let found = b.drain(&mut *member).await;
    b.commit(&mut *member, found.get(..1).unwrap_or_default()).await;
    drop(member);
    b.reopen().await;
    b.publish("t", "a", 4).await;
    let mut member = b.join("g", &["t"]).await;
    b.same("after a restart", &b.numbers(&mut *member).await, &vec![2, 3, 4]);
}

async fn two_members_share_and_one_takes_over(b: &mut BusFixture) {
    let mut one = b.subscribe("g", &["t"]).await;
    let all = b.assigned(&mut [&mut *one], |all| all.iter().all(|own| !own.is_empty())).await;
    let all: BTreeSet<Partition> = all.into_iter().flatten().collect();
    b.holds(all.len() > 1, "partitions", &all);
    let mut two = b.subscribe("g", &["t"]).await;
    let settled = |shared: &[BTreeSet<Partition>]| {
        let union: BTreeSet<&Partition> = shared.iter().flatten().collect();
        let each = shared.iter().all(|own| !own.is_empty());
        each && union.len() == all.len()
            && shared.iter().map(BTreeSet::len).sum::<usize>() == all.len()
    };
    let shared = b.assigned(&mut [&mut *one, &mut *two], settled).await;
    let [mine, yours] = shared.as_slice() else { panic!("two members") };
    b.holds(mine.is_disjoint(yours), "no partition twice", &shared);
    b.same("every partition", &mine.union(yours).cloned().collect(), &all);
    let keys: Vec<String> = (0..40).map(|n| format!("key {n}")).collect();
    for (n, key) in keys.iter().enumerate() {
        b.publish("t", key, n).await;
    }
    let (first, second) = (b.drain(&mut *one).await, b.drain(&mut *two).await);
    b.holds(!first.is_empty() && !second.is_empty(), "both have work", &first.len());
    b.same("each once", &(first.len() + second.len()), &keys.len());
    b.commit(&mut *one, &first).await;
    let foreign: Vec<_> = first.iter().map(|d| (d.partition.clone(), 0)).collect();
    let refused = two.commit(foreign).await;
    b.holds(refused.is_err(), "a partition of another member is not committed", &refused);
    drop(two);
    b.assigned(&mut [&mut *one], |own| own.iter().all(|own| *own == all)).await;
    let mut again: Vec<_> = b.numbers(&mut *one).await;
    let mut should: Vec<_> = second.iter().map(|d| d.message.number).collect();
    again.sort_unstable();
    should.sort_unstable();
    b.same("what the dead one had comes again", &again, &should);
}

async fn a_paused_partition_waits(b: &mut BusFixture) {
    b.publish("t", "a", 1).await;
    let mut member = b.join("g", &["t"]).await;
    let found = b.drain(&mut *member).await;
    let Some(partition) = found.first().map(|d| d.partition.clone()) else { panic!("no message") };
    member.pause(&partition);
    b.publish("t", "a", 2).await;
    b.same("paused", &b.numbers(&mut *member).await, &vec![]);
    member.resume(&partition);
    b.same("resumed", &b.numbers(&mut *member).await, &vec![2]);
}

async fn lag_is_what_a_group_has_not_committed(b: &mut BusFixture) {
    for n in 1..=3 {
        b.publish("t", "a", n).await;
    }
    let behind = b.lag_of("g", "t").await;
    b.same("a group that never was there", &(behind.messages(), behind.next), &(3, 0));
    b.holds(behind.oldest.is_some(), "since when it waits", &behind);
    let mut member = b.join("g", &["t"]).await;
    let found = b.drain(&mut *member).await;
    let lag = b.lag_of("g", "t").await;
    b.same("read is not committed", &lag.messages(), &3);
    b.commit(&mut *member, found.get(..2).unwrap_or_default()).await;
    let lag = b.lag_of("g", "t").await;
    b.same("one is left", &(lag.next, lag.end), &(2, 3));
    b.same(
        "it lies where its messages lie",
        &Some(&lag.partition),
        &found.first().map(|d| &d.partition),
    );
    b.holds(lag.oldest >= behind.oldest, "since when the one waits", &lag);
    b.commit(&mut *member, &found).await;
    let all = b.lag("g", &["t"]).await;
    b.holds(all.len() > 1, "each partition is named", &all);
    b.holds(all.iter().all(|lag| lag.messages() == 0 && lag.oldest.is_none()), "all done", &all);
    b.same("another group's", &b.lag_of("other", "t").await.messages(), &3);
    b.same("a topic that does not exist", &b.total_lag("g", &["none"]).await, &0);
    let answers = b.probe().await;
    b.same("it answers", &answers, &Ok(()));
}

/// What a member still owes of a partition that another member had meanwhile.
async fn a_late_commit_takes_no_group_back(b: &mut BusFixture) {
    for n in 0..40 {
        b.publish("t", &format!("key {n}"), n).await;
    }
    let mut one = b.join("g", &["t"]).await;
    let found = b.drain(&mut *one).await;
    b.same("messages of the topic", &found.len(), &40);
    let mut firsts = found.clone();
    firsts.sort_by(|a, b| (&a.partition, a.offset).cmp(&(&b.partition, b.offset)));
    firsts.dedup_by(|later, first| later.partition == first.partition);
    let all: BTreeSet<Partition> = firsts.iter().map(|d| d.partition.clone()).collect();
    let mut two = b.subscribe("g", &["t"]).await;
    let shares = |own: &[BTreeSet<Partition>]| own.iter().all(|own| !own.is_empty());
    b.assigned(&mut [&mut *one, &mut *two], shares).await;
    let others = b.drain(&mut *two).await;
    b.holds(!others.is_empty(), "the other member has some", &others);
    b.commit(&mut *two, &others).await;
    drop(two);
    let has_all = |own: &[BTreeSet<Partition>]| own.iter().all(|own| all.is_subset(own));
    b.assigned(&mut [&mut *one], has_all).await;
    b.commit(&mut *one, &firsts).await;
    let behind = b.total_lag("g", &["t"]).await;
    let had: BTreeSet<&Partition> = others.iter().map(|d| &d.partition).collect();
    let own = found.iter().filter(|d| d.offset > 0 && !had.contains(&d.partition)).count();
    b.same("what the other one did is done", &behind, &u64::try_from(own).unwrap_or(0));
    b.commit(&mut *one, &found).await;
    b.commit(&mut *one, &firsts).await;
    b.same("what it did itself is done", &b.total_lag("g", &["t"]).await, &0);
}

async fn a_group_goes_to_a_time(b: &mut BusFixture) {
    for n in 1..=2 {
        b.publish("t", "a", n).await;
    }
    b.reopen().await;
    for n in 3..=4 {
        b.publish("t", "a", n).await;
    }
    let mut member = b.join("g", &["t"]).await;
    let found = b.drain(&mut *member).await;
    b.commit(&mut *member, found.get(..2).unwrap_or_default()).await;
    let later = b.lag_of("g", "t").await.oldest.unwrap_or_default();
    b.commit(&mut *member, &found).await;
    let Some(partition) = found.first().map(|d| d.partition.clone()) else { panic!("no message") };
    let should = Seek { partition, from: 4, to: 2 };
    let moves = |seeks: Vec<Seek>| seeks.into_iter().find(|seek| seek.from != seek.to);
    let preview = b.seek("g", &["t"], later, false).await;
    b.same("what would be", &preview.map(moves), &Ok(Some(should.clone())));
    b.same("a preview moves nothing", &b.total_lag("g", &["t"]).await, &0);
    let refused = b.seek("g", &["t"], later, true).await;
    let refused = refused.map_err(|cause| cause.class);
    b.same("a group with a member stays", &refused, &Err("GROUP_IN_USE"));
    drop(member);
    let done = b.seek_after_drop("g", "t", later).await;
    b.same("what is", &moves(done), &Some(should));
    let mut member = b.join("g", &["t"]).await;
    b.same("what comes again", &b.numbers(&mut *member).await, &vec![3, 4]);
    drop(member);
    b.seek_after_drop("g", "t", later + 3_600_000).await;
    let mut member = b.join("g", &["t"]).await;
    b.same("after the end", &b.numbers(&mut *member).await, &vec![]);
    let start = b.seek("new", &["t"], 0, true).await;
    b.same("a group that never was there", &start.map(moves), &Ok(None));
}
