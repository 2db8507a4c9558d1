//! What PostgreSQL does for each statement that a running service repeats, beside a long history. PostgreSQL itself
//! writes the list: `auto_explain` logs the plan of every statement that is asked while the service runs and each of its
//! pages is read, so none can be forgotten.

use super::super::{Served, USER, asked, eventually, head, listens, post};
use crate::contract::SPEC;
use crate::edge::account_transfers::{balance, opens, runs};
use crate::fixture::process::settings;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Duration;
use testbed::{Database, Options, Server};

/// The rows of each table of history. A lookup in an index costs the same in a million of them. A sequential scan costs twenty
/// times as much there, and PostgreSQL, which weighs the two, is told so (`seq_page_cost`); what it reads by an index is
/// counted.
const ROWS: u64 = 50_000;
/// A statement reads no more rows of such a table than this, with at most a thousand open transfers.
const READ: u64 = 5_000;
/// Whose transfers the history is.
const BUSY: &str = "4003";
/// How long the service runs between two looks: the slowest of its tasks repeats each second here.
const WHILE: Duration = Duration::from_secs(6);
const WORD: &str = "a-word-that-servers-and-spot-share-in-tests";

/// A table, the rows of it that are copied, and the columns that differ in each copy.
type Copied = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// Which rows are copied into which table, and what differs in each copy, `g`. A transfer has its key and its operations: a
/// part of the ended ones is proven again and again. Those of the second flow are older than all of the first, as where a
/// list by the flow finds none of its own among the newest.
#[rustfmt::skip]
const HISTORY: [Copied; 12] = [
    ("transfers", "state = 40 AND flow = 'account' LIMIT 1", &[
        ("transfer_id", "g - 100000"), ("user_id", "4004"), ("req_id", "md5('account-' || g)::uuid"), ("cid", "'account-' || g"),
        ("batch", "1 - 1024 * 1024"),
    ]),
    ("keys", "flow = 'account' LIMIT 1", &[("cid", "'account-' || g"), ("transfer_id", "g - 100000")]),
    ("operations", "req_id IN (SELECT req_id FROM transfers WHERE flow = 'account')", &[("req_id", "md5('account-' || g)::uuid")]),
    ("transfers", "state = 40 AND flow = 'internal' LIMIT 1", &[
        ("transfer_id", "g"), ("req_id", "md5('old-' || g)::uuid"), ("cid", "'old-' || g"), ("batch", "1 + g / 1024 * 1024"),
    ]),
    ("keys", "flow = 'internal' LIMIT 1", &[("cid", "'old-' || g"), ("transfer_id", "g")]),
    ("operations", "req_id IN (SELECT req_id FROM transfers WHERE flow = 'internal')", &[("req_id", "md5('old-' || g)::uuid")]),
    ("outbox_history", "true LIMIT 1", &[("place", "-g"), ("id", "gen_random_uuid()"), ("req_id", "gen_random_uuid()")]),
    ("inbox", "true LIMIT 1", &[("event_id", "gen_random_uuid()")]),
    ("audit_units", "true LIMIT 1", &[("n", "-g")]),
    ("externals", "true LIMIT 1", &[("operation_id", "-g"), ("reference", "'old-' || g"), ("entry", "NULL")]),
    ("cases", "closed_at IS NOT NULL LIMIT 1", &[("case_id", "-g"), ("subject", "'user/' || g")]),
    ("operator_actions", "true LIMIT 1", &[("action_id", "-g"), ("idempotency_key", "'old-' || g"), ("entry", "NULL")]),
];

/// The statement that copies rows of a table until it has a long history.
fn growth(database: &Database, (table, chosen, changed): Copied) -> String {
    let columns = format!(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = 'public' AND table_name = '{table}'"
    );
    let columns = database.sql(&columns).expect("the columns");
    let value = |column: &str| {
        let other = changed.iter().find(|(name, _)| *name == column);
        other.map_or_else(|| format!("r.{column}"), |(_, value)| (*value).to_owned())
    };
    let (targets, values): (Vec<_>, Vec<_>) =
        columns.lines().map(|column| (column, value(column))).unzip();
    format!(
        "INSERT INTO {table} ({}) OVERRIDING SYSTEM VALUE SELECT {} FROM (SELECT * FROM {table} WHERE {chosen}) r, \
         generate_series(1, {ROWS}) g",
        targets.join(", "),
        values.join(", "),
    )
}

/// Every plan in a part of the server's log: its statement, and its tree.
fn plans(log: &str) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    let mut lines = log.lines().peekable();
    while let Some(line) = lines.next() {
        if !line.ends_with("plan:") {
            continue;
        }
        let mut text = String::new();
        while let Some(more) = lines.next_if(|line| line.starts_with('\t')) {
            text.push_str(more);
        }
        let plan: Value = serde_json::from_str(&text).unwrap_or_else(|why| panic!("{why}: {text}"));
        let statement = plan["Query Text"].as_str().expect("a statement").to_owned();
        found.push((statement, plan["Plan"].clone()));
    }
    found
}

/// What a node of a plan, and those below it, do with the tables of history that they must not.
fn faults(node: &Value, found: &mut BTreeSet<String>) {
    // later releases show rows of a loop with a fraction
    let number = |field: &str| -> u64 {
        let text = node[field].to_string();
        text.split('.').next().and_then(|whole| whole.parse().ok()).unwrap_or_default()
    };
    let kind = node["Node Type"].as_str().unwrap_or_default();
    let table = node["Relation Name"].as_str().unwrap_or_default();
    if HISTORY.iter().any(|(name, ..)| *name == table) {
        let read =
            (number("Actual Rows") + number("Rows Removed by Filter")) * number("Actual Loops");
        if kind == "Seq Scan" || read > READ {
            found.insert(format!("{kind} of {read} rows of {table}"));
        }
    }
    node["Plans"].as_array().into_iter().flatten().for_each(|node| faults(node, found));
}

/// The service with a history, whose Spot may be taken away.
struct Site {
    server: Server,
    database: Database,
    served: Served,
    spot: Option<testbed::Listening>,
    _dir: tempfile::TempDir,
}

impl Site {
    fn start() -> Self {
        let explained = [
            ("session_preload_libraries", "auto_explain"),
            ("auto_explain.log_min_duration", "-1"),
            ("auto_explain.log_analyze", "on"),
            ("auto_explain.log_timing", "off"),
            ("auto_explain.log_nested_statements", "on"),
            ("auto_explain.log_format", "json"),
            // a sequential scan costs what it costs in twenty times as many rows
            ("seq_page_cost", "20"),
        ];
        let settings_of =
            explained.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let server = Server::with(&Options { settings: settings_of, ..Options::default() });
        let server = server.unwrap_or_else(|why| panic!("{why}"));
        let database = server.database().expect("a database");
        let dir = tempfile::tempdir().expect("a folder");
        let token = settings(&[("PORTAGE_SPOT__TOKEN", WORD)]);
        let spot =
            listens(&["spot", "serve"], dir.path(), &token).unwrap_or_else(|why| panic!("{why}"));
        let served = Served::start(&[
            ("DATABASE_URL", database.url()),
            ("PORTAGE_LEDGERS__SPOT__KIND", "remote"),
            ("PORTAGE_LEDGERS__SPOT__URL", &spot.url),
            ("PORTAGE_LEDGERS__SPOT__TOKEN", WORD),
            ("PORTAGE_LEDGERS__SPOT__TIMEOUT_MS", "1000"),
            ("PORTAGE_ENGINE__LEASE_SECONDS", "3"),
            ("PORTAGE_ENGINE__BACKOFF_CAP_MS", "1000"),
            ("PORTAGE_AUDIT__SEAL_INTERVAL_MS", "1000"),
            ("PORTAGE_CONSERVATION__INTERVAL_MS", "1000"),
            ("PORTAGE_ALERTS__WEBHOOK_URL", "http://127.0.0.1:9/"),
            ("PORTAGE_ALERTS__WEBHOOK_SECRET", "a secret of enough letters for the posts of cases"),
            ("PORTAGE_LIMITS__WARN_PER_MINUTE", "0"),
        ]);
        // what is opened from here on is newer than the history
        database.sql("SELECT setval('transfer_blocks', 1000000001)").expect("newer numbers");
        Self { server, database, served, spot: Some(spot), _dir: dir }
    }

    /// One of everything that a history is made of, and the history.
    fn lives(&self) {
        self.served.fund("4001", "8000");
        let words =
            ["deposit", "--user", BUSY, "--asset", "USDT", "--amount", "1000", "--ref", "busy"];
        assert!(self.served.run(&words).status.success());
        let token = self.served.token(BUSY, USER);
        assert_eq!(self.served.ask(&super::super::transfer(&token, "first")).status, 200);
        for (number, owner) in [("ACC-1", 4001), ("ACC-2", 4002)] {
            runs(
                &self.served,
                &format!("open {number} --owner {owner} --currency USDT --reason contract"),
            );
        }
        runs(&self.served, "deposit ACC-1 --currency USDT --amount 1000 --ref wire-1");
        assert!(opens(&self.served, &self.served.token("4001", USER), 0));
        eventually("an account transfer is carried out", || {
            balance(&self.served, "ACC-2") == "1.000000"
        });
        let case = "INSERT INTO cases (kind, severity, subject, facts, status, opened_at, closed_at) \
                    VALUES ('STUCK', 'WARNING', 'user/1', 'a test', 'CLOSED', 1, 2)";
        self.database.sql(case).expect("a case");
        // the last first, so that each copies what the service wrote; at once, so that no proof meets a half of it
        let all: Vec<String> =
            HISTORY.into_iter().rev().map(|table| growth(&self.database, table)).collect();
        self.database.sql(&all.join("; ")).expect("a history");
        for (table, ..) in HISTORY {
            let rows = format!("SELECT count(*) > {ROWS} FROM {table}");
            assert_eq!(
                self.database.sql(&rows).expect("a count"),
                "t",
                "{table} has no row to copy"
            );
            self.database.sql(&format!("VACUUM ANALYZE {table}")).expect("statistics");
        }
    }

    fn explains(&self, least: &str) {
        let sql = format!("ALTER SYSTEM SET auto_explain.log_min_duration = {least}");
        self.database.sql(&sql).expect("a setting");
        self.database.sql("SELECT pg_reload_conf()").expect("it is read");
        thread::sleep(Duration::from_millis(200));
    }

    /// Opens transfers until this number of them waits for a ledger that is away.
    fn waits(&self, open: u64) {
        let token = self.served.token("4001", USER);
        let open_now = || {
            let sql = "SELECT count(*) FROM due";
            self.database.sql(sql).expect("a count").parse::<u64>().expect("a number")
        };
        let mut n = 0;
        while open_now() < open {
            let many = if open < 100 { open } else { 100 };
            let items: Vec<Value> = (0..many)
                .map(|m| {
                    json!({ "from": "FUNDING", "to": "SPOT", "asset": "USDT", "amount": "1",
                    "cid": format!("{open}-{n}-{m}") })
                })
                .collect();
            let body = json!({ "transfers": items }).to_string();
            let reply = asked(
                &mut self.served.connect(),
                &post("/api/v1/internal_transfers", &token, "", &body),
            );
            assert!(reply.as_ref().is_some_and(|reply| reply.status < 300), "{reply:?}");
            thread::sleep(Duration::from_millis(500));
            n += 1;
            assert!(n < 60, "no more than {} wait", open_now());
        }
    }

    /// A path with the names of things that there are.
    fn named(&self, path: &str) -> String {
        let of_flow = if path.starts_with("/api/transfers/") { "account" } else { "internal" };
        let id = format!(
            "SELECT portage_ulid(req_id) FROM transfers WHERE flow = '{of_flow}' ORDER BY transfer_id DESC LIMIT 1"
        );
        let id = self.database.sql(&id).expect("a transfer");
        let of_case = if path.starts_with("/api/v1/cases/") { "1" } else { &id };
        path.replace("{transferId}", &id)
            .replace("{req_id}", &id)
            .replace("{id}", of_case)
            .replace("{number}", "ACC-1")
            .replace("{topic}", "transfer-validation-dlt")
            .replace("{code}", "OVERLOADED")
            .replace("{key}", &id)
    }

    /// Reads every page, and makes one of each of the common writes.
    fn reads_all(&self, round: usize) {
        let (admin, user) = (self.served.token("8001", "admin"), self.served.token("4001", USER));
        // no index has user and flow: a list of one flow reads what the user has of others, and this one has nothing
        let of_account = self.served.token("4004", USER);
        for (method, path) in SPEC {
            // the proof of the whole record reads all of it, and says so
            let whole = ["/api/v1/ops/audit/verify", "/api/v1/ops/pipeline/export"].contains(path);
            if *method == "get" && !whole {
                let own = if path.starts_with("/api/transfers") { &of_account } else { &user };
                for token in [&admin, own] {
                    self.served.ask(&head("GET", &self.named(path), token, ""));
                }
            }
        }
        for path in [
            "/api/v1/transfers?user_id=4001",
            "/api/v1/transfers?state=COMMITTED&limit=5",
            "/api/v1/transfers?flow=internal&limit=5",
            "/api/v1/transfers?flow=account&limit=5",
            "/api/v1/transfers?flow=account&state=COMPLETED&limit=5",
        ] {
            self.served.ask(&head("GET", path, &admin, ""));
        }
        let busy = self.served.token(BUSY, USER);
        self.served.ask(&head("GET", "/api/v1/balances", &busy, ""));
        self.served.ask(&head("GET", "/api/v1/internal_transfers", &busy, ""));
        self.served.ask(&super::super::transfer(&user, &format!("round-{round}")));
        assert!(opens(&self.served, &user, 1 + round));
    }

    /// What the service did while `open` transfers waited: statements with the faults of their plans, and how many
    /// statements there were.
    fn watched(&self, open: u64, round: usize) -> (BTreeMap<String, BTreeSet<String>>, usize) {
        let log = || self.server.log().expect("a log");
        let before = log().len();
        self.explains("0");
        let mut looks = 0;
        testbed::until(WHILE, || {
            self.reads_all(100 * round + looks);
            looks += 1;
            thread::sleep(Duration::from_millis(300));
            None::<()>
        });
        self.explains("-1");
        let all = plans(log().get(before..).expect("the log grows"));
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (statement, plan) in &all {
            let mut faults_of = BTreeSet::new();
            faults(plan, &mut faults_of);
            if !faults_of.is_empty() {
                found.entry(format!("{open} open: {statement}")).or_default().extend(faults_of);
            }
        }
        let different: BTreeSet<&String> = all.iter().map(|(statement, _)| statement).collect();
        (found, different.len())
    }
}

/// Turns red where a statement that a running service repeats reads a table of history from end to end (run by hand on the
/// release before: the open transfers of a user read all of that user's, the list of a principal all that there were).
#[test]
fn no_repeated_statement_reads_a_whole_history() {
    let mut site = Site::start();
    site.lives();
    let mut all = BTreeMap::new();
    for (round, open) in [0, 1, 1_000].into_iter().enumerate() {
        if open == 1 {
            drop(site.spot.take());
        }
        site.waits(open);
        let (found, statements) = site.watched(open, round);
        assert!(statements > 50, "only {statements} statements were seen with {open} open");
        all.extend(found);
    }
    assert!(all.is_empty(), "{} statements:\n{all:#?}", all.len());
}
