//! What an operator does to the rows with plain SQL while the store runs.

use crate::fixture::{COIN, Fixture, balance, leg, one, word, written};
use crate::folder_store::{fund, give};
use kernel::answer::Answer;
use kernel::flow::life::Leg;
use kernel::ids::AssetId;
use kernel::money::Amount;
use kernel::ports::journal::UnitWriter as _;
use kernel::ports::ledger::{Ledger, Reply};
use store::sqlite::Embedded;

const GOLD: AssetId = AssetId(1);
const MORE: AssetId = AssetId(2);

async fn funded(fixture: &Fixture, users: u64) -> std::sync::Arc<Embedded> {
    let store = fixture.open();
    for user in 1..=users {
        fund(&*store.funding(), user, COIN, Amount(1_000)).await;
    }
    store
}

/// A group with one opening for each of nine users; what became of each.
async fn group(fixture: &Fixture, store: &Embedded, from: u64) -> Vec<String> {
    let units = (1..10).map(|user| fixture.opening(from + user, user, 5)).collect();
    store.write(units).await.iter().map(word).collect()
}

fn all_but_user_five(other: &str) -> Vec<String> {
    (1..10).map(|user| if user == 5 { other } else { "done" }.to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trigger_stops_its_culprit_alone() {
    let fixture = Fixture::new();
    let store = funded(&fixture, 9).await;
    let tool = fixture.tool();
    let trigger = "CREATE TRIGGER guard BEFORE UPDATE ON balances_tb WHEN new.user_id = 5 \
                   BEGIN SELECT raise(ABORT, 'user 5 is looked into'); END";
    tool.execute_batch(trigger).expect("a trigger");
    assert_eq!(group(&fixture, &store, 100).await, all_but_user_five("STORE_REFUSED"));
    assert_eq!(balance(&store, 5).await, (1_000, 0));
    assert_eq!(balance(&store, 6).await, (995, 5));
    tool.execute_batch("DROP TRIGGER guard").expect("no trigger");
    // nothing of it was stored, so the same unit may be written now
    assert_eq!(word(&one(&store, fixture.opening(105, 5, 5)).await), "done");
    assert_eq!(balance(&store, 5).await, (995, 5));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trigger_that_does_not_run_stops_its_culprit_and_not_the_process() {
    let fixture = Fixture::new();
    let store = funded(&fixture, 9).await;
    let tool = fixture.tool();
    let trigger = "CREATE TRIGGER broken BEFORE UPDATE ON balances_tb WHEN new.user_id = 5 \
                   BEGIN INSERT INTO no_such_table VALUES (1); END";
    tool.execute_batch(trigger).expect("a trigger");
    // it does not even compile, so no balance can be written, whosever it is
    let failed: Vec<_> = (1..10).map(|_| "STORE_FAILED").collect();
    assert_eq!(group(&fixture, &store, 100).await, failed);
    tool.execute_batch("DROP TRIGGER broken").expect("no trigger");
    assert_eq!(group(&fixture, &store, 200).await, all_but_user_five("done"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_row_stops_its_owner_and_not_the_process() {
    let fixture = Fixture::new();
    let store = funded(&fixture, 9).await;
    let tool = fixture.tool();
    let spoil = "UPDATE balances_tb SET available = 'plenty' WHERE user_id = 5";
    tool.execute_batch(spoil).expect("a spoilt row");
    assert_eq!(group(&fixture, &store, 100).await, all_but_user_five("STORE_DAMAGED"));
    let mend = "UPDATE balances_tb SET available = '1000' WHERE user_id = 5";
    tool.execute_batch(mend).expect("a mended row");
    assert_eq!(word(&one(&store, fixture.opening(105, 5, 5)).await), "done");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_constraint_stops_a_single_leg_without_refusing_it() {
    let fixture = Fixture::new();
    let store = funded(&fixture, 2).await;
    let tool = fixture.tool();
    let trigger = "CREATE TRIGGER floor BEFORE UPDATE ON balances_tb \
                   WHEN CAST(new.available AS INTEGER) < 500 \
                   BEGIN SELECT raise(ABORT, 'below the floor'); END";
    tool.execute_batch(trigger).expect("a trigger");
    let Reply::Answered(known, ()) = store.funding().hello().await else { panic!("no hello") };
    let ops = [leg(1, 1, Leg::Withdraw, 600), leg(2, 2, Leg::Withdraw, 100)];
    let reply = store.funding().execute(known, ops.into()).await;
    let Reply::Answered(_, answers) = reply else { panic!("{reply:?}") };
    let words: Vec<_> = answers.iter().map(Answer::word).collect();
    assert_eq!(words, ["unknown", "done"]);
    tool.execute_batch("DROP TRIGGER floor").expect("no trigger");
    let reply = store.funding().execute(known, [leg(1, 1, Leg::Withdraw, 600)].into()).await;
    assert!(matches!(&reply, Reply::Answered(_, a) if a[0].word() == "done"), "{reply:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_set_by_sql_works_from_its_commit() {
    let fixture = Fixture::new();
    let store = funded(&fixture, 1).await;
    let tool = fixture.tool();
    for (n, (status, said)) in (1..).zip([
        ("FROZEN", "ACCOUNT_FROZEN"),
        ("ACTIVE", "done"),
        ("DISABLED", "ACCOUNT_DISABLED"),
        ("ACTIVE", "done"),
    ]) {
        let sql = "UPDATE balances_tb SET status = ?1 WHERE user_id = 1";
        assert_eq!(tool.execute(sql, [status]).expect("a status"), 1);
        assert_eq!(word(&one(&store, fixture.opening(n, 1, 5)).await), said, "{status}");
    }
}

/// Red where a status stays at the row that an operator's SQL named: the other row went on paying, and
/// the next one took the status of the row that was found first.
#[tokio::test(flavor = "multi_thread")]
async fn a_status_set_at_one_row_is_the_accounts() {
    let fixture = Fixture::new();
    let store = funded(&fixture, 1).await;
    give(&*store.funding(), "gold", 1, GOLD, Amount(10)).await;
    let tool = fixture.tool();
    let statuses = || -> Vec<String> {
        let sql = "SELECT DISTINCT status FROM balances_tb WHERE user_id = 1";
        let mut asked = tool.prepare(sql).expect("SQL");
        let rows = asked.query_map([], |row| row.get(0)).expect("rows");
        let all: Result<Vec<String>, _> = rows.collect();
        all.expect("rows")
    };
    for (n, status) in (1..).zip(["FROZEN", "DISABLED", "ACTIVE"]) {
        let sql = "UPDATE balances_tb SET status = ?1 WHERE user_id = 1 AND asset_id = ?2";
        assert_eq!(tool.execute(sql, (status, GOLD.0)).expect("a status"), 1);
        assert_eq!(statuses(), [status]);
        let said = if status == "ACTIVE" { "done".to_owned() } else { format!("ACCOUNT_{status}") };
        assert_eq!(word(&one(&store, fixture.opening(n, 1, 5)).await), said, "{status}");
    }
    // and a row that is added has it
    let sql = "UPDATE balances_tb SET status = 'FROZEN' WHERE user_id = 1 AND asset_id = ?1";
    assert_eq!(tool.execute(sql, [GOLD.0]).expect("a status"), 1);
    give(&*store.funding(), "more", 1, MORE, Amount(10)).await;
    assert_eq!(statuses(), ["FROZEN"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_writer_waits_while_an_operator_holds_the_lock() {
    let fixture = Fixture::new();
    let store = funded(&fixture, 1).await;
    let tool = fixture.tool();
    tool.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    let (writing, unit) = (store.clone(), fixture.opening(1, 1, 5));
    let runtime = tokio::runtime::Handle::current();
    let waiting = std::thread::spawn(move || runtime.block_on(one(&writing, unit)));
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(!waiting.is_finished(), "it did not wait");
    // reads do not wait, and what is not committed is not seen
    let freeze = "UPDATE balances_tb SET status = 'FROZEN' WHERE user_id = 1";
    assert_eq!(tool.execute(freeze, []).expect("a status"), 1);
    assert_eq!(balance(&store, 1).await, (1_000, 0));
    tool.execute_batch("COMMIT").expect("a commit");
    // the unit was asked for before the commit and decided after it
    assert_eq!(word(&waiting.join().expect("an answer")), "ACCOUNT_FROZEN");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_hot_account_serves_a_whole_group() {
    let fixture = Fixture::new();
    let store = funded(&fixture, 1).await;
    let units = (0..1_000).map(|n| fixture.opening(n, 1, 3)).collect();
    let wrote = store.write(units).await;
    let count = |said: &str| wrote.iter().filter(|w| word(w) == said).count();
    assert_eq!((count("done"), count("INSUFFICIENT_BALANCE")), (333, 667));
    assert_eq!(balance(&store, 1).await, (1, 999));
    let version = "SELECT version FROM balances_tb WHERE user_id = 1";
    let version: i64 = fixture.tool().query_row(version, [], |row| row.get(0)).expect("a row");
    assert_eq!(version, 2, "the row was written once for the whole group");
    let units = (0..333).map(|n| fixture.ending(n, 1, 3)).collect();
    assert!(store.write(units).await.iter().all(|w| word(w) == "written"));
    assert_eq!(balance(&store, 1).await, (1, 0));
    written(&store, fixture.opening(2_000, 1, 1)).await;
}
