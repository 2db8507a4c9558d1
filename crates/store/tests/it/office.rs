//! What people look things up in.

use crate::bed::{Bed, COIN, NOON, id, written};
use crate::people::{action, case, close};
use crate::site::fund;
use kernel::ids::{AssetId, Id, LedgerId, Serial, UserId};
use kernel::life::Leg;
use kernel::money::Amount;
use kernel::people::{About, Note, Proposal, Stand};
use kernel::ports::journal::Journal;
use kernel::ports::office::{Office, Search, Tells};
use kernel::record::{Record, System};
use kernel::unit::{Put, Unit};
use std::collections::BTreeMap;
use std::sync::Arc;
use store::embedded::Embedded;

async fn search(store: &Embedded, search: Search) -> Vec<Record> {
    store.transfers(search).await.expect("a list")
}

fn all() -> Search {
    Search { limit: 1_000, ..Search::default() }
}

fn ids(records: &[Record]) -> Vec<Id> {
    records.iter().map(|record| record.id).collect()
}

/// The opening of a transfer with other terms than most.
fn odd(bed: &Bed, n: u64, user: u64, change: impl FnOnce(&mut kernel::record::Terms)) -> Unit {
    let mut unit = bed.opening(n, user, 5);
    for put in &mut unit.then.puts {
        if let Put::Open(record) = put {
            change(Arc::make_mut(&mut record.terms));
            return unit;
        }
    }
    panic!("nothing is opened")
}

/// Some of everything: users, ends, refusals, retries, systems, assets, a second per transfer.
async fn busy(bed: &Bed) -> Arc<Embedded> {
    let store = bed.open();
    for user in 1..4 {
        fund(&store, user, COIN, Amount(1_000)).await;
    }
    for n in 1..40 {
        bed.clock.set(NOON + n * 1_000);
        let user = n % 3 + 1;
        let unit = match n % 5 {
            0 => bed.opening(n, user, 5_000),
            1 => odd(bed, n, user, |terms| terms.principal = "issuer|desk".into()),
            2 => odd(bed, n, user, |terms| terms.target.system = System::Ledger(LedgerId::FUTURE)),
            3 => odd(bed, n, user, |terms| {
                std::mem::swap(&mut terms.source, &mut terms.target);
                terms.asset = AssetId(1);
            }),
            _ => bed.opening(n, user, 5),
        };
        written(&store, unit).await;
        if n % 5 != 0 && n % 4 == 0 {
            written(&store, bed.ending(n, user, 5)).await;
        } else if n % 7 == 0 && n % 5 != 0 {
            let mut unit = bed.ending(n, user, 5);
            unit.then = kernel::unit::Then::default();
            let record = store.get(vec![id(n)]).await.expect("a record").remove(0);
            let head = kernel::record::Head { version: 2, retries: 3, ..record.head };
            let error = Some(kernel::answer::Evidence::code("TIMEOUT"));
            let hold = kernel::unit::Hold::Mine;
            unit.then.puts = vec![Put::Head { id: id(n), head, error, hold }];
            written(&store, unit).await;
        }
    }
    store
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_finds_exactly_what_fits() {
    let bed = Bed::new();
    let store = busy(&bed).await;
    let flow = bed.flows.named("internal");
    let (failed, waiting) = (bed.state("FAILED"), bed.state("TARGET_PENDING"));
    let ends = |r: &Record| bed.flows.table(r.flow).ends(r.head.state);
    let ledger = |party: &kernel::record::Party, of| party.system == System::Ledger(of);
    let class = |r: &Record, class: &str| r.error.as_ref().is_some_and(|why| why.code == class);
    type Fits<'a> = Box<dyn Fn(&Record) -> bool + 'a>;
    let asked: Vec<(Search, Fits<'_>)> = vec![
        (Search { user: Some(UserId(2)), ..all() }, Box::new(|r| r.terms.user == UserId(2))),
        (Search { open: Some(true), ..all() }, Box::new(move |r| !ends(r))),
        (Search { open: Some(false), ..all() }, Box::new(move |r| ends(r))),
        (
            Search { open: Some(true), user: Some(UserId(1)), ..all() },
            Box::new(move |r| !ends(r) && r.terms.user == UserId(1)),
        ),
        (
            Search { open: Some(false), user: Some(UserId(1)), ..all() },
            Box::new(move |r| ends(r) && r.terms.user == UserId(1)),
        ),
        (Search { flow, state: Some(failed), ..all() }, Box::new(|r| r.head.state == failed)),
        (Search { flow, state: Some(waiting), ..all() }, Box::new(|r| r.head.state == waiting)),
        (
            Search { principal: Some("issuer|desk".into()), ..all() },
            Box::new(|r| &*r.terms.principal == "issuer|desk"),
        ),
        (Search { asset: Some(AssetId(1)), ..all() }, Box::new(|r| r.terms.asset == AssetId(1))),
        (
            Search { source: Some(LedgerId::SPOT), ..all() },
            Box::new(|r| ledger(&r.terms.source, LedgerId::SPOT)),
        ),
        (
            Search { target: Some(LedgerId::FUTURE), ..all() },
            Box::new(|r| ledger(&r.terms.target, LedgerId::FUTURE)),
        ),
        (Search { since: Some(NOON + 9_000), ..all() }, Box::new(|r| r.created_at >= NOON + 9_000)),
        (Search { until: Some(NOON + 9_000), ..all() }, Box::new(|r| r.created_at < NOON + 9_000)),
        (
            Search { since: Some(NOON + 8_500), until: Some(NOON + 30_001), ..all() },
            Box::new(|r| (NOON + 8_500..NOON + 30_001).contains(&r.created_at)),
        ),
        (Search { min_attempts: Some(3), ..all() }, Box::new(|r| r.head.retries >= 3)),
        (
            Search { error_class: Some("TIMEOUT".into()), ..all() },
            Box::new(move |r| class(r, "TIMEOUT")),
        ),
        (
            Search { before: Some(Serial(12)), ..all() },
            Box::new(|r| r.serial.is_some_and(|serial| serial < Serial(12))),
        ),
        (
            Search {
                user: Some(UserId(3)),
                error_class: Some("INSUFFICIENT_BALANCE".into()),
                since: Some(NOON + 10_000),
                ..all()
            },
            Box::new(move |r| {
                r.terms.user == UserId(3)
                    && class(r, "INSUFFICIENT_BALANCE")
                    && r.created_at >= NOON + 10_000
            }),
        ),
    ];
    let records = search(&store, all()).await;
    assert_eq!(records.len(), 39);
    assert!(records.iter().is_sorted_by(|a, b| a.serial > b.serial));
    for (asked, fits) in asked {
        let should: Vec<_> = records.iter().filter(|r| fits(r)).cloned().collect();
        assert!(!should.is_empty() && should.len() < 39, "{asked:?} says nothing");
        assert_eq!(ids(&search(&store, asked.clone()).await), ids(&should), "{asked:?}");
        let page = Search { limit: 2, ..asked.clone() };
        let should = should.iter().take(2).cloned().collect::<Vec<_>>();
        assert_eq!(ids(&search(&store, page).await), ids(&should), "{asked:?}");
    }
    for asked in [
        Search { since: Some(NOON + 900_000), ..all() },
        Search { until: Some(NOON), ..all() },
        Search { principal: Some("x' OR '1' = '1".into()), ..all() },
        Search { error_class: Some("TIMEOUT' --".into()), ..all() },
        Search { limit: 0, ..Search::default() },
    ] {
        assert_eq!(ids(&search(&store, asked.clone()).await), [], "{asked:?}");
    }
    let bare = Search { state: Some(failed), ..all() };
    let refused = store.transfers(bare).await.expect_err("a state of no flow");
    assert_eq!(refused.class, "BAD_SEARCH");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_never_repeats_a_row_while_others_open() {
    let bed = Bed::new();
    let store = bed.open();
    fund(&store, 1, COIN, Amount(1_000)).await;
    for n in 0..10 {
        written(&store, bed.opening(n, 1, 1)).await;
    }
    for (open, user) in [(None, None), (None, Some(UserId(1))), (Some(true), None)] {
        let first = search(&store, Search { open, user, ..all() }).await;
        let (mut seen, mut before) = (Vec::new(), None);
        loop {
            let page = search(&store, Search { open, user, before, limit: 3, ..all() }).await;
            let Some(last) = page.last() else { break };
            before = last.serial;
            seen.extend(ids(&page));
            // new ones go on top, where no later page is
            let n = 1_000 + u64::try_from(seen.len()).expect("small") + NOON % 7;
            let n = n + 100 * first.len() as u64;
            written(&store, bed.opening(n, 1, 1)).await;
        }
        assert_eq!(seen, ids(&first));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_list_is_longer_than_the_most() {
    let bed = Bed::new();
    let store = bed.open();
    fund(&store, 1, COIN, Amount(10_000)).await;
    store.write((0..1_100).map(|n| bed.opening(n, 1, 1)).collect()).await;
    let asked = Search { limit: usize::MAX, ..Search::default() };
    assert_eq!(search(&store, asked).await.len(), 1_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_of_ended_ones_are_kept_as_they_end() {
    let bed = Bed::new();
    let store = busy(&bed).await;
    let mut should: BTreeMap<_, (u64, Option<u64>)> = BTreeMap::new();
    for record in search(&store, all()).await {
        let slot = should.entry((record.flow, record.head.state)).or_default();
        slot.0 += 1;
        if !bed.flows.table(record.flow).ends(record.head.state) {
            slot.1 = Some(record.created_at);
        }
    }
    let told = async |store: &Arc<Embedded>| -> BTreeMap<_, _> {
        let stats = store.stats().await.expect("counts").into_iter();
        stats.map(|stat| ((stat.flow, stat.state), (stat.transfers, stat.oldest))).collect()
    };
    assert!(should.len() >= 3, "{should:?}");
    assert_eq!(told(&store).await, should);
    drop(store);
    assert_eq!(told(&bed.open()).await, should);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_is_found_by_its_number_and_told_with_its_legs() {
    let bed = Bed::new();
    let store = busy(&bed).await;
    let record = store.numbered(Serial(4)).await.expect("a question").expect("the fourth");
    assert_eq!(record.id, id(4));
    assert!(store.numbered(Serial(4_000)).await.expect("a question").is_none());
    let legs = store.legs(id(4)).await.expect("legs");
    let told: Vec<_> = legs.iter().map(|(ledger, op)| (*ledger, op.op.key.leg)).collect();
    assert_eq!(
        told,
        [
            (LedgerId::FUNDING, Leg::Withdraw),
            (LedgerId::FUNDING, Leg::Settle),
            (LedgerId::SPOT, Leg::Deposit)
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn cases_are_listed_as_they_stand_with_their_notes() {
    let bed = Bed::new();
    let store = bed.open();
    let about = |n| About::Transfer(id(n));
    for n in 0..6 {
        written(&store, Unit::puts(vec![case("STUCK", about(n))])).await;
    }
    written(&store, Unit::puts(vec![close("STUCK", about(2)), case("STUCK", about(2))])).await;
    written(&store, Unit::puts(vec![close("STUCK", about(4)), close("OTHER", about(5))])).await;
    let note = |note| Put::Note { case: 2, caller: "issuer|me".into(), note };
    for whom in ["ann", "bob"] {
        let comment = Note::Comment(format!("for {whom}").into());
        let puts = vec![note(Note::Assigned(whom.into())), note(comment)];
        written(&store, Unit::puts(puts)).await;
    }
    let list = async |open, about, before, limit| -> Vec<u64> {
        let found = store.cases(open, about, before, limit).await.expect("cases");
        found.iter().map(|case| case.number).collect()
    };
    assert_eq!(list(None, None, None, 100).await, [7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(list(None, None, Some(5), 2).await, [4, 3]);
    assert_eq!(list(Some(true), None, None, 100).await, [7, 6, 4, 2, 1]);
    assert_eq!(list(Some(false), None, None, 100).await, [5, 3]);
    assert_eq!(list(None, Some(about(2)), None, 100).await, [7, 3]);
    assert_eq!(list(Some(true), Some(about(2)), None, 100).await, [7]);
    assert_eq!(list(None, Some(about(2)), Some(7), 100).await, [3]);
    let (row, notes) = store.case(2).await.expect("a question").expect("the second");
    assert_eq!((row.about, row.assigned.as_deref()), (about(1), Some("bob")));
    assert_eq!(row.closed, None);
    let told: Vec<_> = notes.into_iter().map(|row| row.note).collect();
    let comment = |words: &str| Note::Comment(words.into());
    let should = [
        Note::Assigned("ann".into()),
        comment("for ann"),
        Note::Assigned("bob".into()),
        comment("for bob"),
    ];
    assert_eq!(told, should);
    let (row, notes) = store.case(3).await.expect("a question").expect("the third");
    assert_eq!(row.closed, Some(("it went away".into(), NOON)));
    assert!(notes.is_empty());
    assert!(store.case(99).await.expect("a question").is_none());
    let open: Vec<_> = store.open_cases().await.expect("cases").iter().map(|c| c.number).collect();
    assert_eq!(open, [1, 2, 4, 6, 7]);
}

#[tokio::test(flavor = "multi_thread")]
async fn approvals_and_actions_are_listed_newest_first() {
    let bed = Bed::new();
    let store = bed.open();
    for n in 1..6 {
        let proposal = Proposal {
            id: id(n),
            kind: "RESOLVE",
            subject: "s".into(),
            value: "{}".into(),
            reason: "r".into(),
            caller: "issuer|one".into(),
        };
        written(&store, Unit::puts(vec![Put::Propose(proposal)])).await;
        let subject = if n % 2 == 0 { "even" } else { "odd" };
        let act = Put::Action(action(&format!("k-{n}"), subject));
        written(&store, Unit::puts(vec![act])).await;
    }
    for (n, stand) in [(2, Stand::Approved), (3, Stand::Rejected)] {
        let decide = Put::Decide { id: id(n), stand, caller: "issuer|two".into() };
        written(&store, Unit::puts(vec![decide])).await;
    }
    let list = async |stand, before, limit| -> Vec<Id> {
        let found = store.approvals(stand, before, limit).await.expect("approvals");
        found.iter().map(|approval| approval.id).collect()
    };
    assert_eq!(list(None, None, 100).await, [5, 4, 3, 2, 1].map(id));
    assert_eq!(list(None, Some(id(4)), 2).await, [3, 2].map(id));
    assert_eq!(list(Some(Stand::Pending), None, 100).await, [5, 4, 1].map(id));
    assert_eq!(list(Some(Stand::Rejected), None, 100).await, [id(3)]);
    let decided = store.approval(id(2)).await.expect("a question").expect("it");
    assert_eq!(
        (decided.stand, decided.decided),
        (Stand::Approved, Some(("issuer|two".into(), NOON)))
    );
    let list = async |subject: Option<&str>, before, limit| -> Vec<u64> {
        let subject = subject.map(Into::into);
        let found = store.actions(subject, before, limit).await.expect("actions");
        found.iter().map(|acted| acted.number).collect()
    };
    assert_eq!(list(None, None, 100).await, [5, 4, 3, 2, 1]);
    assert_eq!(list(None, Some(5), 2).await, [4, 3]);
    assert_eq!(list(Some("even"), None, 100).await, [4, 2]);
    assert_eq!(list(Some("even' OR 1 --"), None, 100).await, [0; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_half_of_an_episode_is_delivered_once() {
    let bed = Bed::new();
    let mut store = bed.open();
    let about = |n| About::Transfer(id(n));
    written(&store, Unit::puts(vec![case("STUCK", about(1))])).await;
    bed.clock.set(NOON + 10);
    written(&store, Unit::puts(vec![case("STUCK", about(2)), case("STUCK", about(2))])).await;
    bed.clock.set(NOON + 20);
    written(&store, Unit::puts(vec![close("STUCK", about(1)), close("STUCK", about(1))])).await;
    let due = async |store: &Arc<Embedded>, since| -> Vec<(u64, Tells, u32)> {
        let due = store.deliveries(since, 100).await.expect("deliveries");
        due.iter().map(|d| (d.case.number, d.tells, d.attempts)).collect()
    };
    let (opened, closed) = (Tells::Opened, Tells::Closed);
    assert_eq!(due(&store, 0).await, [(1, opened, 0), (2, opened, 0), (1, closed, 0)]);
    assert_eq!(due(&store, NOON + 10).await, [(2, opened, 0), (1, closed, 0)]);
    assert_eq!(store.deliveries(0, 1).await.expect("deliveries").len(), 1);
    // one fails, one is delivered
    let failed = Some("503".into());
    store.delivered(1, opened, Some(NOON + 50), failed).await.expect("a write");
    store.delivered(2, opened, None, None).await.expect("a write");
    drop(store);
    store = bed.open();
    assert_eq!(due(&store, 0).await, [(1, closed, 0)]);
    bed.clock.set(NOON + 50);
    assert_eq!(due(&store, 0).await, [(1, closed, 0), (1, opened, 1)]);
    let told = store.deliveries(0, 100).await.expect("deliveries");
    let last = told.last().expect("the failed one");
    assert_eq!((last.error.as_deref(), last.due_at), (Some("503"), Some(NOON + 50)));
    // a late word of failure does not take back what was delivered
    store.delivered(2, opened, Some(NOON), Some("late".into())).await.expect("a write");
    store.delivered(1, opened, None, None).await.expect("a write");
    store.delivered(1, closed, None, None).await.expect("a write");
    store.delivered(77, closed, None, None).await.expect("a write");
    assert_eq!(due(&store, 0).await, []);
}
