//! The server under load on a store of its own before a chain of its own, and its money counted.

use crate::Outcome;
use crate::states::{self, Dwell};
use devnet::solana::serve::{Request, Served as LocalChain, environment, start};
use rusqlite::{Connection, OpenFlags};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use testbed::Served;

/// Wallets that pay in.
const CUSTOMERS: usize = 8;
/// Base units of a deposit; the first of them, since no two may be the same transaction.
const UNITS: u64 = 1_000_000;
/// What is kept of a refund, in base units.
const FEE: u64 = 100_000;
/// How long what is open may take to end.
const DRAIN: Duration = Duration::from_secs(600);

/// The chain before which the server runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setup {
    pub lanes: usize,
    pub finality: u64,
    pub block: Duration,
}

/// Deposits, and the time between two of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub deposits: u64,
    pub between: Duration,
}

/// What one load came to.
pub(crate) struct Run {
    pub deposits: u64,
    /// From the first deposit to the last refund.
    pub took: Duration,
    /// Milliseconds in each state.
    pub dwell: Dwell,
    /// Requests that the chain's endpoints had, by their method.
    pub requests: BTreeMap<String, u64>,
    /// Processor time of the server under load.
    pub cpu: Duration,
}

pub(crate) struct Subject {
    served: Served,
    chain: LocalChain,
    setup: Setup,
    folder: PathBuf,
    vault: u64,
}

impl Subject {
    pub(crate) fn start(folder: &Path, setup: Setup) -> Outcome<Self> {
        std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        let chain = start(&Request {
            port: None,
            endpoints: 2,
            customers: CUSTOMERS,
            lanes: setup.lanes,
            block_millis: u64::try_from(setup.block.as_millis()).unwrap_or(u64::MAX),
            finality_lag: setup.finality,
            seed: None,
            dir: folder.to_owned(),
        })?;
        let mut settings = environment(&chain);
        settings.push(("PORTAGE_SWAP__SOLANA_RPC_PER_SECOND", "10000".to_owned()));
        settings.push(("PORTAGE_SWAP__SOLANA_POLL_MS", "200".to_owned()));
        settings.push(("PORTAGE_ENGINE__LEASE_SECONDS", "60".to_owned()));
        let served = Served::portage(&folder.join("data"), &settings)?;
        let vault = chain.devnet.balance(&chain.vault_account);
        let subject = Self { served, chain, setup, folder: folder.join("data"), vault };
        // the watch begins behind what the vault has now
        subject.until("SELECT count(*) FROM service_state WHERE name LIKE '%cursor:SOLANA%'", 1)?;
        Ok(subject)
    }

    /// How long a block takes to be final.
    pub(crate) fn finality(&self) -> Duration {
        self.setup.block.saturating_mul(u32::try_from(self.setup.finality).unwrap_or(u32::MAX))
    }

    /// Pays in, and waits until all of it is given back.
    pub(crate) fn measure(&self, load: Load) -> Outcome<Run> {
        let devnet = &self.chain.devnet;
        let cpu = testbed::used(self.served.process());
        let before = devnet.requests();
        let begun = now();
        for (n, customer) in (0..load.deposits).zip(self.chain.customers.iter().cycle()) {
            let paid = devnet.deposit(customer, &self.chain.vault_account, UNITS + n, &[]);
            devnet.submit(paid?);
            std::thread::sleep(load.between);
        }
        let ended = "SELECT count(*) FROM transfers WHERE flow = 'swap_in' AND state = -30";
        self.until(ended, load.deposits)?;
        let (took, mut requests) = (begun.elapsed(), devnet.requests());
        for (method, count) in &mut requests {
            *count = count.saturating_sub(before.get(method).copied().unwrap_or_default());
        }
        let cpu = testbed::used(self.served.process()).saturating_sub(cpu);
        let dwell = states::read(&self.folder)?;
        Ok(Run { deposits: load.deposits, took, dwell, requests, cpu })
    }

    /// Waits until a query of the store counts that many.
    fn until(&self, sql: &str, wanted: u64) -> Outcome {
        let begun = now();
        loop {
            let found = self.count(sql);
            if found.as_ref().is_ok_and(|found| *found >= wanted) {
                return Ok(());
            }
            if begun.elapsed() > DRAIN {
                return Err(format!("{found:?} of {wanted} after {DRAIN:?}: {sql}"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn count(&self, sql: &str) -> Outcome<u64> {
        let store = |error: rusqlite::Error| format!("the store: {error}");
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let db = Connection::open_with_flags(self.folder.join("portage.db"), flags);
        let count: i64 = db.map_err(store)?.query_row(sql, [], |row| row.get(0)).map_err(store)?;
        Ok(u64::try_from(count).unwrap_or_default())
    }

    /// Stops it and counts its money.
    ///
    /// # Errors
    /// The vault does not hold what it had and the fees.
    pub(crate) fn end(self) -> Outcome {
        let swaps = self.count("SELECT count(*) FROM transfers WHERE flow = 'swap_in'")?;
        self.served.stop()?;
        let vault = self.chain.devnet.balance(&self.chain.vault_account);
        let due = self.vault + swaps * FEE;
        if vault == due {
            println!(
                "       {swaps} deposits, each given back once less its fee: the vault has {vault}"
            );
            return Ok(());
        }
        Err(format!("the vault has {vault}, and {due} are due after {swaps} deposits"))
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures with the real clock")]
fn now() -> Instant {
    Instant::now()
}
