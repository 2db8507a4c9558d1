//! Does for the pipeline's gatherers what needs the chain or the journal: it asks for the next lock of a
//! lane, and writes the unit of a claim.

use crate::chains::ChainPool;
use crate::chains::Chains;
use crate::chains::carried::Carried;
use crate::chains::lanes::ReservedLane;
use crate::commit::outcome::WriteOutcome;
use crate::plan::chain_stop::LANE_AHEAD;
use crate::state::select::caught;
use kernel::answer::Cause;
use kernel::attempt::{Attempt, Lock};
use kernel::flow::table::{A, S};
use kernel::ports::chain::KEY_ABSENT;
use kernel::record::Record;
use kernel::unit::{Guard, Unit, Written};
use std::sync::Arc;

/// A lane that had trouble rests as long as after this many unknown answers.
pub(crate) const TROUBLE: u32 = 4;

/// The chain, the lane and the act of a claim.
pub(crate) struct Gathering {
    pub pool: Arc<ChainPool>,
    pub lane: ReservedLane,
    /// The act that the attempt makes, and the sending state of its members.
    pub act: A,
    pub to: S,
}

/// The outcome of writing a claim.
pub(crate) enum ClaimOutcome {
    /// This run knows that the unit is durable.
    Stored(Written),
    /// The unit had no clear answer, and the journal has the attempt.
    Found(Attempt),
    Lost(Guard),
    /// The unit contradicts the journal: the same unit is never written.
    Contradicted(Cause),
}

impl Chains {
    pub(crate) async fn next_lock(
        &self,
        pool: &ChainPool,
        lane: &ReservedLane,
        records: &[Record],
    ) -> Result<Lock, Cause> {
        let stored = lane.state.last().map(|(lock, _)| lock);
        let call =
            caught(async { pool.port.next_lock(&lane.name, stored.as_ref(), records).await });
        call.await.unwrap_or_else(|| Err(Cause::of("PANIC")))
    }

    /// Lets the lane rest, which has no next lock now, or closes claims where its key may be used
    /// elsewhere.
    pub(crate) fn no_lock(&self, Gathering { pool, lane, .. }: &Gathering, cause: &Cause) {
        tracing::warn!(chain = pool.id().name(), lane = %lane.name, %cause, "no next lock");
        lane.rests(self.shared.due(TROUBLE));
        if cause.class == LANE_AHEAD {
            // another worker may have used it since its row was read: who looks finds out
            pool.lane_check.close();
        } else if cause.class == KEY_ABSENT {
            // a person is told of it
            pool.lane_check.request_look();
        }
    }

    /// Writes the unit of a claim until its outcome is known. After an unknown answer it first asks the
    /// journal for the attempt; where the journal has none, it writes the very same unit again.
    pub(crate) async fn write_claim(&self, attempt: &Attempt, unit: Unit) -> ClaimOutcome {
        let mut unsure = false;
        loop {
            let over = match self.shared.writer.write(unit.clone()).await {
                WriteOutcome::Done(written) => return ClaimOutcome::Stored(written),
                WriteOutcome::Lost(guard) => Some(ClaimOutcome::Lost(guard)),
                WriteOutcome::NotWritten(why) if why.cause.class == Cause::CONTRADICTION => {
                    Some(ClaimOutcome::Contradicted(why.cause))
                }
                WriteOutcome::NotWritten(why) => {
                    unsure |= why.refused.is_none();
                    None
                }
            };
            if unsure && let Some(found) = self.find_attempt(attempt).await {
                return ClaimOutcome::Found(found);
            }
            if let Some(over) = over {
                return over;
            }
            self.shared.parts.clock.sleep(self.shared.parts.settings.backoff.base).await;
        }
    }

    /// Carries an attempt from now on that sends nothing: another program's transaction paid its members.
    pub(crate) fn hold_found(&self, pool: &ChainPool, attempt: Attempt) {
        for member in attempt.members.iter() {
            self.in_flight.release(member.id);
        }
        pool.carried.begin(Carried::found(attempt), 0);
    }

    /// Carries the attempt from now on. `written`: this run knows that it is durable; without that, one
    /// more write proves it before anything is sent.
    pub(crate) fn hold_attempt(
        &self,
        Gathering { pool, lane, .. }: &Gathering,
        attempt: Attempt,
        written: Option<Written>,
    ) {
        for member in attempt.members.iter() {
            self.in_flight.release(member.id);
        }
        pool.lane_is(&lane.name, lane.state.next(&attempt));
        let mut carried = Carried::claimed(attempt);
        carried.taken = written.is_some();
        pool.carried.begin(carried, 0);
    }
}
