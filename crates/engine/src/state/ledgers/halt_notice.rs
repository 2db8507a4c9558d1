//! Tells each ledger outside the journal's database the number of the last HALT. A ledger that keeps numbers does
//! nothing from then on for a process that does not know of the HALT, however long that one stood still before it sent.

use crate::state::halt::KillSwitch;
use crate::state::select::{First, caught, race};
use crate::state::shared::SharedState;
use kernel::answer::Cause;
use kernel::ids::{LedgerId, Millis};
use kernel::operation::Known;
use kernel::operators::Subject;
use kernel::ports::journal::ServiceStatus;
use kernel::ports::ledger::Reply;
use kernel::unit::Put;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The longest wait for an answer, in milliseconds.
const NOTICE_TIMEOUT: Millis = 5_000;
/// The most numbers that are passed over at once where the journal is behind a ledger.
const MOST_PASSED_OVER: u64 = 1_000;

/// Tells ledgers of HALTs, and finds those that know of a later one than the journal.
pub(crate) struct HaltNotices {
    shared: Arc<SharedState>,
    kill_switch: Arc<KillSwitch>,
    /// The ledgers for which this process raised a HALT, since they knew of this later one.
    raised: Mutex<BTreeSet<(LedgerId, u64)>>,
}

impl HaltNotices {
    pub(crate) fn new(shared: &Arc<SharedState>, kill_switch: &Arc<KillSwitch>) -> Arc<Self> {
        Arc::new(Self {
            shared: shared.clone(),
            kill_switch: kill_switch.clone(),
            raised: Mutex::default(),
        })
    }

    /// Tells a ledger that is adopted the last number that this process follows, unless it was told.
    pub(crate) async fn tell_last_halt(&self, ledger: LedgerId) {
        let Some((known, number)) = self.shared.controls.untold_halt(ledger) else { return };
        match self.tell(ledger, known, number).await {
            Reply::Answered(_, Some(highest)) if highest > number => {
                self.follow_ledger(ledger, highest).await;
            }
            Reply::Answered(..) => self.shared.controls.note_told_halt(ledger, Some(number)),
            // it is told again at the next look
            Reply::OtherLedger(_) | Reply::NoAnswer(_) => {}
        }
    }

    /// Tells every ledger of the HALT that is in force. True where each has it, or keeps no numbers: what a process
    /// sends that does not know of the HALT is not done any more by one that keeps them.
    pub(crate) async fn tell_all(&self, status: &ServiceStatus) -> bool {
        let mut all = true;
        for ledger in self.shared.outside() {
            // nothing was ever sent to a ledger that the journal has not met
            let Some(known) = status.ledger(ledger) else { continue };
            match self.tell(ledger, known, status.halts).await {
                // another one does nothing for who means the ledger that the journal knows
                Reply::Answered(..) | Reply::OtherLedger(_) => {}
                Reply::NoAnswer(cause) => {
                    let ledger = ledger.name();
                    tracing::warn!(ledger, %cause, "it does not say that it knows of the HALT");
                    all = false;
                }
            }
        }
        all
    }

    async fn tell(&self, ledger: LedgerId, known: Known, number: u64) -> Reply<Option<u64>> {
        let Some(port) = self.shared.ledger(ledger) else {
            return Reply::NoAnswer(Cause::of("NO_LEDGER"));
        };
        let told = caught(async { port.note_halt(known, number).await });
        match race(told, self.shared.parts.clock.sleep(NOTICE_TIMEOUT)).await {
            First::Left(reply) => reply.unwrap_or(Reply::NoAnswer(Cause::of("PANIC"))),
            First::Right(()) => Reply::NoAnswer(Cause::of("TIMEOUT")),
        }
    }

    /// The ledger was told of a later HALT than this process follows. Where the journal has none of that number either,
    /// it was set back: a HALT is in the journal before any ledger is told. Then money stands still, with a number
    /// above the ledger's, until persons resume.
    async fn follow_ledger(&self, ledger: LedgerId, highest: u64) {
        let Ok(status) = self.shared.parts.journal.service_status().await else { return };
        let Some(missing) = highest.checked_sub(status.halts).filter(|missing| *missing > 0) else {
            return;
        };
        let within_reach = missing <= MOST_PASSED_OVER;
        let raised =
            !self.raised.lock().unwrap_or_else(PoisonError::into_inner).insert((ledger, highest));
        // where its number is out of reach the ledger does nothing after a resume either: money is halted again
        let again = if within_reach { raised } else { status.halted.is_some() };
        if again {
            return;
        }
        let (name, halts) = (ledger.name(), status.halts);
        let way = if within_reach { "" } else { ". Its number is out of reach: set it back there" };
        let facts: Arc<str> = format!(
            "{name} was told of HALT {highest}, and this journal has none after {halts}: it was set back, or another \
             service moves money there{way}"
        )
        .into();
        let passed_over = if within_reach { missing } else { 0 };
        let puts = (0..passed_over).map(|_| Put::Halt { reason: facts.clone() }).collect();
        let subject = Subject::Ledger(ledger);
        self.kill_switch.halt_with("WRONG_LEDGER", subject, facts, puts).await;
    }
}
