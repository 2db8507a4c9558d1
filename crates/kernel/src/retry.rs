//! Computes when to ask again: exponential backoff with jitter, for any number of tries.

use crate::ids::Millis;

/// The bounds of the wait between two attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The longest wait after the first unknown answer, in milliseconds; it doubles with each.
    pub base: Millis,
    /// The wait never grows above this, in milliseconds.
    pub cap: Millis,
}

impl Backoff {
    /// The wait after `retries` unknown answers: `base · 2^(retries-1)`, at most `cap`, of which the
    /// upper half is random so that those who failed together do not return together.
    pub fn wait(self, retries: u32, random: u64) -> Millis {
        let doublings = retries.clamp(1, 32).saturating_sub(1);
        let full = self.base.saturating_mul(1 << doublings).clamp(0, self.cap);
        let half = full / 2;
        half.saturating_add(random % (full.saturating_sub(half).saturating_add(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::Backoff;

    #[test]
    fn grows_and_stays_within_its_bounds() {
        let b = Backoff { base: 100, cap: 30_000 };
        for retries in 0..200 {
            for random in [0, 1, u64::MAX / 2, u64::MAX] {
                let wait = b.wait(retries, random);
                assert!((50..=30_000).contains(&wait), "{retries}: {wait}");
            }
        }
        assert!(b.wait(1, 0) < b.wait(3, 0));
        assert_eq!(b.wait(100, 0), 15_000);
    }
}
