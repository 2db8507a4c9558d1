//! Checks a user's daily limits: counted in the unit that opens a transfer, and given back where the transfer
//! fails.

use super::checks;
use super::fixture::{COIN, JournalFixture, RICH, TODAY, guarded, id, op, plain, together};
use kernel::answer::Answer;
use kernel::flow::life::Leg::Withdraw;
use kernel::ids::{AssetId, Day, UserId};
use kernel::limits::DailyCount;
use kernel::money::Amount;
use kernel::unit::{Guard, Put, Then, Unit, Wrote};

checks! {
    a_day_is_counted_for_its_user_and_asset,
    a_day_is_given_back_where_it_was_taken,
    days_that_are_over_are_forgotten,
    counters_of_deposits_are_forgotten_a_week_later,
    a_unit_that_lost_counts_nothing,
    a_day_has_a_maximum_number_of_transfers,
    a_day_has_a_maximum_amount_of_an_asset,
    what_is_refused_in_its_unit_is_given_back,
    a_limit_holds_inside_a_group,
    concurrent_units_pass_a_days_limit_one_by_one,
}

const TOMORROW: Day = Day(TODAY.0 + 1);
const OTHER: UserId = UserId(2);
const GOLD: AssetId = AssetId(1);

const fn count(amount: u128) -> DailyCount {
    DailyCount { user: RICH, day: TODAY, asset: COIN, amount: Amount(amount) }
}

const fn transfers(most: u64) -> Guard {
    Guard::DayCount { user: RICH, day: TODAY, most }
}

const fn amount(amount: u128, most: u128) -> Guard {
    Guard::DayAmount { count: count(amount), most: Amount(most) }
}

/// Counts where these guards hold.
fn counting(guards: Vec<Guard>, amount: u128) -> Unit {
    Unit { guards, then: plain(vec![Put::Count(count(amount))]).then }
}

async fn a_day_is_counted_for_its_user_and_asset(b: &mut JournalFixture) {
    let more = |count| plain(vec![Put::Count(count)]);
    b.written("a count", more(count(1 << 100))).await;
    b.written("two at once", {
        let other = DailyCount { asset: GOLD, ..count(7) };
        plain(vec![Put::Count(count(5)), Put::Count(other)])
    })
    .await;
    b.written("another day", more(DailyCount { day: TOMORROW, ..count(11) })).await;
    b.written("another user", more(DailyCount { user: OTHER, ..count(13) })).await;
    for _ in 0..2 {
        b.same("the coin", &b.daily_usage(RICH, TODAY, COIN).await, &(3, (1 << 100) + 5));
        b.same("gold", &b.daily_usage(RICH, TODAY, GOLD).await, &(3, 7));
        b.same("another asset", &b.daily_usage(RICH, TODAY, AssetId(5)).await, &(3, 0));
        b.same("another day", &b.daily_usage(RICH, TOMORROW, COIN).await, &(1, 11));
        b.same("another user", &b.daily_usage(OTHER, TODAY, COIN).await, &(1, 13));
        b.same("another user's other day", &b.daily_usage(OTHER, TOMORROW, COIN).await, &(0, 0));
        b.reopen().await;
    }
}

async fn a_day_is_given_back_where_it_was_taken(b: &mut JournalFixture) {
    let back = |count| plain(vec![Put::Uncount(count)]);
    b.written("two counts", plain(vec![Put::Count(count(5)), Put::Count(count(6))])).await;
    let tomorrow = DailyCount { day: TOMORROW, ..count(5) };
    b.written("one of the day after", plain(vec![Put::Count(tomorrow)])).await;
    b.clock.set(u64::from(TOMORROW.0) * 86_400_000 + 5);
    b.written("the first is given back on the day after", back(count(5))).await;
    b.same("its day", &b.daily_usage(RICH, TODAY, COIN).await, &(1, 6));
    b.same("the day after", &b.daily_usage(RICH, TOMORROW, COIN).await, &(1, 5));
    b.written("another asset's is given back", back(DailyCount { asset: GOLD, ..count(1) })).await;
    b.same("its day", &b.daily_usage(RICH, TODAY, COIN).await, &(0, 6));
    for amount in [5, 5, 5] {
        b.written("it never falls below zero", back(count(amount))).await;
    }
    b.written("where nothing was counted", back(DailyCount { user: OTHER, ..count(5) })).await;
    for _ in 0..2 {
        b.same("its day", &b.daily_usage(RICH, TODAY, COIN).await, &(0, 0));
        b.same("gold", &b.daily_usage(RICH, TODAY, GOLD).await, &(0, 0));
        b.same("another user", &b.daily_usage(OTHER, TODAY, COIN).await, &(0, 0));
        b.reopen().await;
    }
    b.written("and it counts again", plain(vec![Put::Count(count(5))])).await;
    b.same("its day", &b.daily_usage(RICH, TODAY, COIN).await, &(1, 5));
}

async fn days_that_are_over_are_forgotten(b: &mut JournalFixture) {
    let tomorrow = DailyCount { day: TOMORROW, ..count(5) };
    b.written("two days", plain(vec![Put::Count(count(3)), Put::Count(tomorrow)])).await;
    b.written("not this one", plain(vec![Put::ForgetDays(TODAY)])).await;
    b.same("its day", &b.daily_usage(RICH, TODAY, COIN).await, &(1, 3));
    b.written("this one", plain(vec![Put::ForgetDays(TOMORROW)])).await;
    for _ in 0..2 {
        b.same("its day", &b.daily_usage(RICH, TODAY, COIN).await, &(0, 0));
        b.same("the day after", &b.daily_usage(RICH, TOMORROW, COIN).await, &(1, 5));
        b.reopen().await;
    }
    b.written("given back to nothing", plain(vec![Put::Uncount(count(3))])).await;
    b.same("its day", &b.daily_usage(RICH, TODAY, COIN).await, &(0, 0));
    b.same("the day after", &b.daily_usage(RICH, TOMORROW, COIN).await, &(1, 5));
}

/// What operators deposited is kept for a week.
async fn counters_of_deposits_are_forgotten_a_week_later(b: &mut JournalFixture) {
    let deposits = |day: Day| format!("deposits/{:05}/3/mallory", day.0).into();
    let full = |name| Guard::AtMost { name, n: 5, limit: 9 };
    let [over, later, other] = [deposits(TODAY), deposits(TOMORROW), "others".into()].map(full);
    for guard in [&over, &later, &other] {
        b.written("a counter", guarded(guard.clone())).await;
    }
    b.written("not this one", plain(vec![Put::ForgetDays(Day(TODAY.0 + 7))])).await;
    for _ in 0..2 {
        b.loses("it is there", over.clone()).await;
        b.reopen().await;
    }
    b.written("this one", plain(vec![Put::ForgetDays(Day(TODAY.0 + 8))])).await;
    b.reopen().await;
    b.written("it counts anew", guarded(over)).await;
    for guard in [later, other] {
        b.loses("it is there", guard).await;
    }
}

async fn a_unit_that_lost_counts_nothing(b: &mut JournalFixture) {
    let missing = Guard::Transfer { id: id(9), state: b.state("INIT"), version: 0 };
    for guards in [
        vec![transfers(1), amount(5, 5), missing.clone()],
        vec![missing.clone(), amount(5, 5), transfers(1)],
    ] {
        b.lost("a unit with three guards", counting(guards, 5), missing.clone()).await;
    }
    b.same("its day", &b.daily_usage(RICH, TODAY, COIN).await, &(0, 0));
}

async fn a_day_has_a_maximum_number_of_transfers(b: &mut JournalFixture) {
    b.loses("none may be made", transfers(0)).await;
    for n in 0..3 {
        b.wins("a look is no count", transfers(n + 1)).await;
        b.written("one more", counting(vec![transfers(n + 1)], 1)).await;
        b.lost("one too many", counting(vec![transfers(n + 1)], 1), transfers(n + 1)).await;
    }
    b.wins("another day", Guard::DayCount { user: RICH, day: TOMORROW, most: 1 }).await;
    b.wins("another user", Guard::DayCount { user: OTHER, day: TODAY, most: 1 }).await;
    // all assets are counted together
    let gold = DailyCount { asset: GOLD, ..count(1) };
    b.written("gold", plain(vec![Put::Count(gold)])).await;
    b.loses("one too many", transfers(4)).await;
    b.reopen().await;
    b.loses("and after a restart", transfers(4)).await;
    b.wins("a higher limit", transfers(5)).await;
    b.wins("none at all", transfers(u64::MAX)).await;
    b.written("one is given back", plain(vec![Put::Uncount(gold)])).await;
    b.wins("room for one", transfers(4)).await;
}

async fn a_day_has_a_maximum_amount_of_an_asset(b: &mut JournalFixture) {
    b.loses("more than the limit at once", amount(101, 100)).await;
    b.lost("the first limit", counting(vec![transfers(0), amount(5, 4)], 5), transfers(0)).await;
    b.lost("the second", counting(vec![transfers(1), amount(5, 4)], 5), amount(5, 4)).await;
    b.wins("a look is no count", amount(100, 100)).await;
    b.written("up to the limit", counting(vec![amount(60, 100)], 60)).await;
    b.lost("too much", counting(vec![amount(41, 100)], 41), amount(41, 100)).await;
    b.written("the rest", counting(vec![amount(40, 100)], 40)).await;
    b.loses("one more", amount(1, 100)).await;
    b.wins("nothing more", amount(0, 100)).await;
    b.loses("more than can be counted", amount(u128::MAX, u128::MAX)).await;
    let other = |count| Guard::DayAmount { count, most: Amount(100) };
    b.wins("another asset", other(DailyCount { asset: GOLD, ..count(100) })).await;
    b.wins("another day", other(DailyCount { day: TOMORROW, ..count(100) })).await;
    b.wins("another user", other(DailyCount { user: OTHER, ..count(100) })).await;
    b.reopen().await;
    b.loses("and after a restart", amount(1, 100)).await;
    b.written("some is given back", plain(vec![Put::Uncount(count(60))])).await;
    b.wins("room for it", amount(60, 100)).await;
    b.loses("and for no more", amount(61, 100)).await;
    // the largest amounts that may be moved
    let large = 1 << 120;
    b.written("a large one", counting(vec![amount(large, large + 40)], large)).await;
    b.loses("one more", amount(1, large + 40)).await;
}

async fn what_is_refused_in_its_unit_is_given_back(b: &mut JournalFixture) {
    for (n, withdrawn, spent) in [(1, 2_000, (0, 0)), (2, 20, (1, 20)), (3, 2_000, (1, 20))] {
        let back = Then { puts: vec![Put::Uncount(count(withdrawn))], ..Then::default() };
        let mut unit = b.fork(op(n, Withdraw, withdrawn), Then::default(), Some(back));
        unit.guards = vec![transfers(2), amount(withdrawn, 5_000)];
        unit.then.puts = vec![Put::Count(count(withdrawn))];
        let written = b.written("a withdraw", unit).await;
        let done = matches!(written.fork, Some(Answer::Done(_)));
        b.same("whether it was done", &done, &(withdrawn == 20));
        b.same("its day", &b.daily_usage(RICH, TODAY, COIN).await, &spent);
    }
    // what nobody knows was not written, so it was not counted either
    let back = Then { puts: vec![Put::Uncount(count(30))], ..Then::default() };
    let mut unit = b.fork(op(2, Withdraw, 30), Then::default(), Some(back));
    unit.then.puts = vec![Put::Count(count(30))];
    b.unknown("a withdraw of another amount", unit, "CONTRADICTION").await;
}

async fn a_limit_holds_inside_a_group(b: &mut JournalFixture) {
    let lost = |wrote: &[Wrote]| -> Vec<Option<Guard>> {
        let one = |w: &Wrote| match w {
            Wrote::Lost(guard) => Some(guard.clone()),
            Wrote::Written(_) | Wrote::Full | Wrote::Refused(_) | Wrote::Unknown(_) => None,
        };
        wrote.iter().map(one).collect()
    };
    let limits = |n, most| vec![transfers(n), amount(most, 100)];
    // two at the limit of transfers, then two at the limit of the amount
    let wrote = b.all(vec![counting(limits(1, 10), 10), counting(limits(1, 10), 10)]).await;
    b.same("by their number", &lost(&wrote), &vec![None, Some(transfers(1))]);
    let wrote = b.all(vec![counting(limits(9, 50), 50), counting(limits(9, 50), 50)]).await;
    b.same("by their amount", &lost(&wrote), &vec![None, Some(amount(50, 100))]);
    b.same("its day", &b.daily_usage(RICH, TODAY, COIN).await, &(2, 60));
    // what an earlier one gives back a later one may take
    let back = plain(vec![Put::Uncount(count(50))]);
    let wrote = b.all(vec![counting(limits(9, 50), 50), back, counting(limits(2, 90), 90)]).await;
    b.same("after one was given back", &lost(&wrote), &vec![Some(amount(50, 100)), None, None]);
    b.same("its day", &b.daily_usage(RICH, TODAY, COIN).await, &(2, 100));
    // and one that is lost takes nothing from a later one
    b.written("one is given back", plain(vec![Put::Uncount(count(90))])).await;
    let mut losing = counting(limits(2, 90), 90);
    losing.guards.push(Guard::Pending(id(9)));
    let wrote = b.all(vec![losing, counting(limits(2, 90), 90)]).await;
    b.same("after one was lost", &lost(&wrote), &vec![Some(Guard::Pending(id(9))), None]);
    b.same("its day", &b.daily_usage(RICH, TODAY, COIN).await, &(2, 100));
}

async fn concurrent_units_pass_a_days_limit_one_by_one(b: &mut JournalFixture) {
    let journal = &b.on().journal;
    let writes = (0..40).map(|n| {
        let limit = if n % 2 == 0 { transfers(10) } else { amount(1, 10) };
        journal.write(vec![counting(vec![limit], 1)])
    });
    let wrote = together(writes.collect()).await;
    let written = wrote.iter().flatten().filter(|w| matches!(w, Wrote::Written(_))).count();
    b.same("those that passed", &(wrote.len(), written), &(40, 10));
    b.same("the day", &b.daily_usage(RICH, TODAY, COIN).await, &(10, 10));
}
