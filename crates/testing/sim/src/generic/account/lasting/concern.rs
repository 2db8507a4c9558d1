//! Which transfers a fault concerns, and when each must have ended.

use super::super::cases::{AccountCase, CaseTransfer};
use super::{FaultWindow, LastingFault, LastingRun};
use crate::bus::{BrokerFault, PUBLISH_TIMEOUT, TopicPart};
use kernel::ids::Millis;
use kernel::retry::Backoff;

/// How long a transfer takes while nothing goes wrong, with the wait of its client between two looks.
const USUAL: Millis = 500;
/// The waits before a message is sent again.
pub(super) const RESEND: Backoff = Backoff { base: 4_000, cap: 16_000 };
/// The waits before anything else is tried again.
pub(super) const RETRY: Backoff = Backoff { base: 100, cap: 2_000 };
/// How long after a fault the last transfer ends that it kept waiting: the journal's time goes on at half its speed at
/// least, and what was sent before the fault was over fails first.
const AFTER: Millis = 2 * RESEND.cap + 2 * RETRY.cap + PUBLISH_TIMEOUT + 5_000;

impl FaultWindow {
    /// Whether this transfer of the case may wait for the end of the fault.
    fn concerns(&self, case: &AccountCase, transfer: &CaseTransfer) -> bool {
        let of_key = || case.transfers.iter().filter(|other| other.from == transfer.from);
        match &self.fault {
            LastingFault::Broker(BrokerFault::TakesNothing(part)) => {
                // the end of one transfer is published before what follows of its key
                let follows = of_key().count() > 1;
                part.has_key(transfer.from) && (drives(part) || (tells_of_ends(part) && follows))
            }
            LastingFault::Broker(BrokerFault::Loses(part)) => {
                part.has_key(transfer.from) && drives(part)
            }
            LastingFault::LockedAccount(number) => {
                of_key().any(|other| other.from == *number || other.to == *number)
            }
            LastingFault::Broker(BrokerFault::RefusesAbove(_))
            | LastingFault::Strangers
            | LastingFault::Clock(..) => false,
        }
    }
}

/// Its messages move transfers on.
fn drives(part: &TopicPart) -> bool {
    ["transfer-validation", "transfer-execution"].contains(&&*part.topic)
}

fn tells_of_ends(part: &TopicPart) -> bool {
    ["transfer-completed", "transfer-failed"].contains(&&*part.topic)
}

impl LastingRun {
    /// When the transfer must have ended, that was opened then, in milliseconds after the run began.
    pub(super) fn must_end(
        &self,
        case: &AccountCase,
        transfer: &CaseTransfer,
        opened: Millis,
    ) -> Millis {
        let concerning = self.windows.iter().filter(|window| window.concerns(case, transfer));
        match concerning.map(|window| window.until).max() {
            None => opened + 2 * USUAL,
            Some(until) => (if until > opened { until } else { opened }) + AFTER,
        }
    }
}
