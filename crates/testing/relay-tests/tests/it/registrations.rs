//! Whose registration a receiver's is, as the server keeps it in its store: of several transfers to one new receiver
//! one registers it, and the others wait. Here it is kept in RAM that outlives the processes.

use flows::relay::State;
use kernel::answer::Cause;
use kernel::flow::life::Word as _;
use kernel::flow::table::Flows;
use kernel::ids::Id;
use kernel::ports::Fut;
use kernel::ports::journal::Journal;
use kernel::record::{Account, Record};
use links::near::{RegistrationAllowance, RegistrationLimits, RegistrationRequest, Reservation};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Each receiver with the transfer that registers it. A handle: clones are the same one.
pub(crate) type Holders = Arc<Mutex<BTreeMap<Account, Id>>>;

/// The registrations of one process, over its journal.
pub(crate) struct Registrations {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) flows: Arc<Flows>,
    pub(crate) holders: Holders,
}

impl Registrations {
    fn holders(&self) -> MutexGuard<'_, BTreeMap<Account, Id>> {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often a registration was signed for a transfer.
    async fn tried(&self, id: Id) -> Result<u128, Cause> {
        let attempts = self.journal.attempts_of(vec![id]).await?;
        let code = |flow, state| self.flows.table(flow).state(state).code;
        let registering =
            attempts.iter().filter(|one| code(one.flow, one.state) == State::Registering.code());
        Ok(registering.fold(0, |times, _| times + 1))
    }

    async fn reservation(&self, record: &Record) -> Result<Reservation, Cause> {
        let account = &record.target().account;
        let holder = self.holders().get(account).copied();
        let taken = match holder {
            Some(holder) => self.of_holder(holder, record.id).await?,
            None => None,
        };
        Ok(taken.unwrap_or_else(|| {
            self.holders().insert(account.clone(), record.id);
            Reservation::Own
        }))
    }

    /// How the registration stands that a transfer has; `None`: another one may take it.
    async fn of_holder(&self, holder: Id, asks: Id) -> Result<Option<Reservation>, Cause> {
        let (registering, registered) = (State::Registering.code(), State::Registered.code());
        let history = self.journal.history(holder).await?;
        let made = |entry: &kernel::audit::Entry| {
            entry.from == Some(registering) && entry.to == registered
        };
        if history.iter().any(|linked| made(&linked.entry)) {
            return Ok(Some(Reservation::JustMade));
        }
        let record = self.journal.get(vec![holder]).await?.pop();
        let ended =
            record.is_none_or(|record| self.flows.table(record.flow).ends(record.head.state));
        Ok(match (holder == asks, ended) {
            (true, _) => Some(Reservation::Own),
            (false, true) => None,
            (false, false) => Some(Reservation::Other),
        })
    }
}

impl RegistrationLimits for Registrations {
    fn allowances<'a>(
        &'a self,
        requests: &'a [RegistrationRequest],
    ) -> Fut<'a, Vec<Result<RegistrationAllowance, Cause>>> {
        Box::pin(async move {
            let mut all = Vec::with_capacity(requests.len());
            for RegistrationRequest { record, .. } in requests {
                let tried = self.tried(record.id).await;
                let reservation = self.reservation(record).await;
                all.push(tried.and_then(|tried| {
                    Ok(RegistrationAllowance { tried, reservation: reservation? })
                }));
            }
            all
        })
    }
}
