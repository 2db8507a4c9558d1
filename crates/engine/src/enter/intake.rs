//! Takes in new transfers: it checks the request again, opens the transfer, and lets the caller wait for
//! the end.

use crate::drive::Pipeline;
use crate::enter::create_checks::CreateChecks;
use crate::plan::quota::Quota;
use crate::state::limits::CreateLimits;
use crate::state::shared::SharedState;

use crate::drive::jobs::{CommitReason, Job};
use crate::enter::{Accepted, Refused};
use crate::state::create_request::{CreateRequest, OpenResult};
use crate::state::select::{First, race};
use kernel::answer::Cause;
use kernel::code::Code;
use kernel::flow::life::Response;
use kernel::ids::FlowId;
use kernel::ports::meter::Seen;
use kernel::principal;
use kernel::record::{Head, Record, Terms};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::mpsc::{Receiver, Sender, error::TrySendError};
use tokio::sync::{Mutex, oneshot};

/// How many batches are opened at the same time.
pub(crate) const WORKERS: usize = 2;

/// Opens the transfers of create requests.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct Intake {
    shared: Arc<SharedState>,
    limits: Arc<CreateLimits>,
    checks: Arc<CreateChecks>,
    pipeline: Arc<Pipeline>,
    /// The requests that wait to be opened.
    requests: Sender<(Record, CreateRequest)>,
}

impl Intake {
    pub(crate) fn new(
        shared: &Arc<SharedState>,
        limits: &Arc<CreateLimits>,
        checks: &Arc<CreateChecks>,
        pipeline: &Arc<Pipeline>,
        requests: Sender<(Record, CreateRequest)>,
    ) -> Arc<Self> {
        Arc::new(Self {
            shared: shared.clone(),
            limits: limits.clone(),
            checks: checks.clone(),
            pipeline: pipeline.clone(),
            requests,
        })
    }

    /// Opens a transfer and waits for its end: at most `open_timeout_ms` until it is durable, then at most
    /// `sync_timeout_ms`. The transfer goes on when the caller goes away.
    ///
    /// # Errors
    /// [`Refused`]; after `Unknown` the caller repeats with the same key.
    pub async fn create(&self, flow: FlowId, mut terms: Terms) -> Result<Accepted, Refused> {
        if let Some(code) = self.checks.objection(flow, &terms) {
            self.shared.parts.meter.see(Seen::Refused { code });
            return Err(Refused::Code(code));
        }
        let quota = self.limits.quota(flow, &terms);
        terms.day = quota.as_ref().map(Quota::day);
        let fingerprint = terms.fingerprint();
        let mut scopes = Vec::new();
        if let Some(binding) = &mut terms.binding {
            binding.fingerprint = fingerprint;
            // one place for all issuers: there two processes that take different ones meet
            let mut all = self.key_scopes(&binding.scope).into_iter();
            binding.scope = all.next().unwrap_or_else(|| binding.scope.clone());
            scopes = all.collect();
        }
        let terms = Arc::new(terms);
        let record = Record::new(
            self.shared.mint_for(flow, &terms, None),
            flow,
            Head::start(self.shared.plan.table(flow).start),
            terms.clone(),
        );
        let (opened, opening) = oneshot::channel();
        let (ended, end) = oneshot::channel();
        let guard =
            self.shared.parts.settings.opening_guards.get(self.shared.plan.table(flow).flow);
        let guard = guard.cloned();
        let request = CreateRequest { opened, ended, quota, scopes, guard };
        match self.requests.try_send((record, request)) {
            Ok(()) => {}
            Err(TrySendError::Full((record, request))) => self.park(record, request).await,
            Err(TrySendError::Closed(_)) => return Err(Refused::Code(Code::Overloaded)),
        }
        let timeout = self.shared.parts.clock.sleep(self.shared.parts.settings.open_timeout_ms);
        match race(opening, timeout).await {
            First::Left(Ok(OpenResult::Opened(record)))
                if self.shared.plan.table(flow).responds == Response::AtOpening =>
            {
                Ok(Accepted { record, replayed: false })
            }
            First::Left(Ok(OpenResult::Opened(record))) => {
                Ok(Accepted { record: self.until(record, end).await, replayed: false })
            }
            First::Left(Ok(OpenResult::Bound)) => self.bound(&terms, flow, fingerprint).await,
            First::Left(Ok(OpenResult::Refused(code))) => Err(Refused::Code(code)),
            First::Left(Ok(OpenResult::Unknown(cause))) => Err(Refused::Unknown(cause)),
            First::Left(Err(_)) => Err(Refused::Unknown(Cause::of("INTAKE_GONE"))),
            First::Right(()) => Err(Refused::Unknown(Cause::of("OPEN_TIMEOUT"))),
        }
    }

    /// The transfer that a client's key is bound to, as it stands now. For an open one it waits as after
    /// the first request.
    ///
    /// # Errors
    /// The cause for which the journal does not answer.
    pub async fn replay(
        &self,
        flow: FlowId,
        scope: Arc<str>,
        key: Arc<str>,
    ) -> Result<Option<Accepted>, Cause> {
        match self.find_bound(flow, &scope, &key).await? {
            Some(record) => self.rejoin(record).await.map(Some),
            None => Ok(None),
        }
    }

    /// The transfer that a client's key is bound to, by a principal of this subject under any issuer.
    ///
    /// # Errors
    /// The cause for which the journal does not answer.
    pub async fn find_bound(
        &self,
        flow: FlowId,
        principal: &Arc<str>,
        key: &Arc<str>,
    ) -> Result<Option<Record>, Cause> {
        for scope in self.key_scopes(principal) {
            if let Some(record) =
                self.shared.parts.journal.find_by_idempotency_key(flow, scope, key.clone()).await?
            {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// The scopes in which a principal's keys may be bound; the first is that of new ones.
    pub fn key_scopes(&self, principal: &Arc<str>) -> Vec<Arc<str>> {
        principal::key_scopes(principal, &self.shared.parts.settings.issuers)
    }

    /// The answer to a repeat: the transfer that was found bound, after the wait of a first request.
    ///
    /// # Errors
    /// The cause for which the journal does not answer.
    pub async fn rejoin(&self, record: Record) -> Result<Accepted, Cause> {
        let table = self.shared.plan.table(record.flow);
        if table.ends(record.head.state) || table.responds == Response::AtOpening {
            return Ok(Accepted { record, replayed: true });
        }
        let (ended, end) = oneshot::channel();
        self.shared.wait_for(record.id, ended);
        // it may have ended between the reading and the waiting
        let now = self.shared.parts.journal.get(vec![record.id]).await?.pop().unwrap_or(record);
        let record = self.until(now, end).await;
        Ok(Accepted { record, replayed: true })
    }

    /// How many transfers may wait to be opened.
    pub fn intake_room(&self) -> usize {
        self.requests.max_capacity()
    }

    /// Waits for the end of a durable transfer, and returns it as it stands then.
    async fn until(&self, record: Record, end: oneshot::Receiver<Record>) -> Record {
        if self.shared.plan.table(record.flow).ends(record.head.state) {
            return record;
        }
        let timeout = self.shared.parts.clock.sleep(self.shared.parts.settings.sync_timeout_ms);
        match race(end, timeout).await {
            First::Left(Ok(ended)) => ended,
            First::Left(Err(_)) | First::Right(()) => record,
        }
    }

    /// The answer to a key that is bound already.
    async fn bound(
        &self,
        terms: &Terms,
        flow: FlowId,
        fingerprint: [u8; 32],
    ) -> Result<Accepted, Refused> {
        let Some(binding) = &terms.binding else {
            return Err(Refused::Unknown(Cause::of("BOUND_WITHOUT_KEY")));
        };
        let found = self.replay(flow, binding.scope.clone(), binding.key.clone()).await;
        let Some(accepted) = found.map_err(Refused::Unknown)? else {
            return Err(Refused::Unknown(Cause::of("BOUND_AND_GONE")));
        };
        let stored = accepted.record.terms.binding.as_ref().map(|b| b.fingerprint);
        let flow = self.shared.plan.table(flow).flow;
        if stored == Some(fingerprint) {
            self.shared.parts.meter.see(Seen::Replay { flow });
            Ok(accepted)
        } else {
            self.shared.parts.meter.see(Seen::Conflict { flow });
            Err(Refused::Mismatch(Box::new(accepted.record)))
        }
    }

    /// Opens a transfer in its first state and leaves it to the scanner, since the queue has no room.
    async fn park(&self, record: Record, request: CreateRequest) {
        self.pipeline.commit(vec![self.opened_for_workers(record, request)]).await;
    }

    /// Opens a transfer in its first state, for whichever worker asks the journal first.
    fn opened_for_workers(&self, record: Record, request: CreateRequest) -> Job {
        let planned = self.pipeline.parking(&record, request.quota.as_ref());
        Job::new(record, planned, CommitReason::Parks(request))
    }

    /// True where a transfer that is opened now goes on in this process, instead of being left to the
    /// journal.
    fn carries_on(&self, flow: FlowId) -> bool {
        self.shared.parts.settings.workers
            && !self.shared.follows_events(flow)
            && !self.pipeline.congested(flow)
    }

    /// Takes batches out of the queue and opens them, beside the other workers.
    pub(crate) async fn run_intake(
        self: Arc<Self>,
        requests: Arc<Mutex<Receiver<(Record, CreateRequest)>>>,
    ) {
        let cap = self.shared.parts.settings.batch_max;
        let mut batch = Vec::with_capacity(cap);
        loop {
            let left = {
                let mut requests = requests.lock().await;
                if requests.recv_many(&mut batch, cap).await == 0 {
                    return;
                }
                requests.len()
            };
            self.shared.parts.meter.see(Seen::Batch { station: "intake", items: batch.len() });
            self.shared.parts.meter.see(Seen::Queue { station: "intake", items: left });
            let mut carried = BTreeMap::new();
            let mut open = |(record, request): (Record, CreateRequest)| {
                let carried = carried.entry(record.flow);
                if !*carried.or_insert_with(|| self.carries_on(record.flow)) {
                    return self.opened_for_workers(record, request);
                }
                let fuse_mode = self.shared.fuse_mode(&record);
                let planned = self.shared.plan.open(&record, fuse_mode, request.quota.as_ref());
                Job::new(record, planned, CommitReason::Opens(request))
            };
            let jobs = batch.drain(..).map(&mut open).collect();
            self.pipeline.commit(jobs).await;
        }
    }
}
