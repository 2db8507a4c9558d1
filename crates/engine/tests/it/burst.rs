//! Many more openings at once than there is room for at a station.

use crate::fixture::defaults::{FUNDING, NEVER};
use crate::fixture::faulty_ledger::CallFault;
use crate::fixture::test_service::TestService;
use futures_util::future::join_all;

/// What finds no room is opened in the journal for the scanner, which asks for as much as there is room for:
/// no transfer is written once more to be put off. Seen red where room is counted at each station by itself:
/// those that wait at one come to the next, and 50 of 600 were put off.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_of_openings_is_pulled_as_there_is_room() {
    for fuse in [true, false] {
        let service = TestService::open_with(fuse, NEVER, |settings| {
            (settings.ring, settings.batch_max) = (64, 4);
        })
        .await;
        service
            .tool()
            .execute_batch(
                "CREATE TABLE put_off (transfer_id); \
                 CREATE TRIGGER put_off AFTER UPDATE ON transfers WHEN NEW.error_class = 'OVERFLOW' \
                 BEGIN INSERT INTO put_off VALUES (NEW.transfer_id); END",
            )
            .expect("a trigger");
        service.faulty_spot.set_fault(CallFault::Silent);
        let open = (0..600_u64).map(|n| service.open_transfer(FUNDING, 1 + n % 9, 1));
        let ids = join_all(open).await;
        service.faulty_spot.set_fault(CallFault::None);
        service.wait_for_end(&ids).await;
        let put_off =
            service.tool().query_row("SELECT count(*) FROM put_off", [], |row| row.get(0));
        assert_eq!(put_off, Ok(0_i64), "fuse={fuse}");
        service.assert_in_order().await;
    }
}
