//! A flow of a test in three files: its table, its outside and its proof. It decides, asks, moves money inside
//! an enlisted ledger, pays on a chain in attempts and publishes its ends, and no line of the product knows of it.

mod approvals;
mod table;

use crate::events::fixture::AccountService;
use crate::fixture::defaults::COIN;
use approvals::Approvals;
use kernel::attempt::Attempt;
use kernel::flow::check;
use kernel::flow::life::Life as _;
use kernel::flow::table::Table;
use kernel::ids::{Id, LedgerId, UserId};
use kernel::money::Amount;
use kernel::owner::TransferOwner;
use kernel::ports::journal::AttemptQueries as _;
use kernel::record::{Account, Party, System, Terms};
use sim::chain::{ChainRules, Locking, SimChain};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use table::{State, TOPICS};
use testkit::{MINUTE, ShiftedClock, wait_until};

/// A chain whose blocks are quick, with one key: while its attempt is open, the next one gathers.
const RULES: ChainRules = ChainRules {
    cap: 100,
    lanes: 1,
    block_ms: 20,
    validity: 500,
    ..ChainRules::calm(Locking::Nonce)
};
/// Every transaction that pays this account fails.
const CULPRIT: &str = "bad-1";

fn chain() -> SimChain {
    SimChain::new(RULES, Arc::new(ShiftedClock::new()), 7)
}

async fn offered(fuse: bool, chain: SimChain) -> (AccountService, Arc<Approvals>) {
    let mut test = AccountService::open(fuse).await;
    let approvals = Arc::new(Approvals::default());
    test.service.chain = Some(chain);
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
    received_at(test, System::Ledger(LedgerId::ACCOUNT), payee, amount).await
}

async fn received_at(test: &AccountService, system: System, payee: &str, amount: u128) -> Id {
    let at = |number: &str| Party {
        system,
        account: Account::Named(number.into()),
        asset: COIN,
        amount: Amount(amount),
    };
    let owner = TransferOwner::User(UserId(1));
    let terms = Terms::between("test|1".into(), owner, at("A-1"), at(payee));
    let engine = &test.service.engine;
    let flow = engine.flows().named(State::FLOW).expect("the flow");
    engine.intake.create(flow, terms).await.expect("it is opened").record.id
}

#[test]
fn the_table_holds() {
    assert_eq!(check::faults(&Table::of::<State>()), [""; 0]);
}

/// One invoice is paid, one is refused by the rule, one refused at the question, and one at the ledger; the
/// process restarts while they wait for a person. Seen red where what stations drive is not published.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invoices_are_decided_asked_moved_and_published() {
    for fuse in [true, false] {
        let (mut test, approvals) = offered(fuse, chain()).await;
        let paid = received(&test, "B-1", 300).await;
        let large = received(&test, "B-1", 1_000).await;
        let unknown = received(&test, "X-1", 20).await;
        let short = received(&test, "B-1", 999).await;
        test.out("A-1", 4_600).await;
        assert_eq!(test.event_names(paid).await, ["CREATED"], "fuse {fuse}: it waits for a person");
        test.service.restart().await;
        approvals.open.store(true, Ordering::SeqCst);
        test.wait_for_end(&[paid, large, unknown, short]).await;
        let refused = ["CREATED", "APPROVED", "DONE", "FOR_THE_BOOKS", "CLAIMED", "REJECTED"];
        for (id, words) in [
            (paid, &["CREATED", "APPROVED", "DONE", "FOR_THE_BOOKS", "CLAIMED", "DONE"][..]),
            (large, &["CREATED", "REFUSED"]),
            (unknown, &["CREATED", "APPROVED", "REJECTED"]),
            (short, &refused),
        ] {
            assert_eq!(test.event_names(id).await, words, "fuse {fuse}");
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

/// A hundred invoices go in one transaction, and one of them spoils it: the 99 others are paid in the next one,
/// and the culprit is refused by the proof of an attempt of its own. The process restarts while the key is busy.
///
/// Seen red where the payee of a move is the party of its act's side: the payer pays itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_a_hundred_invoices_spoils_the_transaction_and_99_are_paid() {
    for fuse in [true, false] {
        let chain = chain();
        let shop = |n: usize| if n == 41 { CULPRIT.to_owned() } else { format!("shop-{n}") };
        (0..=100).for_each(|n| chain.register(&shop(n)));
        chain.spoil(CULPRIT);
        let (mut test, approvals) = offered(fuse, chain.clone()).await;
        approvals.open.store(true, Ordering::SeqCst);
        let on_chain = System::Chain(RULES.id);
        // the first attempt has the key, and does not land
        chain.swallow(true);
        let mut ids = vec![received_at(&test, on_chain, &shop(0), 300).await];
        test.service.wait_for_state(ids[0], "SENDING").await;
        test.service.restart().await;
        for n in 1..=100 {
            ids.push(received_at(&test, on_chain, &shop(n), 300).await);
        }
        for id in &ids[1..] {
            test.service.wait_for_state(*id, "COLLECTED").await;
        }
        chain.swallow(false);
        test.wait_for_end(&ids).await;
        // what was sent last is in final blocks by then
        tokio::time::sleep(Duration::from_millis(RULES.block_ms * 10)).await;
        assert_eq!(chain.faults(), [""; 0], "fuse {fuse}");
        let paid = chain.paid();
        for (n, id) in ids.iter().enumerate() {
            let attempts = test.service.store().attempts_of(vec![*id]).await.expect("attempts");
            assert!(attempts.iter().all(|attempt| attempt.closed.is_some()), "{attempts:?}");
            let sizes: Vec<usize> = attempts.iter().map(|it| it.members.len()).collect();
            let (times, words, in_company) = match n {
                0 => (1, &["CLAIMED", "DONE"][..], vec![1]),
                41 => (0, &["CLAIMED", "SPOILED", "CLAIMED", "REJECTED"][..], vec![100, 1]),
                _ => (1, &["CLAIMED", "SPOILED", "CLAIMED", "DONE"][..], vec![100, 99]),
            };
            assert_eq!(sizes, in_company, "fuse {fuse}: {}", shop(n));
            assert_eq!(paid.get(id).map_or(0, Vec::len), times, "fuse {fuse}: {}", shop(n));
            let history = test.event_names(*id).await;
            let before = ["CREATED", "APPROVED", "DONE", "FOR_A_CHAIN"];
            assert_eq!(history, [&before, words].concat(), "fuse {fuse}: {}", shop(n));
            // its last word is what the chain proves of the last form
            let told = test.service.history(*id).await;
            let (form, proof) =
                (last_form(&attempts), told.last().and_then(|(.., it)| it.as_deref()));
            assert!(proof.is_some_and(|proof| proof.contains(&form)), "{proof:?} is not of {form}");
        }
        published(&test, ids.len()).await;
        assert_eq!(test.messages(&TOPICS[1..]).await.len(), 1, "fuse {fuse}: one is refused");
        test.in_order().await;
        assert_eq!(test.service.cases(), []);
    }
}

/// The name of the form that was signed last.
fn last_form(attempts: &[Attempt]) -> String {
    let form = attempts.last().and_then(|attempt| attempt.forms.last()).expect("a form");
    String::from_utf8_lossy(&form.name).into_owned()
}

/// Waits until the bus has at least this number of messages.
async fn published(test: &AccountService, messages: usize) {
    let published = async || test.messages(&TOPICS).await.len() >= messages;
    let published = wait_until(MINUTE, published).await;
    assert!(published, "not published: {:?}", test.messages(&TOPICS).await);
}
