//! Searches and lists for people. What may read many transfers has connections of its own: no
//! transfer waits for it, and no webhook.

mod deliveries;
mod lists;
mod search;

pub(super) use deliveries::Try;

use super::people;
use super::work::{Ask, Work};
use super::{Embedded, read, text};
use kernel::answer::Cause;
use kernel::ids::{Id, LedgerId, Millis, Serial};
use kernel::people::{About, Acted, Approval, Halt, Stand};
use kernel::ports::Fut;
use kernel::ports::journal::Journal;
use kernel::ports::office::{CaseFile, CaseRow, Delivery, Office, Search, Stat, Tells};
use kernel::record::Record;
use kernel::table::Flows;
use kernel::unit::Operation;
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
    before.map_or(i64::MAX, text::int)
}

impl Embedded {
    /// Asks what may take long, in one instant.
    fn search<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection, &Flows) -> rusqlite::Result<T> + Send + 'static,
    ) -> Fut<'_, Result<T, Cause>> {
        let flows = self.flows.clone();
        self.desk.ask(move |db| question(&*db.unchecked_transaction()?, &flows))
    }

    /// Has something written; answers when it is durable.
    async fn wrote(
        &self,
        work: impl FnOnce(oneshot::Sender<Result<(), Cause>>) -> Work,
    ) -> Result<(), Cause> {
        let (told, answer) = oneshot::channel();
        self.writer.send(work(told)).await.map_err(|_| Cause::of("STORE_CLOSED"))?;
        answer.await.unwrap_or(Err(Cause::of("STORE_CLOSED")))
    }

    /// Asks what an index answers, in one instant.
    fn look_up<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection, &Flows) -> rusqlite::Result<T> + Send + 'static,
    ) -> Fut<'_, Result<T, Cause>> {
        self.ask(move |db, flows| question(&*db.unchecked_transaction()?, flows))
    }
}

impl Office for Embedded {
    fn transfers(&self, search: Search) -> Fut<'_, Result<Vec<Record>, Cause>> {
        if search.state.is_some() && search.flow.is_none() {
            return Box::pin(async { Err(Cause::because("BAD_SEARCH", "a state without a flow")) });
        }
        self.search(move |db, flows| search::transfers(db, flows, &search))
    }

    fn numbered(&self, serial: Serial) -> Fut<'_, Result<Option<Record>, Cause>> {
        self.look_up(move |db, flows| read::by_number(db, flows, text::int(serial.0)))
    }

    fn legs(&self, id: Id) -> Fut<'_, Result<Vec<(LedgerId, Operation)>, Cause>> {
        self.look_up(move |db, _| lists::legs(db, id))
    }

    fn cases(
        &self,
        open: Option<bool>,
        about: Option<About>,
        before: Option<u64>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<CaseRow>, Cause>> {
        self.look_up(move |db, _| lists::cases(db, open, about, (below(before), at_most(limit))))
    }

    fn case(&self, number: u64) -> Fut<'_, Result<Option<CaseFile>, Cause>> {
        self.look_up(move |db, _| lists::case(db, text::int(number)))
    }

    fn approvals(
        &self,
        stand: Option<Stand>,
        before: Option<Id>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<Approval>, Cause>> {
        let now = self.now();
        self.look_up(move |db, _| lists::approvals(db, stand, (before, at_most(limit)), now))
    }

    fn halts(&self, before: Option<u64>, limit: usize) -> Fut<'_, Result<Vec<Halt>, Cause>> {
        self.look_up(move |db, _| lists::halts(db, (below(before), at_most(limit))))
    }

    fn actions(
        &self,
        subject: Option<Arc<str>>,
        before: Option<u64>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<Acted>, Cause>> {
        let page = (below(before), at_most(limit));
        self.look_up(move |db, _| lists::actions(db, subject.as_deref(), page))
    }

    fn stats(&self) -> Fut<'_, Result<Vec<Stat>, Cause>> {
        self.search(lists::stats)
    }

    fn tell(&self) -> Fut<'_, Result<(), Cause>> {
        Box::pin(self.wrote(|told| Work::Telling(Ask::new((), told))))
    }

    fn deliveries(&self, longest: Millis, limit: usize) -> Fut<'_, Result<Vec<Delivery>, Cause>> {
        let now = self.now();
        self.look_up(move |db, _| deliveries::due(db, now, longest, at_most(limit)))
    }

    fn undelivered(&self) -> Fut<'_, Result<(u64, Option<Millis>), Cause>> {
        self.look_up(|db, _| deliveries::undelivered(db))
    }

    fn take_up(&self, _: &Delivery, _: Millis) -> Fut<'_, Result<bool, Cause>> {
        // a folder has one owner: there is nobody to keep it from
        Box::pin(async { Ok(true) })
    }

    fn delivered(
        &self,
        case: u64,
        tells: Tells,
        due_at: Option<Millis>,
        error: Option<Arc<str>>,
    ) -> Fut<'_, Result<(), Cause>> {
        let tried = Try { case, tells, due_at, error };
        Box::pin(self.wrote(|told| Work::Delivered(Ask::new(tried, told))))
    }
}
