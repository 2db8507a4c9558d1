//! One life of the server: everything that a process has, from its start to its end.

use super::Setup;
use super::control::Control;
use super::home::Home;
use super::points::Point;
use super::{journal, ledger, lies};
use engine::audit::Sealer;
use engine::{Engine, Parts, Settings};
use kernel::audit::seal::SealKey;
use kernel::ids::{UserId, WorkerId};
use kernel::ports::clock::Clock;
use kernel::ports::journal::Journal;
use kernel::ports::ledger::{Ledger, World};
use kernel::retry::Backoff;
use server::auth::verify::Verifier;
use server::config::Config;
use server::house::House;
use server::http::App;
use server::http::pace::Pace;
use server::metrics::Metrics;
use server::ports::{Fatal, SystemClock, Tasks};
use sim::shell::Shell;
use sim::wrong;
use std::future::Future;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// The key that signs the rig's tokens.
pub(super) const KEY: &[u8] = b"a key for tests only, 32 bytes at least";
/// The one user of whom rivals take what is not theirs.
pub(super) const CONTESTED: UserId = UserId(4001);
/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running server.
pub(super) struct Life {
    pub control: Arc<Control>,
    pub app: Arc<App>,
    pub router: axum::Router,
    /// Why the process would have ended by itself.
    pub ends: Arc<Mutex<Vec<String>>>,
    rivals: Vec<Arc<Engine>>,
    tasks: Tasks,
    runtime: Option<Runtime>,
}

impl Life {
    pub(super) fn begin(setup: &Setup, home: &Home, stop_at: Option<Point>) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("a runtime for a test");
        let ends: Arc<Mutex<Vec<String>>> = Arc::default();
        let told = ends.clone();
        let fatal: Fatal = Arc::new(move |why| {
            told.lock().unwrap_or_else(PoisonError::into_inner).push(why);
        });
        let tasks = Tasks::new(fatal.clone());
        let control = Arc::new(Control::new(home.folder().to_owned(), home.is_whole()));
        if let Some(point) = stop_at {
            control.stop_at(point);
        }
        let machine = runtime.block_on(Machine::open(home, &fatal));
        let parts = |worker| machine.parts(setup, &control, &tasks, worker);
        let (app, rivals) = runtime.block_on(async {
            let engine = Engine::start(parts(0)).await.expect("the engine starts");
            let mut rivals = Vec::new();
            for worker in 1..=setup.rivals {
                rivals.push(Engine::start(parts(worker)).await.expect("a rival starts"));
            }
            (Arc::new(machine.app(engine, &control)), rivals)
        });
        let now = || SystemClock::default().now();
        let router = lies::door(wrong::chosen().as_deref(), server::http::router(app.clone()), now);
        Self { control, app, router, ends, rivals, tasks, runtime: Some(runtime) }
    }

    pub(super) fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("it is taken only at the end")
    }

    /// Runs something of this life to its end, which must come.
    pub(super) fn run<T>(&self, what: impl Future<Output = T>) -> T {
        let run = async { tokio::time::timeout(PATIENCE, what).await };
        self.runtime().block_on(run).expect("an answer in time")
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.tasks.ending();
        self.rivals.clear();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The real parts, opened as `portage serve` opens them.
struct Machine {
    house: House,
    metrics: Arc<Metrics>,
}

impl Machine {
    async fn open(home: &Home, fatal: &Fatal) -> Self {
        let metrics = Arc::new(Metrics::default());
        let house = House::of(&home.config(), metrics.clone(), fatal.clone()).await;
        Self { house: house.expect("the house opens"), metrics }
    }

    /// What one engine is made of: the real parts, the wrong build around the one that it is
    /// about, and the hand on every port.
    fn parts(&self, setup: &Setup, control: &Arc<Control>, tasks: &Tasks, worker: u64) -> Parts {
        let wrong = wrong::chosen();
        let name = wrong.as_deref();
        let hand = |inner: Arc<dyn Ledger>| -> Arc<dyn Ledger> {
            let held = Arc::new(Shell(ledger::Watched { inner, control: control.clone() }));
            wrong::ledger(name, held)
        };
        let watched = |inner, side| {
            let (control, eager) = (control.clone(), (worker > 0).then_some(CONTESTED));
            Arc::new(Shell(journal::Watched { inner, control, side, eager }))
        };
        let store: Arc<dyn Journal> = self.house.store.clone();
        let inside = wrong::journal(name, watched(store, journal::Side::Store));
        Parts {
            flows: self.house.flows.clone(),
            journal: watched(inside, journal::Side::Engine),
            ledgers: self.house.ledgers.iter().cloned().map(hand).collect(),
            clock: self.house.clock.clone(),
            rng: self.house.rng.clone(),
            spawn: Arc::new(tasks.clone()),
            meter: self.metrics.clone(),
            settings: Settings {
                sync_timeout_ms: setup.patience_ms,
                open_timeout_ms: setup.open_ms,
                ring: setup.ring,
                scan_interval_ms: 25,
                backoff: Backoff { base: 10, cap: 40 },
                fuse: setup.fuse,
                // a test asks for the proof itself
                conservation_interval_ms: 3_600_000,
                alerts: engine::Alerts {
                    target_pending_seconds: setup.target_pending_s,
                    ..engine::Alerts::default()
                },
                limits: engine::Limits {
                    warn_per_minute: setup.warn_per_minute,
                    ..engine::Limits::default()
                },
                ..Settings::default()
            },
            worker: WorkerId(self.house.worker().0.wrapping_add(worker)),
            cores: Vec::new(),
            retire: Arc::new(|what| panic!("{what}")),
        }
    }

    /// Seals with the rig's own key, when it is asked to.
    fn sealer(&self) -> Arc<Sealer> {
        let (audit, journal) = (self.house.store.clone(), self.house.store.clone());
        let clock = self.house.clock.clone();
        Arc::new(Sealer::new(audit, journal, clock, SealKey::new(KEY), 3_600_000))
    }

    fn app(&self, engine: Arc<Engine>, control: &Arc<Control>) -> App {
        let world: Arc<dyn World> = self.house.store.funding();
        let world = wrong::world(wrong::chosen().as_deref(), world);
        App {
            internal: engine.flows().named("internal").expect("the flow is there"),
            engine,
            world: Arc::new(ledger::Outside { inner: world, control: control.clone() }),
            verifier: Verifier::new(
                &server::config::Auth::default(),
                KEY,
                self.house.clock.clone(),
            ),
            metrics: self.metrics.clone(),
            clock: self.house.clock.clone(),
            rng: self.house.rng.clone(),
            office: self.house.store.clone(),
            pace: Pace::new(0),
            sealer: self.sealer(),
            backups: self.house.backups(&Config::default()),
            open_pages: true,
            leaving: AtomicBool::new(false),
            draining: AtomicBool::new(false),
        }
    }
}
