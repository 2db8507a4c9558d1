//! Daily limits, as they are counted in the unit that opens and given back in the one that fails.

use crate::fixture::{COIN, Fixture, NOON, id, one, word, written};
use crate::folder_store::fund;
use kernel::ids::{Day, UserId};
use kernel::limits::{DailyCount, DailyUsage};
use kernel::money::Amount;
use kernel::ports::journal::{ServiceQueries as _, TransferQueries as _, UnitWriter as _};
use kernel::unit::{Guard, Put, Unit, Wrote};
use std::sync::Arc;
use store::sqlite::Embedded;

const DAY: u64 = 86_400_000;

fn today() -> Day {
    Day::of(NOON)
}

fn count(user: u64, day: Day, amount: u128) -> DailyCount {
    DailyCount { user: UserId(user), day, asset: COIN, amount: Amount(amount) }
}

/// The n-th opening, counted on a day against these limits and given back where it is refused.
fn counted(fixture: &Fixture, n: u64, count: DailyCount, most: (u64, u128)) -> Unit {
    let mut unit = fixture.opening(n, 1, count.amount.0);
    unit.guards.push(Guard::DayCount { user: count.user, day: count.day, most: most.0 });
    unit.guards.push(Guard::DayAmount { count, most: Amount(most.1) });
    for put in &mut unit.then.puts {
        if let Put::Open(record) = put {
            Arc::make_mut(&mut record.terms).day = Some(count.day);
        }
    }
    unit.then.puts.push(Put::Count(count));
    let rejected = unit.then.fork.as_mut().and_then(|fork| fork.rejected.as_mut());
    rejected.expect("a way back").puts.push(Put::Uncount(count));
    unit
}

async fn spent(store: &Embedded, user: u64, day: Day) -> (u64, u128) {
    let DailyUsage { transfers, amount } =
        store.daily_usage(UserId(user), day, COIN).await.expect("what was spent");
    (transfers, amount.0)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_never_takes_more_than_a_day_has() {
    let fixture = Fixture::new();
    let store = fixture.open();
    fund(&*store.funding(), 1, COIN, Amount(1_000)).await;
    let units = (0..6).map(|n| counted(&fixture, n, count(9, today(), 10), (4, 1_000))).collect();
    let wrote = store.write(units).await;
    assert_eq!(wrote.iter().filter(|wrote| word(wrote) == "done").count(), 4);
    let lost = Guard::DayCount { user: UserId(9), day: today(), most: 4 };
    assert!(wrote[4..].iter().all(|wrote| *wrote == Wrote::Lost(lost.clone())), "{wrote:?}");
    assert_eq!(spent(&store, 9, today()).await, (4, 40));
    // the amount alone
    let of = |n: u64| counted(&fixture, 10 + n, count(8, today(), 30), (100, 100));
    let wrote = store.write((0..5).map(of).collect()).await;
    let words: Vec<_> = wrote.iter().map(word).collect();
    assert_eq!(words, ["done", "done", "done", "lost", "lost"]);
    let smaller = counted(&fixture, 20, count(8, today(), 10), (100, 100));
    assert_eq!(word(&one(&store, smaller).await), "done");
    assert_eq!(spent(&store, 8, today()).await, (4, 100));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_gives_its_place_back_within_the_group() {
    let fixture = Fixture::new();
    let store = fixture.open();
    fund(&*store.funding(), 1, COIN, Amount(100)).await;
    let of = |n, amount| counted(&fixture, n, count(9, today(), amount), (2, 500));
    let wrote = store.write(vec![of(1, 400), of(2, 50), of(3, 50), of(4, 1)]).await;
    let words: Vec<_> = wrote.iter().map(word).collect();
    assert_eq!(words, ["INSUFFICIENT_BALANCE", "done", "done", "lost"]);
    assert_eq!(spent(&store, 9, today()).await, (2, 100));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_written_is_not_counted() {
    let fixture = Fixture::new();
    let store = fixture.open();
    for user in 1..10 {
        fund(&*store.funding(), user, COIN, Amount(100)).await;
    }
    let mut lost = counted(&fixture, 1, count(9, today(), 5), (10, 100));
    lost.guards.push(Guard::Pending(id(7)));
    let mut hindered = counted(&fixture, 2, count(9, today(), 5), (10, 100));
    hindered.then.puts.extend(fixture.ending(99, 1, 5).then.puts);
    let wrote = store.write(vec![lost, hindered]).await;
    let words: Vec<_> = wrote.iter().map(word).collect();
    assert_eq!(words, ["lost", "NO_SUCH_TRANSFER"]);
    assert_eq!(spent(&store, 9, today()).await, (0, 0));
    // one that an operator's trigger breaks takes its group apart
    let trigger = "CREATE TRIGGER guard BEFORE UPDATE ON balances_tb WHEN new.user_id = 5 \
                   BEGIN SELECT raise(ABORT, 'user 5 is looked into'); END";
    fixture.tool().execute_batch(trigger).expect("a trigger");
    let of = |user: u64| {
        let mut unit = fixture.opening(100 + user, user, 5);
        unit.then.puts.push(Put::Count(count(9, today(), 5)));
        unit
    };
    let wrote = store.write((1..10).map(of).collect()).await;
    assert_eq!(wrote.iter().filter(|wrote| word(wrote) == "done").count(), 8);
    assert_eq!(spent(&store, 9, today()).await, (8, 40));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_after_midnight_is_given_back_to_its_own_day() {
    let fixture = Fixture::new();
    let store = fixture.open();
    fund(&*store.funding(), 1, COIN, Amount(100)).await;
    let before = today();
    written(&store, counted(&fixture, 1, count(1, before, 10), (1, 10))).await;
    assert_eq!(
        word(&one(&store, counted(&fixture, 2, count(1, before, 1), (1, 10))).await),
        "lost"
    );
    fixture.clock.set(NOON + DAY);
    let after = Day::of(store.now());
    assert_eq!(after, Day(before.0 + 1));
    drop(store);
    let store = fixture.open();
    written(&store, counted(&fixture, 3, count(1, after, 7), (1, 10))).await;
    let found = store.get(vec![id(1), id(3)]).await.expect("transfers");
    let days: Vec<_> = found.iter().map(|record| record.terms.day).collect();
    assert_eq!(days, [Some(before), Some(after)]);
    // the first one fails only now
    let given = found.first().and_then(|record| record.terms.day).expect("its day");
    written(&store, Unit::puts(vec![Put::Uncount(count(1, given, 10))])).await;
    assert_eq!(spent(&store, 1, before).await, (0, 0));
    assert_eq!(spent(&store, 1, after).await, (1, 7));
    // twice as much comes back: nothing becomes less than nothing
    written(&store, Unit::puts(vec![Put::Uncount(count(1, after, 9))])).await;
    written(&store, Unit::puts(vec![Put::Uncount(count(1, after, 9))])).await;
    assert_eq!(spent(&store, 1, after).await, (0, 0));
}
