//! Numbers that are committed late: a write with a lower block of numbers commits after one with a
//! higher.
//!
//! Seen red with a build that passes the numbers of writes that are still under way
//! (`late-numbers-passed`).

#![expect(
    clippy::disallowed_methods,
    reason = "a writer that waits beside another, not a task of the store"
)]

use super::fixture::{database, open};
use crate::fixture::{COIN, Fixture};
use crate::folder_store::fund;
use kernel::ids::Serial;
use kernel::money::Amount;
use kernel::ports::journal::{SnapshotSource as _, UnitWriter as _};
use kernel::unit::Wrote;
use std::sync::Arc;
use store::postgres::Postgres;
use testkit::{MINUTE, wait_until};
use tokio_postgres::Client;

/// A session that opens a transfer of user 2 waits in its COMMIT until the lock 4711 is free.
const HELD: &str = "CREATE FUNCTION held() RETURNS trigger LANGUAGE plpgsql AS \
    $$ BEGIN PERFORM set_config('lock_timeout', '0', true), pg_advisory_xact_lock(4711); RETURN NULL; END $$; \
    CREATE CONSTRAINT TRIGGER held AFTER INSERT ON transfers DEFERRABLE INITIALLY DEFERRED \
    FOR EACH ROW WHEN (NEW.user_id = 2) EXECUTE FUNCTION held()";

/// Reads on behind a number as the conservation check does, and gives back the last one.
async fn reads_on(store: &Postgres, after: Serial, found: &mut Vec<Serial>) -> Serial {
    let mut snapshot = store.snapshot().await.expect("an instant");
    let complete = snapshot.complete().await.expect("a number");
    let mut lines = snapshot.lines(after, 1_000).await.expect("lines");
    lines.retain(|line| line.serial <= complete);
    found.extend(lines.iter().map(|line| line.serial));
    lines.last().map_or(after, |line| line.serial)
}

async fn opened(store: &Postgres, fixture: &Fixture, n: u64, user: u64) -> Serial {
    let wrote = store.write(vec![fixture.opening(n, user, 10)]).await.pop();
    let Some(Wrote::Written(written)) = wrote else { panic!("{wrote:?}") };
    written.serial.expect("it opened a transfer")
}

/// A write waits in its COMMIT.
async fn waits(holder: &Client) -> bool {
    let sql = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted \
               AND classid = 0 AND objid = 4711 AND database = \
               (SELECT oid FROM pg_database WHERE datname = current_database())";
    !holder.query(sql, &[]).await.expect("locks").is_empty()
}

/// Turns red where a reader passes a number that is lower than one that is committed already (run:
/// `complete` as the highest number that there is; `announce` after the number was taken is found by
/// no test, but by its reasoning in `blocks`).
#[tokio::test(flavor = "multi_thread")]
async fn a_number_that_is_committed_late_is_read() {
    let (fixture, database) = (Arc::new(Fixture::new()), database());
    let one = open(database.url(), fixture.clock.clone(), fixture.flows.clone()).await;
    let two = open(database.url(), fixture.clock.clone(), fixture.flows.clone()).await;
    for user in [1, 2] {
        fund(&*one.funding(), user, COIN, Amount(1_000)).await;
    }
    let mut found = Vec::new();
    let first = opened(&one, &fixture, 0, 1).await;
    let after = reads_on(&one, Serial(0), &mut found).await;
    assert_eq!((after, &found), (first, &vec![first]));

    database.sql(HELD).expect("the trigger");
    let (holder, connection) =
        tokio_postgres::connect(database.url(), tokio_postgres::NoTls).await.expect("a connection");
    tokio::spawn(connection);
    holder.batch_execute("SELECT pg_advisory_lock(4711)").await.expect("the lock");
    let slow = {
        let (one, fixture) = (Arc::clone(&one), fixture.clone());
        tokio::spawn(async move { opened(&one, &fixture, 1, 2).await })
    };
    assert!(wait_until(MINUTE, async || waits(&holder).await).await, "it does not wait");
    let third = opened(&two, &fixture, 2, 1).await;
    let after = reads_on(&two, after, &mut found).await;
    assert_eq!(after, first, "a lower number than {third:?} is still being written");

    holder.batch_execute("SELECT pg_advisory_unlock(4711)").await.expect("it is free");
    let second = slow.await.expect("it ends");
    assert!(second < third, "it has the lower number: {second:?}, {third:?}");
    let after = reads_on(&two, after, &mut found).await;
    assert_eq!((after, found), (third, vec![first, second, third]), "the late one is read");
}
