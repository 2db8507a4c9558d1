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

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::time::Duration;
use tempfile::TempDir;

const CREATE: &str = "/api/v1/internal_transfer";
const USER: &str = "transfers:create transfers:read";
/// Long enough for anything that happens at all.
const EVENTUALLY: Duration = Duration::from_secs(60);

/// A running server with its own folder; both go with the test.
struct Served {
    child: Child,
    dir: TempDir,
    url: String,
    settings: Vec<(String, String)>,
    /// Tokens by subject and scope: each is made by a process of its own.
    tokens: Mutex<BTreeMap<(String, String), String>>,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// The binary with nothing of the caller's settings.
fn portage(dir: &Path, settings: &[(String, String)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_portage"));
    command.current_dir(dir).env_clear().stdin(Stdio::null());
    command.arg("--data-dir").arg(dir.join("data"));
    command.envs(settings.iter().map(|(name, value)| (name, value)));
    command
}

/// How a command ended, and what it said.
fn said(out: &Output) -> (Option<i32>, String) {
    let text = [&out.stdout[..], &out.stderr[..]].concat();
    (out.status.code(), String::from_utf8_lossy(&text).into_owned())
}

/// The server of that folder, and where it listens.
fn launched(dir: &Path, settings: &[(String, String)]) -> (Child, String) {
    listens(&["serve"], dir, settings)
}

/// What a command of that folder serves, and where it listens.
fn listens(words: &[&str], dir: &Path, settings: &[(String, String)]) -> (Child, String) {
    let mut command = portage(dir, settings);
    command.args(words);
    if !settings.iter().any(|(name, _)| name == "PORTAGE_SERVER__LISTEN") {
        command.args(["--listen", "127.0.0.1:0"]);
    }
    let log = File::options().create(true).append(true).open(dir.join("log")).expect("a log");
    let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().expect("it starts");
    let mut line = String::new();
    let out = child.stdout.take().expect("its stdout");
    BufReader::new(out).read_line(&mut line).expect("a line");
    let url = line.trim().rsplit(' ').next().expect("an address").to_owned();
    let log = || std::fs::read_to_string(dir.join("log")).expect("a log");
    assert!(url.starts_with("http"), "no server: {line} {}", log());
    (child, url)
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
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let settings: Vec<_> = settings.iter().map(owned).collect();
        let (child, url) = launched(dir.path(), &settings);
        Self { child, dir, url, settings, tokens: Mutex::default() }
    }

    /// Kills it on the spot, does something to what it left, and starts it again.
    fn again(&mut self, between: impl FnOnce(&Path)) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it is gone");
        between(self.dir.path());
        (self.child, self.url) = launched(self.dir.path(), &self.settings);
    }

    /// Everything that it wrote to its log.
    fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log")).expect("a log")
    }

    fn port(&self) -> u16 {
        self.url.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port")
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port())).expect("a connection");
        stream.set_read_timeout(Some(EVENTUALLY)).expect("a time");
        stream.set_nodelay(true).expect("no delay");
        stream
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
        let made = tokens.entry((sub.to_owned(), scope.to_owned())).or_insert_with(|| {
            let out = self.run(&["token", "--sub", sub, "--scope", scope]);
            assert!(out.status.success(), "{out:?}");
            String::from_utf8(out.stdout).expect("a text").trim().to_owned()
        });
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
        let mut stream = self.connect();
        let ask = head("GET", "/api/v1/balances", token, "");
        stream.write_all(ask.as_bytes()).expect("it is sent");
        let reply = answer(&mut stream).expect("an answer");
        assert!(reply.status == 200 && reply.body.contains("10.000000"), "{reply:?}");
        reply.body.contains("SPOT")
    }
}

/// An answer, read to its end.
#[derive(Debug)]
struct Reply {
    status: u16,
    head: String,
    body: String,
}

/// The head of a request on a connection that is kept, with these lines besides.
fn head(method: &str, path: &str, token: &str, more: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nhost: portage\r\nauthorization: Bearer {token}\r\n{more}\r\n"
    )
}

/// A transfer of one USDT.
fn transfer(token: &str, cid: &str) -> String {
    let body =
        format!(r#"{{"from":"FUNDING","to":"SPOT","asset":"USDT","amount":"1","cid":"{cid}"}}"#);
    let more = format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len());
    format!("{}{body}", head("POST", CREATE, token, &more))
}

/// The next answer on this connection; none where it was closed.
fn answer(stream: &mut TcpStream) -> Option<Reply> {
    let mut text = Vec::new();
    while !text.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        match stream.read(&mut byte) {
            Ok(1) => text.push(byte[0]),
            Ok(_) | Err(_) => return None,
        }
    }
    let head = String::from_utf8_lossy(&text).to_lowercase();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
    let mut body = vec![0; length.map_or(0, |length| length.parse().expect("a length"))];
    stream.read_exact(&mut body).ok()?;
    Some(Reply { status, head, body: String::from_utf8_lossy(&body).into_owned() })
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
