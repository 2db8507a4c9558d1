//! Taking in transfers: the checks again, the opening, and the caller's wait.

use crate::controls::limits::Quota;
use crate::ledgers::outstanding_calls::CallStart;
use crate::pipeline::commit::{CommitReason, Job};
use crate::pipeline::create_request::{CreateRequest, OpenResult};
use crate::pipeline::plan::{FuseMode, Planned};
use crate::pipeline::select::{First, race};
use crate::{Accepted, Engine, Refused};
use kernel::answer::Cause;
use kernel::code::Code;
use kernel::flow::life::Response;
use kernel::ids::FlowId;
use kernel::operators::Scope;
use kernel::ports::ledger::{External, Moved};
use kernel::ports::meter::Seen;
use kernel::principal;
use kernel::record::{Account, Head, Record, System, Terms};
use kernel::unit::{Hold, Put};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::mpsc::{Receiver, error::TrySendError};
use tokio::sync::{Mutex, oneshot};

/// How many batches are opened at once.
pub(crate) const WORKERS: usize = 2;

impl Engine {
    /// Opens a transfer and waits for its end: at most `open_timeout_ms` until it is durable, then
    /// at most `sync_timeout_ms`. It goes on by itself when the caller goes away.
    ///
    /// # Errors
    /// [`Refused`]; after `Unknown` the caller repeats with the same key.
    pub async fn create(
        self: &Arc<Self>,
        flow: FlowId,
        mut terms: Terms,
    ) -> Result<Accepted, Refused> {
        if let Some(code) = self.objection(flow, &terms) {
            self.shared.parts.meter.see(Seen::Refused { code });
            return Err(Refused::Code(code));
        }
        let quota = self.quota(flow, &terms);
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
            self.shared.mint(),
            flow,
            Head::start(self.shared.plan.table(flow).start),
            terms.clone(),
        );
        let (opened, opening) = oneshot::channel();
        let (ended, end) = oneshot::channel();
        match self.intake.try_send((record, CreateRequest { opened, ended, quota, scopes })) {
            Ok(()) => {}
            Err(TrySendError::Full((record, order))) => self.park(record, order).await,
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

    /// The transfer that a client's key is bound to, as it stands now; an open one is waited for
    /// like the first time.
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

    /// The transfer that a client's key is bound to, by a principal of this subject under whichever
    /// issuer.
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

    /// The scopes in which a principal's keys may be bound, that of new ones first.
    pub fn key_scopes(&self, principal: &Arc<str>) -> Vec<Arc<str>> {
        principal::key_scopes(principal, &self.shared.parts.settings.issuers)
    }

    /// A transfer that was found bound: what it is now, after the wait of a first time.
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

    /// Why nothing is taken in at the moment, where nothing is: `HALTED` or `OVERLOADED`.
    pub fn shut(&self, flow: FlowId) -> Option<Code> {
        if self.shared.controls.halted().is_some() {
            return Some(Code::Halted);
        }
        let over = self.shared.controls.draining()
            || !self.shared.controls.takes(flow)
            || self.in_flight.crowded();
        over.then_some(Code::Overloaded)
    }

    /// Books external money as something that this process has begun: a HALT answers quiet when it has
    /// ended. Whether it may be booked, and on its caller's word alone, is decided in the transaction that
    /// books it: `SECOND_PERSON_REQUIRED` above the bound of a person's day.
    ///
    /// # Errors
    /// The cause for which the outcome is not known; repeat it with the same reference.
    pub async fn book(&self, movement: External) -> Result<Moved, Cause> {
        let authority = self.authority(&movement);
        let _ticket = self.shared.calls.begin(CallStart::Write);
        self.shared.parts.world.book(movement, authority).await
    }

    /// What a person has to lift before a transfer of this flow and these terms is taken in;
    /// without terms, before any of the flow is.
    pub fn paused_for(&self, flow: FlowId, terms: Option<&Terms>) -> Option<Scope> {
        self.shared.controls.paused(flow, terms)
    }

    /// How many transfers may wait to be opened.
    pub fn intake_room(&self) -> usize {
        self.intake.max_capacity()
    }

    /// Steps 4 to 6 of the order of checks once more, for callers that bypass the API. Existence,
    /// status and balance are the ledgers' alone.
    pub(crate) fn objection(&self, flow: FlowId, terms: &Terms) -> Option<Code> {
        if !self.shared.offers(flow) {
            return Some(Code::UnsupportedAccountType);
        }
        if let Some(code) = self.shut(flow) {
            return Some(code);
        }
        if self.paused_for(flow, Some(terms)).is_some() {
            return Some(Code::Overloaded);
        }
        if let Some(code) = self.party_objection(flow, terms) {
            return Some(code);
        }
        let (source, target) = (&terms.source, &terms.target);
        let assets = self.shared.assets();
        let found = assets.iter().find(|asset| asset.id == source.asset);
        let Some(asset) = found.filter(|_| target.asset == source.asset) else {
            return Some(Code::InvalidAsset);
        };
        if source.amount.minus(terms.fee) != Some(target.amount) {
            return Some(Code::InvalidAmount);
        }
        let limits = asset.usable().and_then(|()| asset.limits(source.amount));
        limits.err().or_else(|| self.above_most(flow, terms).then_some(Code::AmountTooLarge))
    }

    /// What keeps the two accounts from being the ends of a transfer of this flow.
    fn party_objection(&self, flow: FlowId, terms: &Terms) -> Option<Code> {
        let (table, [source, target]) = (self.shared.plan.table(flow), terms.parties());
        let inside = table.moves_inside();
        let one_system = source.system == target.system;
        if source.account == target.account && one_system || one_system != inside {
            return Some(Code::SameAccount);
        }
        let user = terms.owner.user().filter(|user| user.0 > 0 && i64::try_from(user.0).is_ok());
        let sends = table.all().any(|state| table.sends(state));
        let accepts = table.all().any(|state| table.accepts(state));
        for (party, named_later) in [(source, false), (target, accepts)] {
            let ledger = match party.system {
                System::Ledger(ledger) => ledger,
                System::Chain(chain) if sends && self.chains.pool(chain).is_some() => {
                    match &party.account {
                        Account::Named(name) if !name.is_empty() => continue,
                        Account::Unnamed if named_later => continue,
                        Account::Named(_) | Account::User(_) | Account::Unnamed => {
                            return Some(Code::Forbidden);
                        }
                    }
                }
                System::Chain(_) => return Some(Code::InvalidAccountType),
            };
            if self.shared.ledger(ledger).is_none() || inside && !self.shared.plan.enlisted(ledger)
            {
                return Some(Code::UnsupportedAccountType);
            }
            // whose an account with a number is, its ledger says
            let allowed = match &party.account {
                Account::User(account) => !inside && user == Some(*account),
                Account::Named(_) => inside && user.is_some(),
                Account::Unnamed => named_later,
            };
            if !allowed {
                return Some(Code::Forbidden);
            }
        }
        None
    }

    /// Waits for the end of a transfer that is durable, and tells what it is then.
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

    /// No room in the ring: the transfer is opened where it begins and left to the scanner.
    async fn park(self: &Arc<Self>, record: Record, order: CreateRequest) {
        self.commit(vec![self.opened_for_workers(record, order)]).await;
    }

    /// Opens a transfer where it begins, for whichever worker asks the journal first.
    fn opened_for_workers(&self, record: Record, order: CreateRequest) -> Job {
        let planned = self.parking(&record, order.quota.as_ref());
        Job::new(record, planned, CommitReason::Parks(order))
    }

    /// The same, as a plan.
    pub(crate) fn parking(&self, record: &Record, quota: Option<&Quota>) -> Planned {
        let mut planned = self.shared.plan.open(record, FuseMode::NoClaim, quota);
        // where a message drives it on, it is looked at when that may be lost
        let due = if self.shared.follows_events(record.flow) {
            self.messaging.resend_due(record)
        } else {
            self.shared.parts.journal.now()
        };
        planned.next.otherwise.due_at = Some(due);
        planned.unit.then.puts.push(Put::Head {
            id: record.id,
            head: planned.next.otherwise,
            error: None,
            hold: Hold::Free,
        });
        planned
    }

    /// True where what is opened now goes on in this process, and is not left to the journal.
    fn carries_on(&self, flow: FlowId) -> bool {
        self.shared.parts.settings.workers
            && !self.shared.follows_events(flow)
            && !self.congested(flow)
    }

    /// Takes batches out of the ring and opens them, beside the other workers.
    pub(crate) async fn run_intake(
        self: Arc<Self>,
        orders: Arc<Mutex<Receiver<(Record, CreateRequest)>>>,
    ) {
        let cap = self.shared.parts.settings.batch_max;
        let mut batch = Vec::with_capacity(cap);
        loop {
            let left = {
                let mut orders = orders.lock().await;
                if orders.recv_many(&mut batch, cap).await == 0 {
                    return;
                }
                orders.len()
            };
            self.shared.parts.meter.see(Seen::Batch { station: "intake", items: batch.len() });
            self.shared.parts.meter.see(Seen::Queue { station: "intake", items: left });
            let mut carried = BTreeMap::new();
            let mut open = |(record, order): (Record, CreateRequest)| {
                let carried = carried.entry(record.flow);
                if !*carried.or_insert_with(|| self.carries_on(record.flow)) {
                    return self.opened_for_workers(record, order);
                }
                let fuse_mode = self.shared.fuse_mode(&record);
                let planned = self.shared.plan.open(&record, fuse_mode, order.quota.as_ref());
                Job::new(record, planned, CommitReason::Opens(order))
            };
            let jobs = batch.drain(..).map(&mut open).collect();
            self.commit(jobs).await;
        }
    }
}
