//! Random numbers for tests: each process draws the same ones.

use kernel::ports::clock::Rng;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers that no two draws of this process share; each process draws the same ones.
#[derive(Debug, Default, Clone, Copy)]
pub struct UniqueRng;

static DRAWN: AtomicU64 = AtomicU64::new(STEP);

/// An odd step visits every number before one comes again, and mixing maps no two numbers to one (splitmix64).
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Rng for UniqueRng {
    fn next(&self) -> u64 {
        let n = DRAWN.fetch_add(STEP, Ordering::Relaxed);
        let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        n ^ (n >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_draws_are_alike() {
        let drawn: BTreeSet<u64> = (0..10_000).map(|_| UniqueRng.next()).collect();
        assert_eq!(drawn.len(), 10_000);
        assert!(!drawn.contains(&0));
    }
}
