//! Tells a chain's port what the chain carried out for the attempts of every process, by the rows of lanes. Whether
//! a transfer that was refused is to blame is judged by whichever process tries it, and the payments that show it may
//! all be another one's.

use crate::chains::ChainPool;
use crate::chains::Chains;
use kernel::answer::Cause;
use kernel::ports::chain::CarriedOut;
use kernel::record::Record;

/// The number of a lane's last attempts among which the one that was carried out is looked for. Behind it more of them
/// failed: the next one that is carried out is told.
const RECENT: usize = 16;

impl Chains {
    /// Before a transfer that failed is tried again by itself.
    pub(crate) async fn tell_carried_out(&self, pool: &ChainPool, records: &[Record]) {
        let [record] = records else { return };
        if record.error.is_none() {
            return;
        }
        if let Err(cause) = self.read_carried_out(pool).await {
            tracing::warn!(chain = pool.id().name(), %cause, "what others were paid is not known");
        }
    }

    /// Tells the port of each attempt that the rows of lanes have since it was told last.
    async fn read_carried_out(&self, pool: &ChainPool) -> Result<(), Cause> {
        self.read_lanes(pool).await?;
        for (lane, state) in pool.stored_lanes() {
            let told = pool.told_height(&lane);
            let newer: Vec<_> = state.carried_out.above(told).collect();
            let Some(highest) = newer.iter().map(|act| act.height).max() else { continue };
            let journal = &self.shared.parts.journal;
            let recent = journal.attempts_of_lane(pool.id(), lane.clone(), RECENT).await?;
            for act in newer {
                let attempt = recent.iter().find(|attempt| attempt.id == act.attempt);
                let Some(attempt) = attempt else { continue };
                let accounts = attempt.members.iter().map(|one| one.target().account.clone());
                pool.port.note_carried_out(&CarriedOut {
                    act: act.act.clone(),
                    asset: act.asset,
                    accounts: accounts.collect(),
                    height: act.height,
                });
            }
            pool.told_until(lane, highest);
        }
        Ok(())
    }
}
