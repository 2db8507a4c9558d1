//! Each subject on a database of its own: opened, driven, and its money counted afterwards.

use crate::bare::{self, Bare};
use crate::load::{AMOUNT, Spread, drive};
use crate::probe::Run;
use crate::report::What;
use crate::site::Site;
use crate::{Args, Outcome};
use naive::{Naive, Wal};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use testbed::Database;

/// What every account holds at first.
const FUNDED: u64 = 1_000_000_000_000;

/// Who is measured, with what it has written so far.
pub(crate) struct Subject {
    what: What,
    database: Database,
    wal: Wal,
    pools: Vec<usize>,
    keys: Arc<AtomicU64>,
}

impl Subject {
    /// Makes its tables and gives every user money.
    pub(crate) fn open(what: What, site: &Site, args: &Args, folder: &Path) -> Outcome<Self> {
        let (schema, fund) = match what {
            What::Naive => (
                naive::SCHEMA,
                "INSERT INTO balances_tb (user_id, asset_id, account_type, available) SELECT n, 3, 'FUNDING',",
            ),
            What::Bare => (bare::SCHEMA, "INSERT INTO balances SELECT n,"),
        };
        let rest = match what {
            What::Naive => "",
            What::Bare => ", 0, 0, 0",
        };
        let database = site.database(schema)?;
        database
            .sql(&format!("{fund} {FUNDED}{rest} FROM generate_series(1, {}) n", args.users))?;
        database.sql("VACUUM ANALYZE")?;
        let wal = Wal::open(&folder.join(format!("{}.log", what.name())))?;
        Ok(Self { what, database, wal, pools: args.pools.clone(), keys: Arc::default() })
    }

    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    /// One row: so many in flight for a time. Of several pools the best counts.
    pub(crate) async fn run(
        &self,
        site: &Site,
        spread: Spread,
        level: usize,
        time: Duration,
    ) -> Outcome<Run> {
        let pools = match self.what {
            What::Naive => self.pools.as_slice(),
            What::Bare => &[2],
        };
        let mut best: Option<Run> = None;
        for pool in pools {
            // more connections than callers change nothing, but one pool there must be
            if *pool > level && best.is_some() {
                continue;
            }
            let run = self.once(site, spread, (level, *pool), time).await?;
            self.conserved()?;
            if best.as_ref().is_none_or(|best| run.rate() > best.rate()) {
                best = Some(run);
            }
        }
        best.ok_or_else(|| "no pool".to_owned())
    }

    async fn once(
        &self,
        site: &Site,
        spread: Spread,
        (level, pool): (usize, usize),
        time: Duration,
    ) -> Outcome<Run> {
        self.database.sql("CHECKPOINT")?;
        let syncs = site.counters(&self.database)?.syncs;
        let (before, took, after) = match self.what {
            What::Naive => {
                let naive = Naive::open(self.database.url(), pool, self.wal.clone()).await?;
                let before = site.counters(&self.database)?;
                let call = move |n| {
                    let naive = naive.clone();
                    async move { naive.transfer(n, spread.user(n), AMOUNT).await }
                };
                let took = drive(level, time, &self.keys, call).await?;
                (before, took, site.counters(&self.database)?)
            }
            What::Bare => {
                let bare = Bare::open(self.database.url(), &self.wal, level).await?;
                let before = site.counters(&self.database)?;
                let call = move |n| {
                    let bare = bare.clone();
                    async move { bare.transfer(n, spread.user(n), AMOUNT).await }
                };
                let took = drive(level, time, &self.keys, call).await?;
                (before, took, site.counters(&self.database)?)
            }
        };
        let mut cost = after.since(before);
        // sessions report what they synced when they end
        tokio::time::sleep(Duration::from_millis(300)).await;
        cost.syncs = site.counters(&self.database)?.syncs.saturating_sub(syncs);
        let (micros, took) = took;
        Ok(Run::new(micros, took, cost))
    }

    /// No money came or went, and nothing is left half done.
    fn conserved(&self) -> Outcome {
        let sql = match self.what {
            What::Naive => format!(
                "SELECT (SELECT sum(available) FROM balances_tb) + (SELECT coalesce(sum(amount), 0)
                 FROM transfers_tb WHERE state = 40) - (SELECT count(*) * {FUNDED} FROM balances_tb)
                 = 0 AND NOT EXISTS (SELECT FROM transfers_tb WHERE state <> 40)"
            ),
            What::Bare => format!(
                "SELECT (SELECT sum(available) FROM balances) + (SELECT coalesce(sum(amount), 0)
                 FROM clearing) - (SELECT count(*) * {FUNDED} FROM balances) = 0
                 AND (SELECT sum(frozen) FROM balances) = 0 AND (SELECT sum(amount) FROM transfers)
                 = (SELECT sum(amount) FROM clearing)"
            ),
        };
        match self.database.sql(&sql)?.as_str() {
            "t" => Ok(()),
            _ => Err(format!("VOID: the money of {} does not add up", self.what.name())),
        }
    }
}
