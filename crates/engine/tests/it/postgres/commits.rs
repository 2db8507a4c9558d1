//! A COMMIT whose reply is lost, that was cut, or that never arrived: nobody here knows, and the money
//! moves once.

use super::site::{Site, quick};
use crate::house::{FUNDING, SPOT};
use testbed::Strike;

/// Turns red where an unknown COMMIT is taken for a failed one (the transfer is opened twice under
/// another id, or its money taken twice) or for a done one (it is stranded).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_commit_of_a_transfer_is_struck_in_every_manner() {
    for fuse in [true, false] {
        let site = Site::open(quick(fuse)).await;
        let worker = site.worker().await;
        // Spot has something to give back
        let first = worker.keyed(FUNDING, 1, "first", 10_000).await;
        worker.reaches(first, "COMMITTED").await;
        let mut n = 0;
        for strike in [Strike::ReplyLost, Strike::Cut, Strike::NeverSent] {
            for from in [FUNDING, SPOT] {
                // one after the other, and two in a row
                for at in [vec![strike], vec![strike, strike]] {
                    n += 1;
                    site.proxy.strike(&at);
                    let id = worker.keyed(from, 1, &format!("key-{n}"), 7).await;
                    worker.reaches(id, "COMMITTED").await;
                    let again = worker.keyed(from, 1, &format!("key-{n}"), 7).await;
                    assert_eq!(id, again, "{strike:?}");
                }
            }
        }
        assert!(site.proxy.seen().struck >= 12, "{:?}", site.proxy.seen());
        site.until("SELECT count(*) FROM transfers", &(n + 1).to_string()).await;
        site.adds_up(&worker).await;
        worker.kill().await;
    }
}
