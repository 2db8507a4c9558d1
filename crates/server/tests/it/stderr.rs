//! Processes whose stderr takes nothing: its reader is gone, leaves the pipe full, or it is on a full disk.

use crate::command::ends;
use crate::fixture::http_socket::{asked, connected, head, post};
use crate::fixture::process::{minted, portage};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{PipeReader, Write, pipe};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
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
pub(crate) const WORD: &str = "a-word-that-callers-and-spot-share";

#[derive(Debug, Clone, Copy)]
pub(crate) enum Trouble {
    /// The reader is gone: each write fails.
    Closed,
    /// The reader stands still: each write waits.
    Full,
    /// A file on a full disk: each write fails.
    Disk,
}

impl Trouble {
    pub(crate) const ALL: [Self; 3] = [Self::Closed, Self::Full, Self::Disk];

    /// The output of a process, and the end of its pipe that is read by none.
    fn output(self) -> (Stdio, Option<PipeReader>) {
        let (unread, mut output) = pipe().expect("a pipe");
        match self {
            Self::Closed => (output.into(), None),
            Self::Full => {
                output.write_all(&[b'.'; CAPACITY]).expect("room for exactly this");
                (output.into(), Some(unread))
            }
            Self::Disk => {
                let full =
                    File::options().write(true).open("/dev/full").expect("a device of Linux");
                (full.into(), None)
            }
        }
    }
}

/// What a process runs as: a file beyond its limit is an error of the write, not the end by a signal.
const RUNS: &str = "trap '' XFSZ; exec \"$@\"";
/// The same, with the log thrown away and the trouble at stdout; what listens is said before it.
const GREETS_NO_ONE: &str = "trap '' XFSZ; echo \"$0\"; exec \"$@\" >&2 2>/dev/null";

/// One process, and the end of its pipe that is read by none.
pub(crate) struct Mute {
    pub process: Listening,
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
        Self::run([RUNS, "sh"], dir, words, settings, trouble)
    }

    /// A process that listens at this port, and whose stdout takes nothing; it takes connections.
    pub(crate) fn ungreeted(
        dir: &Path,
        words: &[&str],
        settings: &[(&str, &str)],
        trouble: Trouble,
        port: u16,
    ) -> Self {
        let url = format!("http://127.0.0.1:{port}");
        let started = Self::run([GREETS_NO_ONE, &url], dir, words, settings, trouble);
        let mute = started.unwrap_or_else(|failed| panic!("{trouble:?}: {failed}"));
        let listens = testbed::until(Duration::from_secs(60), || {
            assert_eq!(mute.process.ended(), None, "{words:?}, {trouble:?}");
            connected(port).map(drop)
        });
        assert!(listens.is_some(), "{words:?}, {trouble:?}: nothing listens");
        mute
    }

    fn run(
        [script, name]: [&str; 2],
        dir: &Path,
        words: &[&str],
        settings: &[(&str, &str)],
        trouble: Trouble,
    ) -> Result<Self, NotListening> {
        let (output, unread) = trouble.output();
        let served = portage(dir);
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script, name]).current_dir(dir).env_clear();
        command.env("PORTAGE_LOG__LEVEL", "debug").env("PORTAGE_SPOT__TOKEN", WORD);
        command.envs(settings.iter().copied());
        command.arg(served.get_program()).args(served.get_args()).args(words).stderr(output);
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

    pub(crate) fn asks(&self, request: &str) -> Option<(u16, Value)> {
        let answer = asked(&mut connected(self.process.port())?, request)?;
        Some((answer.status, answer.body))
    }
}

/// Turns red where a request, an orderly end or the end after a failed write waits for the log (run: stderr written
/// by who logs: a closed pipe cuts the first request off, a full one answers none).
#[test]
fn a_server_needs_no_reader_of_its_log() {
    for trouble in Trouble::ALL {
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
    for trouble in Trouble::ALL {
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

/// The settings of a worker on this database.
pub(crate) fn of_a_worker(url: &str) -> [(&str, &str); 5] {
    [
        ("DATABASE_URL", url),
        ("PORTAGE_AUDIT__MAC_SECRET", "a secret for tests, which is long enough"),
        ("PORTAGE_LEDGERS__SPOT__KIND", "remote"),
        ("PORTAGE_LEDGERS__SPOT__URL", "http://127.0.0.1:9"),
        ("PORTAGE_LEDGERS__SPOT__TOKEN", WORD),
    ]
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
        let settings = of_a_worker(&url);
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
    for trouble in Trouble::ALL {
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
