//! A way that suddenly leads to another ledger than the journal knows, over real HTTP.
//!
//! All of these turn red where `adoption` lets a ledger be called without a look, and where the other
//! end does not compare whom a request means; those that swap while the engine runs also where a 409
//! is taken for silence.

use super::home::USERS;
use super::proxy::Fault;
use super::scene::Scene;
use super::served::{Served, core};
use engine::Refused;
use kernel::code::Code;
use kernel::ids::{AssetId, Id, LedgerId, UserId};
use kernel::life::Leg;
use kernel::money::Amount;
use kernel::ports::ledger::Ledger;
use kernel::record::Account;
use kernel::unit::{Key, Op};
use std::fs;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// A folder that is not the one that the journal knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Folder {
    Emptied,
    Older,
    Cloned,
    Foreign,
}

/// A copy of a folder as it is at this moment, whoever writes in it.
fn copied(from: &Path) -> TempDir {
    let to = tempfile::tempdir().expect("a folder");
    for entry in fs::read_dir(from).expect("the folder") {
        let entry = entry.expect("an entry");
        fs::copy(entry.path(), to.path().join(entry.file_name())).expect("a copy");
    }
    to
}

/// The folder, made while the home is at work.
fn made(folder: Folder, scene: &Scene) -> TempDir {
    match folder {
        Folder::Emptied => tempfile::tempdir().expect("a folder"),
        Folder::Older => {
            let older = copied(scene.folder.path());
            scene.work(1);
            older
        }
        Folder::Cloned => {
            // copied in the middle of the work; the original goes on
            let from = scene.folder.path().to_owned();
            let copying = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(30));
                copied(&from)
            });
            scene.work(3);
            copying.join().expect("a copy")
        }
        Folder::Foreign => {
            let foreign = tempfile::tempdir().expect("a folder");
            scene.outside.block_on(async {
                let spot = core(foreign.path()).await;
                let op = |n: u64| Op {
                    key: Key { id: Id::new(n, u128::from(n)), leg: Leg::Deposit },
                    account: Account::User(UserId(n % 5 + 1)),
                    other: None,
                    asset: AssetId(3),
                    amount: Amount(10),
                };
                spot.execute(spot.known(), (1..=500).map(op).collect()).await;
            });
            foreign
        }
    }
}

/// Transfers on their way: of some the reply was lost, of others the request.
fn pending(scene: &Scene) -> Vec<Id> {
    let mut ids = Vec::new();
    for fault in [Fault::LoseReply, Fault::LoseRequest] {
        scene.way.always("POST /operations", fault);
        for user in USERS.take(3) {
            ids.push(scene.home.opened(scene.there(), user, 7));
            ids.push(scene.home.opened(scene.back(), user, 5));
        }
    }
    ids
}

/// Nothing is opened, and nothing that was on its way moves.
fn stands_still(scene: &Scene, ids: &[Id], wrong: &Served) {
    let before = (scene.home.states(ids), scene.books(&wrong.spot));
    let refused = scene.home.create(scene.there(), USERS.start, 3);
    assert!(matches!(refused, Err(Refused::Code(Code::Halted))), "{refused:?}");
    std::thread::sleep(Duration::from_millis(120));
    assert_eq!((scene.home.states(ids), scene.books(&wrong.spot)), before);
}

fn leads_to(folder: Folder, fuse: bool, running: bool) {
    let mut scene = Scene::open(LedgerId::SPOT, fuse);
    scene.work(1);
    let dir = made(folder, &scene);
    let ids = pending(&scene);
    let wrong = scene.outside.block_on(Served::folder(dir.path()));
    let before = scene.books(&wrong.spot);
    if !running {
        scene.home.stop();
    }
    scene.way.lead(Some(wrong.at));
    scene.way.fair();
    if running {
        // others come while it is found out
        for user in USERS {
            let came = scene.home.create(scene.there(), user, 2);
            let halted = matches!(came, Err(Refused::Code(Code::Halted)));
            assert!(came.is_ok() || halted, "{came:?}");
        }
    } else {
        scene.home.start();
    }
    let reason = scene.home.halted();
    assert_eq!(scene.books(&wrong.spot), before, "{folder:?}: something was executed");
    assert!(reason.contains("SPOT"), "{reason}");
    for id in &ids {
        assert!(reason.contains(&id.to_string()), "{folder:?}: {id} is not named: {reason}");
    }
    if matches!(folder, Folder::Older | Folder::Cloned) {
        assert!(reason.contains("forgot") && reason.contains("it answered for"), "{reason}");
    }
    let case = ("WRONG_LEDGER".to_owned(), "CRITICAL".to_owned());
    assert_eq!(scene.home.cases(), [case]);
    stands_still(&scene, &ids, &wrong);
    // HALT survives a restart
    scene.home.stop();
    scene.home.start();
    assert_eq!(scene.home.engine().halted().as_deref(), Some(reason.as_str()));
    stands_still(&scene, &ids, &wrong);
    assert_eq!(scene.books(&wrong.spot), before);
}

macro_rules! folders {
    ($($name:ident: $folder:ident, $fuse:literal, $running:literal;)*) => {$(
        #[test]
        fn $name() {
            leads_to(Folder::$folder, $fuse, $running);
        }
    )*};
}

folders! {
    an_emptied_ledger_executes_nothing: Emptied, true, true;
    an_older_ledger_executes_nothing: Older, true, true;
    a_cloned_ledger_executes_nothing: Cloned, true, true;
    a_foreign_ledger_executes_nothing: Foreign, true, true;
    an_emptied_ledger_at_the_start_executes_nothing: Emptied, false, false;
    an_older_ledger_at_the_start_executes_nothing: Older, false, false;
    a_cloned_ledger_at_the_start_executes_nothing: Cloned, false, false;
    a_foreign_ledger_at_the_start_executes_nothing: Foreign, false, false;
}

/// A new start of the same ledger is adopted by itself, with whatever it did that nobody heard of.
#[test]
fn a_restarted_ledger_is_adopted_and_work_goes_on() {
    let mut scene = Scene::open(LedgerId::SPOT, true);
    scene.work(1);
    let ids = pending(&scene);
    scene.way.lead(None);
    scene.served = None;
    let served = scene.outside.block_on(Served::folder(scene.folder.path()));
    scene.way.lead(Some(served.at));
    scene.served = Some(served);
    scene.way.fair();
    let states = scene.home.ended(&ids);
    assert!(states.iter().all(|state| *state == "COMMITTED"), "{states:?}");
    let users = u128::from(USERS.end - USERS.start);
    scene.exact(users * (100 - 30) + 2 * 3 * (7 - 5));
}

/// What a ledger does without being asked is found by the proof.
#[test]
fn an_operation_that_no_transfer_asked_for_halts() {
    let scene = Scene::open(LedgerId::SPOT, true);
    scene.work(1);
    scene.home.adds_up();
    let stranger = Op {
        key: Key { id: Id::new(1, 1), leg: Leg::Deposit },
        account: Account::User(UserId(9)),
        other: None,
        asset: AssetId(3),
        amount: Amount(10),
    };
    scene.outside.block_on(scene.spot().execute(scene.spot().known(), [stranger].into()));
    let report = scene.home.run(scene.home.engine().check_now()).expect("a report");
    assert!(!report.ok, "an operation that no transfer asked for");
    assert!(scene.home.halted().contains("there is no such transfer"));
}
