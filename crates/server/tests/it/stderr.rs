//! Processes whose stderr takes nothing: its reader is gone, or leaves the pipe full.

use crate::command::ends;
use crate::fixture::http_socket::{asked, connected, head, post};
use crate::fixture::process::{minted, portage};
use serde_json::{Value, json};
use std::io::{PipeReader, Write, pipe};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;
use tempfile::TempDir;
use testbed::{Database, Listening, NotListening, Proxy, Server};

/// The capacity of a pipe (pipe(7)).
const CAPACITY: usize = 65_536;
/// The exit code of a write that failed: EX_IOERR of sysexits.
const IO: i32 = 74;
/// The exit code of a process that may be started again: EX_TEMPFAIL.
const AGAIN: i32 = 75;
/// The exit code of settings that cannot be used: EX_CONFIG.
const CONFIG: i32 = 78;
const WORD: &str = "a-word-that-callers-and-spot-share";

#[derive(Debug, Clone, Copy)]
enum Trouble {
    /// The reader is gone: each write fails.
    Closed,
    /// The reader stands still: each write waits.
    Full,
}

/// One process, and the end of its pipe that is read by none.
struct Mute {
    process: Listening,
    _unread: Option<PipeReader>,
}

impl Mute {
    fn start(dir: &Path, words: &[&str], trouble: Trouble) -> Self {
        let listens = [words, &["--listen", "127.0.0.1:0"]].concat();
        let started = Self::with(dir, &listens, &[], trouble);
        started.unwrap_or_else(|failed| panic!("{trouble:?}: {failed}"))
    }

    /// A process with these settings.
    fn with(
        dir: &Path,
        words: &[&str],
        settings: &[(&str, &str)],
        trouble: Trouble,
    ) -> Result<Self, NotListening> {
        let (unread, mut stderr) = pipe().expect("a pipe");
        let unread = match trouble {
            Trouble::Closed => None,
            Trouble::Full => {
                stderr.write_all(&[b'.'; CAPACITY]).expect("room for exactly this");
                Some(unread)
            }
        };
        let served = portage(dir);
        // a file beyond its limit is an error of the write, not the end by a signal
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"]).current_dir(dir).env_clear();
        command.env("PORTAGE_LOG__LEVEL", "debug").env("PORTAGE_SPOT__TOKEN", WORD);
        command.envs(settings.iter().copied());
        command.arg(served.get_program()).args(served.get_args()).args(words).stderr(stderr);
        Ok(Self { process: Listening::start(command)?, _unread: unread })
    }

    /// From now on no file of it grows.
    fn fills_the_disk(&self) {
        let limited = Command::new("prlimit")
            .args(["--fsize=1", "--pid", &self.process.id().to_string()])
            .status()
            .expect("prlimit of util-linux");
        assert!(limited.success());
    }

    fn asks(&self, request: &str) -> Option<(u16, Value)> {
        let answer = asked(&mut connected(self.process.port())?, request)?;
        Some((answer.status, answer.body))
    }
}

/// Turns red where a request, an orderly end or the end after a failed write waits for the log (run: stderr written
/// by who logs: a closed pipe cuts the first request off, a full one answers none).
#[test]
fn a_server_needs_no_reader_of_its_log() {
    for trouble in [Trouble::Closed, Trouble::Full] {
        let dir = tempfile::tempdir().expect("a folder");
        let server = Mute::start(dir.path(), &["serve"], trouble);
        let token = minted(portage(dir.path()), "4001", "admin");
        let list = |token: &str| server.asks(&head("GET", "/api/v1/internal_transfers", token, ""));
        // both are logged
        assert_eq!(list("forged").map(|(status, _)| status), Some(401), "{trouble:?}");
        assert_eq!(list(&token).map(|(status, _)| status), Some(200), "{trouble:?}");
        assert_eq!(ends(&server.process, "TERM"), 0, "{trouble:?}");

        let server = Mute::start(dir.path(), &["serve"], trouble);
        server.fills_the_disk();
        let body = json!({"user_id": 4001, "asset": "USDT", "amount": "1", "ref": "r", "reason": "a test"});
        let _cut = server.asks(&post("/api/v1/ops/deposits", &token, "", &body.to_string()));
        let status = server.process.wait().expect("it ends");
        assert_eq!(status.code(), Some(IO), "{trouble:?}: {status}");
    }
}

/// Turns red where the same holds of `portage spot serve`.
#[test]
fn a_spot_that_is_served_by_itself_needs_none_either() {
    for trouble in [Trouble::Closed, Trouble::Full] {
        let dir = tempfile::tempdir().expect("a folder");
        let spot = Mute::start(dir.path(), &["spot", "serve"], trouble);
        let (status, hello) = spot.asks(&head("GET", "/hello", WORD, "")).expect("an answer");
        assert_eq!(status, 200, "{trouble:?}");
        spot.fills_the_disk();
        let body = json!({
            "ledger": hello["ledger"], "incarnation": hello["incarnation"], "min_seq": 0,
            "operations": [{"req_id": "01JFQ0000000000000000000AA", "leg": "DEPOSIT", "user_id": "4001",
                "asset": "USDT", "amount": "1"}],
        });
        let _cut = spot.asks(&post("/operations", WORD, "", &body.to_string()));
        let status = spot.process.wait().expect("it ends");
        assert_eq!(status.code(), Some(IO), "{trouble:?}: {status}");
    }
}

/// A worker and its database, with a proxy between them.
struct Worker {
    database: Database,
    proxy: Proxy,
    work: Mute,
    _dir: TempDir,
}

impl Worker {
    fn start(trouble: Trouble) -> Self {
        let database = Database::given().expect("a database");
        let proxy = Proxy::start(&database.server().expect("its server")).expect("a proxy");
        let url = database.through(&proxy).expect("a URL");
        let dir = tempfile::tempdir().expect("a folder");
        let settings = [
            ("DATABASE_URL", &*url),
            ("PORTAGE_AUDIT__MAC_SECRET", "a secret for tests, which is long enough"),
            ("PORTAGE_LEDGERS__SPOT__KIND", "remote"),
            ("PORTAGE_LEDGERS__SPOT__URL", "http://127.0.0.1:9"),
            ("PORTAGE_LEDGERS__SPOT__TOKEN", WORD),
        ];
        let work = Mute::with(dir.path(), &["work"], &settings, trouble);
        let work = work.unwrap_or_else(|failed| panic!("{trouble:?}: {failed}"));
        Self { database, proxy, work, _dir: dir }
    }

    /// Signals until it ends: two that come at once are one.
    fn is_told_to_end_at_once(&self) -> ExitStatus {
        let ended = testbed::until(Duration::from_secs(60), || {
            self.work.process.signal("TERM").expect("it is sent");
            std::thread::sleep(Duration::from_millis(100));
            self.work.process.ended()
        });
        ended.expect("it ends")
    }
}

/// Turns red where an end of `portage work` waits for its log: the orderly one, a refused start, a second signal, a
/// database that is another one.
#[test]
fn a_worker_needs_none_whatever_ends_it() {
    let other = Server::start().expect("a second server");
    let beside = other.database().expect("a database");
    for trouble in [Trouble::Closed, Trouble::Full] {
        let worker = Worker::start(trouble);
        assert_eq!(ends(&worker.work.process, "TERM"), 0, "{trouble:?}");

        let worker = Worker::start(trouble);
        worker.proxy.hold();
        let status = worker.is_told_to_end_at_once();
        assert_eq!(status.code(), Some(AGAIN), "{trouble:?}: {status}");

        let worker = Worker::start(trouble);
        let name = worker.database.name();
        beside.sql(&format!("CREATE DATABASE {name}")).expect("a database of the same name");
        worker.proxy.lead_to(&other.address().expect("an address"));
        worker.proxy.cut();
        let status = worker.work.process.wait().expect("it ends");
        assert_eq!(status.code(), Some(AGAIN), "{trouble:?}: {status}");

        let dir = tempfile::tempdir().expect("a folder");
        let refused = Mute::with(dir.path(), &["work"], &[], trouble).map(|_| ());
        let status = refused.expect_err("there is no database").status.expect("it ends");
        assert_eq!(status.code(), Some(CONFIG), "{trouble:?}: {status}");
    }
}
