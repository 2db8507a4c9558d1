//! Checks the reading of resources and counters, and that a counter gets back what was taken.

use super::super::checks;
use super::super::fixture::{JournalFixture, id, plain};
use kernel::answer::Cause;
use kernel::ports::journal::Resource;
use kernel::unit::{Guard, Put, Then, Unit};

checks! {
    a_resource_is_read_by_its_name,
    a_counter_is_given_back_what_was_taken,
    a_counter_counts_guards_and_puts_together,
}

async fn a_resource_is_read_by_its_name(b: &mut JournalFixture) {
    let put = |name: &str, value: &str| Put::Resource { name: name.into(), value: value.into() };
    let lane = |name: &str, version, value: &str| Resource {
        name: name.into(),
        version,
        value: value.into(),
    };
    let found = b.on().journal.resource("lane:31:a".into()).await;
    b.same("one that was never put", &b.ok("a resource", found), &None);
    let puts = ["lane:31:b", "lane:31:a", "lane:3", "lane:320:a", "cursor"].map(|n| put(n, "1"));
    b.written("some", plain(puts.to_vec())).await;
    b.written("one again", plain(vec![put("lane:31:b", "")])).await;
    let two = vec![lane("lane:31:a", 1, "1"), lane("lane:31:b", 2, "")];
    for _ in 0..2 {
        let journal = &b.on().journal;
        let found = b.ok("a resource", journal.resource("lane:31:b".into()).await);
        b.same("as it was put last", &found.as_ref(), &two.last());
        let found = b.ok("resources", journal.resources("lane:31:".into()).await);
        b.same("those of a chain, by name", &found, &two);
        let found = b.ok("resources", journal.resources("lane:".into()).await);
        b.same("all lanes", &found.len(), &4);
        let found = b.ok("a resource", journal.resource("lane:31:".into()).await);
        b.same("not by a part of its name", &found, &None);
        b.reopen().await;
    }
}

async fn a_counter_is_given_back_what_was_taken(b: &mut JournalFixture) {
    let count =
        async |b: &JournalFixture| b.ok("a counter", b.on().journal.counter("a".into()).await);
    let take = |n| plain(vec![Put::Take { counter: "a".into(), n }]);
    let at_least = |n| Guard::AtLeast { name: "a".into(), n };
    b.same("one that was never raised", &count(b).await, &0);
    b.lost("more than nothing", take(1), at_least(1)).await;
    b.written("nothing", take(0)).await;
    b.wins("a reservation", Guard::AtMost { name: "a".into(), n: 7, limit: 10 }).await;
    b.wins("what is there", at_least(7)).await;
    b.loses("more than is there", at_least(8)).await;
    b.written("a part of it", take(3)).await;
    b.same("the rest", &count(b).await, &4);
    b.lost("more than the rest", take(5), at_least(5)).await;
    b.wins("what is free again", Guard::AtMost { name: "a".into(), n: 6, limit: 10 }).await;
    b.written("all of it", take(10)).await;
    b.reopen().await;
    b.same("nothing is left", &count(b).await, &0);
    let big = u128::MAX;
    b.written("raised", plain(vec![Put::Raise { name: "a".into(), to: big }])).await;
    b.same("as high as it goes", &count(b).await, &big);
    let add = |n| plain(vec![Put::Add { counter: "a".into(), n }]);
    b.unknown("more than a counter holds", add(1), Cause::CONTRADICTION).await;
    b.written("nearly all of it", take(big - 2)).await;
    b.written("more again", add(5)).await;
    b.reopen().await;
    b.same("what was added", &count(b).await, &7);
}

async fn a_counter_counts_guards_and_puts_together(b: &mut JournalFixture) {
    let guard = |n| Guard::AtMost { name: "a".into(), n, limit: 10 };
    let take = |n| Put::Take { counter: "a".into(), n };
    let raise = |to| Put::Raise { name: "a".into(), to };
    let unit = |guards, puts| Unit { guards, then: Then { puts, ..Then::default() } };
    let count =
        async |b: &JournalFixture| b.ok("a counter", b.on().journal.counter("a".into()).await);
    b.written("more and less", unit(vec![guard(5)], vec![take(2)])).await;
    b.same("what is left", &count(b).await, &3);
    b.written("two less", unit(vec![], vec![take(1), take(1)])).await;
    b.same("what is left of it", &count(b).await, &1);
    let lost = Guard::AtLeast { name: "a".into(), n: 1 };
    b.lost("two that are too much together", unit(vec![], vec![take(1), take(1)]), lost).await;
    let add = |n| Put::Add { counter: "a".into(), n };
    b.written("more and as much less", unit(vec![], vec![add(4), take(5), add(1)])).await;
    b.written("raised and less", unit(vec![guard(1)], vec![raise(8), take(3)])).await;
    b.same("what is left then", &count(b).await, &5);
    b.written("raised to less than is there", unit(vec![guard(1)], vec![raise(2)])).await;
    b.same("what the guard left", &count(b).await, &6);
    let missing = Guard::Transfer { id: id(9), state: b.state("INIT"), version: 0 };
    let lost = unit(vec![missing.clone()], vec![take(1)]);
    b.lost("a lost unit takes nothing", lost, missing).await;
    // a group counts one after the other
    let wrote = b.all((0..8).map(|_| unit(vec![], vec![take(1)])).collect()).await;
    let written = wrote.iter().filter(|w| matches!(w, kernel::unit::Wrote::Written(_))).count();
    b.same("as many as are there", &(written, count(b).await), &(6, 0));
}
