//! Each subject on a database of its own: opened, driven, and its money counted afterwards.

use crate::bare::{self, Bare};
use crate::http::{Child, Host};
use crate::load::{AMOUNT, FUNDED, Spread, drive};
use crate::ours::{self, Ours, Spot};
use crate::probe::Run;
use crate::report::What;
use crate::site::{Counters, Site};
use crate::{Args, Outcome};
use naive::{Naive, Wal};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use testbed::Database;

/// Who is measured, with what it has written so far.
pub(crate) struct Subject {
    who: Who,
    database: Database,
    pools: Vec<usize>,
    keys: Arc<AtomicU64>,
}

enum Who {
    Naive(Wal),
    Bare(Wal),
    /// Workers in this process, and the Spot that they share where it is not inside.
    Ours(
        Vec<Ours>,
        #[expect(dead_code, reason = "it serves for as long as this lives")] Option<Child>,
    ),
    /// Behind a door; in batches.
    Http(Child, Host, bool),
}

/// How a row is made.
#[derive(Clone, Copy)]
struct Row {
    spread: Spread,
    level: usize,
    pool: usize,
    time: Duration,
}

/// What was counted before, what was timed, what was counted after.
type Timed = (Counters, (Vec<u32>, Duration), Counters);

impl Subject {
    /// Makes its tables and gives every user money.
    pub(crate) async fn open(what: What, site: &Site, args: &Args, folder: &Path) -> Outcome<Self> {
        let database = site.database()?;
        let users = args.users;
        let file = folder.join(format!("{}.log", what.name()));
        let own = folder.join(what.name());
        std::fs::create_dir_all(&own).map_err(|why| why.to_string())?;
        match what.host() {
            None => {
                database.sql(naive::SCHEMA)?;
                database.sql(&format!(
                    "INSERT INTO balances_tb (user_id, asset_id, account_type, available)
                     SELECT n, 3, 'FUNDING', {FUNDED} FROM generate_series(1, {users}) n"
                ))?;
            }
            Some(Host::Bare) => {
                database.sql(bare::SCHEMA)?;
                database.sql(&format!(
                    "INSERT INTO balances SELECT n, {FUNDED}, 0, 0, 0 FROM generate_series(1, {users}) n"
                ))?;
            }
            Some(Host::Ours | Host::Spot) => ours::prepare(&database, users).await?,
        }
        database.sql("VACUUM ANALYZE")?;
        let child = |host| Child::start(host, database.url(), &own);
        let who = match what {
            What::Naive => Who::Naive(Wal::open(&file)?),
            What::Bare => Who::Bare(Wal::open(&file)?),
            What::Ours => {
                let inside = Spot::Inside(own.join("spot"));
                Who::Ours(vec![Ours::open(database.url(), inside).await?], None)
            }
            What::OursSpot | What::OursTwo => {
                let served = child(Host::Spot)?;
                let mut workers = Vec::new();
                for _ in 0..if what == What::OursTwo { 2 } else { 1 } {
                    let spot = Spot::Served(served.address());
                    workers.push(Ours::open(database.url(), spot).await?);
                }
                Who::Ours(workers, Some(served))
            }
            What::BareHttp => Who::Http(child(Host::Bare)?, Host::Bare, false),
            What::OursHttp => Who::Http(child(Host::Ours)?, Host::Ours, false),
            What::BareBatch => Who::Http(child(Host::Bare)?, Host::Bare, true),
            What::OursBatch => Who::Http(child(Host::Ours)?, Host::Ours, true),
        };
        Ok(Self { who, database, pools: args.pools.clone(), keys: Arc::default() })
    }

    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    /// What it knows of itself since it was asked last.
    pub(crate) fn says(&self) -> String {
        match &self.who {
            Who::Naive(_) | Who::Bare(_) | Who::Http(..) => String::new(),
            Who::Ours(workers, _) => {
                workers.iter().map(|ours| ours.commits.says()).collect::<Vec<_>>().join("; ")
            }
        }
    }

    /// Measures one row: `level` transfers in flight for a time. Of several pools the best counts.
    pub(crate) async fn run(
        &self,
        site: &Site,
        spread: Spread,
        level: usize,
        time: Duration,
    ) -> Outcome<Run> {
        let pools = match &self.who {
            Who::Naive(_) => self.pools.as_slice(),
            Who::Bare(_) | Who::Ours(..) | Who::Http(..) => &[0],
        };
        let mut best: Option<Run> = None;
        for pool in pools {
            // more connections than callers change nothing, but one pool there must be
            if *pool > level && best.is_some() {
                continue;
            }
            let run = self.once(site, Row { spread, level, pool: *pool, time }).await?;
            self.conserved()?;
            if best.as_ref().is_none_or(|best| run.rate() > best.rate()) {
                best = Some(run);
            }
        }
        best.ok_or_else(|| "no pool".to_owned())
    }

    async fn once(&self, site: &Site, row: Row) -> Outcome<Run> {
        self.database.sql("CHECKPOINT")?;
        let syncs = site.counters(&self.database, &self.process())?.syncs;
        let Row { spread, level, pool, .. } = row;
        let (before, (micros, took), after) = match &self.who {
            Who::Naive(wal) => {
                let naive = Naive::open(self.database.url(), pool, wal.clone()).await?;
                let call = move |n| {
                    let naive = naive.clone();
                    async move { naive.transfer(n, spread.user(n), AMOUNT).await }
                };
                self.timed(site, row, call).await?
            }
            Who::Bare(wal) => {
                let bare = Bare::open(self.database.url(), wal, level).await?;
                let call = move |n| {
                    let bare = bare.clone();
                    async move { bare.transfer(n, spread.user(n), AMOUNT).await }
                };
                self.timed(site, row, call).await?
            }
            Who::Ours(workers, _) => {
                let (workers, many) = (workers.clone(), workers.len());
                let call = move |n: u64| {
                    let turn = usize::try_from(n).unwrap_or(0).checked_rem(many).unwrap_or(0);
                    let ours = workers.get(turn).cloned();
                    async move { ours.ok_or("no worker")?.transfer(n, spread.user(n)).await }
                };
                let timed = self.timed(site, row, call.clone()).await?;
                // sessions that live on report what they synced with a write that comes a second later
                tokio::time::sleep(Duration::from_millis(1_100)).await;
                let few = Row { level: 1, time: Duration::from_millis(20), ..row };
                self.timed(site, few, call).await?;
                timed
            }
            Who::Http(child, _, batches) => {
                let process = self.process();
                let before = site.counters(&self.database, &process)?;
                let took = child.run(*batches, (spread, level), row.time).await?;
                let after = site.counters(&self.database, &process)?;
                tokio::time::sleep(Duration::from_millis(1_100)).await;
                child.run(*batches, (spread, 1), Duration::from_millis(20)).await?;
                (before, took, after)
            }
        };
        let mut cost = after.since(before);
        // and others with their end
        tokio::time::sleep(Duration::from_millis(300)).await;
        cost.syncs = site.counters(&self.database, &self.process())?.syncs.saturating_sub(syncs);
        Ok(Run::new(micros, took, cost))
    }

    async fn timed<F, T>(&self, site: &Site, row: Row, call: F) -> Outcome<Timed>
    where
        F: Fn(u64) -> T + Clone + Send + 'static,
        T: Future<Output = Outcome> + Send,
    {
        let before = site.counters(&self.database, &self.process())?;
        let took = drive(row.level, row.time, &self.keys, call).await?;
        Ok((before, took, site.counters(&self.database, &self.process())?))
    }

    /// The process that does the work.
    fn process(&self) -> String {
        match &self.who {
            Who::Naive(_) | Who::Bare(_) | Who::Ours(..) => "self".to_owned(),
            Who::Http(child, ..) => child.pid().to_string(),
        }
    }

    /// No money came or went, and nothing is left half done.
    fn conserved(&self) -> Outcome {
        let halted = match &self.who {
            Who::Ours(workers, _) => workers.iter().find_map(Ours::halted),
            Who::Naive(_) | Who::Bare(_) | Who::Http(..) => None,
        };
        if let Some(why) = halted {
            return Err(format!("VOID: the checker has halted: {why}"));
        }
        let sql = match &self.who {
            Who::Naive(_) => naive_books(),
            Who::Bare(_) | Who::Http(_, Host::Bare, _) => bare_books(),
            Who::Ours(..) | Who::Http(_, Host::Ours | Host::Spot, _) => OUR_BOOKS.to_owned(),
        };
        match self.database.sql(&sql)?.as_str() {
            "t" => Ok(()),
            _ => Err("VOID: the money does not add up".to_owned()),
        }
    }
}

const OUR_BOOKS: &str = "SELECT (SELECT sum(available + frozen) FROM balances_tb)
    + (SELECT sum(amount) FROM books) = 0 AND (SELECT sum(frozen) FROM balances_tb) = 0
    AND NOT EXISTS (SELECT FROM transfers WHERE state <> 40)";

fn naive_books() -> String {
    format!(
        "SELECT (SELECT sum(available) FROM balances_tb) + (SELECT coalesce(sum(amount), 0)
         FROM transfers_tb WHERE state = 40) - (SELECT count(*) * {FUNDED} FROM balances_tb) = 0
         AND NOT EXISTS (SELECT FROM transfers_tb WHERE state <> 40)"
    )
}

fn bare_books() -> String {
    format!(
        "SELECT (SELECT sum(available) FROM balances) + (SELECT coalesce(sum(amount), 0) FROM clearing)
         - (SELECT count(*) * {FUNDED} FROM balances) = 0 AND (SELECT sum(frozen) FROM balances) = 0
         AND (SELECT sum(amount) FROM transfers) = (SELECT sum(amount) FROM clearing)"
    )
}
