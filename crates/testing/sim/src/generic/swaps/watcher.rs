//! The watcher of a simulated chain: it reads on from its cursor, and waits until every swap ended.

use super::End;
use super::books::{compare, fund};
use crate::generic::chain::ChainClient;
use engine::{Cursor, Observation};
use kernel::answer::Cause;
use kernel::ids::{ChainId, FlowId};
use kernel::record::{Record, Terms};
use std::sync::Arc;

/// How often it asks before it gives up: more than half an hour.
const TRIES: u32 = 3_000;
/// Number of deposits that are stored with one move of the cursor.
const TOGETHER: usize = 2;

/// A watcher at one process.
pub(super) struct Watcher {
    pub at: ChainClient,
    pub chain: ChainId,
    /// Where its payouts are made.
    pub payout: End,
    pub flow: FlowId,
    /// Every deposit of its chain, in order.
    pub deposits: Vec<Terms>,
}

impl Watcher {
    /// Reads to the end of its chain, and gives back each swap where it ended.
    pub(super) async fn watches(self) -> Result<Vec<Record>, String> {
        let mut last = String::new();
        for _ in 0..TRIES {
            let End { chain, asset, .. } = self.payout;
            match fund(&self.at, chain, asset).await {
                Ok(()) => match self.reads().await {
                    Ok(true) => return self.ends().await,
                    Ok(false) => continue,
                    Err(cause) => last = cause.to_string(),
                },
                Err(cause) => last = cause.to_string(),
            }
            self.at.clock.sleep(250).await;
        }
        Err(format!("the watcher does not come on: {last}"))
    }

    /// The swaps, once all ended; the books say the same then.
    async fn ends(&self) -> Result<Vec<Record>, String> {
        let ended = self.waits().await?;
        let mut last = String::new();
        for _ in 0..TRIES {
            match compare(&self.at).await {
                Ok(said) => return said.map(|()| ended),
                Err(cause) => last = cause.to_string(),
            }
            self.at.clock.sleep(250).await;
        }
        Err(format!("the books are not read: {last}"))
    }

    /// Stores what comes next; true where there is no more.
    async fn reads(&self) -> Result<bool, Cause> {
        let name: Arc<str> = format!("cursor:{}:swaps", self.chain.name()).into();
        let stored = self.at.journal.resource(name.clone()).await?;
        let series = self.at.series.to_string();
        let (version, at) = match &stored {
            Some(row) => {
                let (read, of) = row.value.split_once(" of ").unwrap_or_default();
                let read = read.parse().map_err(|_| Cause::of("BAD_CURSOR"))?;
                // where the cases before ended nothing of this one is read yet
                (row.version, if of == series { read } else { 0 })
            }
            None => (0, 0),
        };
        let next: Vec<Terms> = self.deposits.iter().skip(at).take(TOGETHER).cloned().collect();
        if next.is_empty() {
            return Ok(true);
        }
        let value = format!("{} of {series}", at + next.len()).into();
        let cursor = Cursor { name, version, value };
        let (chain, flow) = (self.chain, self.flow);
        let observation = Observation { chain, flow, cursor, deposits: next };
        self.at.engine.observed_deposits.store_observation(observation).await.map(|_| false)
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
                Ok(None) => {
                    return Err(format!(
                        "the cursor is behind {}, which was never opened",
                        origin.key
                    ));
                }
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
