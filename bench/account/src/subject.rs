//! Each subject with a store and a broker of its own: started, put under load, and its money counted.

use crate::load::{Plan, Target};
use crate::probe::{Cost, Run};
use crate::setup::{self, FUNDED_UNITS, UNITS};
use crate::{Outcome, PEER, peer};
use rusqlite::{Connection, OpenFlags};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use testbed::{Database, Kafka, Options, Served, Server, served};

/// The pipelines that are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Who {
    /// Portage on the embedded store, with the bus in its process.
    Portage,
    /// Portage on PostgreSQL and Kafka.
    PortageKafka,
    /// The source's own shape on PostgreSQL and Kafka.
    SourceKafka,
}

impl Who {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Portage => "portage",
            Self::PortageKafka => "portage-kafka",
            Self::SourceKafka => "source-kafka",
        }
    }
}

/// What a subject runs on beside its folder. What is named first ends first.
struct Servers {
    database: Database,
    postgres: Server,
    broker: Kafka,
}

impl Servers {
    fn start(dir: &Path) -> Outcome<Self> {
        let options = Options { below: Some(dir.to_owned()), ..Options::default() };
        let postgres = Server::with(&options)?;
        Ok(Self { database: postgres.database()?, postgres, broker: Kafka::start()? })
    }
}

/// Who is measured, running.
pub(crate) struct Subject {
    who: Who,
    child: Served,
    folder: PathBuf,
    servers: Option<Servers>,
    target: Arc<Target>,
}

/// What the store of a subject holds in the end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    /// Transfers that were answered with 201.
    acknowledged: u64,
    /// Transfers that stand at COMPLETED.
    completed: u64,
    /// Moves that the receivers' balances say.
    moved: u64,
    /// What all accounts hold, in base units.
    sum: u64,
    given: u64,
}

impl Counted {
    /// Reads four numbers: how many are COMPLETED, what receivers hold, what all hold, and the moves
    /// that the ledger has rows of.
    fn of(target: &Target, [completed, received, sum, rows]: [u64; 4]) -> Outcome<Self> {
        let acknowledged = target.acknowledged.load(Ordering::SeqCst);
        let moved = received / UNITS;
        let given = target.pairs * FUNDED_UNITS;
        let counted = Self { acknowledged, completed, moved, sum, given };
        if [completed, moved, rows] == [acknowledged; 3] && sum == given {
            return Ok(counted);
        }
        Err(format!("money was lost or made: {counted:?}, {rows} rows of moves"))
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { acknowledged, completed, moved, .. } = self;
        write!(
            f,
            "{acknowledged} acknowledged, {completed} COMPLETED, {moved} moves, sum unchanged"
        )
    }
}

const OURS: &str = "SELECT (SELECT count(*) FROM transfers WHERE state = 40),
  (SELECT sum(CAST(balance AS bigint)) FROM accounts_tb WHERE account_number LIKE 'R-%'),
  (SELECT sum(CAST(balance AS bigint)) FROM accounts_tb),
  (SELECT count(*) FROM operations WHERE ledger = 10 AND leg = 'MOVE' AND result = 'DONE')";

impl Subject {
    /// Starts it with its accounts, and money in those that pay.
    pub(crate) async fn start(who: Who, below: &Path, dir: &Path, pairs: u64) -> Outcome<Self> {
        let folder = below.join(who.name());
        let servers = match who {
            Who::Portage => None,
            Who::PortageKafka | Who::SourceKafka => Some(Servers::start(dir)?),
        };
        let child = match (&servers, who) {
            (None, _) => Served::portage(&folder, &[])?,
            (Some(servers), Who::SourceKafka) => {
                servers.database.sql(peer::SCHEMA)?;
                servers.database.sql(&peer::accounts(pairs))?;
                let (database, brokers) = (servers.database.url(), servers.broker.brokers());
                Served::start(served::own(PEER)?, |peer, address| {
                    peer.args([&address, database, brokers]);
                })?
            }
            (Some(servers), Who::Portage | Who::PortageKafka) => {
                let settings = [
                    ("DATABASE_URL", servers.database.url().to_owned()),
                    ("KAFKA_BROKERS", servers.broker.brokers().to_owned()),
                ];
                Served::portage(&folder, &settings)?
            }
        };
        let token = served::token(&folder)?;
        if who != Who::SourceKafka {
            setup::accounts(child.address, &token, pairs).await?;
        }
        let target = Target::new(child.address, token, pairs);
        Ok(Self { who, child, folder, servers, target })
    }

    fn cost(&self) -> Outcome<Cost> {
        let own = testbed::used(self.child.process());
        let Some(Servers { postgres, broker, .. }) = &self.servers else {
            return Ok(Cost { own, ..Cost::default() });
        };
        Ok(Cost { own, postgres: postgres.used()?, broker: broker.used()? })
    }

    /// Puts it under one load, with what that cost.
    pub(crate) async fn measure(&self, plan: &Plan) -> Outcome<Run> {
        let before = self.cost()?;
        let loaded = self.target.run(*plan).await?;
        let cost = self.cost()? - before;
        Ok(Run { transfers: loaded.transfers, took: loaded.took, micros: loaded.micros, cost })
    }

    /// Stops it and counts its money.
    ///
    /// # Errors
    /// COMPLETED transfers, moves and acknowledged ones are not as many, or the sum has changed.
    pub(crate) fn end(self) -> Outcome<Counted> {
        let counts = match (&self.servers, self.who) {
            (None, _) => {
                self.child.stop()?;
                embedded(&self.folder)?
            }
            (Some(servers), Who::SourceKafka) => numbers(&servers.database.sql(peer::COUNTS)?)?,
            (Some(servers), Who::Portage | Who::PortageKafka) => {
                self.child.stop()?;
                numbers(&servers.database.sql(OURS)?)?
            }
        };
        Counted::of(&self.target, counts)
    }
}

fn embedded(folder: &Path) -> Outcome<[u64; 4]> {
    let error = |error: rusqlite::Error| format!("the embedded store: {error}");
    let file = folder.join("portage.db");
    let db = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(error)?;
    let row = db.query_row(OURS, [], |row| {
        Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get::<_, i64>(3)?])
    });
    let mut counts = [0; 4];
    for (count, number) in counts.iter_mut().zip(row.map_err(error)?) {
        *count = u64::try_from(number).map_err(|_| format!("below zero: {number}"))?;
    }
    Ok(counts)
}

fn numbers(line: &str) -> Outcome<[u64; 4]> {
    let all: Vec<u64> = line.split('|').filter_map(|text| text.trim().parse().ok()).collect();
    all.try_into().map_err(|_| format!("not four numbers: {line}"))
}
