//! Stores that former releases left, opened by this one: nothing of them may be lost.
//!
//! `cargo xtask store-fixture` keeps one of each release in `tests/stores/<version>`, with what operators
//! saw of it; of 0.1.0 there are two, the later one of its last commit. Seen red with another shape of the tables and no upgrade (a line changed in
//! `0001_journal.sql`), and with an upgrade that loses a binding (`DELETE FROM keys` in `upgrades/terms.sql`).

use super::account_transfers::balance;
use super::relay::reads;
use super::{Served, portage, said};
use crate::own::script::{Elsewhere, Program, TOKEN};
use devnet::near::EventKind;
use devnet::near::serve::{Request, environment};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A kept store, unpacked into a folder of its own.
struct ReleaseStore {
    dir: TempDir,
    seen: Value,
}

/// The folder of each release, the oldest first.
fn releases() -> Vec<PathBuf> {
    kept_in("stores")
}

fn kept_in(folder: &str) -> Vec<PathBuf> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let entries = std::fs::read_dir(&all).expect("kept stores");
    let mut found: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    found.sort();
    assert!(!found.is_empty(), "no store is kept in {}", all.display());
    found
}

fn run(mut command: Command) {
    let out = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(out.status.success(), "{command:?}: {}", said(&out).1);
}

impl ReleaseStore {
    fn unpack(release: &Path, back_end: &str) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(release.join(format!("{back_end}.tar.gz"))).arg("-C").arg(dir.path());
        run(tar);
        let seen =
            std::fs::read_to_string(release.join(format!("{back_end}.json"))).expect("a view");
        Self { dir, seen: serde_json::from_str(&seen).expect("JSON") }
    }
}

/// What a command prints as JSON.
fn view(served: &Served, command: &str) -> Value {
    served.json(&command.split_whitespace().collect::<Vec<_>>())
}

fn ends_with(served: &Served, command: &str, code: i32) -> String {
    let out = served.run(&command.split_whitespace().collect::<Vec<_>>());
    assert_eq!(out.status.code(), Some(code), "{command}: {}", said(&out).1);
    said(&out).1
}

/// The rows of a view by their key, each with only these fields where any are named.
fn rows(view: &Value, list: &str, fields: &[&str]) -> Vec<Value> {
    let all = view[list].as_array().unwrap_or_else(|| panic!("no {list} in {view}"));
    let named = |row: &Value| {
        let mut row = row.clone();
        // 0.1.0 showed users as numbers
        for field in ["user_id", "owner"] {
            if let Some(user) = row[field].as_u64() {
                row[field] = json!(user.to_string());
            }
        }
        let pick = |field: &&str| ((*field).to_owned(), row[*field].clone());
        if fields.is_empty() { row.clone() } else { fields.iter().map(pick).collect() }
    };
    all.iter().map(named).collect()
}

/// Whether one of the rows says all that this one does; a later release may say more of it.
fn shows(rows: &[Value], row: &Value) -> bool {
    let Some(fields) = row.as_object() else { return rows.contains(row) };
    rows.iter().any(|one| fields.iter().all(|(name, value)| one.get(name) == Some(value)))
}

/// What a release wrote is there as it was; what a restart may change is left out.
fn unchanged(served: &Served, seen: &Value) {
    let (ended, open): (Vec<_>, Vec<_>) = rows(&seen["transfers"], "transfers", &[])
        .into_iter()
        .partition(|row| row["cid"] != json!("open"));
    let now = rows(&view(served, "ops find"), "transfers", &[]);
    for row in &ended {
        assert!(shows(&now, row), "not there as it was: {row}\n{now:#?}");
    }
    let terms = ["req_id", "transfer_id", "amount", "asset", "from", "to", "principal", "user_id"];
    let open = rows(&json!({ "open": open }), "open", &terms);
    assert_eq!(open.len(), 1, "one stood open");
    let now = rows(&view(served, "ops find"), "transfers", &terms);
    assert!(now.contains(&open[0]), "{open:?}");

    operators_rows(served, seen);
}

/// What operators did, and the cases, are there as they were.
fn operators_rows(served: &Served, seen: &Value) {
    let approval = ["id", "kind", "subject", "value", "by", "at", "reason"];
    for (part, command, fields) in [
        ("actions", "ops actions", &[][..]),
        ("approvals", "ops approvals", &approval[..]),
        ("halts", "ops halts", &[]),
        ("pauses", "ops pauses", &[]),
        ("cases", "ops cases --status all", &["id", "kind", "severity", "subject", "opened_at"]),
    ] {
        let now = rows(&view(served, command), part, fields);
        for row in rows(&seen[part], part, fields) {
            assert!(shows(&now, &row), "{part}: not there as it was: {row}\n{now:#?}");
        }
    }
}

/// The accounts of persons and the endpoints are there with these fields, where the release kept what it showed of them.
fn named_things(served: &Served, seen: &Value, account: &[&str]) {
    let endpoint = ["id", "target", "events", "status", "created_at"];
    for (part, command, fields) in [
        ("accounts", "account pipeline list", account),
        ("endpoints", "webhook list", &endpoint[..]),
    ] {
        if seen[part].is_null() {
            continue;
        }
        let now = rows(&json!({ "now": view(served, command) }), "now", fields);
        let before = rows(seen, part, fields);
        assert!(!before.is_empty(), "{part}: {seen}");
        for row in before {
            assert!(shows(&now, &row), "{part}: not there as it was: {row}\n{now:#?}");
        }
    }
}

/// Keys are bound as they were.
fn replayed(served: &Served, seen: &Value) {
    let all = rows(&seen["transfers"], "transfers", &[]);
    let paid = all.iter().find(|row| row["cid"] == json!("paid")).expect("the first transfer");
    let create = "transfer create --user 4001 --from FUNDING --to SPOT --asset USDT --cid paid";
    let again = format!("{create} --amount 100 --reference invoice-7 --metadata order=17");
    let again = view(served, &again);
    assert_eq!((&again["req_id"], &again["replayed"]), (&paid["req_id"], &json!(true)), "{again}");
    let said = ends_with(served, &format!("{create} --amount 101"), 65);
    assert!(said.contains("another"), "{said}");
}

/// The whole way: look, replay, let the open transfer end, move more money, prove, back up.
fn read_on(store: ReleaseStore, more: &[(&str, &str)]) {
    let ReleaseStore { dir, seen } = store;
    let home = dir.path().to_path_buf();
    let ledger = Elsewhere::start(&Program::guide("own_ledger.py"), &home.join("margin"), 0);
    let at = format!("http://{}", ledger.at);
    let settings = [
        &[("PORTAGE_LEDGERS__MARGIN__URL", &*at), ("PORTAGE_LEDGERS__MARGIN__TOKEN", TOKEN)],
        more,
    ]
    .concat();
    let served = Served::within(dir, &settings);
    unchanged(&served, &seen);
    named_things(&served, &seen, &["number", "owner", "currency", "balance", "status"]);
    replayed(&served, &seen);
    ends_with(&served, "audit verify", 0);

    super::eventually("the open transfer ends", || {
        let all = rows(&view(&served, "ops find"), "transfers", &["cid", "state"]);
        all.contains(&json!({ "cid": "open", "state": "COMMITTED" }))
    });
    let create = "transfer create --user 4001 --from FUNDING --to SPOT --asset USDT --amount";
    ends_with(&served, &format!("{create} 5 --cid new"), 0);
    ends_with(&served, "check", 0);
    ends_with(&served, "audit verify", 0);
    let copy = home.join("copy");
    let copy = copy.to_str().expect("a path");
    ends_with(&served, &format!("backup {copy}"), 0);
    ends_with(&served, &format!("backup --verify {copy}"), 0);
}

/// How many events there are, and how many of them agreed something: no flow of a release before this did.
const EVENTS: &str = "SELECT count(*) > 0, count(agreed) FROM transfer_events";

#[test]
fn every_embedded_store_that_was_kept_is_read() {
    for release in releases() {
        read_on(ReleaseStore::unpack(&release, "embedded"), &[]);
    }
}

#[test]
fn a_kept_folder_is_upgraded_when_it_is_asked_for() {
    for release in releases() {
        let store = ReleaseStore::unpack(&release, "embedded");
        let migrate = |words: &[&str]| {
            let out = portage(store.dir.path(), &[]).arg("migrate").args(words).output();
            said(&out.unwrap_or_else(|error| panic!("migrate: {error}")))
        };
        let first = if release.ends_with("0.1.0") { "6 outbox" } else { "13 flows" };
        let (code, words) = migrate(&["--check"]);
        assert_eq!((code, words.contains(first)), (Some(65), true), "{words}");
        let (code, words) = migrate(&[]);
        assert_eq!((code, words.contains(&format!("ran {first}"))), (Some(0), true), "{words}");
        assert_eq!(
            (words.contains("13 flows"), words.contains("12 agreed")),
            (true, first != "13 flows"),
            "{words}"
        );
        assert_eq!(migrate(&["--check"]), (Some(0), "nothing to do\n".to_owned()));
        let file = store.dir.path().join("data").join(store::sqlite::FILE);
        let db = rusqlite::Connection::open(file).expect("the store");
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        assert_eq!(db.query_row(EVENTS, [], row), Ok((true, 0_i64)), "each event is in the view");
        drop(db);
        read_on(store, &[]);
    }
}

#[test]
fn every_database_that_was_kept_is_migrated_and_read() {
    for release in releases() {
        let store = ReleaseStore::unpack(&release, "postgres");
        let database = testbed::Database::given().expect("a database");
        let mut psql = Command::new("psql");
        psql.args(["--quiet", "--no-psqlrc", "--set", "ON_ERROR_STOP=1", "--dbname"]);
        psql.arg(database.url()).arg("--file").arg(store.dir.path().join("data/database.sql"));
        run(psql);
        let settings = [("DATABASE_URL".to_owned(), database.url().to_owned())];
        let mut migrate = portage(store.dir.path(), &settings);
        migrate.arg("migrate");
        run(migrate);
        assert_eq!(database.sql(EVENTS).as_deref(), Ok("t|0"), "each event is in the view");
        read_on(store, &[("DATABASE_URL", database.url())]);
    }
}

/// The chain of a kept store, from its first block again: what was signed for it is valid there. No block comes by the
/// clock, so that its keys are made in the same blocks.
fn chain_of_store() -> devnet::near::serve::Served {
    let request = Request {
        port: None,
        endpoints: 2,
        keys: 1,
        receivers: 1,
        block_millis: 3_600_000,
        native: false,
        validity_period: 86_400,
        seed: Some(34),
    };
    devnet::near::serve::start(&request).expect("a chain")
}

/// A parked key, an attempt that may land, a proposal, cases and messages of an endpoint are found, and each goes on.
///
/// Turns red where an upgrade or a start loses the rows of one of them.
#[test]
fn work_that_was_under_way_in_a_kept_store_goes_on() {
    for kept in kept_in("stores-under-way") {
        let ReleaseStore { dir, seen } = ReleaseStore::unpack(&kept, "embedded");
        let chain = chain_of_store();
        // beyond the blocks that the store has seen
        chain.devnet.advance(200);
        let ledger =
            Elsewhere::start(&Program::guide("own_ledger.py"), &dir.path().join("margin"), 0);
        let at = format!("http://{}", ledger.at);
        let relay = environment(&chain.devnet, &chain.token, &chain.keys);
        let mut settings: Vec<(&str, &str)> =
            relay.iter().map(|(name, value)| (*name, &**value)).collect();
        settings.push(("PORTAGE_LEDGERS__MARGIN__URL", &at));
        settings.push(("PORTAGE_LEDGERS__MARGIN__TOKEN", TOKEN));
        let served = Served::within(dir, &settings);
        operators_rows(&served, &seen);
        // the parked transfer may have been tried again by now
        named_things(&served, &seen, &["number", "owner", "currency", "status"]);
        ends_with(&served, "audit verify", 0);

        super::eventually("the parked transfer", || balance(&served, "ACC-2") == "35.000000");
        super::eventually("the relay's payment", || {
            chain.devnet.advance(1);
            reads(&served, "payouts", "under-way").1["status"] == "COMPLETED"
        });
        let events = chain.devnet.events(&chain.token);
        let paid = events.iter().filter(|event| event.kind == EventKind::Transfer);
        assert_eq!(paid.map(|event| event.amount).collect::<Vec<_>>(), [7], "paid once");
        let endpoint = seen["endpoints"][0]["id"].to_string();
        super::eventually("the endpoint's messages", || {
            let list = format!("webhook deliveries {}", endpoint.trim_matches('"'));
            let log = json!({ "log": view(&served, &list) });
            let waits = rows(&log, "log", &["number", "status"]);
            // the first is the one that waited in the store, and the others are of what went on
            waits.contains(&json!({ "number": 1, "status": "QUEUED" })) && waits.len() > 1
        });
        let waits = view(&served, "ops approvals --status PENDING");
        let waits = waits["approvals"][0]["id"].to_string();
        let approve = format!("ops approve {} --reason seen --as bob", waits.trim_matches('"'));
        ends_with(&served, &approve, 0);
        super::eventually("no case is left", || {
            let open = view(&served, "ops cases");
            rows(&open, "cases", &["kind"]).iter().all(|case| case["kind"] != json!("PARKED"))
        });
        ends_with(&served, "check", 0);
        ends_with(&served, "audit verify", 0);
    }
}

/// A build between releases used the number of the present shape for other tables.
///
/// Turns red where the tables of a store that lacks no step are not looked at: it started, and failed at the first write
/// that met the difference.
#[test]
fn a_folder_with_other_tables_under_the_present_number_is_refused() {
    let release = releases().pop().expect("a release");
    let ReleaseStore { dir, .. } = ReleaseStore::unpack(&release, "embedded");
    let ran = |words: &[&str]| {
        let out = portage(dir.path(), &[]).args(words).output();
        said(&out.unwrap_or_else(|error| panic!("{words:?}: {error}")))
    };
    let (code, words) = ran(&["migrate"]);
    assert_eq!(code, Some(0), "{words}");
    let file = dir.path().join("data").join(store::sqlite::FILE);
    let db = rusqlite::Connection::open(file).expect("the store");
    let change = "DROP TABLE case_notes; CREATE TABLE case_notes (n INTEGER)";
    db.execute_batch(change).expect("other tables");
    drop(db);
    for words in [&["serve", "--listen", "127.0.0.1:0"][..], &["check"], &["migrate"]] {
        let (code, said) = ran(words);
        assert_eq!((code, said.contains("`case_notes`")), (Some(65), true), "{words:?}: {said}");
    }
}
