//! A leg at Funding that something hinders: it is counted, told, and made once the cause is gone.

use crate::house::{FUNDING, House, NEVER, SPOT};
use std::time::Duration;

/// Turns red where a fused unit that was not written is only tried again, uncounted: people would
/// see a transfer that waits for nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fused_deposit_that_a_trigger_hinders_is_counted_and_ends_later() {
    for fuse in [true, false] {
        let house = House::open(fuse, NEVER).await;
        let out = house.opened(FUNDING, 1, 500).await;
        house.ended(&[out]).await;
        house.hinder("NEW.user_id = 1");
        let back = house.opened(SPOT, 1, 200).await;
        let mut seen = 0;
        for _ in 0..500 {
            let stands = house.stand(&[back]).await;
            seen = stands.first().map_or(0, |record| record.head.retries);
            if seen >= 3 {
                assert!(stands.iter().all(|record| record.error.is_some()), "{stands:?}");
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(seen >= 3, "fuse={fuse}: only {seen} retries are counted");
        assert_eq!(house.engine().halted(), None);
        house.unhinder();
        house.ended(&[back]).await;
        assert_eq!(house.states(&[back]).await.values().collect::<Vec<_>>(), [&"COMMITTED"]);
        house.adds_up().await;
    }
}
