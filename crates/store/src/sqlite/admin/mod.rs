//! Answers operators' searches and lists (`AdminQueries`), and copies the database. Queries that may
//! read many transfers have connections of their own: neither a transfer nor a webhook waits for them.

pub(crate) mod backup;
mod deliveries;
mod lists;
mod search;

pub(crate) use deliveries::DeliveryAttempt;
pub(crate) use lists::{CASE, case_row};
pub(crate) use search::first_at;

use super::read::transfers;
use super::write::work::{PendingAnswer, Work};
use super::{Embedded, columns};
use kernel::answer::Cause;
use kernel::flow::table::Flows;
use kernel::ids::{Id, LedgerId, Millis, Serial};
use kernel::operation::Operation;
use kernel::operators::{Approval, ApprovalStatus, Halt, PastAction, Subject};
use kernel::ports::Fut;
use kernel::ports::admin_queries::{
    AdminQueries, CaseFile, CaseRow, Delivery, MovementSearch, Search, Stat, Tells,
};
use kernel::ports::journal::UnitWriter as _;
use kernel::ports::ledger::BookedMovement;
use kernel::record::Record;
use rusqlite::Connection;
use std::sync::Arc;
use tokio::sync::oneshot;

/// The most rows that one list gives, whatever is asked.
const MOST: usize = 1_000;

/// A limit as SQLite takes it.
fn at_most(limit: usize) -> i64 {
    i64::try_from(if limit < MOST { limit } else { MOST }).unwrap_or(0)
}

/// A number that a list begins below.
fn below(before: Option<u64>) -> i64 {
    before.map_or(i64::MAX, columns::int)
}

impl Embedded {
    /// Runs a query that may take long, in one instant.
    pub(crate) fn search<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection, &Flows) -> rusqlite::Result<T> + Send + 'static,
    ) -> Fut<'_, Result<T, Cause>> {
        let flows = self.flows.clone();
        self.admin_readers.ask(move |db| question(&*db.unchecked_transaction()?, &flows))
    }

    /// Sends a change to the writer; answers when it is durable.
    async fn send_change(
        &self,
        work: impl FnOnce(oneshot::Sender<Result<(), Cause>>) -> Work,
    ) -> Result<(), Cause> {
        let (sender, answer) = oneshot::channel();
        self.writer.send(work(sender)).await.map_err(|_| Cause::of("STORE_CLOSED"))?;
        answer.await.unwrap_or(Err(Cause::of("STORE_CLOSED")))
    }

    /// Runs a query that an index answers, in one instant.
    fn look_up<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection, &Flows) -> rusqlite::Result<T> + Send + 'static,
    ) -> Fut<'_, Result<T, Cause>> {
        self.ask(move |db, flows| question(&*db.unchecked_transaction()?, flows))
    }
}

impl AdminQueries for Embedded {
    fn transfers(&self, search: Search) -> Fut<'_, Result<Vec<Record>, Cause>> {
        if search.state.is_some() && search.flow.is_none() {
            return Box::pin(async { Err(Cause::because("BAD_SEARCH", "a state without a flow")) });
        }
        self.search(move |db, flows| search::transfers(db, flows, &search))
    }

    fn numbered(&self, serial: Serial) -> Fut<'_, Result<Option<Record>, Cause>> {
        self.look_up(move |db, flows| transfers::by_number(db, flows, columns::int(serial.0)))
    }

    fn legs(&self, id: Id) -> Fut<'_, Result<Vec<(LedgerId, Operation)>, Cause>> {
        self.look_up(move |db, _| lists::legs(db, id))
    }

    fn cases(
        &self,
        open: Option<bool>,
        subject: Option<Subject>,
        before: Option<u64>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<CaseRow>, Cause>> {
        self.look_up(move |db, _| lists::cases(db, open, subject, below(before), at_most(limit)))
    }

    fn case(&self, number: u64) -> Fut<'_, Result<Option<CaseFile>, Cause>> {
        self.look_up(move |db, _| lists::case(db, columns::int(number)))
    }

    fn approvals(
        &self,
        stand: Option<ApprovalStatus>,
        before: Option<Id>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<Approval>, Cause>> {
        let now = self.now();
        self.look_up(move |db, _| lists::approvals(db, stand, before, at_most(limit), now))
    }

    fn halts(&self, before: Option<u64>, limit: usize) -> Fut<'_, Result<Vec<Halt>, Cause>> {
        self.look_up(move |db, _| lists::halts(db, below(before), at_most(limit)))
    }

    fn actions(
        &self,
        subject: Option<Arc<str>>,
        before: Option<u64>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<PastAction>, Cause>> {
        let (before, limit) = (below(before), at_most(limit));
        self.look_up(move |db, _| lists::actions(db, subject.as_deref(), before, limit))
    }

    fn movements(&self, search: MovementSearch) -> Fut<'_, Result<Vec<BookedMovement>, Cause>> {
        self.search(move |db, _| lists::movements(db, &search))
    }

    fn stats(&self) -> Fut<'_, Result<Vec<Stat>, Cause>> {
        self.search(lists::stats)
    }

    fn tell(&self) -> Fut<'_, Result<(), Cause>> {
        Box::pin(self.send_change(|sender| Work::StartWebhooks(PendingAnswer::new((), sender))))
    }

    fn deliveries(&self, longest: Millis, limit: usize) -> Fut<'_, Result<Vec<Delivery>, Cause>> {
        let now = self.now();
        self.look_up(move |db, _| deliveries::due(db, now, longest, at_most(limit)))
    }

    fn undelivered(&self) -> Fut<'_, Result<(u64, Option<Millis>), Cause>> {
        self.look_up(|db, _| deliveries::undelivered(db))
    }

    fn take_up(&self, _: &Delivery, _: Millis) -> Fut<'_, Result<bool, Cause>> {
        // a folder has one owner: there is no other process to keep it from
        Box::pin(async { Ok(true) })
    }

    fn delivered(
        &self,
        case: u64,
        tells: Tells,
        due_at: Option<Millis>,
        error: Option<Arc<str>>,
    ) -> Fut<'_, Result<(), Cause>> {
        let attempt = DeliveryAttempt { case, tells, due_at, error };
        Box::pin(self.send_change(|sender| Work::Delivered(PendingAnswer::new(attempt, sender))))
    }
}
