//! Messages that no publisher of this service wrote: the audit finds what differs in them, and a consumer
//! refuses a number that is of another message.

use super::fixture::{AccountService, TOPICS};
use engine::operators::{AdminAction, Reemission};
use kernel::ids::Id;
use kernel::message::number;
use kernel::ports::bus::{Bus as _, BusMessage};
use kernel::ports::journal::UnitWriter as _;
use kernel::ports::outbox::Outbox as _;
use serde_json::{Map, Value};
use std::time::Duration;
use testkit::{MINUTE, wait_for, wait_until};

const COMPLETED: &str = "transfer-completed";
const FAILED: &str = "transfer-failed";
const EXECUTION: &str = "transfer-execution";

/// A message that is made of a genuine one, and what differs by the words of its case.
struct Forgery {
    of: &'static str,
    forge: fn(BusMessage) -> BusMessage,
    differs: &'static str,
}

/// The message with another text for its payload's fields.
fn with_fields(message: BusMessage, change: impl FnOnce(&mut Map<String, Value>)) -> BusMessage {
    let mut fields = serde_json::from_str(&message.payload).expect("an object");
    change(&mut fields);
    BusMessage { payload: Value::Object(fields).to_string().into(), ..message }
}

fn with_type(message: BusMessage, kind: &str) -> BusMessage {
    let mut headers: Map<String, Value> = serde_json::from_str(&message.headers).expect("headers");
    headers.insert("ce_type".to_owned(), kind.into());
    BusMessage { headers: Value::Object(headers).to_string().into(), ..message }
}

const FORGERIES: &[Forgery] = &[
    Forgery {
        of: FAILED,
        forge: |message| {
            let paid = with_type(message, COMPLETED);
            let paid = with_fields(paid, |fields| {
                fields.insert("amount".to_owned(), "1".into());
            });
            BusMessage { topic: COMPLETED.into(), number: 9, ..paid }
        },
        differs: "another topic, ce_type, ce_id, amount in",
    },
    Forgery {
        of: FAILED,
        forge: |message| BusMessage { topic: COMPLETED.into(), ..message },
        differs: "another topic in",
    },
    Forgery {
        of: COMPLETED,
        forge: |message| with_type(message, FAILED),
        differs: "another ce_type in",
    },
    Forgery {
        of: COMPLETED,
        forge: |message| BusMessage { number: 9, ..message },
        differs: "another ce_id in",
    },
    Forgery {
        of: COMPLETED,
        forge: |message| BusMessage { key: "B-1".into(), ..message },
        differs: "another key in",
    },
    Forgery {
        of: COMPLETED,
        forge: |message| {
            with_fields(message, |fields| {
                fields.insert("toAccountNumber".to_owned(), "C-1".into());
                fields.insert("note".to_owned(), "ship it".into());
            })
        },
        differs: "another toAccountNumber, set of fields in",
    },
    Forgery {
        of: COMPLETED,
        forge: |message| {
            with_fields(message, |fields| {
                fields.remove("amount");
            })
        },
        differs: "another amount in",
    },
    Forgery {
        of: COMPLETED,
        forge: |message| {
            with_fields(message, |fields| {
                fields.insert("prev".to_owned(), "0".repeat(64).into());
            })
        },
        differs: "another prev in",
    },
    Forgery {
        of: COMPLETED,
        forge: |message| {
            let twice = message.payload.replacen('{', r#"{"amount":"1","#, 1);
            BusMessage { payload: twice.into(), ..message }
        },
        differs: "another payload in",
    },
];

impl AccountService {
    pub(super) async fn with_money(self) -> Self {
        self.account("A-1", 1, 1_000).await;
        self.account("B-1", 2, 0).await;
        self
    }

    /// The message of a transfer on a topic.
    pub(super) async fn message_of(&self, id: Id, topic: &str) -> BusMessage {
        let found = wait_for(MINUTE, async || {
            let messages = self.messages(&[topic]).await;
            messages.into_iter().find(|message| message.payload.contains(&id.to_string()))
        });
        found.await.expect("a message")
    }

    pub(super) async fn put_on_bus(&self, message: BusMessage) {
        let said = self.bus().publish(vec![message]).await;
        assert!(said.iter().all(Result::is_ok), "{said:?}");
    }

    /// Waits until every message was given to the bus.
    pub(super) async fn outbox_published(&self) {
        let published = wait_until(MINUTE, async || {
            self.service.store().backlog().await.expect("a backlog").messages == 0
        });
        assert!(published.await, "messages wait");
    }

    /// The facts of every case about a message that differs, in their order.
    pub(super) fn mismatches(&self) -> Vec<String> {
        let cases = self.service.cases().into_iter();
        cases.filter(|(_, kind, _)| kind == "MESSAGE_MISMATCH").map(|(.., facts)| facts).collect()
    }

    /// Waits until the audit has had everything that was published.
    pub(super) async fn audited(&self) {
        let done = wait_until(MINUTE, async || {
            let topics = TOPICS.iter().map(|topic| (*topic).into()).collect();
            let lag = self.bus().lag("audit-group".into(), topics).await.expect("the lag");
            lag.iter().all(|of| of.messages() == 0)
        });
        assert!(done.await, "the audit is behind");
    }
}

/// A message that differs from the one of its event in any part opens a case that names the part, and no
/// row of the audit is written for it.
///
/// Turns red where the audit compares nothing but transfer, place and hash.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_audit_names_what_differs_in_a_forged_message() {
    let test = AccountService::open(true).await.with_money().await;
    for (n, forgery) in FORGERIES.iter().enumerate() {
        let amount = if forgery.of == FAILED { 5_000 } else { 10 };
        let id = test.open_transfer("A-1", "B-1", amount).await.id;
        test.wait_for_end(&[id]).await;
        let genuine = test.message_of(id, forgery.of).await;
        test.audited().await;
        assert_eq!(test.mismatches().len(), n, "{:?}", test.mismatches());
        test.put_on_bus((forgery.forge)(genuine)).await;
        let found = wait_until(MINUTE, async || test.mismatches().len() > n).await;
        let facts = test.mismatches().pop().unwrap_or_default();
        assert!(found && facts.contains(forgery.differs), "{}: {facts}", forgery.differs);
    }
    test.in_order().await;
}

/// What Portage itself sent is taken: under the numbers of resends, a second time, and as the release before
/// wrote it.
///
/// Turns red where the audit takes the first number of a message alone, and where it asks for a field that
/// earlier messages do not have.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn genuine_messages_open_no_case() {
    let test = AccountService::impatient(true).await.with_money().await;
    test.service.pipeline_faults.lost.lock().expect("no panic").insert(EXECUTION);
    let id = test.open_transfer("A-1", "B-1", 10).await.id;
    test.service.wait_for_state(id, "VALIDATED").await;
    let resent = wait_until(MINUTE, async || {
        let records = test.service.records(&[id]).await;
        records.iter().all(|record| record.head.retries > 1)
    });
    assert!(resent.await, "it is not sent again");
    test.service.pipeline_faults.heal();
    test.wait_for_end(&[id]).await;
    let sent = test.message_of(id, EXECUTION).await;
    assert_ne!(sent.number, number(id, EXECUTION, 0), "the first one was lost");
    test.put_on_bus(sent).await;
    let last = test.message_of(id, COMPLETED).await;
    test.put_on_bus(with_fields(last, |fields| assert!(fields.remove("prev").is_some()))).await;
    test.audited().await;
    assert_eq!(test.mismatches(), [""; 0]);
    assert_eq!(test.messages(&["transfer-execution-dlt"]).await, []);
    test.holds("B-1", 10).await;
    test.in_order().await;
}

/// A message under the number of another transfer's message is a dead letter: the other one is taken when it
/// comes.
///
/// Turns red where a consumer takes any number: the message of the second transfer would pass as consumed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_number_of_another_transfers_message_is_refused() {
    let test = AccountService::open(true).await.with_money().await;
    test.service.pipeline_faults.lost.lock().expect("no panic").insert(EXECUTION);
    let (one, two) = (
        test.open_transfer("A-1", "B-1", 10).await.id,
        test.open_transfer("A-1", "B-1", 20).await.id,
    );
    for id in [one, two] {
        test.service.wait_for_state(id, "VALIDATED").await;
    }
    test.outbox_published().await;
    test.service.pipeline_faults.heal();
    let like = test.message_of(one, "transfer-validation").await;
    let forged = BusMessage {
        topic: EXECUTION.into(),
        number: number(two, EXECUTION, 0),
        ..with_type(like, EXECUTION)
    };
    test.put_on_bus(forged.clone()).await;
    let dead = wait_for(MINUTE, async || test.messages(&["transfer-execution-dlt"]).await.pop());
    let dead = dead.await.expect("a dead letter");
    assert_eq!((dead.number, dead.payload), (forged.number, forged.payload));
    assert!(dead.headers.contains("FORGED"), "{}", dead.headers);
    let states = test.service.states(&[one, two]).await;
    assert!(states.values().all(|state| *state == "VALIDATED"), "{states:?}");
    test.service.clock.forward(1_000);
    let again = AdminAction::Reemit(Reemission { from: 0, to: test.service.store().now() });
    test.service.execute_as("ada", "again", again).await.expect("they are sent again");
    test.wait_for_end(&[one, two]).await;
    test.holds("B-1", 30).await;
    test.in_order().await;
}

/// Messages of transfers that the journal does not have open one case together.
///
/// Turns red where each made-up id opens a case of its own (run: the release before): eighteen hundred of them
/// bury every other case.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn made_up_ids_are_one_case() {
    let test = AccountService::open(true).await.with_money().await;
    for number in 1..=20 {
        let (id, hash) = (Id(number), "0".repeat(64));
        let payload = format!(r#"{{"transfer":"{id}","sequence":1,"hash":"{hash}"}}"#).into();
        let (topic, key, headers) = (COMPLETED.into(), "A-1".into(), "{}".into());
        test.put_on_bus(BusMessage { topic, key, number, payload, headers }).await;
    }
    test.service.wait_for_open_case("MESSAGE_MISMATCH").await;
    test.audited().await;
    assert_eq!(test.mismatches().len(), 1, "{:?}", test.mismatches());
}

/// Forged messages of many transfers that exist open a case for each of the first twenty, and one of the service for
/// all others.
///
/// Turns red where each transfer has a case of its own (run: the release before).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forged_messages_of_many_transfers_are_few_cases() {
    let test = AccountService::open(true).await.with_money().await;
    let mut ids = Vec::new();
    for _ in 0..25 {
        ids.push(test.open_transfer("A-1", "B-1", 1).await.id);
    }
    test.wait_for_end(&ids).await;
    test.outbox_published().await;
    for id in ids {
        let message = test.message_of(id, COMPLETED).await;
        let payload = message.payload.replacen(r#""amount":"1""#, r#""amount":"7""#, 1).into();
        test.put_on_bus(BusMessage { payload, ..message }).await;
    }
    test.audited().await;
    let opened = wait_until(MINUTE, async || test.mismatches().len() >= 21).await;
    // cases are written beside the audit
    tokio::time::sleep(Duration::from_millis(1_000)).await;
    let all = test.mismatches();
    assert!(opened && all.len() == 21, "{} cases: {all:?}", all.len());
    assert!(all.iter().any(|facts| facts.contains("20 other transfers")), "{all:?}");
}
