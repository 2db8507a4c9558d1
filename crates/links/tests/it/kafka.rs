//! Apache Kafka passes the suite that every bus passes, and what only a broker can do.

use conformance::bus::{BusSite, BusSuite};
use kernel::ports::bus::{Bus, BusDelivery, BusMessage};
use links::kafka::{Kafka, KafkaSettings, NewTopics, Security};
use rdkafka::admin::{AdminClient, AdminOptions};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

fn settings(brokers: &str) -> KafkaSettings {
    KafkaSettings {
        brokers: brokers.to_owned(),
        client_id: "portage-tests".to_owned(),
        prefix: String::new(),
        security: Security::default(),
        session_ms: 6_000,
        publish_timeout_ms: 10_000,
        new_topics: Some(NewTopics { partitions: 6, replication: 1 }),
    }
}

fn open(settings: KafkaSettings) -> Kafka {
    Kafka::open(settings).unwrap_or_else(|cause| panic!("{cause}"))
}

/// Names that no other run has: a broker may be an old one.
#[expect(clippy::disallowed_methods, reason = "a name of this run, not a time")]
fn unique() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_micros());
    format!("{}-{now}", std::process::id())
}

fn message(topic: &str, key: &str, number: u128) -> BusMessage {
    let (payload, headers) = (format!("{{\"n\":{number}}}").into(), "{}".into());
    BusMessage { topic: topic.into(), key: key.into(), number, payload, headers }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kafka_is_a_bus() {
    let server = testbed::Kafka::given_or_own().unwrap_or_else(|why| panic!("{why}"));
    let brokers = server.brokers().to_owned();
    let fresh = move || -> BusSite {
        let brokers = brokers.clone();
        Box::new(move || {
            // every name of the suite goes through the prefix and comes back without it
            let settings = KafkaSettings { prefix: "suite.".to_owned(), ..settings(&brokers) };
            Box::pin(async move {
                let bus: Arc<dyn Bus> = Arc::new(open(settings));
                bus
            })
        })
    };
    let suite = BusSuite { fresh: Box::new(fresh), wait: 200, names: unique() };
    Box::pin(conformance::bus::run(&suite)).await;
}

/// Two deployments on one cluster use the same names. Turns red where the prefix is left out of a topic or of a
/// group: one of them consumes what the other published.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deployments_with_two_prefixes_do_not_meet() {
    let server = testbed::Kafka::given_or_own().unwrap_or_else(|why| panic!("{why}"));
    let topic: Arc<str> = format!("t-{}", unique()).into();
    let of = |prefix: &str| {
        open(KafkaSettings { prefix: prefix.to_owned(), ..settings(server.brokers()) })
    };
    let consumed = async |bus: &Kafka, topic: Arc<str>| {
        let member = bus.subscribe("g".into(), vec![topic]).await;
        let mut member = member.unwrap_or_else(|cause| panic!("{cause}"));
        let (mut numbers, mut quiet) = (Vec::new(), 0);
        while quiet < 50 && numbers.is_empty() {
            let polled = member.poll(10, 200).await.unwrap_or_default();
            quiet += 1;
            for one in polled.messages {
                numbers.push((one.message.topic, one.message.number));
                let next = vec![(one.partition, one.offset + 1)];
                member.commit(next).await.unwrap_or_else(|cause| panic!("{cause}"));
            }
        }
        numbers
    };
    let (one, two) = (of("one."), of("two."));
    for (bus, number) in [(&one, 1), (&two, 2)] {
        let said = bus.publish(vec![message(&topic, "a", number)]).await;
        assert_eq!(said, [Ok(())]);
    }
    assert_eq!(consumed(&two, topic.clone()).await, [(topic.clone(), 2)]);
    let lag = one.lag("g".into(), vec![topic.clone()]).await.unwrap_or_default();
    let waits = lag.iter().map(|lag| (lag.partition.topic.clone(), lag.messages()));
    assert_eq!(
        waits.filter(|(_, messages)| *messages > 0).collect::<Vec<_>>(),
        [(topic.clone(), 1)]
    );
    assert_eq!(consumed(&one, topic.clone()).await, [(topic.clone(), 1)]);
    let on_broker: Arc<str> = format!("one.{topic}").into();
    assert_eq!(consumed(&of(""), on_broker.clone()).await, [(on_broker, 1)]);
}

/// A topic that is made anew begins at its first offset, under a member that was further.
///
/// Turns red where a member commits nothing below the offset that it had reached (the release before): the next
/// one would begin there, and pass over what came meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_that_is_made_anew_is_consumed_from_its_beginning() {
    let server = testbed::Kafka::given_or_own().unwrap_or_else(|why| panic!("{why}"));
    let bus = open(settings(server.brokers()));
    let topic: Arc<str> = format!("t-{}", unique()).into();
    let group: Arc<str> = format!("g-{}", unique()).into();
    let publish = async |number: u128| {
        let mut said = Vec::new();
        for _ in 0..100 {
            said = bus.publish(vec![message(&topic, "a", number)]).await;
            if said == [Ok(())] {
                return;
            }
        }
        panic!("{number} is not published: {said:?}");
    };
    let member = bus.subscribe(group.clone(), vec![topic.clone()]).await;
    let mut member = member.unwrap_or_else(|cause| panic!("{cause}"));
    let mut consume = async |last: u128| {
        for _ in 0..300 {
            let Ok(polled) = member.poll(10, 200).await else { continue };
            for one in polled.messages {
                let next = vec![(one.partition, one.offset + 1)];
                let _refused_while_it_changes = member.commit(next).await;
                if one.message.number == last {
                    return;
                }
            }
        }
        panic!("{last} does not come");
    };
    for number in 1..=5 {
        publish(number).await;
    }
    consume(5).await;
    let admin: AdminClient<DefaultClientContext> = ClientConfig::new()
        .set("bootstrap.servers", server.brokers())
        .create()
        .unwrap_or_else(|error| panic!("{error}"));
    let deleted = admin.delete_topics(&[&*topic], &AdminOptions::new()).await;
    assert!(matches!(deleted.as_deref(), Ok([Ok(_)])), "{deleted:?}");
    publish(6).await;
    publish(7).await;
    consume(7).await;
    let mut places = Vec::new();
    for _ in 0..100 {
        // what could not be committed while the topic changed is committed by a poll
        let _none = member.poll(10, 100).await;
        let lag = bus.lag(group.clone(), vec![topic.clone()]).await.unwrap_or_default();
        places = lag.iter().filter(|lag| lag.end > 0).map(|of| (of.next, of.end)).collect();
        if matches!(places[..], [(next, end)] if next == end) {
            break;
        }
    }
    assert!(matches!(places[..], [(next, end)] if next == end && end >= 2), "{places:?}");
}

/// Turns red where a bus that is away fails to open, where a message is called published that is not,
/// and where the wait for it has no end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::disallowed_methods, reason = "the client library's waits are in real time")]
async fn brokers_that_are_away_publish_nothing_and_stop_nothing() {
    let bus = open(KafkaSettings { publish_timeout_ms: 1_000, ..settings("127.0.0.1:9") });
    let begun = Instant::now();
    let said = bus.publish(vec![message("t", "a", 1), message("t", "a", 2)]).await;
    assert!(said.len() == 2 && said.iter().all(Result::is_err), "{said:?}");
    assert!(bus.probe().await.is_err());
    assert!(bus.lag("g".into(), vec!["t".into()]).await.is_err());
    let member = bus.subscribe("g".into(), vec!["t".into()]).await;
    let mut member = member.unwrap_or_else(|cause| panic!("{cause}"));
    let polled = member.poll(10, 50).await;
    assert!(polled.is_ok_and(|polled| polled.messages.is_empty()));
    drop(member);
    assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
}

/// Turns red where a broker that dies in mid-load loses what it acknowledged, or where a message whose
/// outcome is unknown is called published.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_outlives_a_broker_that_is_killed() {
    let mut server = testbed::Kafka::start().unwrap_or_else(|why| panic!("{why}"));
    let bus = open(KafkaSettings { publish_timeout_ms: 2_000, ..settings(server.brokers()) });
    let topic = format!("t-{}", unique());
    let mut acknowledged = 0;
    let mut unknown = 0;
    for batch in 0..40_u128 {
        if batch == 10 {
            server.kill9().unwrap_or_else(|why| panic!("{why}"));
        }
        if batch == 12 {
            server.restart().unwrap_or_else(|why| panic!("{why}"));
        }
        // as the publisher does: again, until it is known to be there
        loop {
            let all = (0..20).map(|n| message(&topic, &format!("key {n}"), batch * 20 + n));
            let said = bus.publish(all.collect()).await;
            if said.iter().all(Result::is_ok) {
                acknowledged += said.len();
                break;
            }
            unknown += 1;
            if batch >= 10 && server.process().is_none() {
                server.restart().unwrap_or_else(|why| panic!("{why}"));
            }
        }
    }
    let member = bus.subscribe("g".into(), vec![topic.as_str().into()]).await;
    let mut member = member.unwrap_or_else(|cause| panic!("{cause}"));
    let (mut found, mut quiet) = (std::collections::BTreeMap::new(), 0);
    while quiet < 20 && found.len() < acknowledged {
        let polled = member.poll(500, 200).await.unwrap_or_default();
        quiet = if polled.messages.is_empty() { quiet + 1 } else { 0 };
        for one in polled.messages {
            found.entry(one.message.number).or_insert(one.message.key);
        }
    }
    assert_eq!((found.len(), acknowledged), (800, 800));
    assert!(unknown > 0, "the broker was away while something was published");
}

/// The broker's own bound on sizes decides: what it takes is published whole, and what it refuses keeps no other back.
///
/// Turns red where the client's bound is below the broker's, as the library's default of 1 000 000 bytes is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_is_as_large_as_the_broker_takes_it() {
    let server = testbed::Kafka::given_or_own().unwrap_or_else(|why| panic!("{why}"));
    let bus = open(settings(server.brokers()));
    let topic: Arc<str> = format!("t-{}", unique()).into();
    let of = |number: u128, bytes: usize| BusMessage {
        payload: "x".repeat(bytes).into(),
        ..message(&topic, "a", number)
    };
    assert_eq!(bus.publish(vec![of(1, 1_040_000)]).await, [Ok(())]);
    let refused = bus.publish(vec![of(2, 1_050_000)]).await;
    assert!(matches!(refused[..], [Err(_)]), "{refused:?}");
    assert_eq!(bus.publish(vec![of(3, 10)]).await, [Ok(())]);
    let member = bus.subscribe("g".into(), vec![topic.clone()]).await;
    let mut member = member.unwrap_or_else(|cause| panic!("{cause}"));
    let mut found = Vec::new();
    for _ in 0..100 {
        let polled = member.poll(10, 200).await.unwrap_or_default();
        let one = |one: BusDelivery| (one.message.number, one.message.payload.len());
        found.extend(polled.messages.into_iter().map(one));
        if found.len() > 1 {
            break;
        }
    }
    assert_eq!(found, [(1, 1_040_000), (3, 10)]);
}
