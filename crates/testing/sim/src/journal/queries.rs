//! The queries of the simulated journal: the parts of the port that only read.

use super::{SimJournal, view};
use crate::world::breath;
use kernel::accounts::{AccountsOf, NumberedAccount};
use kernel::answer::Cause;
use kernel::attempt::Attempt;
use kernel::ids::{AssetId, ChainId, Day, FlowId, Id, Millis, Serial, UserId};
use kernel::limits::DailyUsage;
use kernel::operators::{Approval, OpenCase, PastAction};
use kernel::ports::Fut;
use kernel::ports::journal::{
    AttemptQueries, Count, Linked, OperatorQueries, Resource, ServiceQueries, ServiceStatus,
    Snapshot, SnapshotSource, TransferPage, TransferQueries, UnitWriter as _,
};
use kernel::record::Record;
use std::ops::Bound;
use std::sync::Arc;

impl TransferQueries for SimJournal {
    fn get(&self, ids: Vec<Id>) -> Fut<'_, Result<Vec<Record>, Cause>> {
        Box::pin(async move {
            breath().await;
            self.readable()?;
            let state = self.place.now();
            Ok(ids.iter().filter_map(|id| state.transfers.get(id).cloned()).collect())
        })
    }

    fn find_by_idempotency_key(
        &self,
        flow: FlowId,
        scope: Arc<str>,
        key: Arc<str>,
    ) -> Fut<'_, Result<Option<Record>, Cause>> {
        Box::pin(async move {
            self.readable()?;
            let state = self.place.now();
            let id = state.bindings.get(&(flow, scope, key));
            Ok(id.and_then(|id| state.transfers.get(id).cloned()))
        })
    }

    fn history(&self, id: Id) -> Fut<'_, Result<Vec<Linked>, Cause>> {
        Box::pin(async move {
            self.readable()?;
            Ok(self.place.now().history.get(&id).cloned().unwrap_or_default())
        })
    }

    fn open_below(&self, id: Id) -> Fut<'_, Result<Vec<Id>, Cause>> {
        Box::pin(async move {
            self.readable().map(|()| self.place.now().open.range(..=id).copied().collect())
        })
    }

    fn open_of(&self, user: UserId) -> Fut<'_, Result<Vec<Record>, Cause>> {
        Box::pin(async move {
            self.readable()?;
            let state = self.place.now();
            Ok(state
                .opens()
                .filter(|record| record.terms.owner.user() == Some(user))
                .cloned()
                .collect())
        })
    }

    fn open_older_than(&self, opened: Millis, limit: usize) -> Fut<'_, Result<Vec<Record>, Cause>> {
        Box::pin(async move {
            self.readable().map(|()| self.place.now().open_older_than(opened, limit))
        })
    }

    fn before_time(&self, at: Millis) -> Fut<'_, Result<Serial, Cause>> {
        Box::pin(async move {
            self.readable()?;
            let state = self.place.now();
            let before = |id: &Id| state.transfers.get(id).is_some_and(|one| one.created_at < at);
            let last = state.by_serial.iter().rev().find(|(_, id)| before(id));
            Ok(last.map_or(Serial(0), |(serial, _)| *serial))
        })
    }

    fn transfers_after(
        &self,
        after: Serial,
        flow: Option<FlowId>,
        limit: usize,
    ) -> Fut<'_, Result<TransferPage, Cause>> {
        Box::pin(async move {
            breath().await;
            self.readable()?;
            let state = self.place.now();
            let complete = state.by_serial.keys().next_back().copied().unwrap_or(Serial(0));
            let above = state.by_serial.range((Bound::Excluded(after), Bound::Unbounded));
            let records = above.filter_map(|(_, id)| state.transfers.get(id));
            let of = |record: &&Record| flow.is_none_or(|flow| record.flow == flow);
            Ok(TransferPage {
                records: records.filter(of).take(limit).cloned().collect(),
                complete,
            })
        })
    }

    fn counts(&self) -> Fut<'_, Result<Vec<Count>, Cause>> {
        Box::pin(async move { self.readable().map(|()| self.place.now().counts()) })
    }
}

impl AttemptQueries for SimJournal {
    fn attempts_of(&self, ids: Vec<Id>) -> Fut<'_, Result<Vec<Attempt>, Cause>> {
        Box::pin(async move { self.readable().map(|()| self.place.now().attempts_of(&ids)) })
    }

    fn open_attempts(&self, chain: ChainId) -> Fut<'_, Result<Vec<Attempt>, Cause>> {
        Box::pin(async move { self.readable().map(|()| self.place.now().open_attempts(chain)) })
    }

    fn attempts_of_lane(
        &self,
        chain: ChainId,
        lane: Arc<str>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<Attempt>, Cause>> {
        Box::pin(async move {
            self.readable()?;
            Ok(self.place.now().attempts_of_lane(chain, &lane, limit))
        })
    }

    fn attempt_of_form(
        &self,
        chain: ChainId,
        name: Arc<[u8]>,
    ) -> Fut<'_, Result<Option<Attempt>, Cause>> {
        Box::pin(
            async move { self.readable().map(|()| self.place.now().attempt_of_form(chain, &name)) },
        )
    }
}

impl OperatorQueries for SimJournal {
    fn open_cases(&self) -> Fut<'_, Result<Vec<OpenCase>, Cause>> {
        Box::pin(async move { self.readable().map(|()| self.place.now().open_cases()) })
    }

    fn past_action(
        &self,
        caller: Arc<str>,
        key: Arc<str>,
    ) -> Fut<'_, Result<Option<PastAction>, Cause>> {
        Box::pin(async move { self.readable().map(|()| self.place.now().past_action(caller, key)) })
    }

    fn actions_on(
        &self,
        kind: &'static str,
        subject: Arc<str>,
    ) -> Fut<'_, Result<Vec<PastAction>, Cause>> {
        Box::pin(
            async move { self.readable().map(|()| self.place.now().actions_on(kind, &subject)) },
        )
    }

    fn resumes(&self) -> Fut<'_, Result<Vec<PastAction>, Cause>> {
        Box::pin(async move { self.readable().map(|()| self.place.now().resumes()) })
    }

    fn approval(&self, id: Id) -> Fut<'_, Result<Option<Approval>, Cause>> {
        Box::pin(async move { self.readable().map(|()| self.place.now().approval(id, self.now())) })
    }

    fn pending_approvals(&self) -> Fut<'_, Result<Vec<Approval>, Cause>> {
        let found = self.readable().map(|()| self.place.now().pending_approvals(self.now()));
        Box::pin(std::future::ready(found))
    }

    fn numbered_accounts(&self, of: AccountsOf) -> Fut<'_, Result<Vec<NumberedAccount>, Cause>> {
        let found = self.readable().map(|()| self.place.now().accounts.list(&of));
        Box::pin(std::future::ready(found))
    }
}

impl ServiceQueries for SimJournal {
    fn service_status(&self) -> Fut<'_, Result<ServiceStatus, Cause>> {
        Box::pin(async move { self.readable().map(|()| self.place.now().status(self.now())) })
    }

    fn resource(&self, name: Arc<str>) -> Fut<'_, Result<Option<Resource>, Cause>> {
        let found = self.readable().map(|()| self.place.now().named_resources(&name));
        let found = found.map(|all| all.into_iter().find(|resource| resource.name == name));
        Box::pin(std::future::ready(found))
    }

    fn resources(&self, prefix: Arc<str>) -> Fut<'_, Result<Vec<Resource>, Cause>> {
        let found = self.readable().map(|()| self.place.now().named_resources(&prefix));
        Box::pin(std::future::ready(found))
    }

    fn counter(&self, name: Arc<str>) -> Fut<'_, Result<u128, Cause>> {
        let found = self.readable().map(|()| self.place.now().counter(&name));
        Box::pin(std::future::ready(found))
    }

    fn daily_usage(
        &self,
        user: UserId,
        day: Day,
        asset: AssetId,
    ) -> Fut<'_, Result<DailyUsage, Cause>> {
        Box::pin(
            async move { self.readable().map(|()| self.place.now().daily_usage(user, day, asset)) },
        )
    }
}

impl SnapshotSource for SimJournal {
    fn snapshot(&self) -> Fut<'_, Result<Box<dyn Snapshot>, Cause>> {
        Box::pin(async move {
            self.readable()?;
            let snapshot: Box<dyn Snapshot> = Box::new(view::View::of(self.place.now()));
            Ok(snapshot)
        })
    }
}
