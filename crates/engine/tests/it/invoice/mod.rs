//! A flow of a test in three files: its table, its outside and its proof. It decides, asks, moves money inside
//! an enlisted ledger and publishes its ends, and no line of the product knows of it.

mod approvals;
mod table;

use crate::events::fixture::AccountService;
use crate::fixture::test_service::COIN;
use approvals::Approvals;
use kernel::flow::check;
use kernel::flow::life::Life as _;
use kernel::flow::table::Table;
use kernel::ids::{Id, LedgerId, UserId};
use kernel::money::Amount;
use kernel::owner::TransferOwner;
use kernel::record::{Account, Party, System, Terms};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use table::{State, TOPICS};

async fn offered(fuse: bool) -> (AccountService, Arc<Approvals>) {
    let mut test = AccountService::open(fuse).await;
    let approvals = Arc::new(Approvals::default());
    test.service.flows.0.push(Table::of::<State>());
    test.service.facts.insert(State::FLOW, approvals.clone());
    test.service.restart().await;
    for number in ["A-1", "B-1", "X-1"] {
        let user = if number == "A-1" { 1 } else { 2 };
        test.account(number, user, if user == 1 { 5_000 } else { 0 }).await;
    }
    (test, approvals)
}

async fn received(test: &AccountService, payee: &str, amount: u128) -> Id {
    let at = |number: &str| Party {
        system: System::Ledger(LedgerId::ACCOUNT),
        account: Account::Named(number.into()),
        asset: COIN,
        amount: Amount(amount),
    };
    let owner = TransferOwner::User(UserId(1));
    let terms = Terms::between("test|1".into(), owner, at("A-1"), at(payee));
    let engine = test.service.engine();
    let flow = engine.flows().named(State::FLOW).expect("the flow");
    engine.create(flow, terms).await.expect("it is opened").record.id
}

#[test]
fn the_table_holds() {
    assert_eq!(check::check::<State>(), [""; 0]);
}

/// One invoice is paid, one is refused by the rule, one refused at the question, and one at the ledger; the
/// process restarts while they wait for a person. Seen red where what stations drive is not published.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invoices_are_decided_asked_moved_and_published() {
    for fuse in [true, false] {
        let (mut test, approvals) = offered(fuse).await;
        let paid = received(&test, "B-1", 300).await;
        let large = received(&test, "B-1", 1_000).await;
        let unknown = received(&test, "X-1", 20).await;
        let short = received(&test, "B-1", 999).await;
        test.out("A-1", 4_600).await;
        assert_eq!(test.history(paid).await, ["CREATED"], "fuse {fuse}: it waits for a person");
        test.service.restart().await;
        approvals.open.store(true, Ordering::SeqCst);
        test.ended(&[paid, large, unknown, short]).await;
        let refused = ["CREATED", "APPROVED", "DONE", "CLAIMED", "REJECTED"];
        for (id, words) in [
            (paid, &["CREATED", "APPROVED", "DONE", "CLAIMED", "DONE"][..]),
            (large, &["CREATED", "REFUSED"]),
            (unknown, &["CREATED", "APPROVED", "REJECTED"]),
            (short, &refused),
        ] {
            assert_eq!(test.history(id).await, words, "fuse {fuse}");
        }
        test.holds("A-1", 100).await;
        test.holds("B-1", 300).await;
        published(&test, 4).await;
        for (topic, ids) in TOPICS.into_iter().zip([&[paid][..], &[large, unknown, short]]) {
            let messages = test.messages(&[topic]).await;
            assert_eq!(messages.len(), ids.len(), "{topic}");
            for id in ids {
                let text = id.uuid_text();
                let told = |payload: &str| payload.contains(&text);
                assert!(messages.iter().any(|message| told(&message.payload)), "{topic}");
            }
        }
        test.in_order().await;
    }
}

/// Waits until so many messages are on the bus.
async fn published(test: &AccountService, messages: usize) {
    for _ in 0..20_000 {
        if test.messages(&TOPICS).await.len() >= messages {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(3)).await;
    }
    panic!("not published: {:?}", test.messages(&TOPICS).await)
}
