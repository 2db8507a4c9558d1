//! What is a transaction of its own: units with something rare in them, and what belongs to no
//! transfer. One statement after the other.

mod deeds;
mod desk;
mod funding;
mod guards;
mod people;
mod puts;

pub(crate) use deeds::Deeds;

use super::board::{Board, Stop};
use super::fault::Fault;
use super::fetch::{Turn, Wait};
use super::flush::Statements;
use super::lane::Lane;
use super::needs::Needs;
use super::text::int;
use super::work::{Solo, Told};
use super::writer::Hand;
use kernel::answer::{Answer, Cause};
use kernel::table::Flows;
use kernel::unit::{Put, Then, Unit, Wrote};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// A transaction that is being filled by statements.
pub(crate) struct Alone<'l> {
    lane: &'l mut Lane,
    flows: &'l Flows,
    worker: i64,
    board: Board,
}

/// What a transaction came to: kept, or taken back because of this.
enum End<T> {
    Keep(T),
    Drop(T),
}

impl Hand {
    /// Runs it and answers.
    pub(crate) async fn solo(&mut self, solo: Solo) {
        match solo {
            Solo::Unit(unit, reply) => {
                let turn = turn(&unit);
                let mut needs = Needs::default();
                needs.unit(&unit, false);
                needs.seats.append(&mut needs.fresh);
                let mut done =
                    self.transaction(&needs, turn, async |alone| alone.unit(&unit).await).await;
                if let Err(Fault::Believed | Fault::Locked) = &done {
                    done =
                        self.transaction(&needs, turn, async |alone| alone.unit(&unit).await).await;
                }
                reply.give(done.unwrap_or_else(|fault| Wrote::Unknown(fault.cause())));
            }
            Solo::Fence(key, told) => {
                let needs = Needs { legs: [key.id].into(), ..Needs::default() };
                let done =
                    self.transaction(&needs, Turn::default(), async |alone| alone.fence(key).await);
                tell(told, done.await.map(Ok));
            }
            Solo::Status(change, told) => {
                let none = Needs::default();
                let done = self
                    .transaction(&none, Turn::default(), async |alone| alone.status(&change).await);
                tell(told, done.await);
            }
            Solo::External(movement, told) => {
                let purses = [(movement.user, movement.asset)].into();
                let needs = Needs { purses, ..Needs::default() };
                let turn = Turn { alone: false, deeds: true };
                let done =
                    self.transaction(&needs, turn, async |alone| alone.external(&movement).await);
                tell(told, done.await.map(Ok));
            }
            Solo::Seal(seal, told) => {
                let turn = Turn { alone: true, deeds: false };
                let none = Needs::default();
                let done = self.transaction(&none, turn, async |alone| alone.seal(&seal).await);
                tell(told, done.await);
            }
            Solo::Delivered(tried, told) => {
                let none = Needs::default();
                let done = self
                    .transaction(&none, Turn::default(), async |alone| alone.tried(&tried).await);
                tell(told, done.await.map(Ok));
            }
            Solo::Telling(told) => {
                let none = Needs::default();
                let done =
                    self.transaction(&none, Turn::default(), async |alone| alone.telling().await);
                tell(told, done.await.map(Ok));
            }
        }
    }

    /// One transaction; its answer counts, it is durable.
    async fn transaction<T>(
        &mut self,
        needs: &Needs,
        turn: Turn,
        fill: impl AsyncFnOnce(&mut Alone<'_>) -> Result<End<T>, Fault>,
    ) -> Result<T, Fault> {
        let writers = self.writers().clone();
        let lane = self.lane().await?;
        let filled = match lane.fetch(&writers.flows, needs, (Wait::Lock, turn)).await {
            Ok(board) => {
                let worker = writers.batches.worker();
                let mut alone = Alone { lane, flows: &writers.flows, worker, board };
                match fill(&mut alone).await {
                    Ok(End::Keep(said)) => {
                        let flows = &writers.flows;
                        let (all, ended) =
                            Statements::of(alone.lane, flows, &mut alone.board, worker);
                        let ran = alone.lane.run(all, true).await;
                        ran.map(|()| {
                            alone.lane.wrote(&alone.board);
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
                self.lane().await?.rollback().await?;
                Ok(said)
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

    async fn unit(&mut self, unit: &Unit) -> Result<End<Wrote>, Fault> {
        for guard in &unit.guards {
            if !self.holds(guard).await? {
                return Ok(End::Drop(Wrote::Lost(guard.clone())));
            }
        }
        let wrote = match self.board.unit(self.flows, unit) {
            Ok(wrote) => wrote,
            Err(Stop::Fault(fault)) => return Err(fault),
            Err(Stop::Locked | Stop::Again) => return Err(Fault::Locked),
        };
        let Wrote::Written(written) = &wrote else { return Ok(End::Drop(wrote)) };
        let chosen = unit.then.fork.as_deref().and_then(|fork| match &written.fork {
            Some(Answer::Done(_)) => Some(&fork.done),
            Some(Answer::Rejected(..)) => fork.rejected.as_ref(),
            Some(Answer::Dead(_) | Answer::Unknown(_)) | None => None,
        });
        for then in std::iter::once(&unit.then).chain(chosen) {
            for put in &then.puts {
                if let Some(no) = self.put(put).await? {
                    return Ok(End::Drop(no));
                }
            }
        }
        self.mark(&unit.guards).await?;
        Ok(End::Keep(wrote))
    }
}

/// What a unit must hold from its beginning.
fn turn(unit: &Unit) -> Turn {
    let fork = unit.then.fork.as_deref();
    let more = fork.into_iter().flat_map(|fork| std::iter::once(&fork.done).chain(&fork.rejected));
    let thens: Vec<&Then> = std::iter::once(&unit.then).chain(more).collect();
    let puts = || thens.iter().flat_map(|then| &then.puts);
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
