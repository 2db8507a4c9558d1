//! How long a chain takes until an attempt is proven, learned from the attempts that were. A question that
//! comes sooner is a request at a provider for nothing; which answer an attempt gets does not depend on it.

use kernel::ids::Millis;
use std::sync::atomic::{AtomicU64, Ordering};

/// The longest wait that is learned, in milliseconds: a chain that stood still says nothing of the next attempt.
const LONGEST: Millis = 10_000;
/// So many short waits follow the first look; then the backoff of unknown answers goes on.
const SHORT_WAITS: u32 = 8;

/// The usual milliseconds from the first send of an attempt to its proof; zero until one was proven.
#[derive(Debug, Default)]
pub(crate) struct ProofPace {
    usual: AtomicU64,
}

impl ProofPace {
    /// The wait after so many looks without a proof, the send counted as the first one. `None`: nothing is
    /// learned yet, or this attempt is not as usual.
    pub(crate) fn wait(&self, looks: u32) -> Option<Millis> {
        match (self.usual.load(Ordering::Relaxed), looks) {
            (0, _) => None,
            // a little before the usual time, so that a chain which became faster is noticed
            (usual, 0 | 1) => Some(usual.saturating_sub(usual / 4)),
            (usual, looks) if looks <= SHORT_WAITS => Some(usual / 8),
            _ => None,
        }
    }

    /// The looks that the backoff of unknown answers counts.
    pub(crate) fn beyond(&self, looks: u32) -> u32 {
        let learned = self.usual.load(Ordering::Relaxed) > 0;
        if learned { looks.saturating_sub(SHORT_WAITS) } else { looks }
    }

    /// How long after a send the same bytes may be of use again: a lost send is as rare as that wait is long.
    pub(crate) fn resend_after(&self) -> Millis {
        self.usual.load(Ordering::Relaxed).saturating_mul(2)
    }

    /// One was proven so many milliseconds after its first send. What is slower counts less than what is faster.
    pub(crate) fn proven(&self, took: Millis) {
        let took = took.clamp(1, LONGEST);
        let learn = |usual: u64| match usual {
            0 => took,
            usual if took < usual => usual.saturating_sub(usual.saturating_sub(took).div_ceil(4)),
            usual => usual.saturating_add(took.saturating_sub(usual) / 8),
        };
        let usual = learn(self.usual.load(Ordering::Relaxed));
        // two provers may learn at once: one of the two is enough
        self.usual.store(usual, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time until a chain that takes `final_after` is proven, and the looks that it takes.
    fn prove(pace: &ProofPace, final_after: Millis) -> (Millis, u32) {
        let (mut at, mut looks) = (0, 1);
        while at < final_after {
            at += pace.wait(looks).unwrap_or(100 << looks);
            looks += 1;
        }
        pace.proven(at);
        (at, looks - 1)
    }

    #[test]
    fn a_chain_that_is_as_usual_is_asked_a_few_times() {
        let pace = ProofPace::default();
        assert_eq!(pace.wait(1), None, "nothing is known of it");
        (0..50).for_each(|_| drop(prove(&pace, 2_400)));
        let (at, looks) = prove(&pace, 2_400);
        assert!((2_400..2_800).contains(&at) && looks <= 4, "{at} ms, {looks} looks");
    }

    #[test]
    fn a_faster_chain_is_noticed_and_one_that_stood_still_is_forgotten() {
        let pace = ProofPace::default();
        (0..50).for_each(|_| pace.proven(600_000));
        assert_eq!(pace.wait(1), Some(LONGEST - LONGEST / 4));
        (0..50).for_each(|_| drop(prove(&pace, 1_000)));
        let (at, _) = prove(&pace, 1_000);
        assert!(at < 1_300, "{at} ms");
    }

    #[test]
    fn what_is_not_as_usual_is_asked_later_and_later() {
        let pace = ProofPace::default();
        pace.proven(2_000);
        assert_eq!(pace.wait(SHORT_WAITS), Some(250));
        assert_eq!(pace.wait(SHORT_WAITS + 1), None);
        assert_eq!(pace.beyond(SHORT_WAITS + 1), 1, "the backoff begins with its shortest wait");
    }
}
