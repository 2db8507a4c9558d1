//! The real engine on the real store and the real Spot core, in folders that outlive it.

use crate::cut::{Cut, Dying};
use crate::machine::{Chance, HandClock, Tasks};
use crate::seen::Gauges;
use crate::way::Way;
use engine::deeds::{Actor, Deed, Objection, Performed};
use engine::{Accepted, Alerts, Engine, Limits, Parts, Refused, Settings};
use kernel::ids::{AssetId, Id, LedgerId, Millis, UserId, WorkerId};
use kernel::money::{Amount, Asset};
use kernel::ports::clock::Rng as _;
use kernel::ports::journal::{Journal, Standing};
use kernel::ports::ledger::Heard;
use kernel::ports::ledger::{Direction, External, Known, Ledger, Moved, Totals, World};
use kernel::ports::meter::NoMeter;
use kernel::record::{Account, Party, Record, System, Terms};
use kernel::retry::Backoff;
use kernel::table::Flows;
use kernel::unit::Operation;
use ledgers::disk::Folder;
use ledgers::spot::Spot;
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use store::embedded::{Embedded, FILE, OpenError, Options};
use tempfile::TempDir;

/// What moves.
pub(crate) const COIN: AssetId = AssetId(3);
pub(crate) const FUNDING: LedgerId = LedgerId::FUNDING;
pub(crate) const SPOT: LedgerId = LedgerId::SPOT;
/// What each user of a house is given.
pub(crate) const GIVEN: u128 = 1_000_000;
/// A test halts by the way a ledger answers, not by the proof that would find it too.
pub(crate) const NEVER: Millis = 1 << 40;

/// One life of the engine.
struct Life {
    engine: Arc<Engine>,
    tasks: Arc<Tasks>,
    store: Arc<Embedded>,
}

/// Folders, and the engine that lives in them now.
pub(crate) struct House {
    pub(crate) dir: TempDir,
    pub(crate) clock: HandClock,
    pub(crate) way: Arc<Way>,
    pub(crate) gauges: Arc<Gauges>,
    pub(crate) cut: Arc<Cut>,
    /// Of the next life.
    pub(crate) settings: Settings,
    life: Option<Life>,
}

/// Those of a house: quick, and nobody is asked but by what a test is about.
fn quick(fuse: bool, interval: Millis) -> Settings {
    Settings {
        sync_timeout_ms: 20,
        scan_interval_ms: 20,
        backoff: Backoff { base: 5, cap: 40 },
        fuse,
        conservation_interval_ms: interval,
        alerts: Alerts {
            after_retries: u32::MAX,
            compensation_failures: u32::MAX,
            ..Alerts::default()
        },
        limits: Limits { warn_per_minute: 0, ..Limits::default() },
        ..Settings::default()
    }
}

/// Opens a Spot core in a folder. Its last owner may still be closing it.
pub(crate) async fn spot_at(folder: &Path) -> Arc<Spot> {
    let disk = Arc::new(patiently(|| match Folder::open(folder) {
        Err(ledgers::OpenError::Locked) => None,
        opened => Some(opened.expect("the folder opens")),
    }));
    let assets = Asset::fresh().iter().map(|asset| asset.id).collect();
    let fatal = Arc::new(|what| panic!("Spot gave up: {what}"));
    Spot::open(disk, &Chance, assets, 0, fatal).await.expect("Spot opens").0
}

/// A copy of a folder as it is at this moment, whoever writes in it. A store that is still closing
/// takes its log away on the way: then the copy begins anew, over the file that has it all.
pub(crate) fn copied(from: &Path) -> TempDir {
    patiently(|| {
        let to = tempfile::tempdir().expect("a folder");
        match copy(from, to.path()) {
            Err(fault) if fault.kind() == ErrorKind::NotFound => None,
            done => done.map(|()| Some(to)).expect("a copy"),
        }
    })
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir(&to)?;
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

/// Tries until it works, but not for ever.
pub(crate) fn patiently<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    for _ in 0..1_000 {
        if let Some(done) = attempt() {
            return done;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("it stays locked")
}

/// Everything that tells whether something was executed in a core.
pub(crate) async fn books(spot: &Spot) -> (u64, Vec<(AssetId, Totals)>, Vec<Operation>) {
    let Heard::Said(known, totals) = spot.totals().await else { panic!("no totals") };
    let Heard::Said(_, operations) = spot.operations(0, usize::MAX).await else {
        panic!("no operations")
    };
    (known.highest, totals, operations)
}

impl House {
    /// A house with users 1 to 9, who each have [`GIVEN`] at Funding.
    pub(crate) async fn open(fuse: bool, interval: Millis) -> Self {
        Self::tuned(fuse, interval, |_| {}).await
    }

    /// The same with other settings.
    pub(crate) async fn tuned(
        fuse: bool,
        interval: Millis,
        tune: impl FnOnce(&mut Settings),
    ) -> Self {
        let mut settings = quick(fuse, interval);
        tune(&mut settings);
        let house = Self::with(tempfile::tempdir().expect("a folder"), settings).await;
        for user in 1..10 {
            house.fund(user).await;
        }
        house
    }

    /// A house in a folder that may have been lived in.
    pub(crate) async fn over(dir: TempDir, fuse: bool, interval: Millis) -> Self {
        Self::with(dir, quick(fuse, interval)).await
    }

    async fn with(dir: TempDir, settings: Settings) -> Self {
        let way = Way::to(spot_at(&dir.path().join("spot")).await);
        let clock = HandClock::new();
        let (gauges, cut) = (Arc::default(), Arc::default());
        let mut house = Self { dir, clock, way, gauges, cut, settings, life: None };
        house.start().await;
        house
    }

    /// Where its Spot core lives.
    pub(crate) fn spot_folder(&self) -> PathBuf {
        self.dir.path().join("spot")
    }

    fn life(&self) -> &Life {
        self.life.as_ref().expect("the engine runs")
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.life().engine
    }

    pub(crate) fn store(&self) -> &Arc<Embedded> {
        &self.life().store
    }

    /// Begins a life in the folder of the journal.
    pub(crate) async fn start(&mut self) {
        let store = self.store_here(&Arc::new(flows::registry()));
        let tasks: Arc<Tasks> = Arc::default();
        let engine = self.worker(&store, &tasks).await;
        self.life = Some(Life { engine, tasks, store });
    }

    async fn worker(&self, store: &Arc<Embedded>, tasks: &Arc<Tasks>) -> Arc<Engine> {
        let engine = Engine::start(Parts {
            flows: Arc::new(flows::registry()),
            journal: Arc::new(Dying { store: store.clone(), cut: self.cut.clone() }),
            ledgers: vec![store.funding(), self.way.clone()],
            clock: Arc::new(self.clock.clone()),
            rng: Arc::new(Chance),
            spawn: tasks.clone(),
            meter: self.gauges.clone(),
            settings: self.settings.clone(),
            worker: WorkerId(Chance.next()),
            cores: Vec::new(),
            retire: Arc::new(|what| panic!("{what}")),
        });
        engine.await.expect("the engine starts")
    }

    /// Another engine over the same journal and ledgers; it ends with this life.
    pub(crate) async fn rival(&self) -> Arc<Engine> {
        self.worker(self.store(), &self.life().tasks).await
    }

    fn store_here(&self, flows: &Arc<Flows>) -> Arc<Embedded> {
        patiently(|| {
            let opened = Embedded::open(Options {
                dir: self.dir.path().to_owned(),
                flows: flows.clone(),
                clock: Arc::new(self.clock.clone()),
                meter: Arc::new(NoMeter),
                fatal: Arc::new(|what| panic!("the store gave up: {what}")),
                max_bytes: None,
            });
            match opened {
                Err(OpenError::Locked(_)) => None,
                opened => Some(opened.expect("the store opens")),
            }
        })
    }

    /// Ends this life where it stands.
    pub(crate) async fn stop(&mut self) {
        if let Some(life) = self.life.take() {
            life.tasks.kill().await;
        }
    }

    /// Ends this life, and begins one over the same stores: the Spot core is another incarnation.
    pub(crate) async fn restart(&mut self) {
        self.stop().await;
        self.reopen_spot().await;
        self.start().await;
    }

    /// Closes the Spot core and opens its folder again, under whatever runs.
    pub(crate) async fn reopen_spot(&self) {
        self.way.lead(None);
        self.way.lead(Some(spot_at(&self.spot_folder()).await));
    }

    async fn fund(&self, user: u64) {
        let movement = External {
            direction: Direction::In,
            reference: format!("fund-{user}").into(),
            user: UserId(user),
            asset: COIN,
            amount: Amount(GIVEN),
            reason: "a test".into(),
            caller: "a test".into(),
        };
        let moved = self.store().funding().external(movement).await;
        assert!(matches!(moved, Ok(Moved::Done { .. })), "{moved:?}");
    }

    /// Asks for a transfer of a user between the two ledgers.
    pub(crate) async fn create(
        &self,
        from: LedgerId,
        user: u64,
        amount: u128,
    ) -> Result<Accepted, Refused> {
        create(self.engine(), from, user, amount).await
    }

    /// A transfer of another asset that must be opened; its id.
    pub(crate) async fn moved(
        &self,
        from: LedgerId,
        user: u64,
        amount: u128,
        asset: AssetId,
    ) -> Id {
        let opened = create_of(self.engine(), from, user, (amount, asset)).await;
        opened.expect("it is opened").record.id
    }

    /// A transfer that must be opened; its id.
    pub(crate) async fn opened(&self, from: LedgerId, user: u64, amount: u128) -> Id {
        self.create(from, user, amount).await.expect("it is opened").record.id
    }

    /// So many transfers of all users, each way in turn, to their end.
    pub(crate) async fn work(&self, rounds: u128) -> Vec<Id> {
        let mut ids = Vec::new();
        for round in 0..rounds {
            for user in 1..10 {
                ids.push(self.opened(FUNDING, user, 100 + round).await);
            }
            self.ended(&ids).await;
            for user in 1..10 {
                ids.push(self.opened(SPOT, user, 30 + round).await);
            }
            self.ended(&ids).await;
        }
        ids
    }

    /// Transfers as they stand in the journal.
    pub(crate) async fn stand(&self, ids: &[Id]) -> Vec<Record> {
        self.store().get(ids.to_vec()).await.expect("the journal answers")
    }

    /// The names of the states of transfers.
    pub(crate) async fn states(&self, ids: &[Id]) -> BTreeMap<Id, &'static str> {
        let flows = self.engine().flows();
        let name = |r: Record| (r.id, flows.table(r.flow).state(r.head.state).name);
        self.stand(ids).await.into_iter().map(name).collect()
    }

    /// Waits until all of them ended.
    pub(crate) async fn ended(&self, ids: &[Id]) {
        let mut left = ids.to_vec();
        let ended = |state: &str| matches!(state, "COMMITTED" | "ROLLED_BACK" | "FAILED");
        for _ in 0..2_000 {
            let states = self.states(&left).await;
            left.retain(|id| !states.get(id).is_some_and(|state| ended(state)));
            if left.is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
        let halted = self.engine().halted();
        panic!("not ended: {:?}, halted: {halted:?}", self.states(&left).await);
    }

    /// Waits for HALT; its reason.
    pub(crate) async fn halted(&self) -> Arc<str> {
        for _ in 0..1_000 {
            if let Some(reason) = self.engine().halted() {
                return self.written(reason).await;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("no HALT")
    }

    /// Waits until the reason stands in the journal.
    async fn written(&self, reason: Arc<str>) -> Arc<str> {
        for _ in 0..1_000 {
            if self.standing().await.halted.is_some() {
                return reason;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("HALT is not written: {reason}")
    }

    pub(crate) async fn standing(&self) -> Standing {
        self.store().standing().await.expect("the journal answers")
    }

    /// What the journal knows of Spot.
    pub(crate) async fn known(&self) -> Option<Known> {
        self.standing().await.ledger(SPOT)
    }

    /// Severity, kind and facts of every case.
    pub(crate) fn cases(&self) -> Vec<(String, String, String)> {
        let db = self.tool();
        let mut ask = db.prepare("SELECT severity, kind, facts FROM cases").expect("cases");
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let rows = ask.query_map([], read).expect("rows");
        rows.collect::<Result<_, _>>().expect("cases")
    }

    /// Kind, subject and the fact that closed it, of every case in the order of their opening.
    pub(crate) fn episodes(&self) -> Vec<(String, String, Option<String>)> {
        let db = self.tool();
        let mut ask = db
            .prepare("SELECT kind, subject, closed_by FROM cases ORDER BY case_id")
            .expect("cases");
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let rows = ask.query_map([], read).expect("rows");
        rows.collect::<Result<_, _>>().expect("cases")
    }

    /// Waits until the episodes are these: kind, subject, open.
    pub(crate) async fn shows(&self, wanted: &[(&str, String, bool)]) {
        let mut seen = Vec::new();
        for _ in 0..1_000 {
            seen = self.episodes();
            let short: Vec<_> =
                seen.iter().map(|(kind, of, by)| (&**kind, of.clone(), by.is_none())).collect();
            if short == wanted {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("wanted {wanted:?}, there are {seen:?}")
    }

    /// Waits until the engine tells this number.
    pub(crate) async fn shows_gauge(&self, name: &str, wanted: usize) {
        for _ in 0..1_000 {
            if self.gauges.get(name) == Some(wanted) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("{name}: {:?} instead of {wanted}", self.gauges.get(name))
    }

    /// The words of a transfer's history, with who caused them and their details.
    pub(crate) async fn told(&self, id: Id) -> Vec<(String, Option<String>, Option<String>)> {
        let history = self.store().history(id).await.expect("the journal answers");
        let words = history.into_iter().map(|linked| linked.entry);
        words.map(|entry| (entry.event, entry.caller, entry.detail)).collect()
    }

    /// A person does something.
    pub(crate) async fn does(
        &self,
        who: &str,
        key: &str,
        deed: Deed,
    ) -> Result<Performed, Objection> {
        let (caller, reason) = (format!("portage|{who}").into(), "a test".into());
        self.engine().act(Actor { caller, key: key.into(), reason }, deed).await
    }

    /// Waits until a transfer stands in this state.
    pub(crate) async fn reaches(&self, id: Id, state: &str) {
        for _ in 0..1_000 {
            if self.states(&[id]).await.get(&id) == Some(&state) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
        panic!("not {state}: {:?}", self.states(&[id]).await);
    }

    /// The journal's file as any tool opens it.
    pub(crate) fn tool(&self) -> Connection {
        let db = Connection::open(self.dir.path().join(FILE)).expect("the file");
        db.busy_timeout(Duration::from_secs(20)).expect("patience");
        db
    }

    /// Whatever changes a balance like this fails from now on.
    pub(crate) fn hinder(&self, when: &str) {
        let trigger = format!(
            "CREATE TRIGGER hinder BEFORE UPDATE ON balances_tb WHEN {when} \
             BEGIN SELECT raise(ABORT, 'not now'); END"
        );
        self.tool().execute_batch(&trigger).expect("a trigger");
    }

    /// Nothing hinders any more.
    pub(crate) fn unhinder(&self) {
        self.tool().execute_batch("DROP TRIGGER hinder").expect("no trigger");
    }

    /// Money is where it should be, and nobody was alarmed.
    pub(crate) async fn adds_up(&self) {
        let report = self.engine().check_now().await.expect("a proof");
        assert!(report.ok, "{:?}", report.breaks);
        assert_eq!(self.engine().halted(), None);
        assert_eq!(self.cases(), []);
    }
}

/// Asks for a transfer of a user between the two ledgers.
pub(crate) async fn create(
    engine: &Arc<Engine>,
    from: LedgerId,
    user: u64,
    amount: u128,
) -> Result<Accepted, Refused> {
    create_of(engine, from, user, (amount, COIN)).await
}

async fn create_of(
    engine: &Arc<Engine>,
    from: LedgerId,
    user: u64,
    (amount, asset): (u128, AssetId),
) -> Result<Accepted, Refused> {
    let internal = engine.flows().named("internal").expect("the flow");
    engine.create(internal, terms(from, user, amount, asset)).await
}

/// What is asked for, without a key.
pub(crate) fn terms(from: LedgerId, user: u64, amount: u128, asset: AssetId) -> Terms {
    let party =
        |ledger| Party { system: System::Ledger(ledger), account: Account::User(UserId(user)) };
    let to = if from == FUNDING { SPOT } else { FUNDING };
    Terms {
        principal: format!("test|{user}").into(),
        user: UserId(user),
        binding: None,
        source: party(from),
        target: party(to),
        asset,
        amount: Amount(amount),
        fee: Amount::ZERO,
        deadline: None,
        memo: None,
        reference: None,
        metadata: BTreeMap::new(),
        day: None,
    }
}
