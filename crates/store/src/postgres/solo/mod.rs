//! What is a transaction of its own: units with something rare in them, and what belongs to no
//! transfer. One statement after the other.

mod deeds;
mod desk;
mod funding;
mod guards;
mod people;
mod puts;

pub(crate) use funding::{BOOKED, booked};

use super::board::{Board, Stop};
use super::fault::Fault;
use super::fetch::{Turn, Wait};
use super::lane::Lane;
use super::needs::Needs;
use super::statement::Statements;
use super::text::int;
use super::work::{Solo, Told, Try};
use super::writer::Hand;
use kernel::answer::Cause;
use kernel::audit::seal::Seal;
use kernel::ports::ledger::{External, Moved, StatusChange, Stored};
use kernel::table::Flows;
use kernel::unit::{Key, Put, Unit, Wrote};
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

/// From now on webhooks are posted.
struct Telling;

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
    /// Runs it and answers.
    pub(crate) async fn solo(&mut self, solo: Solo) {
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
                let done = self.insist(&none, plain, &change);
                tell(told, done.await);
            }
            Solo::External(movement, told) => {
                let purses = [(movement.user, movement.asset)].into();
                let needs = Needs { purses, ..Needs::default() };
                let turn = Turn { alone: false, deeds: true };
                let done = self.insist(&needs, turn, &movement);
                tell(told, done.await.map(Ok));
            }
            Solo::Seal(seal, told) => {
                let done = self.insist(&none, plain, &seal);
                tell(told, done.await);
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
    }

    /// Tries again where others were in the way and nothing was written.
    async fn insist<F: Fill>(
        &mut self,
        needs: &Needs,
        turn: Turn,
        fill: &F,
    ) -> Result<F::Said, Fault> {
        let (mut tries, mut pause) = (1, PAUSE);
        loop {
            match self.transaction(needs, turn, fill).await {
                Err(Fault::Believed | Fault::Locked) if tries < TRIES => {}
                done => return done,
            }
            tokio::time::sleep(pause).await;
            tries += 1;
            pause = if pause < PAUSE * 32 { pause * 2 } else { pause };
        }
    }

    /// One transaction; its answer counts, it is durable.
    async fn transaction<F: Fill>(
        &mut self,
        needs: &Needs,
        turn: Turn,
        fill: &F,
    ) -> Result<F::Said, Fault> {
        let writers = self.writers().clone();
        let lane = self.lane().await?;
        let filled = match lane.fetch(&writers.flows, needs, (Wait::Lock, turn)).await {
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
}

impl Fill for Unit {
    type Said = Wrote;

    async fn fill(&self, alone: &mut Alone<'_>) -> Result<End<Wrote>, Fault> {
        let unit = self;
        for guard in &unit.guards {
            if !alone.holds(guard).await? {
                return Ok(End::Drop(Wrote::Lost(guard.clone())));
            }
        }
        let wrote = match alone.board.unit(alone.flows, unit) {
            Ok(wrote) => wrote,
            Err(Stop::Fault(fault)) => return Err(fault),
            Err(Stop::Locked | Stop::Again) => return Err(Fault::Locked),
        };
        let Wrote::Written(written) = &wrote else { return Ok(End::Drop(wrote)) };
        let fork = unit.then.fork.as_deref().zip(written.fork.as_ref());
        let chosen = fork.and_then(|(fork, answer)| fork.chosen(answer));
        for then in std::iter::once(&unit.then).chain(chosen) {
            for put in &then.puts {
                if let Some(no) = alone.put(put).await? {
                    return Ok(End::Drop(no));
                }
            }
        }
        alone.mark(&unit.guards).await?;
        Ok(End::Keep(wrote))
    }
}

impl Fill for Key {
    type Said = Stored;

    async fn fill(&self, alone: &mut Alone<'_>) -> Result<End<Stored>, Fault> {
        alone.fence(*self).await
    }
}

impl Fill for StatusChange {
    type Said = Result<bool, Cause>;

    async fn fill(&self, alone: &mut Alone<'_>) -> Result<End<Self::Said>, Fault> {
        alone.status(self).await
    }
}

impl Fill for External {
    type Said = Moved;

    async fn fill(&self, alone: &mut Alone<'_>) -> Result<End<Moved>, Fault> {
        alone.external(self).await
    }
}

impl Fill for Seal {
    type Said = Result<(), Cause>;

    async fn fill(&self, alone: &mut Alone<'_>) -> Result<End<Self::Said>, Fault> {
        alone.seal(self).await
    }
}

impl Fill for Try {
    type Said = ();

    async fn fill(&self, alone: &mut Alone<'_>) -> Result<End<()>, Fault> {
        alone.tried(self).await
    }
}

impl Fill for Telling {
    type Said = ();

    async fn fill(&self, alone: &mut Alone<'_>) -> Result<End<()>, Fault> {
        alone.telling().await
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
