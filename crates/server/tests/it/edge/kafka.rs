//! Transfers between numbered accounts over a real Apache Kafka, on both stores, while brokers and servers
//! die.
//!
//! Each test has a broker of its own: topics and groups have the product's names, and two services on one
//! cluster would take each other's messages.

use super::account_transfers::{
    balance, each_is_carried_out_once_over_kills, opens, opens_from, runs,
};
use super::{Served, USER, eventually, head, listens, process, refused, said};
use kernel::ports::bus::{Bus as _, BusMessage};
use links::kafka::{Kafka, KafkaSettings, Security};
use serde_json::Value;
use std::thread;
use tempfile::TempDir;
use testbed::Listening;

fn broker() -> testbed::Kafka {
    testbed::Kafka::start().unwrap_or_else(|why| panic!("{why}"))
}

/// What a server is told of a broker. A killed one's partitions are others' after two seconds.
fn settings(broker: &testbed::Kafka) -> [(&'static str, &str); 2] {
    [("KAFKA_BROKERS", broker.brokers()), ("PORTAGE_KAFKA__SESSION_TIMEOUT_MS", "2000")]
}

fn accounts(served: &Served) {
    for (number, owner) in [("ACC-1", 4001), ("ACC-2", 4002)] {
        runs(served, &format!("open {number} --owner {owner} --currency USDT --reason contract"));
        runs(served, &format!("deposit {number} --currency USDT --amount 1000 --ref {number}"));
    }
}

fn health(served: &Served) -> String {
    served.ask(&head("GET", "/health", "", "")).page
}

fn proves(served: &Served) {
    let (code, text) = said(&served.run(&["check"]));
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn each_is_carried_out_once_in_a_folder_and_kafka() {
    let broker = broker();
    each_is_carried_out_once_over_kills(&settings(&broker));
}

/// Turns red where intake or a start waits for the broker, where health does not say that it is away, and
/// where what was accepted meanwhile is not published later. The topics have one partition, from the first
/// settings; a later start with six goes on with it.
#[test]
fn a_broker_that_is_away_or_dies_costs_time_and_no_money() {
    let mut broker = broker();
    broker.stop().unwrap_or_else(|why| panic!("{why}"));
    let address = broker.brokers().to_owned();
    let one_partition = [
        ("KAFKA_BROKERS", address.as_str()),
        ("PORTAGE_KAFKA__SESSION_TIMEOUT_MS", "2000"),
        ("PORTAGE_KAFKA__PUBLISH_TIMEOUT_MS", "3000"),
        ("PORTAGE_KAFKA__PARTITIONS", "1"),
    ];
    let mut served = Served::start(&one_partition);
    accounts(&served);
    let token = served.token("4001", USER);
    let said = health(&served);
    assert!(said.contains(r#""kafka":"unavailable""#) && said.contains("degraded"), "{said}");
    assert!((0..20).all(|n| opens(&served, &token, n)), "accepted while the broker is away");
    assert_eq!(balance(&served, "ACC-2"), "1000.000000");
    broker.restart().unwrap_or_else(|why| panic!("{why}"));
    eventually("what was accepted is carried out", || balance(&served, "ACC-2") == "1020.000000");
    eventually("health", || health(&served).contains(r#""kafka":"connected""#));
    for n in 20..80 {
        if n == 40 {
            broker.kill9().unwrap_or_else(|why| panic!("{why}"));
        }
        assert!(opens(&served, &token, n), "{n}");
    }
    broker.restart().unwrap_or_else(|why| panic!("{why}"));
    eventually("over the kill", || balance(&served, "ACC-2") == "1080.000000");
    served.settings.retain(|(name, _)| name != "PORTAGE_KAFKA__PARTITIONS");
    served.again(|_| ());
    assert!((80..100).all(|n| opens(&served, &token, n)));
    eventually("with one partition", || balance(&served, "ACC-2") == "1100.000000");
    assert_eq!(balance(&served, "ACC-1"), "900.000000");
    proves(&served);
}

/// Turns red where a second deployment begins on the topics of the first (the release before): each would take
/// the other's messages.
#[test]
fn a_second_deployment_on_the_same_topics_is_refused() {
    let broker = broker();
    let shared = settings(&broker);
    let mut one = Served::start(&shared);
    accounts(&one);
    let token = one.token("4001", USER);
    assert!(opens(&one, &token, 0));
    eventually("it is carried out", || balance(&one, "ACC-2") == "1001.000000");
    let (code, text) = refused(&shared);
    assert_eq!(code, Some(78), "{text}");
    for part in ["transfer-", "/portage/", "kafka.prefix = \"\""] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let other = Served::start(&[shared[0], shared[1], ("PORTAGE_KAFKA__PREFIX", "other.")]);
    accounts(&other);
    let token_of_other = other.token("4001", USER);
    assert!(opens(&other, &token_of_other, 0));
    eventually("beside it", || balance(&other, "ACC-2") == "1001.000000");
    one.again(|_| ());
    assert!(opens(&one, &token, 1));
    eventually("on its own topics", || balance(&one, "ACC-2") == "1002.000000");
}

/// The largest message that the broker of the next test takes, in bytes.
const LARGEST: u32 = 30_000;

/// Another program publishes the largest garbage that the broker takes, of a key of ours. As a dead letter it is
/// larger, by the headers that say why.
fn publishes_the_largest_garbage(broker: &testbed::Kafka) {
    let settings = KafkaSettings {
        brokers: broker.brokers().to_owned(),
        client_id: "another program".to_owned(),
        prefix: String::new(),
        security: Security::default(),
        session_ms: 6_000,
        publish_timeout_ms: 10_000,
        new_topics: None,
    };
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).enable_all().build().expect("a runtime");
    let taken = runtime.block_on(async {
        let bus = Kafka::open(settings).unwrap_or_else(|cause| panic!("{cause}"));
        for bytes in (0..LARGEST).rev().step_by(16) {
            let bytes = usize::try_from(bytes).expect("it is small");
            let (topic, key) = ("transfer-validation".into(), "ACC-1".into());
            let (payload, headers) = ("x".repeat(bytes).into(), "{}".into());
            let said =
                bus.publish(vec![BusMessage { topic, key, number: 7, payload, headers }]).await;
            if said == [Ok(())] {
                return bytes;
            }
        }
        0
    });
    assert!(taken > 29_000, "{taken}");
}

/// A message that the broker takes and whose dead letter it refuses for its size: the letter waits in the journal, the
/// offset goes on, and so do the transfers of its partition.
///
/// Turns red where a consumer waits until the topic of dead letters has what it gives up.
#[test]
fn a_dead_letter_that_is_larger_than_the_broker_takes_waits_in_the_journal() {
    let broker = testbed::Kafka::taking(LARGEST).unwrap_or_else(|why| panic!("{why}"));
    let [brokers, session] = settings(&broker);
    let served = Served::start(&[brokers, session, ("PORTAGE_KAFKA__PARTITIONS", "1")]);
    accounts(&served);
    let token = served.token("4001", USER);
    assert!(opens(&served, &token, 0));
    eventually("it is carried out", || balance(&served, "ACC-2") == "1001.000000");
    publishes_the_largest_garbage(&broker);
    assert!(opens(&served, &token, 1));
    eventually("behind the garbage", || balance(&served, "ACC-2") == "1002.000000");
    let status = || said(&served.run(&["pipeline", "status", "--json"])).1;
    let letters = || -> Option<(u64, u64)> {
        let status: Value = serde_json::from_str(&status()).ok()?;
        let all = status["dead_letters"].as_array()?;
        let of = all.iter().find(|one| one["topic"] == "transfer-validation-dlt")?;
        Some((of["messages"].as_u64()?, of["in_journal"].as_u64()?))
    };
    eventually("its letter is in the journal", || letters() == Some((0, 1)));
    let cases = || said(&served.run(&["ops", "cases"])).1;
    eventually("a case tells of it", || cases().contains("DEAD_LETTER"));
    assert_eq!(letters(), Some((0, 1)), "{}", status());
    proves(&served);
}

/// Everything that was published goes back to the queue.
const AGAIN: &str = "WITH gone AS (DELETE FROM outbox_history RETURNING *) \
    INSERT INTO outbox_queue (bucket, place, id, req_id, n, topic, partition_key, type, payload, \
    headers, created_at) SELECT bucket, place, id, req_id, n, topic, partition_key, type, payload, \
    headers, created_at FROM gone ON CONFLICT DO NOTHING";

/// A Spot core by itself, as processes that share a journal need one.
struct SharedSpot {
    process: Listening,
    _dir: TempDir,
}

const SPOT_TOKEN: &str = "a-token-of-enough-letters-for-a-test";

impl SharedSpot {
    fn start() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let settings = process::settings(&[("PORTAGE_SPOT__TOKEN", SPOT_TOKEN)]);
        let process = listens(&["spot", "serve"], dir.path(), &settings);
        Self { process: process.unwrap_or_else(|failed| panic!("{failed}")), _dir: dir }
    }
}

/// Two servers share the partitions, money goes both ways at once, one server is killed between its commits,
/// and the whole outbox is published again twice meanwhile. Turns red where a message that comes again has
/// an effect, and where two moves of two accounts lock each other.
#[test]
fn both_ways_at_once_by_two_servers_with_all_messages_again() {
    let (broker, database) = (broker(), testbed::Database::given().expect("a database"));
    let [brokers, session] = settings(&broker);
    let spot = SharedSpot::start();
    let settings = [
        brokers,
        session,
        ("DATABASE_URL", database.url()),
        ("PORTAGE_ENGINE__LEASE_SECONDS", "10"),
        ("PORTAGE_KAFKA__PUBLISH_TIMEOUT_MS", "3000"),
        ("PORTAGE_LEDGERS__SPOT__KIND", "remote"),
        ("PORTAGE_LEDGERS__SPOT__URL", &spot.process.url),
        ("PORTAGE_LEDGERS__SPOT__TOKEN", SPOT_TOKEN),
        // one of them starts again behind seals of the other
        ("PORTAGE_AUDIT__MAC_SECRET", "one key for the audit of both servers"),
    ];
    let (mut one, other) = (Served::start(&settings), Served::start(&settings));
    accounts(&one);
    // each server has a development key of its own
    let tokens = |served: &Served| ["4001", "4002"].map(|owner| served.token(owner, USER));
    let (tokens_one, tokens_other) = (tokens(&one), tokens(&other));
    let ways = [("ACC-1", "ACC-2"), ("ACC-2", "ACC-1")];
    for round in 0..3_usize {
        thread::scope(|scope| {
            for (served, tokens) in [(&one, &tokens_one), (&other, &tokens_other)] {
                for (way, token) in ways.iter().zip(tokens) {
                    scope.spawn(move || {
                        for n in 0..40 {
                            let key = format!("{round}-{n}-{}-{}", way.0, served.port());
                            assert!(opens_from(served, token, *way, &key));
                        }
                    });
                }
            }
        });
        if round < 2 {
            database.sql(AGAIN).expect("all of it again");
        }
        if round == 1 {
            one.again(|_| ());
        }
    }
    let count = |sql: &str| database.sql(sql).expect("a count").trim().to_owned();
    let done = "SELECT count(DISTINCT req_id) FROM outbox WHERE topic = 'transfer-completed'";
    eventually("all are completed", || count(done) == "480");
    let queued = "SELECT count(*) FROM outbox_queue";
    eventually("all is published", || count(queued) == "0");
    for number in ["ACC-1", "ACC-2"] {
        assert_eq!(balance(&one, number), "1000.000000");
    }
    proves(&one);
}
