//! A leg at Funding that something hinders: it is counted, told, and made once the cause is gone.

use crate::fixture::defaults::{FUNDING, NEVER, SPOT};
use crate::fixture::test_service::TestService;

/// Turns red where a fused unit that was not written is only tried again, uncounted: people would
/// see a transfer that waits for nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fused_deposit_that_a_trigger_hinders_is_counted_and_ends_later() {
    for fuse in [true, false] {
        let service = TestService::open(fuse, NEVER).await;
        let out = service.open_transfer(FUNDING, 1, 500).await;
        service.wait_for_end(&[out]).await;
        service.hinder("NEW.user_id = 1");
        let back = service.open_transfer(SPOT, 1, 200).await;
        service.wait_for_retries(back, 3).await;
        let stands = service.records(&[back]).await;
        assert!(stands.iter().all(|record| record.error.is_some()), "fuse={fuse}: {stands:?}");
        assert_eq!(service.engine.halted(), None);
        service.unhinder();
        service.wait_for_end(&[back]).await;
        assert_eq!(service.states(&[back]).await.values().collect::<Vec<_>>(), [&"COMMITTED"]);
        service.assert_in_order().await;
    }
}
