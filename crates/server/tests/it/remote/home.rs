//! A journal and an engine of the server's own service, with ledgers elsewhere; through several lives.

use super::served::TOKEN;
use crate::fixture::{OpenService, panics, runtime};
use engine::{Accepted, Engine, Refused};
use kernel::ids::{AssetId, Id, LedgerId, UserId};
use kernel::money::Amount;
use kernel::ports::ledger::{Direction, External, Moved, Reply, Whose};
use kernel::record::Terms;
use rusqlite::{Connection, OpenFlags};
use server::config::secret::Secret;
use server::config::{Config, Ledger, LedgerForm, LedgerKind, Ledgers};
use server::open_store::Store;
use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// USDT, the asset that moves.
pub(crate) const COIN: AssetId = AssetId(3);
/// What each user is given at Funding.
pub(crate) const GIVEN: u128 = 1_000_000;
pub(crate) const USERS: std::ops::Range<u64> = 1..7;
/// How often something is looked at that ends by itself.
const LOOKS: u64 = 4_000;

/// A remote ledger as the settings name it.
pub(crate) fn elsewhere(at: SocketAddr, form: LedgerForm) -> Ledger {
    Ledger {
        kind: Some(LedgerKind::Remote),
        url: format!("http://{at}").as_str().into(),
        token: Secret::new(TOKEN.to_owned()),
        form,
        timeout_ms: 300,
        connect_timeout_ms: 100,
        ..Ledger::default()
    }
}

/// What runs between one start of the process and its end.
struct Life {
    opened: OpenService,
    engine: Arc<Engine>,
    runtime: Runtime,
}

/// A data folder, and who lives in it.
pub(crate) struct Home {
    dir: TempDir,
    config: Config,
    life: Option<Life>,
}

impl Life {
    fn begin(config: Config) -> Self {
        let runtime = runtime();
        let opened = runtime.block_on(OpenService::open(config, panics()));
        let engine = runtime.block_on(opened.engine(|_| ()));
        Self { opened, engine, runtime }
    }

    /// Ends it where it stands.
    fn end(self) {
        self.opened.tasks.ending();
        self.runtime.shutdown_timeout(Duration::from_secs(5));
    }
}

impl Home {
    /// A fresh home whose users have [`GIVEN`] each at Funding.
    pub(crate) fn open(fuse: bool, ledgers: Ledgers) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let mut config = Config { ledgers, ..Config::default() };
        config.data.dir = dir.path().to_owned();
        config.engine.fuse = fuse;
        config.engine.scan_interval_ms = 20;
        (config.engine.backoff_base_ms, config.engine.backoff_cap_ms) = (5, 60);
        (config.transfer.sync_timeout_ms, config.transfer.open_timeout_ms) = (10, 5_000);
        // a test asks for the proof itself
        config.conservation.interval_ms = 3_600_000;
        let life = Some(Life::begin(config.clone()));
        let home = Self { dir, config, life };
        for user in USERS {
            home.fund(user);
        }
        home
    }

    fn life(&self) -> &Life {
        self.life.as_ref().expect("it is lived in")
    }

    fn store(&self) -> &Arc<dyn Store> {
        &self.life().opened.service.store
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.life().engine
    }

    /// Runs something of this life to its end.
    pub(crate) fn run<T>(&self, what: impl Future<Output = T>) -> T {
        self.life().runtime.block_on(what)
    }

    pub(crate) fn stop(&mut self) {
        if let Some(life) = self.life.take() {
            life.end();
        }
    }

    pub(crate) fn start(&mut self) {
        self.life = Some(Life::begin(self.config.clone()));
    }

    fn fund(&self, user: u64) {
        let movement = External {
            direction: Direction::In,
            reference: format!("fund-{user}").into(),
            user: UserId(user),
            number: None,
            asset: COIN,
            amount: Amount(GIVEN),
            reason: "a test".into(),
            caller: "a test".into(),
        };
        let moved = self.run(self.store().funding().external(movement));
        assert!(matches!(moved, Ok(Moved::Done { .. })), "{moved:?}");
    }

    /// Asks for a transfer of a user.
    pub(crate) fn create(
        &self,
        (from, to): (LedgerId, LedgerId),
        user: u64,
        amount: u128,
    ) -> Result<Accepted, Refused> {
        let terms =
            Terms::between_ledgers("test|1".into(), UserId(user), [from, to], COIN, Amount(amount));
        let flow = self.engine().flows().named("internal").expect("the flow");
        self.run(self.engine().intake.create(flow, terms))
    }

    /// A transfer that must be opened.
    pub(crate) fn opened(&self, way: (LedgerId, LedgerId), user: u64, amount: u128) -> Id {
        match self.create(way, user, amount) {
            Ok(accepted) => accepted.record.id,
            Err(why) => panic!("not opened: {why:?}; halted: {:?}", self.engine().halted()),
        }
    }

    /// The names of the states of transfers.
    pub(crate) fn states(&self, ids: &[Id]) -> BTreeMap<Id, &'static str> {
        let flows = self.engine().flows();
        let records = self.run(self.store().get(ids.to_vec())).expect("the journal");
        records
            .into_iter()
            .map(|record| (record.id, flows.table(record.flow).state(record.head.state).name))
            .collect()
    }

    /// Waits until it holds; false if it never does.
    pub(crate) fn until(&self, mut holds: impl FnMut(&Self) -> bool) -> bool {
        (0..LOOKS).any(|_| {
            let held = holds(self);
            if !held {
                std::thread::sleep(Duration::from_millis(5));
            }
            held
        })
    }

    /// Waits until all of them ended; their states.
    pub(crate) fn ended(&self, ids: &[Id]) -> Vec<&'static str> {
        let end = |state: &&str| matches!(*state, "COMMITTED" | "ROLLED_BACK" | "FAILED");
        let all = self.until(|home| home.states(ids).values().all(end));
        let states = self.states(ids);
        assert!(all, "not ended: {states:?}, halted: {:?}", self.engine().halted());
        ids.iter().map(|id| states[id]).collect()
    }

    /// Waits for HALT and until it is stored; the reason that is stored.
    pub(crate) fn halted(&self) -> String {
        let mut reason = None;
        let stored = self.until(|home| {
            reason = home.run(home.store().service_status()).expect("the journal").halted;
            reason.is_some() && home.engine().halted().is_some()
        });
        assert!(stored, "no HALT");
        reason.expect("a reason").to_string()
    }

    /// The books add up, twice, and nothing is stopped.
    pub(crate) fn adds_up(&self) {
        for _ in 0..2 {
            let report = self.run(self.engine().reconciler.check_now()).expect("a proof");
            assert!(report.ok, "{:?}", report.breaks);
        }
        assert_eq!(self.engine().halted(), None);
    }

    /// Kind and severity of every case.
    pub(crate) fn cases(&self) -> Vec<(String, String)> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let file = self.dir.path().join(store::sqlite::FILE);
        let db = Connection::open_with_flags(file, flags).expect("the journal is readable");
        let mut ask = db.prepare("SELECT kind, severity FROM cases").expect("cases");
        let rows = ask.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
        rows.collect::<Result<_, _>>().expect("cases")
    }

    /// What the users have at a ledger that tells, in the asset of these tests.
    pub(crate) fn has(&self, ledger: LedgerId) -> u128 {
        let port = self.engine().ledger(ledger).expect("it is configured");
        USERS
            .map(|user| {
                let whose = Whose::User(UserId(user));
                match self.run(port.accounts(whose)) {
                    Reply::Answered(_, holdings) => {
                        let coins = holdings.iter().filter(|holding| holding.asset == COIN);
                        coins.map(|holding| holding.available.0 + holding.frozen.0).sum::<u128>()
                    }
                    silent @ (Reply::OtherLedger(_) | Reply::NoAnswer(_)) => panic!("{silent:?}"),
                }
            })
            .sum()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.stop();
    }
}
