//! Portage as the benchmark runs it: the real parts, with their syncs counted.

use crate::disk::Counted;
use crate::load::USERS;
use crate::probe::Syncs;
use engine::{Engine, Parts, Settings};
use kernel::ids::{AssetId, UserId, WorkerId};
use kernel::money::Amount;
use kernel::ports::clock::{Clock, Rng};
use kernel::ports::ledger::{Direction, External, Ledger, Moved, World};
use kernel::ports::meter::{Meter, Seen};
use ledgers::disk::Folder;
use ledgers::spot::Spot;
use server::runtime::{Fatal, SystemClock, SystemRng, Tasks};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use store::sqlite::{Embedded, Options};

/// Counts the journal's syncs: one for each group of units.
struct Commits(Arc<Syncs>);

impl Meter for Commits {
    fn see(&self, seen: Seen<'_>) {
        if let Seen::Commit { .. } = seen {
            self.0.count();
        }
    }
}

/// A store or a task that gives up ends the benchmark: its figures would be worth nothing.
pub(crate) fn fatal() -> Fatal {
    Arc::new(|what| panic!("{what}"))
}

/// A running engine over a folder.
pub(crate) struct Ours {
    pub engine: Arc<Engine>,
    pub store: Arc<Embedded>,
    pub clock: Arc<dyn Clock>,
    pub rng: Arc<dyn Rng>,
    pub syncs: Arc<Syncs>,
    pub tasks: Tasks,
}

/// Opens a folder, gives every user money at both ledgers, and starts the engine.
pub(crate) async fn start(dir: &Path) -> Result<Ours, String> {
    let syncs = Arc::new(Syncs::default());
    let fatal = fatal();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let rng: Arc<dyn Rng> = Arc::new(SystemRng::default());
    let flows = Arc::new(flows::registry());
    let meter: Arc<dyn Meter> = Arc::new(Commits(syncs.clone()));
    let options = Options {
        dir: dir.to_owned(),
        flows: flows.clone(),
        clock: clock.clone(),
        meter: meter.clone(),
        fatal: fatal.clone(),
        max_bytes: None,
    };
    let store = Embedded::open(options).map_err(|e| e.to_string())?;
    let folder = Folder::open(dir.join("spot")).map_err(|e| e.to_string())?;
    let disk = Arc::new(Counted { folder, syncs: syncs.clone() });
    let assets = kernel::money::Asset::fresh().into_iter().map(|asset| asset.id).collect();
    let spot = Spot::open(disk, &*rng, assets, 0, fatal.clone()).await;
    let (spot, _) = spot.map_err(|e| e.to_string())?;
    let ledgers: Vec<Arc<dyn Ledger>> = vec![store.funding(), spot];
    let tasks = Tasks::new(fatal);
    let settings =
        Settings { sync_timeout_ms: 30_000, open_timeout_ms: 30_000, ..Settings::default() };
    let parts = Parts {
        offered: flows.ids(&["internal"]),
        facts: BTreeMap::new(),
        bus: None,
        flows,
        journal: store.clone(),
        ledgers,
        chains: Vec::new(),
        deposits: Vec::new(),
        world: store.funding(),
        clock: clock.clone(),
        rng: rng.clone(),
        spawn: Arc::new(tasks.clone()),
        meter,
        settings,
        worker: WorkerId(rng.next()),
        cores: Vec::new(),
        seal_key: kernel::audit::seal::SealKey::new(b"bench"),
        retire: Arc::new(|_| ()),
    };
    let engine = Engine::start(parts).await.map_err(|e| e.to_string())?;
    let ours = Ours { engine, store, clock, rng, syncs, tasks };
    fund(&ours).await?;
    Ok(ours)
}

/// Money for every user at both ledgers, so that no transfer of the load is refused.
async fn fund(ours: &Ours) -> Result<(), String> {
    let mut asked = tokio::task::JoinSet::new();
    for user in 1..=USERS {
        let funding = ours.store.funding();
        asked.spawn(async move {
            funding
                .external(External {
                    direction: Direction::In,
                    reference: format!("bench-{user}").into(),
                    user: UserId(user),
                    number: None,
                    asset: AssetId(3),
                    amount: Amount(1_000_000_000_000),
                    reason: "benchmark".into(),
                    caller: "benchmark".into(),
                })
                .await
        });
    }
    while let Some(moved) = asked.join_next().await {
        match moved.map_err(|e| e.to_string())?.map_err(|e| e.to_string())? {
            Moved::Done { .. } => {}
            refused @ (Moved::Refused(_) | Moved::Conflict(_)) => {
                return Err(format!("{refused:?}"));
            }
        }
    }
    let flow = ours.engine.flows().named("internal").ok_or("no internal flow")?;
    let mut moves = tokio::task::JoinSet::new();
    for user in 0..USERS {
        let engine = ours.engine.clone();
        moves.spawn(async move {
            let mut terms = crate::load::terms(user * 2);
            for party in terms.parties_mut() {
                party.amount = Amount(500_000_000_000);
            }
            terms.binding = None;
            engine.intake.create(flow, terms).await.map_err(|e| format!("{e:?}"))
        });
    }
    while let Some(moved) = moves.join_next().await {
        moved.map_err(|e| e.to_string())??;
    }
    Ok(())
}
