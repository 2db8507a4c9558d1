//! Rows that operators' actions wrote, and times of transfers, edited by SQL in both stores: the proof of the audit names
//! each one, what is stored and what was done.

use crate::fixture::defaults::{COIN, FUNDING, NEVER};
use crate::fixture::folders::store_at;
use crate::fixture::running::{RunningService, proposed};
use crate::fixture::test_service::TestService;
use crate::postgres::fixture::{Fixture, quick};
use engine::audit::prove;
use engine::operators::{AdminAction, AssetChange, NewAsset, NewNumberedAccount};
use kernel::accounts::NumberedStatus;
use kernel::audit::proof::Findings;
use kernel::audit::seal::SealKey;
use kernel::ids::UserId;
use kernel::money::{Amount, Asset, AssetStatus};
use kernel::operators::ProposedMovement;
use kernel::ports::audit::Audit;
use kernel::ports::journal::UnitWriter as _;
use kernel::ports::ledger::AccountStatus;
use kernel::unit::{Put, Unit, Wrote};
use store::sqlite::FILE;
use testkit::deposit;

/// The tables that are edited, each put back before the next edit.
const TABLES: [&str; 8] = [
    "halts",
    "service_state",
    "approvals",
    "assets_tb",
    "accounts_tb",
    "status_changes",
    "balances_tb",
    "transfers",
];

/// The table, what is done to it, and what is said of it.
type Edit = (&'static str, &'static str, &'static str);

#[rustfmt::skip]
const EDITS: [Edit; 37] = [
    ("halts", "UPDATE halts SET reason = 'nothing' WHERE halt = 1", "halts/1: its reason is `nothing`, and the operators' actions say `eve h1: a test`"),
    ("halts", "UPDATE halts SET at = at - 1 WHERE halt = 2", "halts/2: its at is `"),
    ("halts", "UPDATE halts SET lifted_at = NULL WHERE halt = 1", "halts/1: its lifted_at is nothing, and the operators' actions say `"),
    ("halts", "UPDATE halts SET lifted_at = at + 1 WHERE halt = 4", "halts/4: its lifted_at is `"),
    ("halts", "DELETE FROM halts WHERE halt = 1", "halts/1: it was removed"),
    ("halts", "DELETE FROM halts WHERE halt = 4", "there is no such row, and the operators' actions say that one was raised at "),
    ("service_state", "DELETE FROM service_state WHERE name = 'halted'", "service_state/halted: it was removed, and the operators' actions say that HALT 4 is in force"),
    ("service_state", "UPDATE service_state SET value = 'another' WHERE name = 'halted'", "service_state/halted: its value is `another`, and the operators' actions say `eve h4: a test`"),
    ("approvals", "UPDATE approvals SET action = 'WITHDRAWAL' WHERE status = 'PENDING'", "its action is `WITHDRAWAL`, and the operators' actions say `DEPOSIT`"),
    ("approvals", "UPDATE approvals SET subject = 'deposit/other' WHERE status = 'PENDING'", "its subject is `deposit/other`"),
    ("approvals", "UPDATE approvals SET value = replace(value, '700', '900') WHERE status = 'PENDING'", "its value is `{"),
    ("approvals", "UPDATE approvals SET reason = 'because' WHERE status = 'PENDING'", "its reason is `because`, and the operators' actions say `ada paid: a test`"),
    ("approvals", "UPDATE approvals SET requested_by = 'portage|eve' WHERE status = 'PENDING'", "its requested_by is `portage|eve`, and the operators' actions say `portage|ada`"),
    ("approvals", "UPDATE approvals SET requested_at = requested_at + 1 WHERE status = 'PENDING'", "its requested_at is `"),
    ("approvals", "UPDATE approvals SET decided_by = 'portage|eve' WHERE status = 'APPROVED'", "its decided_by is `portage|eve`, and the operators' actions say `portage|bob`"),
    ("approvals", "UPDATE approvals SET status = 'PENDING', decided_by = NULL, decided_at = NULL WHERE status = 'REJECTED'", "its status is `PENDING`, and the operators' actions say `REJECTED`"),
    ("approvals", "UPDATE approvals SET status = 'PENDING', decided_by = NULL, decided_at = NULL WHERE decided_by = 'journal'", "its status is `PENDING`, and the operators' actions say `SUPERSEDED`"),
    ("approvals", "UPDATE approvals SET status = 'APPROVED', decided_by = 'portage|bob', decided_at = 5 WHERE status = 'PENDING'", "its status is `APPROVED`, and the operators' actions say `PENDING`"),
    ("approvals", "DELETE FROM approvals WHERE status = 'REJECTED'", "it was removed, and the operators' actions say that portage|ada proposed it at "),
    ("approvals", "INSERT INTO approvals SELECT '01920000-0000-7000-8000-000000000001', action, subject, value, reason, requested_by, requested_at, status, decided_by, decided_at, expires_at FROM approvals WHERE status = 'PENDING'", "there is such a row, and the operators' actions say that it was never proposed"),
    ("assets_tb", "UPDATE assets_tb SET precision = 8 WHERE asset_id = 3", "assets_tb/3: its precision is `8`, and the operators' actions say `6`"),
    ("assets_tb", "UPDATE assets_tb SET precision = 8 WHERE symbol = 'SOL'", "its precision is `8`, and the operators' actions say `9`"),
    ("assets_tb", "UPDATE assets_tb SET daily_amount = NULL WHERE symbol = 'SOL'", "its daily_amount is nothing, and the operators' actions say `5000`"),
    ("assets_tb", "UPDATE assets_tb SET status = 'ACTIVE' WHERE symbol = 'SOL'", "its status is `ACTIVE`, and the operators' actions say `SUSPENDED`"),
    ("assets_tb", "DELETE FROM assets_tb WHERE asset_id = 2", "assets_tb/2: it was removed, and the operators' actions say that it is ETH"),
    ("assets_tb", "INSERT INTO assets_tb SELECT 99, 'FAKE', precision, status, internal_transfer_enabled, min_transfer_amount, max_transfer_amount, daily_amount FROM assets_tb WHERE asset_id = 1", "assets_tb/99: there is such a row"),
    ("accounts_tb", "UPDATE accounts_tb SET status = 'ACTIVE'", "accounts_tb/ACC-1: its status is `ACTIVE`, and the operators' actions say `FROZEN`"),
    ("accounts_tb", "UPDATE accounts_tb SET owner_id = 7", "accounts_tb/ACC-1: its owner_id is `7`, and the operators' actions say `1`"),
    ("accounts_tb", "DELETE FROM accounts_tb", "accounts_tb/ACC-1: it was removed"),
    ("status_changes", "UPDATE status_changes SET value = 'ACTIVE'", "its value is `ACTIVE`, and the operators' actions say `FROZEN`"),
    ("status_changes", "UPDATE status_changes SET caller = 'portage|eve'", "its caller is `portage|eve`, and the operators' actions say `portage|ada`"),
    ("status_changes", "DELETE FROM status_changes", "it was removed, and the operators' actions say that FUNDING/2 was set to FROZEN"),
    ("status_changes", "INSERT INTO status_changes SELECT 'portage|eve|k', subject, 'ACTIVE', reason, caller, found, at FROM status_changes WHERE subject = 'FUNDING/2'", "status_changes/portage|eve|k: there is such a row"),
    ("balances_tb", "UPDATE balances_tb SET status = 'ACTIVE' WHERE user_id = 2", "balances_tb/2: its status is `ACTIVE`, and the operators' actions say `FROZEN`"),
    ("balances_tb", "UPDATE balances_tb SET status = 'ACTIVE' WHERE user_id = 3", "balances_tb/3: its status is `ACTIVE`, and the operators' actions say `FROZEN`"),
    ("balances_tb", "UPDATE balances_tb SET status = 'DISABLED' WHERE user_id = 4", "balances_tb/4: its status is `DISABLED`, and the operators' actions say `ACTIVE`"),
    ("transfers", "UPDATE transfers SET created_at = created_at - 1 WHERE cid = 'one'", "its created_at is `"),
];

/// Numbers without a gap are the embedded store's.
const RENUMBERED: [Edit; 2] = [
    (
        "transfers",
        "UPDATE transfers SET transfer_id = transfer_id + 90 WHERE cid = 'one'",
        "transfer number 1 was removed",
    ),
    (
        "transfers",
        "UPDATE transfers SET transfer_id = -transfer_id; \
         UPDATE transfers SET transfer_id = 3 + transfer_id",
        "its number was changed: it was opened before the one below it",
    ),
];

/// What operators do that leaves rows: HALTs of every end, proposals of every end, an asset, accounts.
async fn operated(service: &RunningService) {
    let act = async |who: &str, key: &str, action| {
        service.execute_as(who, key, action).await.unwrap_or_else(|why| panic!("{key}: {why:?}"))
    };
    for key in ["one", "two"] {
        service.complete_transfer(FUNDING, 1, key, 5).await;
    }
    let sol = NewAsset {
        id: None,
        symbol: "SOL".to_owned(),
        precision: 9,
        transferable: true,
        min: Amount(1),
        max: None,
        daily: Some(Amount(5_000)),
    };
    act("ada", "sol", AdminAction::AddAsset(sol)).await;
    let status = Some(AssetStatus::Suspended);
    let change = AssetChange { symbol: "SOL".to_owned(), status, ..AssetChange::default() };
    act("ada", "suspended", AdminAction::ChangeAsset(change)).await;
    let (number, currency) = ("ACC-1".into(), "USDT".to_owned());
    let new = NewNumberedAccount { number, owner: UserId(1), currency };
    act("ada", "opened", AdminAction::OpenAccount(new)).await;
    let status = NumberedStatus::Frozen;
    act("ada", "closed", AdminAction::AccountStatus { number: "ACC-1".into(), status }).await;
    let status = async |who: &str, key: &str, user, status| {
        act(who, key, AdminAction::Status { ledger: FUNDING, user: UserId(user), status }).await;
    };
    status("ada", "frozen", 2, AccountStatus::Frozen).await;
    // within seconds of each other: only the last one stands
    status("ada", "barred", 3, AccountStatus::Frozen).await;
    status("bob", "freed", 3, AccountStatus::Active).await;
    status("ada", "barred again", 3, AccountStatus::Frozen).await;

    let resume = || AdminAction::Resume { accept: Vec::new() };
    act("eve", "h1", AdminAction::Halt).await;
    let approval = proposed(service.execute_as("ada", "r1", resume()).await);
    act("bob", "a1", AdminAction::Approve(approval)).await;
    act("eve", "h2", AdminAction::Halt).await;
    act("ada", "r2", resume()).await;
    act("eve", "h3", AdminAction::Halt).await;
    let refused = proposed(service.execute_as("ada", "r3", resume()).await);
    act("bob", "a3", AdminAction::Reject(refused)).await;
    let approval = proposed(service.execute_as("ada", "r4", resume()).await);
    act("bob", "a4", AdminAction::Approve(approval)).await;
    let paid = ProposedMovement::of(&deposit("paid", 1, COIN, 700), &Asset::fresh());
    act("ada", "paid", AdminAction::Movement(paid)).await;
    act("eve", "h4", AdminAction::Halt).await;
}

async fn proven(store: &dyn Audit) -> Findings {
    let mut trail = store.trail().await.expect("a trail");
    prove(&mut *trail, SealKey::new(b"the key of these seals"), None).await.expect("a proof")
}

/// Makes each edit by itself, proves, and puts the table back.
async fn edited(store: &dyn Audit, sql: impl Fn(&str), edits: &[Edit]) {
    for table in TABLES {
        sql(&format!("CREATE TABLE IF NOT EXISTS kept_{table} AS SELECT * FROM {table}"));
    }
    let found = proven(store).await;
    assert_eq!((found.faults, found.unproven), (vec![], vec![]), "without an edit");
    let mut silent = Vec::new();
    for (table, edit, said) in edits {
        sql(edit);
        let found = proven(store).await;
        let words: Vec<_> = found.faults.iter().map(ToString::to_string).collect();
        if !words.iter().any(|word| word.contains(said)) {
            silent.push(format!("{edit}: {words:#?}"));
        }
        sql(&format!("DELETE FROM {table}; INSERT INTO {table} SELECT * FROM kept_{table}"));
    }
    assert!(silent.is_empty(), "not named: {}", silent.join("\n"));
    assert_eq!(proven(store).await.faults, [], "every table was put back");
}

/// Turns red where the decisions of the chain are not compared, or a time of opening is not: these edits are named by
/// nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_edit_of_the_embedded_store_is_named() {
    let mut service = TestService::open(true, NEVER).await;
    operated(&service).await;
    service.stop().await;
    let store = store_at(service.dir.path(), &service.flows, &service.clock);
    let tool = testbed::beside(&service.dir.path().join(FILE));
    let sql = |text: &str| tool.execute_batch(text).unwrap_or_else(|why| panic!("{text}: {why}"));
    edited(&*store, sql, &EDITS).await;
    edited(&*store, sql, &RENUMBERED).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_edit_of_a_database_is_named() {
    let fixture = Fixture::open(quick(true)).await;
    let worker = fixture.worker().await;
    operated(&worker).await;
    let store = worker.store.clone();
    worker.kill().await;
    edited(&*store, |text| drop(fixture.sql(text)), &EDITS).await;
}

/// The engine's own HALT has its row among the actions: it is proven, and an edit of it is a fault. A HALT without one,
/// as earlier releases and a restore raise it, is said to be unproven, and is no fault.
///
/// Turns red where the engine raises a HALT without an action (run: the release before).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_halt_of_the_engine_is_proven() {
    let service = TestService::open(true, NEVER).await;
    let mint = "UPDATE balances_tb SET available = printf('%039d', CAST(available AS INTEGER) + 5) \
                WHERE user_id = 3 AND asset_id = 3";
    service.tool().execute_batch(mint).expect("SQL");
    assert!(!service.engine.reconciler.check_now().await.expect("a round").ok);
    let found = proven(&**service.store()).await;
    assert_eq!((found.faults, found.unproven), (vec![], vec![]));
    let without = Unit::puts(vec![Put::Halt { reason: "an earlier release".into() }]);
    let wrote = service.store().write(vec![without]).await;
    assert!(matches!(wrote[..], [Wrote::Written(_)]), "{wrote:?}");
    let found = proven(&**service.store()).await;
    assert_eq!(found.faults, []);
    let [unproven] = found.unproven.as_slice() else { panic!("{:?}", found.unproven) };
    assert!(unproven.starts_with("halts 2: no action raised them"), "{unproven}");
    let edit = "UPDATE halts SET reason = 'all is well' WHERE halt = 1; \
                UPDATE service_state SET value = 'all is well' WHERE name = 'halted'";
    service.tool().execute_batch(edit).expect("SQL");
    let found = proven(&**service.store()).await;
    let words: Vec<_> = found.faults.iter().map(ToString::to_string).collect();
    assert!(words.iter().any(|word| word.contains("halts/1")), "{words:#?}");
}
