//! Money that is not where the evidence says: each a HALT within two rounds, and for good.

use crate::fixture::defaults::{FUNDING, NEVER, SPOT};
use crate::fixture::folders::copied;
use crate::fixture::tamper::{ALL, Tamper};
use crate::fixture::test_service::TestService;
use engine::Refused;
use engine::operators::{ActionResult, AdminAction};
use kernel::code::Code;
use store::sqlite::FILE;
use tempfile::TempDir;

/// A folder with transfers of every end.
async fn lived_in() -> TempDir {
    let service = TestService::open(true, NEVER).await;
    let mut ids = service.work(1).await;
    service.disable_at_spot(5).await;
    ids.push(service.open_transfer(FUNDING, 5, 3).await);
    ids.push(service.open_transfer(FUNDING, 6, 5_000_000).await);
    ids.push(service.open_transfer(SPOT, 6, 5_000_000).await);
    service.wait_for_end(&ids).await;
    let ends = service.states(&ids).await;
    for end in ["COMMITTED", "ROLLED_BACK", "FAILED"] {
        assert!(ends.values().any(|state| *state == end), "{end}: {ends:?}");
    }
    service.assert_in_order().await;
    let folder = copied(&service.spot_folder());
    let (spot, whole) = (folder.path(), tempfile::tempdir().expect("a folder"));
    std::fs::rename(spot, whole.path().join("spot")).expect("it is moved");
    let file = whole.path().join(FILE);
    let file = file.to_str().expect("a path that SQL can spell");
    service.tool().execute("VACUUM INTO ?", [file]).expect("a copy");
    whole
}

/// Transfers of users that are not tampered with, until they are refused.
async fn until_halted(service: &TestService) {
    for amount in 1..10_000 {
        match service.create(FUNDING, 7 + u64::from(amount % 2 == 0), amount).await {
            Ok(_) => {}
            Err(Refused::Code(Code::Halted)) => return,
            refused @ Err(_) => panic!("{refused:?}"),
        }
    }
}

/// HALT, with one case that says why, also after a restart.
async fn for_good(mut service: TestService, name: &str) {
    let reason = service.wait_for_stored_halt().await;
    assert!(reason.starts_with("conservation is broken: "), "{name}: {reason}");
    let kind = ("CRITICAL".to_owned(), "CONSERVATION".to_owned(), reason.to_string());
    assert_eq!(service.cases(), [kind], "{name}");
    service.restart().await;
    assert_eq!(service.engine.halted(), Some(reason), "{name}: after a restart");
    let refused = service.create(FUNDING, 7, 1).await;
    assert!(matches!(refused, Err(Refused::Code(Code::Halted))), "{name}: {refused:?}");
}

/// Rows of transfers that never were: no transfer is looked at beside them, and the running sums do
/// not know them. Money that went from one user to another: every sum is what it was. The count of
/// all rows finds them, within a day.
const COUNTED: [&str; 5] = [
    "added, of no transfer",
    "added, a refused receipt",
    "added, a receipt",
    "from a user to another",
    "from a user to another at Spot",
];

/// It is found in the first two rounds after it, while transfers run, or in the next that counts.
async fn found(dir: TempDir, name: &str, tamper: Tamper) {
    let service = TestService::reopen(dir, true, NEVER).await;
    let rounds = async {
        // the second one begins to look at everything again
        for _ in 0..2 {
            assert!(
                service.engine.reconciler.check_now().await.expect("a round").ok,
                "{name}: before"
            );
        }
        tamper.with(&service).await;
        for _ in 0..2 {
            let report = service.engine.reconciler.check_now().await.expect("a round");
            if !report.ok {
                assert!(!COUNTED.contains(&name), "{name}: something else shows it as well");
                return;
            }
        }
        assert!(COUNTED.contains(&name), "{name}: two rounds did not find it");
        service.engine.reconciler.count_all().await;
        let report = service.engine.reconciler.check_now().await.expect("a round");
        assert!(report.recounted && !report.ok, "{name}: nor did the count of all rows");
    };
    tokio::join!(rounds, until_halted(&service));
    for_good(service, name).await;
}

/// Turns red where the checker's task is not started, or where a break does not halt.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_engine_looks_by_itself() {
    let service = TestService::open(true, 20).await;
    service.work(1).await;
    Tamper::Pair.with(&service).await;
    until_halted(&service).await;
    for_good(service, "by itself").await;
}

/// A running sum that was changed by hand halts like any other break, and only once: the round behind it
/// counts the rows, and two persons resume without a break to accept.
///
/// Turns red where the checker goes on to believe the running sums after a break, where it forgets in
/// the next round what it counted, or where their being wrong goes unseen.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_running_sum_halts_once_and_never_again() {
    let mut service = TestService::open(true, NEVER).await;
    service.work(1).await;
    assert!(service.engine.reconciler.check_now().await.expect("a round").ok);
    let changed = service
        .tool()
        .execute("UPDATE running_sums SET amount = amount + 9 WHERE ledger = 1 AND leg = 'IN'", [])
        .expect("it is changed");
    assert_eq!(changed, 1);
    let report = service.engine.reconciler.check_now().await.expect("a round");
    let found: Vec<_> = report.breaks.iter().map(|b| (&*b.key, b.amount)).collect();
    assert_eq!(found, [("FUNDING/3/world", 9)]);
    assert!(service.engine.halted().is_some() && !report.recounted);
    let report = service.engine.reconciler.check_now().await.expect("a round");
    assert!(report.ok && report.recounted, "the rows add up: {report:?}");
    assert!(service.engine.halted().is_some(), "two persons look at it first");
    let resume = AdminAction::Resume { accept: Vec::new() };
    let Ok(ActionResult::Proposed { approval }) =
        service.execute_as("ada", "1", resume).await.map(|done| done.outcome)
    else {
        panic!("nothing is proposed")
    };
    assert!(service.execute_as("bob", "1", AdminAction::Approve(approval)).await.is_ok());
    for _ in 0..3 {
        service.work(1).await;
        assert!(service.engine.reconciler.check_now().await.expect("a round").ok);
    }
    service.restart().await;
    service.work(1).await;
    assert!(service.engine.reconciler.check_now().await.expect("a round").ok);
    assert_eq!(service.engine.halted(), None);
}

/// Turns red where `Checker::round` leaves out any of its parts: the books of a ledger inside
/// (`books`), those of one outside (`Outside::books`), the number of receipts (`Outside::count`),
/// the operations beside their transfers (`Outside::carry`), or the transfers beside their
/// operations (`Lines::walk`).
async fn every_nth(n: usize) {
    let folder = lived_in().await;
    for (name, tamper) in ALL.into_iter().skip(n).step_by(4) {
        found(copied(folder.path()), name, tamper).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_unit_or_one_row_is_found_1() {
    every_nth(0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_unit_or_one_row_is_found_2() {
    every_nth(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_unit_or_one_row_is_found_3() {
    every_nth(2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_unit_or_one_row_is_found_4() {
    every_nth(3).await;
}

/// A client's key that another program removes, or points at another transfer, would let the client's repeat move the
/// money a second time.
///
/// Turns red where the proof does not look at the table of keys (run: the release before): each round is in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_without_a_row_of_its_own_is_a_break() {
    let changes = [
        ("DELETE FROM keys WHERE cid = 'one'", "its client's key has no row"),
        (
            "UPDATE keys SET transfer_id = (SELECT transfer_id FROM keys WHERE cid = 'two') \
             WHERE cid = 'one'",
            "its client's key names transfer number 2",
        ),
    ];
    for (sql, what) in changes {
        let service = TestService::open(true, NEVER).await;
        let one =
            service.create_with_key(FUNDING, 1, "one", 5).await.expect("it is taken").record.id;
        let two =
            service.create_with_key(FUNDING, 1, "two", 5).await.expect("it is taken").record.id;
        service.wait_for_end(&[one, two]).await;
        for _ in 0..2 {
            assert!(service.engine.reconciler.check_now().await.expect("a round").ok, "{sql}");
        }
        assert_eq!(service.tool().execute(sql, []).expect("SQL"), 1);
        // the round that looks again at what has ended
        let mut report = service.engine.reconciler.check_now().await.expect("a round");
        if report.ok {
            report = service.engine.reconciler.check_now().await.expect("a round");
        }
        let [found] = report.breaks.as_slice() else { panic!("{sql}: {report:?}") };
        assert_eq!((&found.key, found.amount), (&format!("{one}/key"), 0));
        assert!(found.what.contains(what), "{found:?}");
        assert!(service.engine.halted().is_some(), "{sql}");
    }
}

/// A row that another program adds keeps a client's own first request from being made.
///
/// Turns red where only the keys of transfers are compared with their rows: the count of all rows is in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_without_a_transfer_is_a_break_at_the_next_count() {
    let service = TestService::open(true, NEVER).await;
    let one = service.create_with_key(FUNDING, 1, "one", 5).await.expect("it is taken").record.id;
    service.wait_for_end(&[one]).await;
    assert!(service.engine.reconciler.check_now().await.expect("a round").ok);
    let sql = "INSERT INTO keys SELECT flow, scope, 'other', transfer_id FROM keys";
    assert_eq!(service.tool().execute(sql, []).expect("SQL"), 1);
    service.engine.reconciler.count_all().await;
    let report = service.engine.reconciler.check_now().await.expect("a round");
    let [found] = report.breaks.as_slice() else { panic!("{report:?}") };
    assert!(found.key.starts_with("keys/internal/") && found.key.ends_with("/other"), "{found:?}");
    assert!(service.engine.halted().is_some());
}
