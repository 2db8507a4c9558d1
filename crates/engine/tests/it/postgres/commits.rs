//! A COMMIT whose reply is lost, that was cut, or that never arrived: the process cannot know, and the money
//! moves once.

use super::fixture::{Fixture, quick};
use crate::fixture::defaults::{FUNDING, SPOT};
use engine::Settings;
use testbed::Strike;

/// Turns red where an unknown COMMIT is taken for a failed one (the transfer is opened twice under
/// another id, or its money taken twice) or for a done one (it is stranded).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_commit_of_a_transfer_is_struck_in_every_manner() {
    for fuse in [true, false] {
        let fixture = Fixture::open(quick(fuse)).await;
        let worker = fixture.worker().await;
        // Spot has something to give back
        worker.complete_transfer(FUNDING, 1, "first", 10_000).await;
        let mut n = 0;
        for strike in [Strike::ReplyLost, Strike::Cut, Strike::NeverSent] {
            for from in [FUNDING, SPOT] {
                // one after the other, and two in a row
                for at in [vec![strike], vec![strike, strike]] {
                    n += 1;
                    fixture.proxy.strike(&at);
                    let id = worker.complete_transfer(from, 1, &format!("key-{n}"), 7).await;
                    let again = worker.open_with_key(from, 1, &format!("key-{n}"), 7).await;
                    assert_eq!(id, again, "{strike:?}");
                }
            }
        }
        assert!(fixture.proxy.seen().struck >= 12, "{:?}", fixture.proxy.seen());
        fixture.wait_for_sql("SELECT count(*) FROM transfers", &(n + 1).to_string()).await;
        fixture.assert_in_order(&worker).await;
        worker.kill().await;
    }
}

/// Turns red where one COMMIT without an answer fails a request whose caller waits still: in a server
/// that carries transfers, or in one that leaves them to others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_unknown_commit_fails_no_request() {
    let patient = Settings { open_timeout_ms: 60_000, ..quick(true) };
    let fixture = Fixture::open(patient.clone()).await;
    let mut opened = Vec::new();
    for workers in [false, true] {
        let worker = fixture.worker_with(Settings { workers, ..patient.clone() }).await;
        for strike in [Strike::ReplyLost, Strike::Cut, Strike::NeverSent] {
            for n in 0..3 {
                fixture.proxy.strike(&[strike]);
                let key = format!("{workers}-{strike:?}-{n}");
                let accepted = worker.create_with_key(FUNDING, 1, &key, 7).await;
                let accepted = accepted.unwrap_or_else(|refused| panic!("{key}: {refused:?}"));
                opened.push(accepted.record.id);
            }
        }
        worker.kill().await;
    }
    assert!(fixture.proxy.seen().struck >= 12, "{:?}", fixture.proxy.seen());
    let worker = fixture.worker().await;
    for id in &opened {
        worker.wait_for_state(*id, "COMMITTED").await;
    }
    fixture.wait_for_sql("SELECT count(*) FROM transfers", &opened.len().to_string()).await;
    fixture.assert_in_order(&worker).await;
    worker.kill().await;
}

/// Turns red where a transfer has no worker whose COMMIT came to its end after the journal was asked for
/// it: the journal takes it for this worker's, which lives, and this worker does not know of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_ends_late_strands_nothing() {
    let fixture = Fixture::open(quick(true)).await;
    let worker = fixture.worker().await;
    // longer than all tries to open it again
    fixture.sql(
        "CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
           PERFORM pg_sleep(3); RETURN NULL; END $$;
         CREATE CONSTRAINT TRIGGER slowly AFTER INSERT ON keys DEFERRABLE INITIALLY DEFERRED
           FOR EACH ROW WHEN (NEW.cid = 'late') EXECUTE FUNCTION slowly()",
    );
    fixture.proxy.strike(&[Strike::Cut]);
    let told = worker.create_with_key(FUNDING, 1, "late", 7).await;
    assert!(told.is_err(), "it was not there yet: {told:?}");
    fixture.wait_for_sql("SELECT count(*) FROM transfers", "1").await;
    let id = worker.open_with_key(FUNDING, 1, "late", 7).await;
    worker.wait_for_state(id, "COMMITTED").await;
    fixture.assert_in_order(&worker).await;
    worker.kill().await;
}
