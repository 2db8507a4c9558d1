//! The production shape as processes: a database, a Spot that is served by itself, two servers without
//! workers and two workers. Each of them is killed, halted and started again while users work.

mod clients;
mod front;
mod owner;
mod paused;
mod process;
mod rolling;
mod spot;
mod watched;
mod webhooks;

use crate::fixture::http_socket::{head, post};
use crate::fixture::process::{minted, said, settings};
use clients::{Clients, FIRST, HAS, Seen, Square, USERS, Wish};
use front::ready;
use process::{Process, Role, free_port, portage};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tempfile::TempDir;
use testbed::Database;

const SECRET: &str = "a secret for tests that share a fleet, long enough";

/// The whole of it; all processes end with this value.
struct Fleet {
    database: Database,
    spot: Process,
    serves: Vec<Process>,
    works: Vec<Process>,
    square: Arc<Square>,
    token: String,
    settings: Vec<(String, String)>,
    dir: TempDir,
}

/// Everything that its processes share. What takes a minute elsewhere takes seconds here.
fn shared(url: &str, spot: u16) -> Vec<(String, String)> {
    let at = format!("http://127.0.0.1:{spot}");
    let all = [
        ("DATABASE_URL", url),
        ("PORTAGE_DATABASE__READERS", "2"),
        ("PORTAGE_LEDGERS__SPOT__KIND", "remote"),
        ("PORTAGE_LEDGERS__SPOT__URL", &at),
        ("PORTAGE_LEDGERS__SPOT__TOKEN", SECRET_WORD),
        ("PORTAGE_SPOT__TOKEN", SECRET_WORD),
        ("PORTAGE_AUTH__HS256_SECRET", SECRET),
        ("PORTAGE_AUDIT__MAC_SECRET", SECRET),
        ("PORTAGE_AUDIT__SEAL_INTERVAL_MS", "500"),
        ("PORTAGE_ENGINE__LEASE_SECONDS", "3"),
        ("PORTAGE_ENGINE__SCAN_INTERVAL_MS", "100"),
        ("PORTAGE_ENGINE__BACKOFF_BASE_MS", "20"),
        ("PORTAGE_ENGINE__BACKOFF_CAP_MS", "500"),
        ("PORTAGE_CONSERVATION__INTERVAL_MS", "1000"),
        ("PORTAGE_LIMITS__WARN_PER_MINUTE", "0"),
        ("PORTAGE_LIMITS__REFUSED_PER_HOUR", "0"),
        ("PORTAGE_OPS__DEFAULT_DEPOSIT_LIMIT", "0"),
        ("PORTAGE_SERVER__DRAIN_DELAY_MS", "1000"),
        // a machine that stands still for a while is no excuse: below the front's own patience
        ("PORTAGE_TRANSFER__OPEN_TIMEOUT_MS", "45000"),
    ];
    settings(&all)
}

/// What callers of Spot show.
const SECRET_WORD: &str = "a-word-that-servers-and-spot-share-in-tests";

impl Fleet {
    /// A fleet with this number of workers, and users who have money at both accounts.
    fn start(workers: usize) -> Self {
        Self::with(workers, &[])
    }

    /// The same with more settings.
    fn with(workers: usize, more: &[(&str, &str)]) -> Self {
        let database = Database::given().expect("a database");
        let dir = tempfile::tempdir().expect("a folder");
        let port = free_port();
        let mut settings = shared(database.url(), port);
        settings.extend(self::settings(more));
        let spot = Process::start(Role::Spot, dir.path().join("spot"), port, &settings);
        let token = minted(portage(&dir.path().join("token"), &settings), "fleet", "admin");
        let square = Square::new(token.clone());
        let (serves, works) = (Vec::new(), Vec::new());
        let mut fleet = Self { database, spot, serves, works, square, token, settings, dir };
        for n in 0..2 {
            fleet.serve(n);
        }
        for _ in 0..workers {
            fleet.work();
        }
        fleet.fund();
        fleet
    }

    fn serve(&mut self, n: usize) {
        let dir = self.dir.path().join(format!("serve-{n}"));
        let process = Process::start(Role::Serve, dir, free_port(), &self.settings);
        self.square.front.put(process.port);
        self.serves.push(process);
    }

    /// Starts one more process that only carries transfers.
    fn work(&mut self) {
        let dir = self.dir.path().join(format!("work-{}", self.works.len()));
        self.works.push(Process::start(Role::Work, dir, 0, &self.settings));
    }

    /// Money from outside for every user, half of it at Spot.
    fn fund(&self) {
        for user in FIRST..FIRST + USERS {
            let body = json!({
                "user_id": user, "asset": "USDT", "amount": (2 * HAS).to_string(),
                "ref": format!("fund-{user}"), "reason": "a test",
            })
            .to_string();
            let booked =
                self.square.insist(0, &post("/api/v1/ops/deposits", &self.token, "", &body));
            assert_eq!(booked.status, 201, "{booked:?}");
            let wish = Wish { user, cid: format!("fill-{user}"), to_spot: true, amount: HAS };
            self.square.move_money(0, wish);
        }
        self.ended();
    }

    /// Ends a process in order, as a rolling restart does: no request goes to a server any more that says
    /// it is not ready.
    fn end(&self, process: &Process) {
        process.term();
        if process.role == Role::Serve {
            while ready(process.port) {
                thread::sleep(Duration::from_millis(10));
            }
            self.square.front.take(process.port);
        }
        let ended = process.wait();
        assert!(ended.success(), "{:?}: {ended}: {}", process.role, process.log());
    }

    /// Starts the same process again, over its folder.
    fn begin(&self, process: &Process) {
        process.again();
        if process.role == Role::Serve {
            self.square.front.put(process.port);
        }
    }

    /// SQL as an operator runs it.
    fn sql(&self, text: &str) -> String {
        self.database.sql(text).expect("SQL").trim().to_owned()
    }

    /// Waits until SQL answers this.
    fn until(&self, sql: &str, wanted: &str) {
        let mut seen = String::new();
        let found = testbed::until(Duration::from_secs(60), || {
            seen = self.sql(sql);
            (seen == wanted).then_some(())
        });
        assert!(found.is_some(), "{sql}: {seen} instead of {wanted}\n{}", self.facts());
    }

    /// Every transfer reaches an end.
    fn ended(&self) {
        self.until("SELECT count(*) FROM transfers WHERE state NOT IN (40, -10, -30)", "0");
    }

    /// Who holds what, for the reader of a failed test.
    fn facts(&self) -> String {
        let ask = "SELECT 'open', transfer_id, state, version, retry_count, error_class, due_at \
             FROM transfers WHERE state NOT IN (40, -10, -30) LIMIT 20; \
             SELECT 'due', d.* FROM due d LIMIT 20; SELECT 'worker', w.*, portage_now() FROM workers w; \
             SELECT 'case', kind, severity, status, facts FROM cases";
        let logs = self.works.iter().chain([&self.spot]).map(Process::log);
        let tail = |log: String| {
            let lines: Vec<&str> = log.lines().rev().take(12).collect();
            lines.into_iter().rev().collect::<Vec<_>>().join("\n")
        };
        let logs: Vec<String> = logs.map(tail).collect();
        format!("{}\n{}", self.sql(ask), logs.join("\n--\n"))
    }

    /// The number of the worker that began last.
    fn newest(&self) -> String {
        self.sql("SELECT worker FROM workers ORDER BY started_at DESC LIMIT 1")
    }

    /// A command beside all of them.
    fn command(&self, words: &[&str]) -> (Option<i32>, String) {
        let out = portage(&self.dir.path().join("beside"), &self.settings).args(words).output();
        said(&out.expect("it runs"))
    }

    /// Ends the crowd. Whatever was asked for was acknowledged and is there, once, at its end, and the
    /// money is where the answers say.
    fn settled(&self, clients: Clients) -> Seen {
        let seen = clients.end();
        assert_eq!(seen.failed, [""; 0], "requests failed");
        self.ended();
        let all = "SELECT cid, req_id, state FROM transfers_tb";
        let rows = self.sql(all);
        let rows: BTreeMap<&str, &str> =
            rows.lines().filter_map(|line| line.split_once('|')).collect();
        for (wish, id) in &seen.made {
            let found = rows.get(wish.cid.as_str()).copied();
            assert_eq!(found, Some(format!("{id}|40").as_str()), "acknowledged: {wish:?}");
        }
        assert_eq!(rows.len(), seen.made.len(), "what was not asked for");
        self.balances(&seen);
        for words in [&["check"][..], &["audit", "verify"]] {
            let (code, text) = self.command(words);
            assert_eq!(code, Some(0), "{words:?}: {text}");
        }
        assert_eq!(self.sql("SELECT count(*) FROM cases WHERE kind = 'WRONG_LEDGER'"), "0");
        seen
    }

    /// What each user has, at each account, is what the answers come to.
    fn balances(&self, seen: &Seen) {
        for user in FIRST..FIRST + USERS {
            let mine = seen.made.iter().map(|(wish, _)| wish).filter(|wish| wish.user == user);
            let (there, back): (Vec<_>, Vec<_>) = mine.partition(|wish| wish.to_spot);
            let sum = |wishes: &[&Wish]| wishes.iter().map(|wish| wish.amount).sum::<u64>();
            let spot = sum(&there) - sum(&back);
            let path = format!("/api/v1/ops/accounts?user={user}");
            let answer = self.square.insist(0, &head("GET", &path, &self.token, ""));
            let has = |account: &str, field: &str| {
                let rows = answer.body["accounts"].as_array().expect("a list");
                let row = rows.iter().find(|row| row["account"] == account).expect("an account");
                row[field].as_str().expect("an amount").to_owned()
            };
            let all =
                [has("FUNDING", "available"), has("FUNDING", "frozen"), has("SPOT", "available")];
            let should = [
                format!("{}.000000", 2 * HAS - spot),
                "0.000000".to_owned(),
                format!("{spot}.000000"),
            ];
            assert_eq!(all, should, "user {user}");
        }
    }
}

/// The folder of a process that is not of the fleet.
fn beside(fleet: &Fleet, name: &str) -> std::path::PathBuf {
    let dir: &Path = fleet.dir.path();
    dir.join(name)
}
