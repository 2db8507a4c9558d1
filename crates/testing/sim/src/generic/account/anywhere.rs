//! Plays account cases over a service that a test runs by itself, on a real store and in real time.

use super::cases::AccountCase;
use super::client::{AccountClient, Tries, prepare, terms};
use super::oracle::AccountTruth;
use crate::bus::SimBus;
use crate::generic::chain::join;
use crate::service::SimProcess;
use kernel::flow::table::Table;
use kernel::ids::{FlowId, Millis};
use kernel::ports::clock::Clock;
use kernel::record::Record;
use std::fmt;
use std::sync::Arc;

/// Where clients reach one process of such a service.
#[derive(Clone)]
pub struct AccountDoor {
    /// The process that is asked.
    pub process: SimProcess,
    /// What its clients wait by.
    pub clock: Arc<dyn Clock>,
    /// The broker that it shares with the others.
    pub bus: SimBus,
    /// How long they wait for an end, in milliseconds.
    pub timeout: Millis,
}

impl fmt::Debug for AccountDoor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccountDoor").field("process", &self.process).finish_non_exhaustive()
    }
}

/// The time between two requests of a client, in milliseconds.
const EVERY: Millis = 10;

impl AccountDoor {
    fn flow(&self) -> (FlowId, Table) {
        let flows = self.process.engine.flows();
        let Some(flow) = flows.named("account") else { panic!("no such flow") };
        (flow, flows.table(flow).clone())
    }

    fn client(&self) -> AccountClient {
        let most = u32::try_from(self.timeout / EVERY).unwrap_or(u32::MAX);
        let tries = Tries { most, every: EVERY };
        let (process, clock) = (self.process.clone(), self.clock.clone());
        AccountClient { process, clock, flow: self.flow().0, tries }
    }

    /// Opens the accounts of a case, each with what it has.
    ///
    /// # Errors
    /// What was not done.
    pub async fn prepare(&self, case: &AccountCase) -> Result<(), String> {
        prepare(self.process.clone(), case.clone()).await
    }

    /// Opens the transfers of a case, or finds those that another process opened, under keys that begin like
    /// this, and waits until each ended and every group has consumed everything.
    ///
    /// # Errors
    /// What does not end.
    pub async fn insist(&self, case: &AccountCase, keys: &str) -> Result<Vec<Record>, String> {
        let ended = self.end(case, keys).await?;
        self.client().rests(&self.bus).await?;
        Ok(ended)
    }

    /// The same, whatever the groups still have to consume.
    ///
    /// # Errors
    /// What does not end.
    pub async fn end(&self, case: &AccountCase, keys: &str) -> Result<Vec<Record>, String> {
        let client = self.client();
        let numbered = (0..).zip(&*case.transfers);
        let all = numbered.map(|(n, transfer)| terms(transfer, format!("{keys}-{n}")));
        let asks = all.map(|terms| Box::pin(client.clone().insists(terms))).collect();
        let ended: Vec<Result<Record, String>> = join(asks).await;
        ended.into_iter().collect()
    }

    /// Everything that is wrong with how the transfers of a case ended, where there were no others.
    ///
    /// # Errors
    /// What could not be read.
    pub async fn faults(
        &self,
        case: &AccountCase,
        ended: Vec<Record>,
        fuse: bool,
    ) -> Result<Vec<String>, String> {
        let about = (self.flow().1, ended);
        let truth = AccountTruth::read(self.process.clone(), self.bus.clone(), about).await;
        truth.map(|truth| truth.faults(case, fuse)).map_err(|cause| cause.to_string())
    }
}
