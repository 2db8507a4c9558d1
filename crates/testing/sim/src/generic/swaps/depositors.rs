//! The depositors of a case: they wait until the engine's watch found each deposit, and until every swap ended.

use super::End;
use super::books::{compare, fund};
use crate::generic::chain::ChainClient;
use kernel::answer::Cause;
use kernel::ids::{ChainId, FlowId};
use kernel::ports::Fut;
use kernel::record::{Record, Terms};
use std::sync::Arc;

/// How often it asks before it gives up: more than half an hour.
const TRIES: u32 = 3_000;

/// Those who made the deposits of a case.
pub(super) struct Depositors {
    pub at: ChainClient,
    pub chain: ChainId,
    /// Where its payouts are made.
    pub payout: End,
    pub flow: FlowId,
    /// Every deposit of its chain, in order.
    pub deposits: Vec<Terms>,
}

impl Depositors {
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
        for deposit in &self.deposits {
            ended.push(self.waits_for(deposit).await?);
        }
        Ok(ended)
    }

    async fn waits_for(&self, deposit: &Terms) -> Result<Record, String> {
        let Some(origin) = &deposit.origin else { return Err("a deposit of no chain".into()) };
        let table = self.at.engine.flows().table(self.flow);
        let mut last = String::new();
        for _ in 0..TRIES {
            let journal = &self.at.journal;
            let scope: Arc<str> = self.chain.name().into();
            match journal.find_by_idempotency_key(self.flow, scope, origin.key.clone()).await {
                Ok(None) => last = format!("{} was never opened", origin.key),
                Ok(Some(record)) if table.ends(record.head.state) => return Ok(record),
                Ok(Some(record)) => {
                    let state = table.state(record.head.state).name;
                    last = format!("{} is {state} {:?}", origin.key, record.error);
                }
                Err(cause) => last = cause.to_string(),
            }
            self.at.clock.sleep(250).await;
        }
        Err(format!("it does not end: {last}"))
    }
}
