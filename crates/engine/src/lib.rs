//! The engine: carries transfers from their opening to their end, whatever happens on the way.
//!
//! It is pure plans (`plan.rs`) driven by a few background tasks ([`tasks`]); the world is reached
//! through the kernel's ports alone, so that the simulation runs this very code.

mod assets;
pub mod audit;
mod cases;
mod commit;
mod concerned;
pub mod conservation;
mod deaf;
pub mod deeds;
mod earlier_sends;
mod gate;
mod guard;
mod halt;
mod held;
mod identity;
mod intake;
mod late;
mod lease;
mod limits;
mod order;
mod overtaken;
mod owner;
mod pauses;
mod plan;
#[cfg(test)]
mod plan_tests;
mod pulse;
mod race;
mod ring;
mod scan;
mod station;
pub mod tasks;
mod verdict;
mod waiting;
mod watch;
mod wire;

use assets::Assets;
use cases::Episodes;
use earlier_sends::Sends;
use gate::Gate;
use held::Held;
use kernel::answer::Cause;
use kernel::ids::{Id, LedgerId, Millis, WorkerId};
use kernel::money::Asset;
use kernel::ports::clock::{Clock, Rng};
use kernel::ports::journal::{Journal, Linked, Standing};
use kernel::ports::ledger::{Form, Known, Ledger, StatusChange};
use kernel::ports::meter::Meter;
use kernel::ports::spawn::Spawn;
use kernel::record::Record;
use kernel::retry::Backoff;
use kernel::table::Flows;
use lease::Lease;
use limits::Paces;
use order::Order;
use overtaken::Overtaken;
use plan::{Desk, Plan, Reach};
use pulse::Pulses;
use station::{Place, Station};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tasks::Background;
use tokio::sync::mpsc;
use waiting::{Ear, Waiting};
use watch::KeySet;
use wire::Wire;

/// The engine's settings; defaults are those of `spec/storage.md`.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How long a caller waits for the end, from the durable opening.
    pub sync_timeout_ms: Millis,
    /// How long a caller waits for the durable opening.
    pub open_timeout_ms: Millis,
    /// How many transfers wait at intake, and at each station.
    pub ring: usize,
    /// How often the journal is asked for what is due.
    pub scan_interval_ms: Millis,
    /// The waits between attempts.
    pub backoff: Backoff,
    /// The most items of one batch.
    pub batch_max: usize,
    /// Calls at an enlisted ledger are part of the unit that leads to them.
    pub fuse: bool,
    /// Above so many open transfers nothing is taken in.
    pub max_open: u64,
    /// How often conservation is proven.
    pub conservation_interval_ms: Millis,
    /// Ledgers that cannot give back what they withdrew.
    pub irreversible: Vec<LedgerId>,
    /// When a person is asked.
    pub alerts: Alerts,
    /// What one user may move.
    pub limits: Limits,
    /// Verdicts and the resume from HALT take effect when another person approves.
    pub four_eyes: bool,
    /// Every issuer of tokens that there was, the oldest first and the present one among them: a
    /// client's key counts once for a subject, whoever of them signed for it. Empty: each by itself.
    pub issuers: Vec<Arc<str>>,
    /// For so long a proposal may be approved, by the journal's time.
    pub approval_ms: Millis,
    /// Transfers are carried here. Off: they are opened here, for the workers of other processes,
    /// and whoever waits is told what those made of them.
    pub workers: bool,
    /// How long this worker's lease outlives its last renewal, where others share the journal.
    pub lease_ms: Millis,
}

/// When a case opens; defaults are those of `spec/storage.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alerts {
    /// `STUCK` after so many unknown answers.
    pub after_retries: u32,
    /// `STUCK` after so many seconds without an end.
    pub after_seconds: u64,
    /// `TARGET_PENDING` after so many seconds in a state that calls the target.
    pub target_pending_seconds: u64,
    /// `COMPENSATION` after so many unknown answers to a refund.
    pub compensation_failures: u32,
    /// `LEDGER_SILENT` after so many seconds without a word of a ledger.
    pub silent_seconds: u64,
}

impl Default for Alerts {
    fn default() -> Self {
        Self {
            after_retries: 10,
            after_seconds: 300,
            target_pending_seconds: 60,
            compensation_failures: 3,
            silent_seconds: 60,
        }
    }
}

/// What one user may move on one day in UTC, by the journal's time; 0 or nothing is no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The most transfers of one day.
    pub transfers_per_day: u64,
    /// The most of an asset on one day, by its symbol, as a decimal in its unit. An asset's own
    /// limit holds beside it.
    pub daily_amount: BTreeMap<String, String>,
    /// `ABNORMAL_FREQUENCY` above so many creates of one user in a minute.
    pub warn_per_minute: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { transfers_per_day: 0, daily_amount: BTreeMap::new(), warn_per_minute: 60 }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            sync_timeout_ms: 500,
            open_timeout_ms: 5_000,
            ring: 10_000,
            scan_interval_ms: 1_000,
            backoff: Backoff { base: 100, cap: 30_000 },
            batch_max: 1_024,
            fuse: true,
            max_open: 1_000_000,
            conservation_interval_ms: 10_000,
            irreversible: Vec::new(),
            alerts: Alerts::default(),
            limits: Limits::default(),
            four_eyes: true,
            issuers: Vec::new(),
            approval_ms: 24 * 3_600_000,
            workers: true,
            lease_ms: 60_000,
        }
    }
}

impl Settings {
    /// How far a unit may go where nothing stands.
    const fn reach(&self) -> Reach {
        if self.fuse { Reach::Fused } else { Reach::Plain }
    }
}

/// What the engine is made of. The server gives the real ones, the simulation its own.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct Parts {
    /// Every flow.
    pub flows: Arc<Flows>,
    /// The store of transfers.
    pub journal: Arc<dyn Journal>,
    /// Every ledger that may be an end of a transfer.
    pub ledgers: Vec<Arc<dyn Ledger>>,
    /// Waiting.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub rng: Arc<dyn Rng>,
    /// Starting tasks.
    pub spawn: Arc<dyn Spawn>,
    /// Taking measurements.
    pub meter: Arc<dyn Meter>,
    /// Settings.
    pub settings: Settings,
    /// This run of this process, drawn at its start and never again. A store that is shared was
    /// opened with the same one.
    pub worker: WorkerId,
    /// The ledgers whose cores run inside this process, where others could open theirs over the same
    /// journal: it takes them over at its start, or refuses to.
    pub cores: Vec<LedgerId>,
    /// Ends the process: another one took over a core that runs in it.
    pub retire: Arc<dyn Fn(String) + Send + Sync>,
}

/// A transfer that was opened, now or before.
#[derive(Debug, Clone)]
pub struct Accepted {
    /// As it stands; the state says whether it ended.
    pub record: Record,
    /// The key was bound before this request.
    pub replayed: bool,
}

/// Why nothing can be said of a new transfer.
#[derive(Debug, Clone)]
pub enum Refused {
    /// Nothing was opened.
    Code(kernel::code::Code),
    /// The key is bound to this transfer, which another body asked for.
    Mismatch(Box<Record>),
    /// Nobody knows; repeat with the same key.
    Unknown(Cause),
}

/// The engine. Cheap to share; its tasks hold it too.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct Engine {
    parts: Parts,
    plan: Plan,
    gate: Gate,
    intake: mpsc::Sender<(Record, Order)>,
    stations: Mutex<BTreeMap<Place, Arc<Station>>>,
    waiting: Waiting,
    /// The transfers in this process's hands.
    held: Held,
    /// Those of them that stand while others of their station go on.
    aside: Mutex<BTreeMap<Id, Record>>,
    wire: Arc<Wire>,
    lease: Lease,
    overtaken: Overtaken,
    sends: Sends,
    /// The last id that was minted.
    last: Mutex<Id>,
    /// So many transfers are open, as far as this process saw.
    open: AtomicU64,
    /// The last write found no room.
    full: AtomicBool,
    cases: Mutex<Episodes>,
    /// Breaks of conservation that were accepted.
    accepted: Mutex<Vec<kernel::people::Accepted>>,
    /// Breaks, by key and amount, for which this process raised the HALT that stands.
    halted_for: Mutex<BTreeSet<(String, i128)>>,
    paces: Paces,
    /// How old the keys are that check tokens in this process.
    key_set: Mutex<KeySet>,
    pulses: Pulses,
    /// Ledgers whose identity somebody is finding out.
    finding: Mutex<BTreeSet<LedgerId>>,
    /// Keys of people whose deeds are being done.
    turns: deeds::Turns,
    assets: Assets,
    report: Mutex<Option<Arc<conservation::Report>>>,
    checker: tokio::sync::Mutex<conservation::Checker>,
    proving: halt::ProofUnderWay,
}

impl Engine {
    /// Starts: reads the flags, finds out who each ledger is, sets the tasks to work. Under HALT it
    /// starts too: reads and proofs go on.
    ///
    /// # Errors
    /// The cause for which the journal does not answer; `BAD_LIMIT` where a daily amount is none of
    /// its asset; `OWNED` where another core than ours is at work, and nothing was touched.
    pub async fn start(parts: Parts) -> Result<Arc<Self>, Cause> {
        owner::fits(&parts, &parts.journal.standing().await?).await?;
        let begun = parts.clock.ticks();
        let length = parts.settings.lease_ms;
        let leased = parts.journal.alive(parts.worker, length, None).await?;
        let lease = Lease::new(leased.ends);
        let standing = parts.journal.standing().await?;
        let epochs = owner::taken_over(&parts, &standing).await?;
        limits::sound(&parts.settings.limits, &standing.assets)?;
        let counts = parts.journal.counts().await?;
        let cases = parts.journal.open_cases().await?;
        let desk = |ledger: &Arc<dyn Ledger>| {
            let enlist = ledger.enlist();
            let desk = Desk {
                enlisted: enlist.is_some(),
                holds: enlist.is_some_and(kernel::ports::ledger::Enlist::holds),
                reversible: !parts.settings.irreversible.contains(&ledger.id()),
                epoch: epochs.get(&ledger.id()).copied(),
                // where nobody shares the journal nobody else can adopt another one
                named: leased.ends && enlist.is_none() && ledger.form() == Form::Full,
                simple: ledger.form() == Form::Simple,
            };
            (ledger.id(), desk)
        };
        let desks = parts.ledgers.iter().map(desk).collect();
        let plan = Plan { flows: parts.flows.clone(), desks };
        let (intake, orders) = mpsc::channel(parts.settings.ring);
        let proven = conservation::Proven::read(standing.proven.as_deref());
        let engine = Arc::new(Self {
            plan,
            gate: Gate::new(parts.clock.clone()),
            intake,
            stations: Mutex::default(),
            waiting: Waiting::default(),
            held: Held::default(),
            aside: Mutex::default(),
            wire: Arc::default(),
            lease,
            overtaken: Overtaken::default(),
            sends: Sends::default(),
            last: Mutex::default(),
            open: AtomicU64::new(counts.iter().map(|count| count.transfers).sum()),
            full: AtomicBool::new(false),
            cases: Mutex::new(Episodes::of(&cases)),
            accepted: Mutex::default(),
            halted_for: Mutex::default(),
            paces: Paces::default(),
            key_set: Mutex::default(),
            pulses: Pulses::default(),
            finding: Mutex::default(),
            turns: deeds::Turns::default(),
            assets: Assets::default(),
            report: Mutex::default(),
            checker: tokio::sync::Mutex::new(conservation::Checker::behind(proven)),
            proving: halt::ProofUnderWay::default(),
            parts,
        });
        if leased.ends {
            engine.leased(begun);
        }
        engine.gate.follow(engine.gate.epoch(), &standing);
        engine.lease.hear(&standing);
        engine.know(&standing);
        log_stops(&standing);
        engine.begin(orders).await;
        Ok(engine)
    }

    async fn begin(self: &Arc<Self>, orders: mpsc::Receiver<(Record, Order)>) {
        let ledgers: Vec<_> = self.parts.ledgers.iter().map(|ledger| ledger.id()).collect();
        for ledger in ledgers {
            if !self.settle_identity(ledger).await {
                self.find_out(ledger);
            }
        }
        self.warn_of_simple_ledgers();
        let spawn = &self.parts.spawn;
        for ledger in self.outside() {
            spawn.spawn(Background::Pulse.task(), Box::pin(self.clone().run_pulse(ledger)));
        }
        if self.lease.ends() {
            spawn.spawn(Background::Lease.task(), Box::pin(self.clone().run_lease()));
        }
        spawn.spawn(Background::Watch.task(), Box::pin(self.clone().run_watch()));
        spawn.spawn(Background::Waker.task(), Box::pin(self.clone().run_waker()));
        let orders = Arc::new(tokio::sync::Mutex::new(orders));
        for _ in 0..intake::HANDS {
            let hand = self.clone().run_intake(orders.clone());
            spawn.spawn(Background::Intake.task(), Box::pin(hand));
        }
        spawn.spawn(Background::Scanner.task(), Box::pin(self.clone().run_scanner()));
        spawn.spawn(Background::Checker.task(), Box::pin(self.clone().run_checker()));
        if self.parts.settings.workers {
            spawn.spawn(Background::Horizon.task(), Box::pin(self.clone().run_horizon()));
        }
    }

    /// A transfer with its history.
    ///
    /// # Errors
    /// The cause for which the journal does not answer.
    pub async fn transfer(&self, id: Id) -> Result<Option<(Record, Vec<Linked>)>, Cause> {
        let Some(record) = self.parts.journal.get(vec![id]).await?.pop() else { return Ok(None) };
        Ok(Some((record, self.parts.journal.history(id).await?)))
    }

    /// Every asset.
    pub fn assets(&self) -> Arc<[Asset]> {
        self.assets.all()
    }

    /// The asset of that symbol.
    pub fn asset(&self, symbol: &str) -> Option<Asset> {
        self.assets().iter().find(|asset| asset.symbol == symbol).cloned()
    }

    /// A configured ledger: a supported account type.
    pub fn ledger(&self, id: LedgerId) -> Option<Arc<dyn Ledger>> {
        self.parts.ledgers.iter().find(|ledger| ledger.id() == id).cloned()
    }

    /// Sets an account's status at its ledger. False: there is no such account.
    ///
    /// # Errors
    /// The cause for which nobody knows; repeat it with the same key.
    pub async fn set_status(
        self: &Arc<Self>,
        ledger: LedgerId,
        change: StatusChange,
    ) -> Result<bool, Cause> {
        let port = self.ledger(ledger).ok_or(Cause::of("NO_LEDGER"))?;
        let known = self.gate.known(ledger).ok_or(Cause::of("NOT_ADOPTED"))?;
        let heard = port.status(known, change).await;
        self.said(ledger, known, heard)
    }

    /// Why no money moves, where it does not.
    pub fn halted(&self) -> Option<Arc<str>> {
        self.gate.halted()
    }

    /// Whether this process can move money, as far as it knows without asking: the journal answers its
    /// writes, and its lease has not run out.
    ///
    /// # Errors
    /// The cause for which it cannot.
    pub fn writes(&self) -> Result<(), Cause> {
        self.parts.journal.writes()?;
        if self.gate.stale() {
            return Err(Cause::because("LEASE_OVER", "the lease of this worker has run out"));
        }
        Ok(())
    }

    /// True while the store has no room: nothing is taken in.
    pub fn full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// Notes whether the last write found room.
    fn room(&self, found: bool) {
        if self.full.swap(!found, Ordering::Relaxed) == found {
            if found {
                tracing::info!("the store has room again");
            } else {
                tracing::error!("the disk is full: nothing is taken in until there is room");
            }
        }
    }

    /// What is known of a ledger.
    pub fn known(&self, ledger: LedgerId) -> Option<Known> {
        self.gate.known(ledger)
    }

    /// The tables.
    pub fn flows(&self) -> &Flows {
        &self.plan.flows
    }

    /// The store of transfers.
    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.parts.journal
    }

    /// How many transfers are open, as far as this process saw.
    pub fn open_transfers(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// Takes nothing new in, and returns when what is in this process's hands has ended, or stands
    /// still, or after `most` milliseconds. Whatever is left goes on at the next start, or at another
    /// worker at once.
    pub async fn drain(&self, most: Millis) {
        self.gate.drain();
        let (mut left, step) = (most, 20);
        while self.carried() > 0 && left > 0 {
            self.parts.clock.sleep(step).await;
            left = left.saturating_sub(step);
        }
        self.leave().await;
    }

    /// How far a unit of this record may go in one write.
    fn reach(&self, record: &Record) -> Reach {
        match self.gate.reach(record) {
            Some(reach) => reach,
            None => self.parts.settings.reach(),
        }
    }

    /// One more waits for the end of a transfer.
    fn wait_for(&self, id: Id, ear: Ear) {
        self.waiting.add(id, ear, self.parts.clock.ticks());
    }

    /// When to try again after so many unknown answers.
    fn due(&self, retries: u32) -> Millis {
        let wait = self.parts.settings.backoff.wait(retries, self.parts.rng.next());
        self.parts.journal.now().saturating_add(wait)
    }

    fn crowded(&self) -> bool {
        self.open_transfers() >= self.parts.settings.max_open
    }

    /// One more transfer is open.
    fn counted(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    /// One fewer, and it is out of our hands.
    fn closed(&self, id: Id) {
        // where another copy of it ended before, it was counted then
        if !self.release(id) {
            return;
        }
        let fewer = |open: u64| Some(open.saturating_sub(1));
        let _before = self.open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
    }
}

/// Says at start what keeps money from moving, until persons resume it.
fn log_stops(standing: &Standing) {
    if let Some(reason) = &standing.halted {
        tracing::error!(%reason, "HALT stands until persons resume");
    }
    for paused in &standing.paused {
        tracing::error!(scope = ?paused.scope, reason = %paused.reason, "paused");
    }
}
