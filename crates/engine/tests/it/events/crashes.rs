//! A process that dies at any write of a transfer that events drive, and one that dies between the bus and
//! the journal.

use super::fixture::AccountService;
use crate::fixture::crash_points::Side;

/// Cut before and after each of its writes, a transfer ends once, with its money moved once.
///
/// Turns red where an offset is committed before the unit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_at_any_write_moves_the_money_once() {
    let events = ["CREATED", "VALIDATION_CALL", "VALIDATION_OK", "EXECUTION_CALL", "EXECUTION_OK"];
    for fuse in [true, false] {
        // a claim that is a unit of its own has consumed its message: the scanner sends another
        let mut test = match fuse {
            true => AccountService::open(fuse).await,
            false => AccountService::impatient(fuse).await,
        };
        test.account("A-1", 1, 1_000).await;
        test.account("B-1", 2, 0).await;
        let mut moved = 0;
        for side in [Side::Before, Side::After] {
            for event in events {
                test.cut_at(side, event).await;
                test.service.restart().await;
                let open = test.open_now().await;
                test.wait_for_end(&open).await;
                // what was cut before its opening never was
                moved += if (side, event) == (Side::Before, "CREATED") { 0 } else { 10 };
                test.holds("B-1", moved).await;
                test.in_order().await;
            }
        }
    }
}
