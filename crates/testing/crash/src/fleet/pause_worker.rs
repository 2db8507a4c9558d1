//! Pauses a worker, and measures by the database's clock how long transfers take before, meanwhile and after.

use super::Fleet;
use super::tables::OPEN;
use crate::env::Env;
use crate::rng::Rng;
use crate::{Outcome, clock};
use std::time::Duration;
use testbed::{Database, signal};

/// Who stands still: one of two workers.
const STILL: usize = 2;
/// Maximum number of tries to catch it at the moment that is meant.
const TRIES: u32 = 2_000;

/// The one before the last that began.
const WORKER: &str = "SELECT worker FROM workers ORDER BY started_at DESC LIMIT 1 OFFSET 1";

/// How long transfers took that were opened in a time, in milliseconds from opened to ended.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Durations {
    /// How many of them ended.
    pub ended: u64,
    /// Half of them took at most this.
    pub half: u64,
    /// 99 of 100 did.
    pub most: u64,
}

/// One time that it stood still.
#[derive(Debug, Clone)]
pub struct PausedRun {
    /// Where in its work it stood.
    pub moment: &'static str,
    /// For transfers opened before, meanwhile and after.
    pub durations: [Durations; 3],
    /// What was open when it stopped, and took more than a second from then on.
    pub held: Durations,
}

/// Where it is to stand.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// It called Spot, and has written no answer.
    Claims,
    /// Its transaction is open, and locks rows.
    Transaction,
}

/// Halts it twice, each time for `each`, while clients work.
///
/// # Errors
/// It is never where it should be caught, or a process ends.
pub fn stand(
    fleet: &mut Fleet,
    env: &Env,
    each: Duration,
    rng: &mut Rng,
) -> Outcome<Vec<PausedRun>> {
    env.workload.up.send_replace(true);
    let mut stood = Vec::new();
    for moment in [Moment::Claims, Moment::Transaction] {
        stood.push(fleet.stands(env, moment, each, rng)?);
    }
    Ok(stood)
}

impl Fleet {
    fn stands(
        &mut self,
        env: &Env,
        moment: Moment,
        each: Duration,
        rng: &mut Rng,
    ) -> Outcome<PausedRun> {
        let begun = now(&self.database)?;
        std::thread::sleep(each);
        let before = now(&self.database)?;
        let process = self.members.get(STILL).and_then(|member| member.running.as_ref());
        let process = process.ok_or("the worker does not run")?.pid();
        caught(&self.database, process, moment, rng)?;
        let stopped = now(&self.database)?;
        std::thread::sleep(each);
        let resumed = now(&self.database)?;
        signal("CONT", &[process])?;
        std::thread::sleep(each);
        let ended = now(&self.database)?;
        for member in &mut self.members {
            member.lives()?;
        }
        env.workload.broken().map_or(Ok(()), Err)?;
        // what was opened last may take its time
        let open = format!("SELECT count(*) FROM transfers WHERE created_at < {ended} AND {OPEN}");
        let all = || self.database.sql(&open).is_ok_and(|left| left.trim() == "0").then_some(());
        clock::until(Duration::from_secs(60), all).ok_or("transfers do not end")?;
        let opened =
            |from, to| durations(&self.database, &format!("created_at BETWEEN {from} AND {to}"));
        Ok(PausedRun {
            moment: match moment {
                Moment::Claims => "calls of it are at Spot, their answers not written",
                Moment::Transaction => "inside a transaction",
            },
            durations: [opened(begun, before)?, opened(stopped, resumed)?, opened(resumed, ended)?],
            held: durations(
                &self.database,
                &format!("created_at < {stopped} AND updated_at > {stopped} + 1000"),
            )?,
        })
    }
}

fn durations(database: &Database, which: &str) -> Outcome<Durations> {
    let took = "WITHIN GROUP (ORDER BY updated_at - created_at)";
    let told = database.sql(&format!(
        "SELECT count(*), coalesce(percentile_disc(0.5) {took}, 0), \
         coalesce(percentile_disc(0.99) {took}, 0) FROM transfers WHERE NOT ({OPEN}) AND {which}"
    ))?;
    let numbers: Vec<u64> = told.trim().split('|').filter_map(|n| n.parse().ok()).collect();
    let [ended, half, most] = numbers.try_into().map_err(|_| format!("no durations: {told}"))?;
    Ok(Durations { ended, half, most })
}

fn now(database: &Database) -> Outcome<u64> {
    let told = database.sql("SELECT portage_now()")?;
    told.trim().parse().map_err(|_| format!("no time: {told}"))
}

/// Halts a process, and again until it stands where it should.
fn caught(database: &Database, process: u32, moment: Moment, rng: &mut Rng) -> Outcome {
    for _ in 0..TRIES {
        std::thread::sleep(Duration::from_micros(rng.below(50_000)));
        signal("STOP", &[process])?;
        if stands_there(database, moment)? {
            return Ok(());
        }
        signal("CONT", &[process])?;
    }
    Err(format!("it was never caught: {moment:?}"))
}

fn stands_there(database: &Database, moment: Moment) -> Outcome<bool> {
    match moment {
        Moment::Claims => {
            let claimed = format!(
                "SELECT count(*) > 0 FROM due d JOIN transfers t USING (transfer_id) \
                 WHERE d.leased_by = ({WORKER}) AND d.due_at IS NULL AND t.state IN (10, 30)"
            );
            Ok(database.sql(&claimed)?.trim() == "t")
        }
        Moment::Transaction => {
            // nobody but one that stands still is idle in the same transaction twice
            let idle = "SELECT pid, xact_start FROM pg_stat_activity WHERE state = 'idle in transaction' \
                 AND datname = current_database() AND application_name = 'portage: writer'";
            let first = database.sql(idle)?;
            std::thread::sleep(Duration::from_millis(100));
            let second = database.sql(idle)?;
            Ok(first.lines().any(|line| second.lines().any(|other| line == other)))
        }
    }
}

/// The figures as a table.
pub fn shown(stood: &[PausedRun]) -> String {
    let mut text =
        "| it stands still | | transfers ended | p50 | p99 |\n|---|---|---|---|---|\n".to_owned();
    for PausedRun { moment, durations: [before, meanwhile, after], held } in stood {
        let rows =
            [("before", before), ("meanwhile", meanwhile), ("after", after), ("held by it", held)];
        for (when, Durations { ended, half, most }) in rows {
            text.push_str(&format!("| {moment} | {when} | {ended} | {half} ms | {most} ms |\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Durations, PausedRun, shown};

    #[test]
    fn a_row_for_each_time() {
        let durations = |n| Durations { ended: n, half: n + 1, most: n + 2 };
        let stood = PausedRun {
            moment: "here",
            durations: [durations(10), durations(20), durations(30)],
            held: durations(40),
        };
        let text = shown(&[stood]);
        assert_eq!(text.lines().count(), 6);
        assert!(text.contains("| here | meanwhile | 20 | 21 ms | 22 ms |\n"), "{text}");
    }
}
