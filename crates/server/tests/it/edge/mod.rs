//! The binary itself on real sockets: what it takes from strangers, and for how long, and what it
//! posts.

mod account_transfers;
mod backups;
mod endpoint_mail;
mod endpoints;
mod framing;
mod history;
#[cfg(feature = "kafka")]
mod kafka;
mod numbered_accounts;
mod pipeline;
mod postgres;
mod relay;
mod relay_chain;
mod relay_foreign;
mod relay_stops;
mod secrets;
mod slow;
mod tls;
mod upgrade;
mod webhooks;

use crate::fixture::http_socket::{Answer, answer, asked, connected, head, post};
use crate::fixture::process::{self, minted, said};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Mutex;
use std::time::Duration;
use tempfile::TempDir;
use testbed::{Listening, NotListening};

const CREATE: &str = "/api/v1/internal_transfer";
const USER: &str = "transfers:create transfers:read";
/// Long enough for anything that happens at all.
const EVENTUALLY: Duration = Duration::from_secs(60);

/// A running server with its own folder; both go with the test.
struct Served {
    process: Listening,
    dir: TempDir,
    url: String,
    settings: Vec<(String, String)>,
    /// Tokens by subject and scope: each is made by a process of its own.
    tokens: Mutex<BTreeMap<(String, String), String>>,
}

/// The binary in a folder, with these settings.
fn portage(dir: &Path, settings: &[(String, String)]) -> Command {
    let mut command = process::portage(dir);
    command.envs(settings.iter().cloned());
    command
}

/// What a command of that folder serves.
fn listens(
    words: &[&str],
    dir: &Path,
    settings: &[(String, String)],
) -> Result<Listening, NotListening> {
    let mut command = portage(dir, settings);
    command.args(words);
    if !settings.iter().any(|(name, _)| name == "PORTAGE_SERVER__LISTEN") {
        command.args(["--listen", "127.0.0.1:0"]);
    }
    Listening::logged(command, &dir.join("log"))
}

/// The server of that folder.
fn launched(dir: &Path, settings: &[(String, String)]) -> Listening {
    listens(&["serve"], dir, settings).unwrap_or_else(|failed| panic!("{failed}"))
}

/// How `serve` ends with these settings.
fn refused(settings: &[(&str, &str)]) -> (Option<i32>, String) {
    let dir = tempfile::tempdir().expect("a folder");
    let mut command = portage(dir.path(), &process::settings(settings));
    said(&command.args(["serve", "--listen", "127.0.0.1:0"]).output().expect("it runs"))
}

/// A server on PostgreSQL that goes on soon with what it held when it was killed: there a killed server's lease
/// runs out first.
fn on_postgres(database: &testbed::Database) -> [(&'static str, &str); 2] {
    [("DATABASE_URL", database.url()), ("PORTAGE_ENGINE__LEASE_SECONDS", "3")]
}

/// Waits until it holds; long enough for what is tried again after twice the time each time.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let held = testbed::until(5 * EVENTUALLY, || holds().then_some(()));
    assert!(held.is_some(), "never: {what}");
}

impl Served {
    fn start(settings: &[(&str, &str)]) -> Self {
        Self::within(tempfile::tempdir().expect("a folder"), settings)
    }

    fn within(dir: TempDir, settings: &[(&str, &str)]) -> Self {
        let settings = process::settings(settings);
        let process = launched(dir.path(), &settings);
        let url = process.url.clone();
        Self { process, dir, url, settings, tokens: Mutex::default() }
    }

    /// Kills it on the spot, does something to what it left, and starts it again.
    fn again(&mut self, between: impl FnOnce(&Path)) {
        self.process.kill();
        between(self.dir.path());
        self.process = launched(self.dir.path(), &self.settings);
        self.process.url.clone_into(&mut self.url);
    }

    /// Everything that it wrote to its log.
    fn log(&self) -> String {
        self.process.log()
    }

    fn port(&self) -> u16 {
        self.process.port()
    }

    fn connect(&self) -> TcpStream {
        connected(self.port()).expect("a connection")
    }

    /// One request on a connection of its own, which must be answered.
    fn ask(&self, request: &str) -> Answer {
        asked(&mut self.connect(), request).unwrap_or_else(|| panic!("an answer to {request}"))
    }

    /// A command of the same settings and folder.
    fn run(&self, words: &[&str]) -> Output {
        let mut command = portage(self.dir.path(), &self.settings);
        command.env("PORTAGE_URL", &self.url).args(words).output().expect("it runs")
    }

    /// What a command prints as JSON.
    fn json(&self, words: &[&str]) -> Value {
        let out = self.run(&[words, &["--json"]].concat());
        serde_json::from_slice(&out.stdout).unwrap_or_else(|_| panic!("{words:?}: {out:?}"))
    }

    fn token(&self, sub: &str, scope: &str) -> String {
        let mut tokens = self.tokens.lock().expect("no panic");
        let made = tokens
            .entry((sub.to_owned(), scope.to_owned()))
            .or_insert_with(|| minted(portage(self.dir.path(), &self.settings), sub, scope));
        made.clone()
    }

    /// Gives a user money at Funding.
    fn fund(&self, user: &str, amount: &str) {
        let words =
            ["deposit", "--user", user, "--asset", "USDT", "--amount", amount, "--ref", "fund"];
        let out = self.run(&words);
        assert!(out.status.success(), "{out:?}");
    }

    /// Whether any of the user's money left Funding.
    fn moved(&self, token: &str) -> bool {
        let reply = self.ask(&head("GET", "/api/v1/balances", token, ""));
        assert!(reply.status == 200 && reply.page.contains("10.000000"), "{reply:?}");
        reply.page.contains("SPOT")
    }
}

/// A transfer of one USDT.
fn transfer(token: &str, cid: &str) -> String {
    let body =
        format!(r#"{{"from":"FUNDING","to":"SPOT","asset":"USDT","amount":"1","cid":"{cid}"}}"#);
    post(CREATE, token, "", &body)
}

/// Everything until the connection ends. Panics where it is still open after [`EVENTUALLY`].
fn rest(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let mut part = [0; 4096];
    loop {
        match stream.read(&mut part) {
            Ok(0) => break,
            Ok(n) => text.extend_from_slice(&part[..n]),
            Err(fault) => {
                let kind = fault.kind();
                assert_eq!(kind, std::io::ErrorKind::ConnectionReset, "it ends: {fault}");
                break;
            }
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}
