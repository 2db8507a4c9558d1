//! A real server, a ledger elsewhere that is a process, a network between them that loses things,
//! and clients that write down what they asked for.

use super::script::{Elsewhere, Program, TOKEN, port};
use crate::fixture::runtime;
use crate::release::server::{Answer, Server, token, until};
use crate::remote::proxy::{Crooked, Fault};
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// What FUNDING is given.
const GIVEN: u64 = 100_000;
/// What is sent ahead, so that there is something to send back.
const AHEAD: u64 = 50_000;

/// Which contract is spoken, as the settings name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Full,
    Simple,
}

/// Everything of one story.
pub(super) struct Fixture {
    pub dir: TempDir,
    program: Program,
    port: u16,
    service: Option<Elsewhere>,
    server: Option<Server>,
    variables: Vec<(String, String)>,
    way: Crooked,
    _outside: Runtime,
    pub user: String,
    pub ops: String,
    account: &'static str,
    form: Form,
    noted: Mutex<Vec<Noted>>,
    next: AtomicU64,
}

/// What a client asked for: the way, its key, and the id that it was given.
#[derive(Debug, Clone)]
struct Noted {
    there: bool,
    cid: String,
    id: Option<String>,
}

/// Whom `kill -9` meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Struck {
    Ledger,
    Server,
    Both,
}

impl Fixture {
    /// The program as the ledger of an account type, with money on both sides.
    pub(super) fn open(program: Program, account: &'static str, form: Form) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        for name in ["near", "far"] {
            std::fs::create_dir(dir.path().join(name)).expect("a folder");
        }
        let port = port();
        let service = Elsewhere::start(&program, &dir.path().join("far"), port);
        let outside = runtime();
        let way = outside.block_on(Crooked::to(service.at));
        let set = |key: &str, value: &str| (format!("PORTAGE_{key}"), value.to_owned());
        let of = |key: &str, value: &str| set(&format!("LEDGERS__{account}__{key}"), value);
        let variables = vec![
            of("KIND", "remote"),
            of("URL", &format!("http://{}", way.at)),
            of("TOKEN", TOKEN),
            of("FORM", if form == Form::Full { "full" } else { "simple" }),
            of("TIMEOUT_MS", "1000"),
            set("ENGINE__SCAN_INTERVAL_MS", "50"),
            set("ENGINE__BACKOFF_BASE_MS", "10"),
            set("ENGINE__BACKOFF_CAP_MS", "200"),
            set("OPS__DEFAULT_DEPOSIT_LIMIT", "0"),
            set("LIMITS__REFUSED_PER_HOUR", "0"),
        ];
        let near = dir.path().join("near");
        let server = Server::with(&near, &variables);
        let user = token(&near, "4001", "transfers:create transfers:read");
        let ops = token(&near, "1", "ops:read ops:act");
        let (noted, next) = (Mutex::default(), AtomicU64::new(0));
        let (service, server) = (Some(service), Some(server));
        let fixture = Self {
            dir,
            program,
            port,
            service,
            server,
            variables,
            way,
            _outside: outside,
            user,
            ops,
            account,
            form,
            noted,
            next,
        };
        fixture.fund();
        fixture
    }

    fn near(&self) -> PathBuf {
        self.dir.path().join("near")
    }

    pub(super) fn far(&self) -> PathBuf {
        self.dir.path().join("far")
    }

    pub(super) fn server(&self) -> &Server {
        self.server.as_ref().expect("it runs")
    }

    fn fund(&self) {
        let body = json!({
            "user_id": 4001, "asset": "USDT", "amount": GIVEN.to_string(), "ref": "seed",
            "reason": "a test",
        });
        let booked = self.server().must("POST", "/api/v1/ops/deposits", &self.ops, Some(body));
        assert_eq!(booked.status, 201, "the deposit is booked: {booked:?}");
        let ahead = self.send(true, &AHEAD.to_string(), "ahead");
        let id = ahead.expect("an answer").text("req_id").to_owned();
        assert!(until(|| self.state(&id) == "COMMITTED"), "it is funded: {}", self.state(&id));
    }

    /// One transfer, there or back.
    pub(super) fn send(&self, there: bool, amount: &str, cid: &str) -> Option<Answer> {
        let way = if there { ("FUNDING", self.account) } else { (self.account, "FUNDING") };
        self.server().transfer(&self.user, way, amount, cid)
    }

    pub(super) fn state(&self, id: &str) -> String {
        let path = format!("/api/v1/internal_transfer/{id}");
        self.server().must("GET", &path, &self.user, None).text("state").to_owned()
    }

    /// From now on one message in `of` is lost.
    pub(super) fn loses(&self, of: u64, seed: u64) {
        self.way.spoils(of, seed, &Fault::LOSSES);
    }

    /// From now on none is; how many were.
    pub(super) fn fair(&self) -> usize {
        self.way.fair();
        self.way.met().len()
    }

    /// Sends transfers of one unit, both ways, from several clients until told to stop.
    fn load(&self, stop: &AtomicBool) {
        thread::scope(|scope| {
            for client in 0..4 {
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        let there = client % 2 == 0;
                        let cid = format!("c-{}", self.next.fetch_add(1, Ordering::Relaxed));
                        let answer = self.send(there, "1", &cid);
                        let id = answer.map(|answer| answer.text("req_id").to_owned());
                        let id = id.filter(|id| !id.is_empty());
                        let noted = Noted { there, cid, id };
                        self.noted.lock().expect("no client panics").push(noted);
                        thread::sleep(Duration::from_millis(3));
                    }
                });
            }
        });
    }

    /// Load, and `kill -9` in the middle of it; what was struck starts again on what is left.
    pub(super) fn struck(&mut self, struck: Struck, rest: Duration) {
        let stop = AtomicBool::new(false);
        let mut service = self.service.take().expect("it runs");
        thread::scope(|scope| {
            let (fixture, stop) = (&*self, &stop);
            let clients = scope.spawn(move || fixture.load(stop));
            thread::sleep(rest);
            if struck != Struck::Server {
                service.strike();
            }
            if struck != Struck::Ledger {
                fixture.server().strike();
            } else {
                // some are sent while nobody is there
                thread::sleep(Duration::from_millis(100));
            }
            stop.store(true, Ordering::Relaxed);
            clients.join().expect("no client panics");
        });
        if struck != Struck::Server {
            service = Elsewhere::start(&self.program, &self.far(), self.port);
        }
        self.service = Some(service);
        if struck != Struck::Ledger {
            self.server = None;
            self.server = Some(Server::with(&self.near(), &self.variables));
        }
    }

    /// From now on the ledger elsewhere is this, on what the one before it left.
    pub(super) fn becomes(&mut self, program: Program) {
        self.program = program;
        let service = self.service.take().expect("it runs");
        service.strike();
        self.service = Some(Elsewhere::start(&self.program, &self.far(), self.port));
    }

    /// Something that an operator does.
    pub(super) fn act(&self, path: &str, body: Value) -> Answer {
        self.server().must("POST", path, &self.ops, Some(body))
    }

    /// Load for a while, and no process is struck.
    pub(super) fn works(&self, rest: Duration) {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let clients = scope.spawn(|| self.load(&stop));
            thread::sleep(rest);
            stop.store(true, Ordering::Relaxed);
            clients.join().expect("no client panics");
        });
    }

    /// Everything that was asked for is done, once; how many went there, and came back.
    pub(super) fn exact(&self) -> [u64; 2] {
        let noted = self.noted.lock().expect("no client panics").clone();
        let mut sum = [0_u64; 2];
        for Noted { there, cid, id } in &noted {
            let again = || self.send(*there, "1", cid).expect("an answer");
            let id = id.clone().unwrap_or_else(|| again().text("req_id").to_owned());
            let ended = until(|| self.state(&id) == "COMMITTED");
            assert!(ended, "{cid} ends: {}", self.state(&id));
            sum[usize::from(!there)] += 1;
        }
        let [there, back] = sum;
        assert!(there > 5 && back > 5, "there was load: {sum:?}");
        let funding = format!("{}.000000", GIVEN - AHEAD + back - there);
        let has = || self.balance("FUNDING", "available");
        assert!(until(|| has() == funding), "{} instead of {funding}", has());
        assert_eq!(self.balance("FUNDING", "frozen"), "0.000000");
        if self.form == Form::Full {
            let other = format!("{}.000000", AHEAD + there - back);
            assert_eq!(self.balance(self.account, "available"), other);
        }
        self.proven();
        sum
    }

    /// What the ledger elsewhere must have, in units, by these counts.
    pub(super) const fn rest([there, back]: [u64; 2]) -> u64 {
        AHEAD + there - back
    }

    fn balance(&self, account: &str, field: &str) -> String {
        let balances = self.server().must("GET", "/api/v1/balances", &self.user, None);
        let rows = balances.body.as_array().expect("a list of balances");
        let row = rows.iter().find(|row| row["account"] == account && row["asset"] == "USDT");
        row.map_or("-", |row| row[field].as_str().unwrap_or_default()).to_owned()
    }

    /// The books are proven, twice, nothing is stopped, and no case is open.
    pub(super) fn proven(&self) {
        for _ in 0..2 {
            let path = "/api/v1/ops/conservation?fresh=true";
            let proof = self.server().must("GET", path, &self.ops, None);
            assert_eq!((proof.status, &proof.body["ok"]), (200, &json!(true)), "{proof:?}");
            assert_eq!(proof.body["halted"], Value::Null, "{proof:?}");
        }
        let alarms = cases(&self.near(), "severity = 'CRITICAL'");
        assert_eq!(alarms, [""; 0]);
    }
}

/// The cases of a journal for which this holds.
pub(super) fn cases(dir: &Path, which: &str) -> Vec<String> {
    let journal = read(&dir.join("portage.db"));
    let mut ask =
        journal.prepare(&format!("SELECT kind || ': ' || facts FROM cases WHERE {which}"));
    let ask = ask.as_mut().expect("cases");
    let rows = ask.query_map([], |row| row.get(0)).expect("rows");
    rows.collect::<Result<_, _>>().expect("cases")
}

/// A database, to read it beside its owner.
pub(super) fn read(file: &Path) -> Connection {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(file, flags).expect("it is readable")
}
