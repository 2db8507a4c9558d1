//! What is a transaction of its own: units with something rare in them, and what belongs to no
//! transfer. One statement after the other.

mod deeds;
mod desk;
mod funding;
mod look;
mod people;
mod puts;

pub(crate) use funding::{BOOKED, booked};

use super::board::Board;
use super::fault::Fault;
use super::fetch::{Turn, Wait};
use super::lane::Lane;
use super::needs::Needs;
use super::statement::Statements;
use super::text::int;
use super::work::{Solo, Told};
use super::writer::Hand;
use crate::rules::{self, No};
use desk::Telling;
use kernel::answer::Cause;
use kernel::table::Flows;
use kernel::unit::{Put, Unit, Wrote};
use std::time::Duration;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// A transaction that is being filled by statements.
pub(crate) struct Alone<'l> {
    lane: &'l mut Lane,
    flows: &'l Flows,
    board: Board,
}

/// What a transaction is filled by; it may be asked again.
trait Fill: Sync {
    /// Its answer.
    type Said: Send;
    fn fill(
        &self,
        alone: &mut Alone<'_>,
    ) -> impl Future<Output = Result<End<Self::Said>, Fault>> + Send;
}

/// What a transaction came to: kept, or taken back because of this.
enum End<T> {
    Keep(T),
    Drop(T),
}

/// The first wait before a transaction is tried again; it doubles.
const PAUSE: Duration = Duration::from_millis(20);
/// So often is it tried: for some five seconds, after which a session that stands still is ended.
const TRIES: u32 = 12;

impl Hand {
    /// Runs it and answers; gives it back where somebody holds what it needs, to be tried again.
    pub(crate) async fn solo(&mut self, solo: Solo, tries: u32) -> Option<Solo> {
        let (none, plain) = (Needs::default(), Turn::default());
        match solo {
            Solo::Unit(unit, reply) => {
                let mut needs = Needs::default();
                needs.unit(&unit, false);
                needs.seats.append(&mut needs.fresh);
                let done = self.insist(&needs, turn(&unit), &*unit);
                reply.give(done.await.unwrap_or_else(|fault| match fault {
                    Fault::Full => Wrote::Full,
                    fault @ (Fault::Believed
                    | Fault::Refused(_)
                    | Fault::Locked
                    | Fault::Damaged(_)
                    | Fault::Failed(_)
                    | Fault::Cut(_)) => Wrote::Unknown(fault.cause()),
                }));
            }
            Solo::Fence(key, told) => {
                let needs = Needs { legs: [key.id].into(), ..Needs::default() };
                let done = self.insist(&needs, plain, &key);
                tell(told, done.await.map(Ok));
            }
            Solo::Status(change, told) => {
                match self.transaction(&none, (Wait::Skip, plain), &change).await {
                    Err(fault) if passes(&fault, tries) => return Some(Solo::Status(change, told)),
                    done => tell(told, done),
                }
            }
            Solo::External(movement, told) => {
                let purses = [(movement.user, movement.asset)].into();
                let needs = Needs { purses, ..Needs::default() };
                let turn = Turn { alone: false, deeds: true };
                match self.transaction(&needs, (Wait::Skip, turn), &movement).await {
                    Err(fault) if passes(&fault, tries) => {
                        return Some(Solo::External(movement, told));
                    }
                    done => tell(told, done.map(Ok)),
                }
            }
            Solo::Seal(seal, told) => {
                let done = self.insist(&none, plain, &seal);
                tell(told, done.await);
            }
            Solo::TakenUp(taking, told) => {
                let done = self.insist(&none, plain, &taking);
                tell(told, done.await.map(Ok));
            }
            Solo::Delivered(tried, told) => {
                let done = self.insist(&none, plain, &tried);
                tell(told, done.await.map(Ok));
            }
            Solo::Telling(told) => {
                let done = self.insist(&none, plain, &Telling);
                tell(told, done.await.map(Ok));
            }
        }
        None
    }

    /// Tries again where others were in the way and nothing was written.
    async fn insist<F: Fill>(
        &mut self,
        needs: &Needs,
        turn: Turn,
        fill: &F,
    ) -> Result<F::Said, Fault> {
        let mut tries = 1;
        loop {
            match self.transaction(needs, (Wait::Lock, turn), fill).await {
                Err(fault) if passes(&fault, tries) => {}
                done => return done,
            }
            tokio::time::sleep(pause(tries)).await;
            tries += 1;
        }
    }

    /// One transaction; its answer counts, it is durable.
    async fn transaction<F: Fill>(
        &mut self,
        needs: &Needs,
        how: (Wait, Turn),
        fill: &F,
    ) -> Result<F::Said, Fault> {
        let said = self.tried(needs, how, fill).await;
        self.heard(said)
    }

    async fn tried<F: Fill>(
        &mut self,
        needs: &Needs,
        (wait, turn): (Wait, Turn),
        fill: &F,
    ) -> Result<F::Said, Fault> {
        let writers = self.writers().clone();
        let lane = self.lane().await?;
        let filled = match lane.fetch(&writers.flows, needs, (wait, turn)).await {
            Ok(board) => {
                let worker = writers.batches.worker();
                let mut alone = Alone { lane, flows: &writers.flows, board };
                match fill.fill(&mut alone).await {
                    Ok(End::Keep(said)) => {
                        let flows = &writers.flows;
                        let (all, ended) =
                            Statements::of(alone.lane, flows, &mut alone.board, worker);
                        let ran = alone.lane.run(all, true).await;
                        ran.map(|()| {
                            alone.lane.wrote(&alone.board);
                            writers.purses.keep(&alone.board);
                            writers.batches.count(ended);
                            (said, true)
                        })
                    }
                    Ok(End::Drop(said)) => Ok((said, false)),
                    Err(fault) => Err(fault),
                }
            }
            Err(fault) => Err(fault),
        };
        match filled {
            Ok((said, true)) => Ok(said),
            Ok((said, false)) => {
                let lane = self.lane().await?;
                let read = lane.read();
                let stands = match lane.rollback().await {
                    Ok(()) => lane.stands(read).await,
                    Err(fault) => Err(fault),
                };
                if let Err(Fault::Cut(_)) = &stands {
                    self.cut();
                }
                stands.map(|()| said)
            }
            Err(fault @ Fault::Cut(_)) => {
                self.cut();
                Err(fault)
            }
            Err(fault) => {
                self.lane().await?.rollback().await?;
                Err(fault)
            }
        }
    }
}

/// Others were in the way and nothing was written: it may be tried once more.
const fn passes(fault: &Fault, tries: u32) -> bool {
    matches!(fault, Fault::Believed | Fault::Locked) && tries < TRIES
}

/// How long to wait after so many tries.
pub(crate) fn pause(tries: u32) -> Duration {
    PAUSE * (1 << tries.clamp(1, 6).saturating_sub(1))
}

/// Gives one answer; the inner error is the store's own.
fn tell<T>(told: Told<T>, done: Result<Result<T, Cause>, Fault>) {
    let answer = done.unwrap_or_else(|fault| Err(fault.cause()));
    // whoever asked went away
    let _gone = told.send(answer);
}

impl Alone<'_> {
    /// Asks for at most one row.
    async fn row(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Option<Row>, Fault> {
        let statement = self.lane.prepared(sql).await?;
        Ok(self.lane.client.query_opt(&statement, params).await?)
    }

    /// True where there is such a row.
    async fn exists(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<bool, Fault> {
        Ok(self.row(sql, params).await?.is_some())
    }

    /// Changes so many rows.
    async fn execute(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<u64, Fault> {
        let statement = self.lane.prepared(sql).await?;
        Ok(self.lane.client.execute(&statement, params).await?)
    }

    fn at(&self) -> i64 {
        int(self.board.at)
    }
}

/// A unit, read, decided and written as any other, and what is rare in it beside.
impl Fill for Unit {
    type Said = Wrote;

    async fn fill(&self, alone: &mut Alone<'_>) -> Result<End<Wrote>, Fault> {
        alone.look(self).await?;
        let plan = match rules::unit(&mut alone.board, alone.flows, self) {
            Ok(plan) => plan,
            Err(No::Said(wrote)) => return Ok(End::Drop(wrote)),
            Err(No::Stop(stop)) => return Err(stop.into()),
        };
        for put in plan.puts() {
            alone.put(put).await?;
        }
        if plan.supersedes() {
            alone.supersede().await?;
        }
        alone.mark(&plan).await?;
        let written = alone.board.take(alone.flows, plan)?;
        Ok(End::Keep(Wrote::Written(written)))
    }
}

/// What a unit must hold from its beginning.
fn turn(unit: &Unit) -> Turn {
    let puts = || unit.thens().flat_map(|then| &then.puts);
    Turn {
        alone: puts().any(|put| {
            matches!(
                put,
                Put::Halt { .. }
                    | Put::Resume { .. }
                    | Put::Horizon(_)
                    | Put::Adopt { .. }
                    | Put::Own { .. }
                    | Put::Pause { .. }
                    | Put::Unpause(_)
                    | Put::Asset(_)
            )
        }),
        deeds: puts().any(|put| matches!(put, Put::Action(_))),
    }
}
