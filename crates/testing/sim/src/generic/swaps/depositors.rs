//! The depositors of a case: they wait until the engine's watch found each deposit, and until every swap ended.

use super::End;
use super::books::{compare, differ, fund};
use crate::chain::PlayedVault;
use crate::generic::chain::ChainClient;
use kernel::answer::Cause;
use kernel::ids::{ChainId, FlowId};
use kernel::ports::Fut;
use kernel::record::Record;
use std::sync::Arc;

/// How often it asks before it gives up: more than half an hour.
const TRIES: u32 = 3_000;
/// Where a swap does not move, the vault and its books are compared at one look of this many.
const SELDOM: u32 = 40;

/// Those who made the deposits of a case.
pub(super) struct Depositors<V> {
    pub at: ChainClient<V>,
    pub chain: ChainId,
    /// Where its payouts are made.
    pub payout: End,
    pub flow: FlowId,
    /// What the chain knows each deposit by, in order.
    pub keys: Vec<Arc<str>>,
}

impl<V: PlayedVault> Depositors<V> {
    /// Wait until every swap ended, and give each back. The books say the same then.
    pub(super) async fn wait(self) -> Result<Vec<Record>, String> {
        let End { chain, asset, .. } = self.payout;
        self.insist(|| Box::pin(fund(&self.at, chain, asset))).await?;
        let ended = self.waits().await?;
        self.insist(|| Box::pin(compare(&self.at))).await?.map(|()| ended)
    }

    /// What a question gives once the journal answers it.
    async fn insist<'a, T>(
        &'a self,
        ask: impl Fn() -> Fut<'a, Result<T, Cause>>,
    ) -> Result<T, String> {
        let mut last = String::new();
        for _ in 0..TRIES {
            match ask().await {
                Ok(said) => return Ok(said),
                Err(cause) => last = cause.to_string(),
            }
            self.at.clock.sleep(250).await;
        }
        Err(format!("the journal does not answer: {last}"))
    }

    /// The swap of each deposit, once it ended.
    async fn waits(&self) -> Result<Vec<Record>, String> {
        let mut ended = Vec::new();
        for key in &self.keys {
            ended.push(self.waits_for(key).await?);
        }
        Ok(ended)
    }

    async fn waits_for(&self, key: &Arc<str>) -> Result<Record, String> {
        let table = self.at.engine.flows().table(self.flow);
        let (mut last, mut seen) = (String::new(), None);
        for n in 0..TRIES {
            let journal = &self.at.journal;
            let scope: Arc<str> = self.chain.name().into();
            let found = journal.find_by_idempotency_key(self.flow, scope, key.clone()).await;
            let version = found.as_ref().ok().and_then(Option::as_ref).map(|one| one.head.version);
            match found {
                Ok(None) => last = format!("{key} was never opened"),
                Ok(Some(record)) if table.ends(record.head.state) => return Ok(record),
                Ok(Some(record)) => {
                    let state = table.state(record.head.state).name;
                    last = format!("{key} is {state} {:?}", record.error);
                }
                Err(cause) => last = cause.to_string(),
            }
            // after every move, not at the end alone; a journal that does not answer now is asked again
            if (version != seen || n.is_multiple_of(SELDOM))
                && let Ok(Some(fault)) = differ(&self.at).await
            {
                return Err(fault);
            }
            seen = version;
            self.at.clock.sleep(250).await;
        }
        Err(format!("it does not end: {last}"))
    }
}
