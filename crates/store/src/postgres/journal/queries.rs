//! Implements the parts of the journal's port that only read, from the read pool.

use super::Postgres;
use kernel::accounts::{AccountsOf, NumberedAccount};
use kernel::answer::Cause;
use kernel::attempt::Attempt;
use kernel::ids::{AssetId, ChainId, Day, FlowId, Id, Millis, Serial, UserId};
use kernel::limits::DailyUsage;
use kernel::operators::{Approval, OpenCase, PastAction};
use kernel::ports::Fut;
use kernel::ports::journal::{
    AttemptQueries, Count, Linked, OperatorQueries, Resource, ServiceQueries, ServiceStatus,
    Snapshot, SnapshotSource, TransferPage, TransferQueries,
};
use kernel::record::Record;
use std::sync::Arc;

impl TransferQueries for Postgres {
    fn get(&self, ids: Vec<Id>) -> Fut<'_, Result<Vec<Record>, Cause>> {
        Box::pin(async move { self.read_pool.confirmed(self.read_pool.get(&ids)).await })
    }

    fn find_by_idempotency_key(
        &self,
        flow: FlowId,
        scope: Arc<str>,
        key: Arc<str>,
    ) -> Fut<'_, Result<Option<Record>, Cause>> {
        Box::pin(async move {
            self.read_pool
                .confirmed(self.read_pool.find_by_idempotency_key(flow, &scope, &key))
                .await
        })
    }

    fn history(&self, id: Id) -> Fut<'_, Result<Vec<Linked>, Cause>> {
        Box::pin(self.read_pool.confirmed(self.read_pool.history(id)))
    }

    fn open_below(&self, id: Id) -> Fut<'_, Result<Vec<Id>, Cause>> {
        Box::pin(self.read_pool.open_below(id))
    }

    fn open_of(&self, user: UserId) -> Fut<'_, Result<Vec<Record>, Cause>> {
        Box::pin(self.read_pool.confirmed(self.read_pool.open_of(user)))
    }

    fn open_older_than(&self, opened: Millis, limit: usize) -> Fut<'_, Result<Vec<Record>, Cause>> {
        Box::pin(self.read_pool.open_older_than(opened, limit))
    }

    fn before_time(&self, at: Millis) -> Fut<'_, Result<Serial, Cause>> {
        Box::pin(self.read_pool.before_time(at))
    }

    // what a standby does not have yet may be lost with the primary: who acts on these writes first, and that
    // COMMIT is behind theirs
    fn transfers_after(
        &self,
        after: Serial,
        flow: Option<FlowId>,
        limit: usize,
    ) -> Fut<'_, Result<TransferPage, Cause>> {
        Box::pin(self.read_pool.transfers_after(after, flow, limit))
    }

    fn counts(&self) -> Fut<'_, Result<Vec<Count>, Cause>> {
        Box::pin(self.read_pool.counts())
    }
}

impl AttemptQueries for Postgres {
    fn attempts_of(&self, ids: Vec<Id>) -> Fut<'_, Result<Vec<Attempt>, Cause>> {
        Box::pin(async move { self.read_pool.confirmed(self.read_pool.attempts_of(&ids)).await })
    }

    fn open_attempts(&self, chain: ChainId) -> Fut<'_, Result<Vec<Attempt>, Cause>> {
        Box::pin(self.read_pool.confirmed(self.read_pool.open_attempts(chain)))
    }

    fn attempts_of_lane(
        &self,
        chain: ChainId,
        lane: Arc<str>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<Attempt>, Cause>> {
        Box::pin(async move {
            let read = self.read_pool.attempts_of_lane(chain, &lane, limit);
            self.read_pool.confirmed(read).await
        })
    }

    fn attempt_of_form(
        &self,
        chain: ChainId,
        name: Arc<[u8]>,
    ) -> Fut<'_, Result<Option<Attempt>, Cause>> {
        Box::pin(async move {
            self.read_pool.confirmed(self.read_pool.attempt_of_form(chain, &name)).await
        })
    }
}

impl OperatorQueries for Postgres {
    fn open_cases(&self) -> Fut<'_, Result<Vec<OpenCase>, Cause>> {
        Box::pin(self.read_pool.open_cases())
    }

    fn past_action(
        &self,
        caller: Arc<str>,
        key: Arc<str>,
    ) -> Fut<'_, Result<Option<PastAction>, Cause>> {
        Box::pin(async move {
            self.read_pool.confirmed(self.read_pool.past_action(&caller, &key)).await
        })
    }

    fn actions_on(
        &self,
        kind: &'static str,
        subject: Arc<str>,
    ) -> Fut<'_, Result<Vec<PastAction>, Cause>> {
        Box::pin(async move {
            self.read_pool.confirmed(self.read_pool.actions_on(kind, &subject)).await
        })
    }

    fn resumes(&self) -> Fut<'_, Result<Vec<PastAction>, Cause>> {
        Box::pin(self.read_pool.confirmed(self.read_pool.resumes()))
    }

    fn approval(&self, id: Id) -> Fut<'_, Result<Option<Approval>, Cause>> {
        Box::pin(self.read_pool.confirmed(self.read_pool.approval(id)))
    }

    fn pending_approvals(&self) -> Fut<'_, Result<Vec<Approval>, Cause>> {
        Box::pin(self.read_pool.confirmed(self.read_pool.pending_approvals()))
    }

    fn numbered_accounts(&self, of: AccountsOf) -> Fut<'_, Result<Vec<NumberedAccount>, Cause>> {
        Box::pin(
            async move { self.read_pool.confirmed(self.read_pool.numbered_accounts(&of)).await },
        )
    }
}

impl ServiceQueries for Postgres {
    fn service_status(&self) -> Fut<'_, Result<ServiceStatus, Cause>> {
        Box::pin(self.read_pool.service_status())
    }

    fn resource(&self, name: Arc<str>) -> Fut<'_, Result<Option<Resource>, Cause>> {
        Box::pin(async move { self.read_pool.confirmed(self.read_pool.resource(&name)).await })
    }

    fn resources(&self, prefix: Arc<str>) -> Fut<'_, Result<Vec<Resource>, Cause>> {
        Box::pin(async move { self.read_pool.confirmed(self.read_pool.resources(&prefix)).await })
    }

    fn counter(&self, name: Arc<str>) -> Fut<'_, Result<u128, Cause>> {
        Box::pin(async move { self.read_pool.confirmed(self.read_pool.counter(&name)).await })
    }

    fn daily_usage(
        &self,
        user: UserId,
        day: Day,
        asset: AssetId,
    ) -> Fut<'_, Result<DailyUsage, Cause>> {
        Box::pin(self.read_pool.daily_usage(user, day, asset))
    }
}

impl SnapshotSource for Postgres {
    fn snapshot(&self) -> Fut<'_, Result<Box<dyn Snapshot>, Cause>> {
        Box::pin(self.read_pool.snapshot())
    }
}
