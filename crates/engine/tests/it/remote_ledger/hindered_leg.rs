//! A leg at Funding that something hinders: it is counted, told, and made once the cause is gone.

use crate::fixture::test_service::{FUNDING, NEVER, SPOT, TestService};
use std::time::Duration;

/// Turns red where a fused unit that was not written is only tried again, uncounted: people would
/// see a transfer that waits for nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fused_deposit_that_a_trigger_hinders_is_counted_and_ends_later() {
    for fuse in [true, false] {
        let service = TestService::open(fuse, NEVER).await;
        let out = service.opened(FUNDING, 1, 500).await;
        service.ended(&[out]).await;
        service.hinder("NEW.user_id = 1");
        let back = service.opened(SPOT, 1, 200).await;
        let mut seen = 0;
        for _ in 0..12_000 {
            let stands = service.stand(&[back]).await;
            seen = stands.first().map_or(0, |record| record.head.retries);
            if seen >= 3 {
                assert!(stands.iter().all(|record| record.error.is_some()), "{stands:?}");
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(seen >= 3, "fuse={fuse}: only {seen} retries are counted");
        assert_eq!(service.engine().halted(), None);
        service.unhinder();
        service.ended(&[back]).await;
        assert_eq!(service.states(&[back]).await.values().collect::<Vec<_>>(), [&"COMMITTED"]);
        service.adds_up().await;
    }
}
