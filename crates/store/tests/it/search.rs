//! Transfers as operators look for them.

use crate::fixture::{COIN, Fixture, NOON, id, written};
use crate::folder_store::fund;
use kernel::answer::Evidence;
use kernel::flow::life::Leg;
use kernel::flow::table::Flows;
use kernel::ids::{AssetId, Id, LedgerId, Serial, UserId};
use kernel::money::Amount;
use kernel::ports::admin_queries::{AdminQueries, Search, SearchKey};
use kernel::ports::journal::{TransferQueries as _, UnitWriter as _};
use kernel::record::{Head, Party, Record, System, Terms};
use kernel::unit::{Guard, Hold, Put, Then, Unit, Wrote};
use std::collections::BTreeMap;
use std::sync::Arc;
use store::sqlite::Embedded;

use crate::postgres::fixture::{database, open as open_postgres};

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
fn odd(fixture: &Fixture, n: u64, user: u64, change: impl FnOnce(&mut Terms)) -> Unit {
    let mut unit = fixture.opening(n, user, 5);
    for put in &mut unit.then.puts {
        if let Put::Open(record) = put {
            change(Arc::make_mut(&mut record.terms));
            return unit;
        }
    }
    panic!("nothing is opened")
}

/// Some of everything: users, ends, refusals, retries, systems, assets, a second per transfer.
async fn busy(fixture: &Fixture) -> Arc<Embedded> {
    let store = fixture.open();
    for user in 1..4 {
        fund(&*store.funding(), user, COIN, Amount(1_000)).await;
    }
    for n in 1..40 {
        fixture.clock.set(NOON + n * 1_000);
        let user = n % 3 + 1;
        let unit = match n % 5 {
            0 => fixture.opening(n, user, 5_000),
            1 => odd(fixture, n, user, |terms| terms.principal = "issuer|admin".into()),
            2 => odd(fixture, n, user, |terms| {
                terms.target.system = System::Ledger(LedgerId::FUTURE)
            }),
            3 => odd(fixture, n, user, |terms| {
                std::mem::swap(&mut terms.source, &mut terms.target);
                for party in terms.parties_mut() {
                    party.asset = AssetId(1);
                }
            }),
            _ => fixture.opening(n, user, 5),
        };
        written(&store, unit).await;
        if n % 5 != 0 && n % 4 == 0 {
            written(&store, fixture.ending(n, user, 5)).await;
        } else if n % 7 == 0 && n % 5 != 0 {
            let mut unit = fixture.ending(n, user, 5);
            unit.then = Then::default();
            let record = store.get(vec![id(n)]).await.expect("a record").remove(0);
            let head = Head { version: 2, retries: 3, ..record.head };
            let error = Some(Evidence::code("TIMEOUT"));
            let hold = Hold::Mine;
            unit.then.puts = vec![Put::Head { id: id(n), head, error, hold }];
            written(&store, unit).await;
        }
    }
    // one write opens several, of which some end
    let group = |n: u64| fixture.opening(n, n % 3 + 1, 5);
    store.write((40..46).map(group).collect()).await;
    store.write((42..45).map(|n| fixture.ending(n, n % 3 + 1, 5)).collect()).await;
    store
}

type Fits = Box<dyn Fn(&Record) -> bool>;

fn at(party: &Party, ledger: LedgerId) -> bool {
    party.system == System::Ledger(ledger)
}

fn class(record: &Record, class: &str) -> bool {
    record.error.as_ref().is_some_and(|why| why.code == class)
}

fn ends(flows: &Flows, record: &Record) -> bool {
    flows.table(record.flow).ends(record.head.state)
}

/// A search for what is agreed, and what it should find.
fn by_terms() -> Vec<(Search, Fits)> {
    vec![
        (
            Search { user: Some(UserId(2)), ..all() },
            Box::new(|r| r.terms.owner.user() == Some(UserId(2))),
        ),
        (
            Search { principal: Some("issuer|admin".into()), ..all() },
            Box::new(|r| &*r.terms.principal == "issuer|admin"),
        ),
        (
            Search { principal: Some("suite|2".into()), ..all() },
            Box::new(|r| &*r.terms.principal == "suite|2"),
        ),
        (
            Search { asset: Some(AssetId(1)), ..all() },
            Box::new(|r| r.terms.source.asset == AssetId(1)),
        ),
        (
            Search { source: Some(LedgerId::SPOT), ..all() },
            Box::new(|r| at(&r.terms.source, LedgerId::SPOT)),
        ),
        (
            Search { target: Some(LedgerId::FUTURE), ..all() },
            Box::new(|r| at(&r.terms.target, LedgerId::FUTURE)),
        ),
    ]
}

/// A search for a time or a number.
fn by_place() -> Vec<(Search, Fits)> {
    let (early, late) = (NOON + 8_500, NOON + 30_001);
    vec![
        (Search { since: Some(NOON + 9_000), ..all() }, Box::new(|r| r.created_at >= NOON + 9_000)),
        (Search { until: Some(NOON + 9_000), ..all() }, Box::new(|r| r.created_at < NOON + 9_000)),
        (
            Search { since: Some(early), until: Some(late), ..all() },
            Box::new(move |r| (early..late).contains(&r.created_at)),
        ),
        (
            Search { before: Some(Serial(12)), ..all() },
            Box::new(|r| r.serial.is_some_and(|serial| serial < Serial(12))),
        ),
    ]
}

/// A search for where it stands.
fn by_head(fixture: &Fixture) -> Vec<(Search, Fits)> {
    let flow = fixture.flows.named("internal");
    let (failed, waiting) = (fixture.state("FAILED"), fixture.state("TARGET_PENDING"));
    let open = |open, user: Option<UserId>| -> (Search, Fits) {
        let flows = fixture.flows.clone();
        let fits = move |r: &Record| {
            ends(&flows, r) != open && user.is_none_or(|user| r.terms.owner.user() == Some(user))
        };
        (Search { open: Some(open), user, ..all() }, Box::new(fits))
    };
    let refused = Search {
        user: Some(UserId(3)),
        error_class: Some("INSUFFICIENT_BALANCE".into()),
        since: Some(NOON + 10_000),
        ..all()
    };
    vec![
        open(true, None),
        open(false, None),
        open(true, Some(UserId(1))),
        open(false, Some(UserId(1))),
        (Search { flow, state: Some(failed), ..all() }, Box::new(move |r| r.head.state == failed)),
        (
            Search { flow, state: Some(waiting), ..all() },
            Box::new(move |r| r.head.state == waiting),
        ),
        (Search { min_attempts: Some(3), ..all() }, Box::new(|r| r.head.retries >= 3)),
        (
            Search { error_class: Some("TIMEOUT".into()), ..all() },
            Box::new(|r| class(r, "TIMEOUT")),
        ),
        (
            refused,
            Box::new(|r| {
                let late = r.created_at >= NOON + 10_000;
                r.terms.owner.user() == Some(UserId(3)) && class(r, "INSUFFICIENT_BALANCE") && late
            }),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_finds_exactly_what_fits() {
    let fixture = Fixture::new();
    let store = busy(&fixture).await;
    let records = search(&store, all()).await;
    assert_eq!(records.len(), 45);
    assert!(records.iter().is_sorted_by(|a, b| a.serial > b.serial));
    let searches = [by_terms(), by_place(), by_head(&fixture)].into_iter().flatten();
    for (asked, fits) in searches {
        let should: Vec<_> = records.iter().filter(|r| fits(r)).cloned().collect();
        assert!(!should.is_empty() && should.len() < 45, "{asked:?} says nothing");
        assert_eq!(ids(&search(&store, asked.clone()).await), ids(&should), "{asked:?}");
        let page = Search { limit: 2, ..asked.clone() };
        let should: Vec<_> = should.into_iter().take(2).collect();
        assert_eq!(ids(&search(&store, page).await), ids(&should), "{asked:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn typed_text_is_only_compared() {
    let fixture = Fixture::new();
    let store = busy(&fixture).await;
    for asked in [
        Search { since: Some(NOON + 900_000), ..all() },
        Search { until: Some(NOON), ..all() },
        Search { principal: Some("x' OR '1' = '1".into()), ..all() },
        Search { error_class: Some("TIMEOUT' --".into()), ..all() },
        Search { limit: 0, ..Search::default() },
    ] {
        assert_eq!(ids(&search(&store, asked.clone()).await), [], "{asked:?}");
    }
    let bare = Search { state: Some(fixture.state("FAILED")), ..all() };
    let refused = store.transfers(bare).await.expect_err("a state of no flow");
    assert_eq!(refused.class, "BAD_SEARCH");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_never_repeats_a_row_while_others_open() {
    let fixture = Fixture::new();
    let store = fixture.open();
    fund(&*store.funding(), 1, COIN, Amount(1_000)).await;
    for n in 0..10 {
        written(&store, fixture.opening(n, 1, 1)).await;
    }
    let mut next = 1_000;
    for (open, user) in [(None, None), (None, Some(UserId(1))), (Some(true), None)] {
        let first = search(&store, Search { open, user, ..all() }).await;
        let (mut seen, mut before) = (Vec::new(), None);
        loop {
            let page = search(&store, Search { open, user, before, limit: 3, ..all() }).await;
            let Some(last) = page.last() else { break };
            before = last.serial;
            seen.extend(ids(&page));
            assert!(seen.len() <= first.len(), "a row comes twice: {seen:?}");
            // new ones go on top, where no later page is
            next += 1;
            written(&store, fixture.opening(next, 1, 1)).await;
        }
        assert_eq!(seen, ids(&first));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_list_is_longer_than_the_most() {
    let fixture = Fixture::new();
    let store = fixture.open();
    fund(&*store.funding(), 1, COIN, Amount(10_000)).await;
    store.write((0..1_100).map(|n| fixture.opening(n, 1, 1)).collect()).await;
    let asked = Search { limit: usize::MAX, ..Search::default() };
    assert_eq!(search(&store, asked).await.len(), 1_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_of_ended_ones_are_kept_as_they_end() {
    let fixture = Fixture::new();
    let store = busy(&fixture).await;
    let mut should: BTreeMap<_, (u64, Option<u64>)> = BTreeMap::new();
    for record in search(&store, all()).await {
        let slot = should.entry((record.flow, record.head.state)).or_default();
        slot.0 += 1;
        if !fixture.flows.table(record.flow).ends(record.head.state) {
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
    assert_eq!(told(&fixture.open()).await, should);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_is_found_by_its_number_and_told_with_its_legs() {
    let fixture = Fixture::new();
    let store = busy(&fixture).await;
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

/// Some keys and references: user 1 and the service have the same key.
fn keyed(fixture: &Fixture) -> Vec<Unit> {
    let service = odd(fixture, 7, 2, |terms| {
        (terms.principal, terms.reference) = ("issuer|shop".into(), Some("order-4711".to_owned()));
        if let Some(binding) = &mut terms.binding {
            (binding.scope, binding.key) = ("issuer|shop".into(), "key-1".into());
        }
    });
    let guards = service.guards.into_iter().map(|guard| {
        let Guard::Unbound { flow, .. } = guard else { return guard };
        Guard::Unbound { flow, scope: "issuer|shop".into(), key: "key-1".into() }
    });
    let service = Unit { guards: guards.collect(), then: service.then };
    vec![fixture.opening(1, 1, 5), fixture.opening(2, 1, 5), service, fixture.opening(8, 2, 5)]
}

async fn finds_by_key_and_reference(store: &dyn AdminQueries) {
    let by = |key: &str, scopes: &[&str]| Search {
        key: Some(SearchKey {
            key: key.into(),
            scopes: scopes.iter().map(|scope| (*scope).into()).collect(),
        }),
        ..all()
    };
    let order = || Some("order-4711".into());
    for (asked, should) in [
        (by("key-1", &[]), vec![7, 1]),
        (by("key-1", &["issuer|shop"]), vec![7]),
        (by("key-1", &["suite|9", "suite|1"]), vec![1]),
        (by("key-1", &["suite|2"]), vec![]),
        (Search { user: Some(UserId(1)), ..by("key-1", &[]) }, vec![1]),
        (Search { user: Some(UserId(2)), ..by("key-1", &[]) }, vec![7]),
        (
            Search { principal: Some("issuer|shop".into()), ..by("key-1", &["issuer|shop"]) },
            vec![7],
        ),
        (Search { principal: Some("suite|1".into()), ..by("key-1", &["suite|1"]) }, vec![1]),
        (Search { open: Some(true), ..by("key-1", &[]) }, vec![7, 1]),
        (Search { limit: 1, ..by("key-1", &[]) }, vec![7]),
        (by("key", &[]), vec![]),
        (by("' OR 1 = 1 --", &[]), vec![]),
        (Search { reference: order(), ..all() }, vec![7]),
        (Search { reference: order(), user: Some(UserId(1)), ..all() }, vec![]),
        (Search { reference: order(), user: Some(UserId(2)), ..all() }, vec![7]),
    ] {
        let found = store.transfers(asked.clone()).await.expect("a list");
        let should: Vec<Id> = should.into_iter().map(id).collect();
        assert_eq!(ids(&found), should, "{asked:?}");
    }
}

/// Turns red where a search does not look at the key.
#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_is_found_by_its_clients_key_in_a_folder() {
    let fixture = Fixture::new();
    let store = fixture.open();
    for user in 1..3 {
        fund(&*store.funding(), user, COIN, Amount(1_000)).await;
    }
    for unit in keyed(&fixture) {
        written(&store, unit).await;
    }
    finds_by_key_and_reference(&*store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_is_found_by_its_clients_key_in_postgresql() {
    let (fixture, database) = (Fixture::new(), database());
    let store = open_postgres(database.url(), fixture.clock.clone(), fixture.flows.clone()).await;
    for user in 1..3 {
        fund(&*store.funding(), user, COIN, Amount(1_000)).await;
    }
    for wrote in store.write(keyed(&fixture)).await {
        assert!(matches!(wrote, Wrote::Written(_)), "{wrote:?}");
    }
    finds_by_key_and_reference(&*store).await;
}
