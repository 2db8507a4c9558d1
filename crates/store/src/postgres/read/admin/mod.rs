//! Answers operators' searches and lists. Queries that may read many transfers have connections of
//! their own: neither a transfer nor a webhook waits for them.

mod deliveries;
mod lists;
mod search;

pub(crate) use lists::{CASE, case_row};

use super::read_pool::ReadPool;
use super::transfers;
use crate::postgres::columns;
use kernel::answer::Cause;
use kernel::ids::{Id, LedgerId, Millis, Serial};
use kernel::operation::Operation;
use kernel::operators::{Approval, ApprovalStatus, Halt, PastAction, Subject};
use kernel::ports::admin_queries::{CaseFile, CaseRow, Delivery, MovementSearch, Search, Stat};
use kernel::ports::ledger::BookedMovement;
use kernel::record::Record;

/// The most rows that one list gives, whatever is asked.
const MOST: usize = 1_000;

/// A limit as the database takes it.
fn at_most(limit: usize) -> i64 {
    i64::try_from(if limit < MOST { limit } else { MOST }).unwrap_or(0)
}

/// A number that a list begins below.
fn below(before: Option<u64>) -> i64 {
    before.map_or(i64::MAX, columns::int)
}

impl ReadPool {
    pub(crate) async fn transfers(&self, search: &Search) -> Result<Vec<Record>, Cause> {
        if search.state.is_some() && search.flow.is_none() {
            return Err(Cause::because("BAD_SEARCH", "a state without a flow"));
        }
        Ok(search::transfers(&self.search().await?, &self.flows, search).await?)
    }

    pub(crate) async fn numbered(&self, serial: Serial) -> Result<Option<Record>, Cause> {
        Ok(transfers::by_number(&self.question().await?, &self.flows, serial).await?)
    }

    pub(crate) async fn legs(&self, id: Id) -> Result<Vec<(LedgerId, Operation)>, Cause> {
        Ok(lists::legs(&self.question().await?, id).await?)
    }

    pub(crate) async fn cases(
        &self,
        open: Option<bool>,
        subject: Option<Subject>,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<CaseRow>, Cause> {
        let (before, limit) = (below(before), at_most(limit));
        Ok(lists::cases(&self.question().await?, open, subject, before, limit).await?)
    }

    pub(crate) async fn case(&self, number: u64) -> Result<Option<CaseFile>, Cause> {
        Ok(lists::case(&self.question().await?, columns::int(number)).await?)
    }

    pub(crate) async fn approvals(
        &self,
        stand: Option<ApprovalStatus>,
        before: Option<Id>,
        limit: usize,
    ) -> Result<Vec<Approval>, Cause> {
        let (limit, now) = (at_most(limit), self.manual_now());
        Ok(lists::approvals(&self.question().await?, stand, before, limit, now).await?)
    }

    pub(crate) async fn halts(
        &self,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<Halt>, Cause> {
        Ok(lists::halts(&self.question().await?, below(before), at_most(limit)).await?)
    }

    pub(crate) async fn actions(
        &self,
        subject: Option<&str>,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<PastAction>, Cause> {
        let (before, limit) = (below(before), at_most(limit));
        Ok(lists::actions(&self.question().await?, subject, before, limit).await?)
    }

    pub(crate) async fn movements(
        &self,
        search: &MovementSearch,
    ) -> Result<Vec<BookedMovement>, Cause> {
        Ok(lists::movements(&self.search().await?, search).await?)
    }

    pub(crate) async fn stats(&self) -> Result<Vec<Stat>, Cause> {
        Ok(lists::stats(&self.search().await?, &self.flows).await?)
    }

    pub(crate) async fn deliveries(
        &self,
        longest: Millis,
        limit: usize,
    ) -> Result<Vec<Delivery>, Cause> {
        let (now, limit) = (self.manual_now(), at_most(limit));
        Ok(deliveries::due(&self.question().await?, now, longest, limit).await?)
    }

    pub(crate) async fn undelivered(&self) -> Result<(u64, Option<Millis>), Cause> {
        Ok(deliveries::undelivered(&self.question().await?).await?)
    }
}
