//! A network that suddenly leads to another ledger than the journal knows, over real HTTP.
//!
//! All of these turn red where `adoption` lets a ledger be called without a look, and where the other
//! end does not compare whom a request means; those that swap while the engine runs also where a 409
//! is taken for silence.

use super::fixture::Fixture;
use super::home::USERS;
use super::proxy::Fault;
use super::served::{Served, core};
use engine::Refused;
use engine::operators::{ActionResult, Actor, AdminAction, Objection, PerformedAction};
use kernel::code::Code;
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, Id, LedgerId, UserId};
use kernel::money::Amount;
use kernel::operation::{Key, Op};
use kernel::ports::ledger::Ledger;
use kernel::record::Account;
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

/// A copy of a folder as it is at this moment, also while it is written to.
fn copied(from: &Path) -> TempDir {
    let to = tempfile::tempdir().expect("a folder");
    for entry in fs::read_dir(from).expect("the folder") {
        let entry = entry.expect("an entry");
        fs::copy(entry.path(), to.path().join(entry.file_name())).expect("a copy");
    }
    to
}

/// The folder, made while the home is at work.
fn made(folder: Folder, fixture: &Fixture) -> TempDir {
    match folder {
        Folder::Emptied => tempfile::tempdir().expect("a folder"),
        Folder::Older => {
            let older = copied(fixture.folder.path());
            fixture.work(1);
            older
        }
        Folder::Cloned => {
            // copied in the middle of the work; the original goes on
            let from = fixture.folder.path().to_owned();
            let copying = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(30));
                copied(&from)
            });
            fixture.work(3);
            copying.join().expect("a copy")
        }
        Folder::Foreign => {
            let foreign = tempfile::tempdir().expect("a folder");
            fixture.outside.block_on(async {
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
fn pending(fixture: &Fixture) -> Vec<Id> {
    let mut ids = Vec::new();
    for fault in [Fault::LoseReply, Fault::LoseRequest] {
        fixture.way.always("POST /operations", fault);
        for user in USERS.take(3) {
            ids.push(fixture.home.opened(fixture.there(), user, 7));
            ids.push(fixture.home.opened(fixture.back(), user, 5));
        }
    }
    ids
}

/// Nothing is opened, and nothing that was on its way moves.
fn stands_still(fixture: &Fixture, ids: &[Id], wrong: &Served) {
    let before = (fixture.home.states(ids), fixture.books(&wrong.spot));
    let refused = fixture.home.create(fixture.there(), USERS.start, 3);
    assert!(matches!(refused, Err(Refused::Code(Code::Halted))), "{refused:?}");
    std::thread::sleep(Duration::from_millis(120));
    assert_eq!((fixture.home.states(ids), fixture.books(&wrong.spot)), before);
}

fn leads_to(folder: Folder, fuse: bool, running: bool) {
    let mut fixture = Fixture::open(LedgerId::SPOT, fuse);
    fixture.work(1);
    let dir = made(folder, &fixture);
    let ids = pending(&fixture);
    let wrong = fixture.outside.block_on(Served::folder(dir.path()));
    let before = fixture.books(&wrong.spot);
    if !running {
        fixture.home.stop();
    }
    fixture.way.lead(Some(wrong.at));
    fixture.way.fair();
    if running {
        // others come while it is found out
        for user in USERS {
            let came = fixture.home.create(fixture.there(), user, 2);
            let halted = matches!(came, Err(Refused::Code(Code::Halted)));
            assert!(came.is_ok() || halted, "{came:?}");
        }
    } else {
        fixture.home.start();
    }
    let reason = fixture.home.halted();
    assert_eq!(fixture.books(&wrong.spot), before, "{folder:?}: something was executed");
    assert!(reason.contains("SPOT"), "{reason}");
    for id in &ids {
        assert!(reason.contains(&id.to_string()), "{folder:?}: {id} is not named: {reason}");
    }
    if matches!(folder, Folder::Older | Folder::Cloned) {
        assert!(reason.contains("forgot") && reason.contains("it answered for"), "{reason}");
    }
    let case = ("WRONG_LEDGER".to_owned(), "CRITICAL".to_owned());
    assert_eq!(fixture.home.cases(), [case]);
    stands_still(&fixture, &ids, &wrong);
    // HALT survives a restart
    fixture.home.stop();
    fixture.home.start();
    assert_eq!(fixture.home.engine().halted().as_deref(), Some(reason.as_str()));
    stands_still(&fixture, &ids, &wrong);
    assert_eq!(fixture.books(&wrong.spot), before);
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

/// A new start of the same ledger is adopted by itself, with whatever it did without a reply.
#[test]
fn a_restarted_ledger_is_adopted_and_work_goes_on() {
    let mut fixture = Fixture::open(LedgerId::SPOT, true);
    fixture.work(1);
    let ids = pending(&fixture);
    fixture.way.lead(None);
    fixture.served = None;
    let served = fixture.outside.block_on(Served::folder(fixture.folder.path()));
    fixture.way.lead(Some(served.at));
    fixture.served = Some(served);
    fixture.way.fair();
    let states = fixture.home.ended(&ids);
    assert!(states.iter().all(|state| *state == "COMMITTED"), "{states:?}");
    let users = u128::from(USERS.end - USERS.start);
    fixture.exact(users * (100 - 30) + 2 * 3 * (7 - 5));
}

/// What becomes of an operator's action.
fn acts(
    fixture: &Fixture,
    caller: &str,
    action: AdminAction,
) -> Result<PerformedAction, Objection> {
    let (key, reason) = (format!("{caller} {action:?}").into(), "a test".into());
    let actor = Actor { caller: caller.into(), key, reason };
    fixture.home.run(fixture.home.engine().operators.execute(actor, action))
}

/// An operator's action that is done.
fn done(fixture: &Fixture, caller: &str, action: AdminAction) -> ActionResult {
    acts(fixture, caller, action).expect("it is done").outcome
}

/// The ledger was told of a HALT that the journal does not have: it was set back. Without a number above the ledger's
/// nothing would ever move again.
///
/// Wrong build that turns it red: a HALT with the journal's next number.
#[test]
fn a_ledger_that_knows_of_a_later_halt_halts_a_journal_that_was_set_back() {
    let fixture = Fixture::open(LedgerId::SPOT, true);
    fixture.work(1);
    fixture.outside.block_on(fixture.spot().keep_halt(fixture.spot().known(), 7));
    let before = fixture.books(fixture.spot());
    let ids = [fixture.home.opened(fixture.there(), USERS.start, 5)];
    let why = fixture.home.halted();
    assert!(why.contains("SPOT was told of HALT 7"), "{why}");
    assert_eq!(fixture.books(fixture.spot()), before, "something was executed");
    let halted = done(&fixture, "ann", AdminAction::Halt);
    let ActionResult::Halted { halt: Some(9), quiet: true, .. } = halted else {
        panic!("{halted:?}")
    };
    let resume = AdminAction::Resume { accept: Vec::new() };
    let ActionResult::Proposed { approval } = done(&fixture, "ann", resume) else {
        panic!("it needs a second person")
    };
    done(&fixture, "bob", AdminAction::Approve(approval));
    let states = fixture.home.ended(&ids);
    assert!(states.iter().all(|state| *state == "COMMITTED"), "{states:?}");
}

/// A number that no HALT of this journal will reach: the ledger refuses everything, also after a resume.
///
/// Wrong build that turns it red: one that halts once for each number of a ledger.
#[test]
fn a_ledger_whose_halt_is_out_of_reach_halts_again_after_a_resume() {
    let fixture = Fixture::open(LedgerId::SPOT, true);
    fixture.work(1);
    fixture.outside.block_on(fixture.spot().keep_halt(fixture.spot().known(), 1_000_000));
    fixture.home.opened(fixture.there(), USERS.start, 5);
    let halts = || {
        let why = fixture.home.halted();
        assert!(why.contains("SPOT was told of HALT 1000000") && why.contains("reach"), "{why}");
    };
    halts();
    let resume = AdminAction::Resume { accept: Vec::new() };
    let ActionResult::Proposed { approval } = done(&fixture, "ann", resume) else {
        panic!("it needs a second person")
    };
    match acts(&fixture, "bob", AdminAction::Approve(approval)) {
        // the ledger may be asked before the answer is written
        Ok(_) => {}
        Err(Objection::NotPossible(why)) if why.contains("halted again") => {}
        Err(other) => panic!("{other:?}"),
    }
    // it is resumed, and nothing moves at this ledger
    halts();
}

/// What a ledger does without being asked is found by the proof.
#[test]
fn an_operation_that_no_transfer_asked_for_halts() {
    let fixture = Fixture::open(LedgerId::SPOT, true);
    fixture.work(1);
    fixture.home.adds_up();
    let stranger = Op {
        key: Key { id: Id::new(1, 1), leg: Leg::Deposit },
        account: Account::User(UserId(9)),
        other: None,
        asset: AssetId(3),
        amount: Amount(10),
    };
    fixture.outside.block_on(fixture.spot().execute(fixture.spot().known(), [stranger].into()));
    let report = fixture.home.run(fixture.home.engine().reconciler.check_now()).expect("a report");
    assert!(!report.ok, "an operation that no transfer asked for");
    assert!(fixture.home.halted().contains("there is no such transfer"));
}
