//! A hundred plain kills of PostgreSQL and of the process, under work and with lost replies: nothing
//! halts, everything ends, and nothing happens twice.

use super::fixture::{Fixture, Worker, quick};
use crate::fixture::defaults::{FUNDING, GIVEN, SOURCES};
use crate::fixture::faulty_ledger::CallFault;
use kernel::ids::{Id, LedgerId};
use testbed::Strike;

const KILLS: usize = 100;

/// What a client asked for; the number where it was told.
type Request = (LedgerId, String, Option<Id>);

/// Transfers whose answers at Spot, and whose writes' answers, are lost.
async fn hindered(fixture: &Fixture, worker: &Worker, round: usize, asked: &mut Vec<Request>) {
    fixture.faulty_spot.set_fault(CallFault::LoseReplies);
    for (n, from) in SOURCES.into_iter().enumerate() {
        if round % 3 == n {
            fixture.proxy.strike(&[Strike::ReplyLost]);
        }
        let key = format!("{round}-{}", from.name());
        let told = worker.create_with_key(from, 1, &key, 3).await;
        asked.push((from, key, told.ok().map(|accepted| accepted.record.id)));
    }
}

/// Turns red where an operation without a receipt halts the next start instead of being
/// matched, where a plain crash of PostgreSQL is taken for another database, and where anything is
/// called under another key after it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_kills_with_lost_receipts_halt_nothing() {
    let mut settings = quick(true);
    (settings.open_timeout_ms, settings.sync_timeout_ms) = (100, 10);
    // with a hundred kills one transfer may lose its answers for as long as the test lasts, and is alerted
    settings.alerts.target_pending_seconds = 86_400;
    let mut fixture = Fixture::open(settings).await;
    fixture.owned = true;
    let mut worker = fixture.worker().await;
    worker.complete_transfer(FUNDING, 1, "first", 10_000).await;
    let mut asked = Vec::new();
    for round in 0..KILLS {
        hindered(&fixture, &worker, round, &mut asked).await;
        if round % 2 == 0 {
            fixture.server.kill9().expect("it is killed");
            fixture.server.restart().expect("it comes back");
            fixture.faulty_spot.set_fault(CallFault::None);
        } else {
            worker.kill().await;
            fixture.faulty_spot.set_fault(CallFault::None);
            fixture.reopen_spot().await;
            worker = fixture.worker().await;
        }
        assert_eq!(worker.engine.halted(), None, "after kill {round}");
    }
    for (from, key, told) in &asked {
        let id = worker.open_with_key(*from, 1, key, 3).await;
        assert!(told.is_none_or(|told| told == id), "{key} was acknowledged as another transfer");
    }
    fixture.wait_for_sql("SELECT count(*) FROM transfers", &(asked.len() + 1).to_string()).await;
    fixture.assert_in_order(&worker).await;
    // as much went there as came back
    let left = fixture.sql("SELECT sum(available) FROM balances_tb WHERE user_id = 1");
    assert_eq!(left, (GIVEN - 10_000).to_string());
    // one that ran alone at three of the kills is named as what its owners may have died of
    let critical = "SELECT kind, subject, facts FROM cases \
        WHERE severity = 'CRITICAL' AND kind <> 'POISON'";
    assert_eq!(fixture.sql(critical), "");
    worker.kill().await;
}
