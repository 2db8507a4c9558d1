//! Learns from proven attempts how long a chain takes until it can prove one. The provers wait that long
//! before they ask: an earlier question only costs a request at a provider. The delay changes no answer.

use kernel::ids::Millis;
use std::sync::atomic::{AtomicU64, Ordering};

/// The longest wait that is learned, in milliseconds: a chain that did not advance says nothing of the next
/// attempt.
const LONGEST: Millis = 10_000;
/// This many short waits follow the first look; then the backoff of unknown answers goes on.
const SHORT_WAITS: u32 = 8;

/// The usual milliseconds from the first send of an attempt to its proof; zero until one was proven.
#[derive(Debug, Default)]
pub(crate) struct ProofDelay {
    usual: AtomicU64,
}

impl ProofDelay {
    /// The wait after this many looks without a proof, the send counted as the first one. `None`: no proof
    /// was learned from yet, or this attempt takes unusually long.
    pub(crate) fn wait(&self, looks: u32) -> Option<Millis> {
        match (self.usual.load(Ordering::Relaxed), looks) {
            (0, _) => None,
            // a little before the usual time, so that a chain which became faster is noticed
            (usual, 0 | 1) => Some(usual.saturating_sub(usual / 4)),
            (usual, looks) if looks <= SHORT_WAITS => Some(usual / 8),
            _ => None,
        }
    }

    /// How many looks the backoff of unknown answers counts.
    pub(crate) fn beyond(&self, looks: u32) -> u32 {
        let learned = self.usual.load(Ordering::Relaxed) > 0;
        if learned { looks.saturating_sub(SHORT_WAITS) } else { looks }
    }

    /// How long after a send it may be of use to send the same bytes again: by then a lost send is likely.
    pub(crate) fn resend_after(&self) -> Millis {
        self.usual.load(Ordering::Relaxed).saturating_mul(2)
    }

    /// Learns that an attempt was proven this many milliseconds after its first send. A slower proof counts
    /// less than a faster one.
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
    fn prove(delay: &ProofDelay, final_after: Millis) -> (Millis, u32) {
        let (mut at, mut looks) = (0, 1);
        while at < final_after {
            at += delay.wait(looks).unwrap_or(100 << looks);
            looks += 1;
        }
        delay.proven(at);
        (at, looks - 1)
    }

    #[test]
    fn a_chain_that_is_as_usual_is_asked_a_few_times() {
        let delay = ProofDelay::default();
        assert_eq!(delay.wait(1), None, "nothing is known of it");
        for _ in 0..50 {
            prove(&delay, 2_400);
        }
        let (at, looks) = prove(&delay, 2_400);
        assert!((2_400..2_800).contains(&at) && looks <= 4, "{at} ms, {looks} looks");
    }

    #[test]
    fn a_faster_chain_is_noticed_and_one_that_stood_still_is_forgotten() {
        let delay = ProofDelay::default();
        (0..50).for_each(|_| delay.proven(600_000));
        assert_eq!(delay.wait(1), Some(LONGEST - LONGEST / 4));
        for _ in 0..50 {
            prove(&delay, 1_000);
        }
        let (at, _) = prove(&delay, 1_000);
        assert!(at < 1_300, "{at} ms");
    }

    #[test]
    fn what_is_not_as_usual_is_asked_later_and_later() {
        let delay = ProofDelay::default();
        delay.proven(2_000);
        assert_eq!(delay.wait(SHORT_WAITS), Some(250));
        assert_eq!(delay.wait(SHORT_WAITS + 1), None);
        assert_eq!(delay.beyond(SHORT_WAITS + 1), 1, "the backoff begins with its shortest wait");
    }
}
