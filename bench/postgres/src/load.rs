//! A load of concurrent callers, each with one transfer in flight.

use crate::Outcome;
use crate::probe::{micros, now};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What every transfer moves.
pub(crate) const AMOUNT: i64 = 1_000;

/// What every account holds at first.
pub(crate) const FUNDED: u64 = 1_000_000_000_000;

/// Which users' money moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spread {
    /// The transfers are spread over this number of users, one after the other in no order.
    Users(u64),
    /// Every transfer is of one user.
    Hot,
}

impl Spread {
    /// The user of the nth transfer.
    pub(crate) fn user(self, n: u64) -> i64 {
        match self {
            Self::Hot => 1,
            // a multiplication by an odd number and a shift: spread, and the same in every run
            Self::Users(users) => {
                let mixed = n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
                i64::try_from(1 + mixed % users).unwrap_or(1)
            }
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Users(_) => "uniform",
            Self::Hot => "hot",
        }
    }
}

/// Runs `callers` at once for a time; gives one duration for each transfer and the whole.
pub(crate) async fn drive<F, T>(
    callers: usize,
    time: Duration,
    keys: &Arc<AtomicU64>,
    call: F,
) -> Outcome<(Vec<u32>, Duration)>
where
    F: Fn(u64) -> T + Clone + Send + 'static,
    T: Future<Output = Outcome> + Send,
{
    let begun = now();
    let until = begun + time;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..callers {
        let (call, keys) = (call.clone(), keys.clone());
        tasks.spawn(async move {
            let mut took = Vec::new();
            while now() < until {
                let begun = now();
                call(keys.fetch_add(1, Ordering::Relaxed)).await?;
                took.push(micros(begun));
            }
            Ok::<_, String>(took)
        });
    }
    let mut took = Vec::new();
    while let Some(done) = tasks.join_next().await {
        took.extend(done.map_err(|why| why.to_string())??);
    }
    Ok((took, now().duration_since(begun)))
}
