//! The bus in the process passes the suite that every bus passes.

use conformance::bus::{BusSite, BusSuite};
use kernel::ports::bus::{Bus as _, BusMessage};
use links::in_process::InProcess;
use std::sync::Arc;
use testkit::ManualClock;

const NOON: u64 = 1_700_000_000_000;

#[tokio::test]
async fn the_bus_in_the_process_is_a_bus() {
    let fresh = || -> BusSite {
        let dir = Arc::new(tempfile::tempdir().expect("a folder"));
        let mut now = NOON;
        Box::new(move || {
            let file = dir.path().join("bus.db");
            now += 1_000;
            Box::pin(async move {
                let bus: Arc<dyn kernel::ports::bus::Bus> = Arc::new(open(&file, now));
                bus
            })
        })
    };
    // its clock stands still: a poll that waited would wait for ever
    let suite = BusSuite { fresh: Box::new(fresh), wait: 0, names: String::new() };
    Box::pin(conformance::bus::run(&suite)).await;
}

/// Turns red where messages that were forgotten count as messages that wait: a group that was away
/// longer than the file keeps them would seem to be behind for ever.
#[tokio::test]
async fn what_is_forgotten_is_not_behind() {
    let dir = tempfile::tempdir().expect("a folder");
    let clock = ManualClock::at(NOON);
    let bus = InProcess::open(&dir.path().join("bus.db"), Arc::new(clock.clone()));
    let bus = bus.unwrap_or_else(|cause| panic!("{cause}"));
    let message = |number| BusMessage {
        topic: "t".into(),
        key: "a".into(),
        number,
        payload: "{}".into(),
        headers: "{}".into(),
    };
    assert_eq!(bus.publish(vec![message(1), message(2)]).await, [Ok(()), Ok(())]);
    clock.set(NOON + 5);
    assert_eq!(bus.publish(vec![message(3)]).await, [Ok(())]);
    assert_eq!(bus.forget(NOON + 1), Ok(2));
    let lag = bus.lag("g".into(), vec!["t".into()]).await.unwrap_or_default();
    let behind: Vec<_> = lag.iter().filter(|lag| lag.end > 0).collect();
    let [one] = behind.as_slice() else { panic!("{lag:?}") };
    assert_eq!((one.messages(), one.next, one.oldest), (1, 2, Some(NOON + 5)));
    assert_eq!(bus.forget(NOON + 9), Ok(1));
    let lag = bus.lag("g".into(), vec!["t".into()]).await.unwrap_or_default();
    assert!(lag.iter().all(|lag| lag.messages() == 0 && lag.oldest.is_none()), "{lag:?}");
}

fn open(file: &std::path::Path, now: u64) -> InProcess {
    InProcess::open(file, Arc::new(ManualClock::at(now))).unwrap_or_else(|cause| panic!("{cause}"))
}

/// Turns red where a poll that fails in one partition has moved past what it had read of others: they would
/// come after the next rebalance only.
#[tokio::test]
async fn a_partition_that_cannot_be_read_costs_the_others_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("bus.db");
    let bus = open(&file, NOON);
    let message = |number: u32| BusMessage {
        topic: "t".into(),
        key: format!("key-{number}").into(),
        number: u128::from(number),
        payload: "{}".into(),
        headers: "{}".into(),
    };
    let mut member = bus.subscribe("g".into(), vec!["t".into()]).await.expect("a member");
    let _assigned = member.poll(10, 0).await.expect("its partitions");
    let published = bus.publish((0..24).map(message).collect()).await;
    assert!(published.iter().all(Result::is_ok), "{published:?}");
    let damage = |payload: &str| {
        let tool = rusqlite::Connection::open(&file).expect("the file");
        let sql = format!(
            "UPDATE messages SET payload = {payload} WHERE partition = (SELECT max(partition) FROM messages)"
        );
        assert!(tool.execute(&sql, []).expect("a change") > 0);
    };
    damage("x'ff'");
    let mut numbers = Vec::new();
    for round in 0..24 {
        if round == 12 {
            damage("'{}'");
        }
        let polled = member.poll(100, 0).await;
        assert!(round < 12 || polled.is_ok(), "{polled:?}");
        let messages = polled.into_iter().flat_map(|polled| polled.messages);
        numbers.extend(messages.map(|delivery| delivery.message.number));
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (0..24).collect::<Vec<u128>>());
}
