//! Finds retired keys that were proven gone and that the chain has again: an operator added one by mistake,
//! or another program has a full-access key of the account. Such a key stays retired, but it may sign. So
//! the journal takes the proof back, the lane watch sees what the key spends, and a case tells operators.

use crate::chains::ChainPool;
use crate::chains::Chains;
use crate::commit::outcome::WriteOutcome;
use crate::plan::lane_state::resource_name;
use crate::state::case_kinds::KEY_RETURNED;
use crate::state::select::caught;
use kernel::answer::Cause;
use kernel::operators::{Case, Severity, Subject};
use kernel::ports::chain::{GoneLane, ReturnedLane};
use kernel::unit::{Guard, Put, Unit};
use std::sync::Arc;

impl Chains {
    /// Asks the chain for lanes that were proven gone, and takes the proof back of each that the chain has
    /// again. True where the row of one changed, here or by another worker, so that it must be read again.
    ///
    /// # Errors
    /// Why it is not known now.
    pub(crate) async fn take_back_gone(&self, pool: &ChainPool) -> Result<bool, Cause> {
        let gone = |(lane, gone_at): (Arc<str>, Option<u64>)| {
            gone_at.map(|height| GoneLane { lane, height })
        };
        let gone: Vec<GoneLane> = pool.retired_lanes().into_iter().filter_map(gone).collect();
        if gone.is_empty() {
            return Ok(false);
        }
        let found = caught(async { pool.port.returned(&gone).await }).await;
        let found = found.unwrap_or_else(|| Err(Cause::of("PANIC")))?;
        let mut changed = false;
        for one in found {
            changed |= self.take_back(pool, one).await?;
        }
        Ok(changed)
    }

    async fn take_back(&self, pool: &ChainPool, one: ReturnedLane) -> Result<bool, Cause> {
        let ReturnedLane { lane, height, start } = one;
        let Some(before) = pool.lane(&lane) else { return Ok(false) };
        let Some(gone_at) = before.gone_at() else { return Ok(false) };
        let begins = match &start {
            Some(start) => format!("block {} added it", start.height),
            None => "what it spent since is not known".to_owned(),
        };
        let facts = format!(
            "block {gone_at} had no key {lane}, which is retired; the account has it again at block {height}: {begins}"
        );
        let Some(after) = before.returned(height, start) else { return Ok(false) };
        let name = resource_name(pool.id(), &lane);
        let guard = Guard::Resource { name: name.clone(), version: before.version };
        let case = Case {
            kind: KEY_RETURNED,
            severity: Severity::Critical,
            subject: Subject::Chain(pool.id()),
            facts: facts.into(),
        };
        let puts = vec![Put::Resource { name, value: after.value() }, Put::Case(case.clone())];
        match self.shared.writer.write(Unit::guarded(vec![guard], puts)).await {
            WriteOutcome::Done(_) => {
                pool.lane_is(&lane, after);
                self.cases.noted(&case);
                Ok(true)
            }
            // another worker saw it too, or an operator changed it: its row is read again
            WriteOutcome::Lost(_) => Ok(true),
            WriteOutcome::NotWritten(why) => Err(why.cause),
        }
    }
}
