//! Backups through the door, under load and without room; what is restored is one instant, halted.

use super::{CREATE, Door, TestSetup, USER, transfer};
use engine::reconciliation::Checker;
use kernel::audit::seal::SealKey;
use kernel::flow::table::Flows;
use kernel::ids::Id;
use serde_json::json;
use server::backup::{BackupError, restored, verified};
use server::bootstrap::Service;
use server::config::{Config, Ledgers};
use server::metrics::Metrics;
use server::runtime::Tasks;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PATH: &str = "/api/v1/ops/backup";
const ADMIN: (&str, &str) = ("root", "admin");
const FIRST: (&str, &str) = ("ops-1", "ops:read ops:act ops:approve");
const SECOND: (&str, &str) = ("ops-2", "ops:read ops:act ops:approve");

fn ended(flows: &Flows, record: &kernel::record::Record) -> bool {
    flows.table(record.flow).ends(record.head.state)
}

/// Users who move money both ways until they are told to stop, and what was acknowledged.
struct Load {
    stop: Arc<AtomicBool>,
    done: Arc<Mutex<Vec<Id>>>,
    users: tokio::task::JoinSet<()>,
}

impl Load {
    async fn on(door: &Arc<Door>) -> Self {
        let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let mut users = tokio::task::JoinSet::new();
        for user in 1..=8_u64 {
            door.fund(user, "100000").await;
            let (door, stop, done) = (door.clone(), stop.clone(), done.clone());
            users.spawn(async move {
                let mut n = 0_u64;
                while !stop.load(Ordering::Relaxed) {
                    n += 1;
                    let mut body = transfer("3", &format!("{user}-{n}"));
                    if n.is_multiple_of(3) {
                        body["from"] = json!("SPOT");
                        body["to"] = json!("FUNDING");
                    }
                    let reply = door.post((&user.to_string(), USER), CREATE, body).await;
                    assert!(matches!(reply.status, 200 | 202), "{reply:?}");
                    let id = reply.body["req_id"].as_str().expect("an id").parse().expect("an id");
                    if reply.status == 200 {
                        done.lock().expect("no panic").push(id);
                    }
                }
            });
        }
        Self { stop, done, users }
    }

    fn acknowledged(&self) -> Vec<Id> {
        self.done.lock().expect("no panic").clone()
    }

    /// Waits until `count` transfers were acknowledged.
    async fn reaches(&self, count: usize) {
        while self.acknowledged().len() < count {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    async fn end(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        while let Some(user) = self.users.join_next().await {
            user.expect("a user who was answered");
        }
    }
}

/// Kind, severity and facts of every open case, but those of the load: on a fast machine its users ask more
/// often than a person does.
fn cases(dir: &Path) -> Vec<(String, String, String)> {
    let db = rusqlite::Connection::open(dir.join(store::sqlite::FILE)).expect("the file");
    let mut ask = db
        .prepare(
            "SELECT kind, severity, facts FROM cases \
             WHERE closed_at IS NULL AND kind <> 'ABNORMAL_FREQUENCY'",
        )
        .expect("cases");
    let rows = ask.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    rows.expect("rows").collect::<Result<_, _>>().expect("cases")
}

/// What a restored folder must be, whatever was going on when it was taken.
async fn is_one_instant(dir: &Path, before: &[Id]) {
    let metrics = Arc::new(Metrics::default());
    let fatal: server::runtime::Fatal = Arc::new(|what| panic!("{what}"));
    let ledgers = Ledgers::default();
    let service =
        Service::open(dir, &ledgers, metrics.clone(), fatal.clone()).await.expect("a service");
    let status = service.store.service_status().await.expect("flags");
    let reason = status.halted.expect("it is halted");
    assert!(reason.starts_with("restored from a backup of "), "{reason}");
    let found = cases(dir);
    let [(kind, severity, facts)] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((kind.as_str(), severity.as_str()), ("RESTORED", "CRITICAL"));
    assert!(facts.contains("transfers up to number"), "{facts}");
    let records = service.store.get(before.to_vec()).await.expect("records");
    let there = records.iter().filter(|record| ended(&service.flows, record)).count();
    assert_eq!(there, before.len(), "acknowledged before it, and not in it");
    let mut checker = Checker::default();
    let report =
        checker.round(&*service.store, &service.ledgers, &service.flows).await.expect("a proof");
    assert_eq!(report.breaks, []);
    let key = SealKey::new(&std::fs::read(dir.join("audit.key")).expect("the seals' key"));
    let mut trail = service.store.trail().await.expect("a trail");
    let proof = engine::audit::prove(&mut *trail, key, None).await.expect("a proof");
    assert_eq!((proof.faults, proof.seals > 0), (vec![], true));
    drop(trail);
    // an engine on it moves nothing, finds nobody strange, and can prove it
    let tasks = Tasks::new(fatal);
    tasks.ending();
    let engine = service.start(&Config::default(), metrics, &tasks).await.expect("an engine");
    let proof = engine.reconciler.check_now().await.expect("a proof");
    assert_eq!(proof.breaks, []);
    assert_eq!(engine.halted().as_deref(), Some(&*reason));
    assert!(engine.known(kernel::ids::LedgerId::SPOT).is_some(), "Spot is the one that it was");
    assert_eq!(cases(dir).len(), 1);
}

/// Turns red where the journal's instant is chosen after Spot goes on, or before it stands still.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_under_load_is_one_instant() {
    let door = Arc::new(Door::set(|config| config.ops.default_deposit_limit = 0).await);
    let load = Load::on(&door).await;
    let place = tempfile::tempdir().expect("a folder");
    let mut made = Vec::new();
    for n in 0..8 {
        load.reaches((n + 1) * 40).await;
        door.app.sealer.seal().await.expect("a seal");
        let (before, to) = (load.acknowledged(), place.path().join(n.to_string()));
        let backup = door.service.source().back_up(&to, None).await.expect("a backup");
        assert_eq!(verified(&to).expect("a manifest"), (backup.manifest, vec![]));
        made.push((to, before));
    }
    load.end().await;
    assert_eq!(door.app.engine.halted(), None);
    let proof = door.app.engine.reconciler.check_now().await.expect("a proof");
    assert_eq!(proof.breaks, []);
    for (n, (backup, before)) in made.iter().enumerate() {
        let to = place.path().join(format!("restored-{n}"));
        restored(backup, &to).expect("it is restored");
        is_one_instant(&to, before).await;
    }
}

/// A restored service that is backed up again begins with the newer point, not with the older.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_of_what_was_restored_names_its_own_point() {
    let door = Door::open().await;
    let place = tempfile::tempdir().expect("a folder");
    let (first, second) = (place.path().join("1"), place.path().join("2"));
    let made = door.service.source().back_up(&first, None).await.expect("a backup");
    let again = place.path().join("again");
    restored(&first, &again).expect("it is restored");
    let fatal: server::runtime::Fatal = Arc::new(|what| panic!("{what}"));
    let ledgers = Ledgers::default();
    let metrics = Arc::new(Metrics::default());
    let service = Service::open(&again, &ledgers, metrics, fatal).await.expect("a service");
    let later = service.source().back_up(&second, None).await.expect("a backup");
    for (dir, manifest) in [(&first, made.manifest), (&second, later.manifest)] {
        let found = cases(dir);
        let [(kind, _, facts)] = found.as_slice() else { panic!("{found:?}") };
        assert!(kind == "RESTORED" && facts.contains(&manifest.at), "{facts} {}", manifest.at);
    }
}

/// The way out of RESTORED, as the runbook has it: what is missing is booked again under its own
/// references, and two persons resume. Nothing is booked twice.
///
/// Turns red where a restored folder is not halted, where it can be resumed by one person, or where the
/// case stays open behind the resume.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_persons_resume_what_was_restored_and_what_is_missing_is_booked_again() {
    let door = Door::open().await;
    door.fund(4001, "100").await;
    let place = tempfile::tempdir().expect("a folder");
    let backup = place.path().join("backup");
    door.service.source().back_up(&backup, None).await.expect("a backup");
    // what comes behind the backup is not in it
    door.fund(4001, "50").await;
    let lost = door.post(("4001", USER), CREATE, transfer("120", "k-1")).await;
    assert_eq!(lost.status, 200, "{lost:?}");
    drop(door);
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::remove_dir(dir.path()).expect("it is empty");
    restored(&backup, dir.path()).expect("it is restored");
    let door = Door::with(TestSetup { dir, ..TestSetup::default() }).await;
    assert_eq!(cases(door.dir.path())[0].0, "RESTORED");
    let refused = door.post(("4001", USER), CREATE, transfer("120", "k-1")).await;
    assert_eq!(refused.code(), "HALTED", "{refused:?}");
    let reason = json!({ "reason": "the gap is explained" });
    let proposed = door.post(FIRST, "/api/v1/ops/resume", reason.clone()).await;
    let id = proposed.body["approval_id"].as_str().expect("an approval").to_owned();
    let approve = format!("/api/v1/ops/approvals/{id}/approve");
    let alone = door.post(FIRST, &approve, reason.clone()).await;
    assert_eq!(alone.code(), "FORBIDDEN", "{alone:?}");
    let resumed = door.post(SECOND, &approve, reason).await;
    assert_eq!(resumed.body["outcome"], json!("RESUMED"), "{resumed:?}");
    let deposit = async |amount: &str| {
        let body = super::movement(4001, amount, &format!("fund-4001-{amount}"));
        door.post(("ops", "ops:act"), "/api/v1/ops/deposits", body).await.status
    };
    assert_eq!((deposit("100").await, deposit("50").await), (200, 201), "there, and missing");
    let again = door.post(("4001", USER), CREATE, transfer("120", "k-1")).await;
    assert_eq!((again.status, &again.body["state"]), (200, &json!("COMMITTED")), "{again:?}");
    let proof = door.get(FIRST, "/api/v1/ops/conservation?full=true").await;
    assert_eq!(proof.body["ok"], json!(true), "{proof:?}");
    for _ in 0..2_400 {
        if cases(door.dir.path()).is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("the case stays open: {:?}", cases(door.dir.path()));
}

/// Turns red where what was half written stays, or where the service notices.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_room_there_is_no_backup_and_the_service_goes_on() {
    let door = Arc::new(Door::set(|config| config.ops.default_deposit_limit = 0).await);
    let load = Load::on(&door).await;
    load.reaches(40).await;
    let place = tempfile::tempdir().expect("a folder");
    let to = place.path().join("a");
    let whole = door.service.source().back_up(&place.path().join("whole"), None).await;
    let whole = whole.expect("a backup").manifest;
    let journal = whole.files.iter().find(|file| file.name == store::sqlite::FILE);
    let journal = journal.expect("the journal").bytes;
    // no room for the journal, for Spot behind it, and just not enough
    for most in [100_000, journal + 1_000, 0] {
        let refused = door.service.source().back_up(&to, Some(most)).await;
        assert!(matches!(refused, Err(BackupError::Full(_))), "{most}: {refused:?}");
        let left: Vec<_> = std::fs::read_dir(place.path()).expect("a folder").collect();
        assert_eq!(left.len(), 1, "only the whole one is there: {left:?}");
    }
    // nor where something cannot be read
    let key = door.dir.path().join("audit.key");
    std::fs::remove_file(&key).expect("it goes");
    std::fs::create_dir(&key).expect("a folder");
    let refused = door.service.source().back_up(&to, None).await;
    assert!(matches!(refused, Err(BackupError::Io(..))), "{refused:?}");
    assert_eq!(std::fs::read_dir(place.path()).expect("a folder").count(), 1);
    let before = load.acknowledged().len();
    load.reaches(before + 40).await;
    load.end().await;
    assert_eq!(door.app.engine.halted(), None);
}

#[tokio::test]
async fn the_door_takes_a_name_and_no_path() {
    let door = Door::open().await;
    let backups = door.dir.path().join("backups");
    let long = "x".repeat(65);
    for bad in ["", "..", "../x", "/tmp/x", "a/b", ".x", "a b", &long] {
        let reply = door.post(ADMIN, PATH, json!({ "dir": bad })).await;
        assert_eq!((reply.status, reply.code()), (400, "BAD_REQUEST"), "{bad}");
    }
    for scope in ["ops:act", "ops:read ops:act ops:approve", ""] {
        let reply = door.post(("7", scope), PATH, json!({ "dir": "a" })).await;
        assert_eq!(reply.status, 403, "{scope}");
    }
    assert!(!backups.exists(), "nothing was made");
    let reply = door.post(ADMIN, PATH, json!({ "dir": "daily-1" })).await;
    assert_eq!(reply.status, 201, "{reply:?}");
    let made = backups.join("daily-1");
    assert_eq!(reply.body["dir"], json!(made));
    let (manifest, faults) = verified(&made).expect("a backup");
    assert_eq!((faults, reply.body["bytes"].as_u64()), (vec![], Some(manifest.bytes())));
    let reply = door.post(ADMIN, PATH, json!({ "dir": "daily-1" })).await;
    assert_eq!((reply.status, reply.code()), (409, "DUPLICATE_REQUEST"));
    // what a process left that died is swept away by the next one
    std::fs::create_dir(backups.join(".daily-0.partial")).expect("a folder");
    let reply = door.post(ADMIN, PATH, json!({ "dir": "daily-2" })).await;
    assert_eq!(reply.status, 201, "{reply:?}");
    let mut names: Vec<_> = std::fs::read_dir(&backups)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["daily-1", "daily-2"]);
}

#[tokio::test]
async fn one_backup_is_made_at_a_time() {
    let door = Door::open().await;
    let mut first = Box::pin(door.app.backups.back_up("first"));
    // it has its turn, and on this one thread it does not get on
    let begun = std::future::poll_fn(|context| {
        std::task::Poll::Ready(first.as_mut().poll(context).is_pending())
    });
    assert!(begun.await);
    let reply = door.post(ADMIN, PATH, json!({ "dir": "second" })).await;
    assert_eq!((reply.status, reply.code()), (503, "OVERLOADED"), "{reply:?}");
    assert!(matches!(first.await, Some(Ok(_))));
    assert_eq!(door.post(ADMIN, PATH, json!({ "dir": "second" })).await.status, 201);
}
