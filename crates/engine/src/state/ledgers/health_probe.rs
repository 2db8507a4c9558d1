//! Asks each ledger outside the journal's database from time to time whether it answers, for the monitor
//! and for the handback.

use crate::state::ledgers::halt_notice::HaltNotices;
use crate::state::select::{First, caught, race};
use crate::state::shared::SharedState;
use kernel::answer::Cause;
use kernel::ids::{LedgerId, Millis};
use kernel::ports::ledger::Reply;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The time without an answer, in milliseconds, after which a ledger counts as silent.
const HELLO_TIMEOUT: Millis = 5_000;

/// A ledger's time without an answer.
struct Silence {
    /// When the first question had no answer, by the journal's time.
    since: Millis,
    /// Why the last one had none.
    cause: Cause,
}

/// Keeps the ledgers that do not answer, and since when, by the journal's time.
pub(crate) struct HealthProbes {
    shared: Arc<SharedState>,
    notices: Arc<HaltNotices>,
    silent: Mutex<BTreeMap<LedgerId, Silence>>,
}

impl HealthProbes {
    pub(crate) fn new(shared: &Arc<SharedState>, notices: &Arc<HaltNotices>) -> Arc<Self> {
        let (shared, notices) = (shared.clone(), notices.clone());
        Arc::new(Self { shared, notices, silent: Mutex::default() })
    }

    fn silent_since(&self) -> MutexGuard<'_, BTreeMap<LedgerId, Silence>> {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Since when the ledger has not answered; `None` for one that answers.
    fn since(&self, ledger: LedgerId) -> Option<Millis> {
        self.silent_since().get(&ledger).map(|silence| silence.since)
    }

    /// Why the last question to a silent ledger had no answer.
    pub(crate) fn why_silent(&self, ledger: LedgerId) -> Option<Cause> {
        self.silent_since().get(&ledger).map(|silence| silence.cause.clone())
    }

    /// True where the ledger has not answered for at least `most` milliseconds.
    pub(crate) fn silent_for(&self, ledger: LedgerId, most: Millis) -> bool {
        let now = self.shared.parts.journal.now();
        self.since(ledger).is_some_and(|since| now.saturating_sub(since) >= most)
    }

    fn note_silence(&self, ledger: LedgerId, cause: Cause) {
        let now = self.shared.parts.journal.now();
        let mut all = self.silent_since();
        let since = all.get(&ledger).map_or(now, |silence| silence.since);
        all.insert(ledger, Silence { since, cause });
    }

    /// Asks a ledger who it is, again and again. Any answer counts, whichever ledger it names. One that answers is
    /// told of the last HALT.
    pub(crate) async fn run_health_probe(self: Arc<Self>, ledger: LedgerId) {
        let every = self.shared.parts.settings.scan_interval_ms;
        let Some(port) = self.shared.ledger(ledger) else { return };
        loop {
            let hello = caught(async { port.hello().await });
            match race(hello, self.shared.parts.clock.sleep(HELLO_TIMEOUT)).await {
                First::Left(Some(Reply::Answered(..) | Reply::OtherLedger(_))) => {
                    self.silent_since().remove(&ledger);
                    self.notices.tell_last_halt(ledger).await;
                }
                First::Left(Some(Reply::NoAnswer(cause))) => self.note_silence(ledger, cause),
                First::Left(None) => self.note_silence(ledger, Cause::of("PANIC")),
                First::Right(()) => self.note_silence(ledger, Cause::of("TIMEOUT")),
            }
            self.shared.parts.clock.sleep(every).await;
        }
    }
}
