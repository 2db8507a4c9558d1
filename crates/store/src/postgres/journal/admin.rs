//! Implements the ports of the audit and of operators' queries, with the few writes that belong to
//! them.

use super::Postgres;
use crate::postgres::write::work::{DeliveryAttempt, DeliveryClaim, SingleWrite};
use kernel::answer::Cause;
use kernel::audit::seal::Seal;
use kernel::ids::{Id, LedgerId, Millis, Serial};
use kernel::operation::Operation;
use kernel::operators::{Approval, ApprovalStatus, Halt, PastAction, Subject};
use kernel::ports::Fut;
use kernel::ports::admin_queries::{
    AdminQueries, CaseFile, CaseRow, Delivery, MovementSearch, Search, Stat, Tells,
};
use kernel::ports::audit::{Audit, Trail};
use kernel::ports::ledger::BookedMovement;
use kernel::record::Record;
use std::sync::Arc;

impl Audit for Postgres {
    fn trail(&self) -> Fut<'_, Result<Box<dyn Trail>, Cause>> {
        Box::pin(self.read_pool.trail())
    }

    fn put_seal(&self, seal: Seal) -> Fut<'_, Result<(), Cause>> {
        self.queue.ask(|told| SingleWrite::Seal(seal, told))
    }
}

impl AdminQueries for Postgres {
    fn transfers(&self, search: Search) -> Fut<'_, Result<Vec<Record>, Cause>> {
        Box::pin(async move { self.read_pool.confirmed(self.read_pool.transfers(&search)).await })
    }

    fn numbered(&self, serial: Serial) -> Fut<'_, Result<Option<Record>, Cause>> {
        Box::pin(self.read_pool.confirmed(self.read_pool.numbered(serial)))
    }

    fn legs(&self, id: Id) -> Fut<'_, Result<Vec<(LedgerId, Operation)>, Cause>> {
        Box::pin(self.read_pool.confirmed(self.read_pool.legs(id)))
    }

    fn cases(
        &self,
        open: Option<bool>,
        subject: Option<Subject>,
        before: Option<u64>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<CaseRow>, Cause>> {
        Box::pin(self.read_pool.cases(open, subject, before, limit))
    }

    fn case(&self, number: u64) -> Fut<'_, Result<Option<CaseFile>, Cause>> {
        Box::pin(self.read_pool.case(number))
    }

    fn approvals(
        &self,
        stand: Option<ApprovalStatus>,
        before: Option<Id>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<Approval>, Cause>> {
        Box::pin(self.read_pool.approvals(stand, before, limit))
    }

    fn halts(&self, before: Option<u64>, limit: usize) -> Fut<'_, Result<Vec<Halt>, Cause>> {
        Box::pin(self.read_pool.halts(before, limit))
    }

    fn actions(
        &self,
        subject: Option<Arc<str>>,
        before: Option<u64>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<PastAction>, Cause>> {
        Box::pin(async move { self.read_pool.actions(subject.as_deref(), before, limit).await })
    }

    fn movements(&self, search: MovementSearch) -> Fut<'_, Result<Vec<BookedMovement>, Cause>> {
        Box::pin(async move { self.read_pool.movements(&search).await })
    }

    fn stats(&self) -> Fut<'_, Result<Vec<Stat>, Cause>> {
        Box::pin(self.read_pool.stats())
    }

    fn tell(&self) -> Fut<'_, Result<(), Cause>> {
        self.queue.ask(SingleWrite::StartWebhooks)
    }

    fn deliveries(&self, longest: Millis, limit: usize) -> Fut<'_, Result<Vec<Delivery>, Cause>> {
        Box::pin(self.read_pool.deliveries(longest, limit))
    }

    fn undelivered(&self) -> Fut<'_, Result<(u64, Option<Millis>), Cause>> {
        Box::pin(self.read_pool.undelivered())
    }

    fn take_up(&self, due: &Delivery, until: Millis) -> Fut<'_, Result<bool, Cause>> {
        let Delivery { case, tells, due_at, .. } = due;
        let taking =
            DeliveryClaim { case: case.opened.number, tells: *tells, due_at: *due_at, until };
        self.queue.ask(|told| SingleWrite::ClaimDelivery(taking, told))
    }

    fn delivered(
        &self,
        case: u64,
        tells: Tells,
        due_at: Option<Millis>,
        error: Option<Arc<str>>,
    ) -> Fut<'_, Result<(), Cause>> {
        let tried = DeliveryAttempt { case, tells, due_at, error };
        self.queue.ask(|told| SingleWrite::Delivered(tried, told))
    }
}
