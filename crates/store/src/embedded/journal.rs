//! The journal port: what is written goes to the writer, what is asked to the readers.

use super::work::Work;
use super::{Embedded, limits, people, read, reader, snapshot};
use kernel::answer::Cause;
use kernel::ids::{AssetId, FlowId, Id, Millis, UserId, WorkerId};
use kernel::people::{Acted, Approval, Day, OpenCase, Spent};
use kernel::ports::Fut;
use kernel::ports::journal::{Count, Due, Journal, Lease, Linked, Snapshot, Standing};
use kernel::record::Record;
use kernel::unit::{Unit, Wrote};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use tokio::sync::oneshot;

impl Journal for Embedded {
    fn now(&self) -> Millis {
        let (clock, written) = (self.clock.now(), self.written.load(Ordering::Acquire));
        if clock > written { clock } else { written }
    }

    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        Box::pin(async move {
            let asked = units.len();
            if asked == 0 {
                return Vec::new();
            }
            let closed = || vec![Wrote::Unknown(Cause::of("STORE_CLOSED")); asked];
            let (told, answer) = oneshot::channel();
            let wrote = Vec::with_capacity(asked);
            if self.writer.send(Work::Units { units, wrote, told }).await.is_err() {
                return closed();
            }
            answer.await.unwrap_or_else(|_| closed())
        })
    }

    fn get(&self, ids: Vec<Id>) -> Fut<'_, Result<Vec<Record>, Cause>> {
        self.ask(move |db, flows| read::get(db, flows, &ids))
    }

    fn bound(
        &self,
        flow: FlowId,
        scope: Arc<str>,
        key: Arc<str>,
    ) -> Fut<'_, Result<Option<Record>, Cause>> {
        self.ask(move |db, flows| read::bound(db, flows, (flows.table(flow).flow, &scope, &key)))
    }

    fn history(&self, id: Id) -> Fut<'_, Result<Vec<Linked>, Cause>> {
        self.ask(move |db, flows| read::history(db, flows, id))
    }

    fn due(&self, _: WorkerId, limit: usize) -> Fut<'_, Result<Vec<Due>, Cause>> {
        let (handed, now) = (self.handed.clone(), self.now());
        self.ask(move |db, flows| {
            handed.lock().unwrap_or_else(PoisonError::into_inner).take(db, flows, now, limit)
        })
    }

    fn alive(&self, worker: WorkerId, _: Millis, _: Option<u64>) -> Fut<'_, Result<Lease, Cause>> {
        // the folder's lock is the lease
        *self.worker.lock().unwrap_or_else(PoisonError::into_inner) = Some(worker);
        Box::pin(std::future::ready(Ok(Lease { lost: false, ends: false })))
    }

    fn leave(&self, _: WorkerId) -> Fut<'_, Result<(), Cause>> {
        *self.worker.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Box::pin(std::future::ready(Ok(())))
    }

    fn moving(&self, _: WorkerId) -> Fut<'_, Result<Vec<WorkerId>, Cause>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn open_below(&self, id: Id) -> Fut<'_, Result<Vec<Id>, Cause>> {
        self.ask(move |db, flows| read::open_below(db, flows, id))
    }

    fn open_of(&self, user: UserId) -> Fut<'_, Result<Vec<Record>, Cause>> {
        self.ask(move |db, flows| read::open_of(db, flows, user))
    }

    fn counts(&self) -> Fut<'_, Result<Vec<Count>, Cause>> {
        self.ask(read::counts)
    }

    fn aged(&self, opened: Millis, limit: usize) -> Fut<'_, Result<Vec<Record>, Cause>> {
        self.ask(move |db, flows| read::aged(db, flows, opened, limit))
    }

    fn open_cases(&self) -> Fut<'_, Result<Vec<OpenCase>, Cause>> {
        self.ask(|db, _| people::open_cases(db))
    }

    fn acted(&self, caller: Arc<str>, key: Arc<str>) -> Fut<'_, Result<Option<Acted>, Cause>> {
        self.ask(move |db, _| people::acted(db, &caller, &key))
    }

    fn approval(&self, id: Id) -> Fut<'_, Result<Option<Approval>, Cause>> {
        let now = self.now();
        self.ask(move |db, _| people::approval(db, id, now))
    }

    fn spent(&self, user: UserId, day: Day, asset: AssetId) -> Fut<'_, Result<Spent, Cause>> {
        self.ask(move |db, _| limits::spent(db, user, day, asset))
    }

    fn standing(&self) -> Fut<'_, Result<Standing, Cause>> {
        let worker = *self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        self.ask(move |db, flows| {
            let mut standing = read::standing(db, flows)?;
            for owner in &mut standing.owners {
                owner.lives = Some(owner.worker) == worker;
            }
            Ok(standing)
        })
    }

    fn snapshot(&self) -> Fut<'_, Result<Box<dyn Snapshot>, Cause>> {
        let (file, flows) = (self.file.clone(), self.flows.clone());
        let begun = self.readers.ask(move |_| snapshot::Instant::begin(reader(&file)?, flows));
        Box::pin(async move {
            let instant: Box<dyn Snapshot> = Box::new(begun.await?);
            Ok(instant)
        })
    }
}
