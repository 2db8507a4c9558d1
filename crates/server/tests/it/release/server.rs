//! A real `portage serve` in a process of its own, and plain HTTP to it.

use serde_json::{Value, json};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

const PORTAGE: &str = env!("CARGO_BIN_EXE_portage");
const STEP: Duration = Duration::from_millis(10);
/// How long a start, an answer or an end may take.
const TIMEOUT: Duration = Duration::from_secs(15);

pub(crate) struct Server {
    child: Mutex<Child>,
    port: u16,
}

#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Value,
}

impl Answer {
    pub(crate) fn text(&self, field: &str) -> &str {
        self.body[field].as_str().unwrap_or_default()
    }
}

/// Runs a command of the binary to its end.
pub(crate) fn portage(args: &[&str], dir: &Path) -> Output {
    let mut command = Command::new(PORTAGE);
    command.args(args).arg("--data-dir").arg(dir);
    command.output().expect("the binary runs")
}

/// A token of the folder's development key.
pub(crate) fn token(dir: &Path, sub: &str, scope: &str) -> String {
    let output = portage(&["token", "--sub", sub, "--scope", scope], dir);
    assert!(output.status.success(), "a token is minted: {output:?}");
    String::from_utf8(output.stdout).expect("a token is text").trim().to_owned()
}

/// Waits until it holds.
pub(crate) fn until(mut holds: impl FnMut() -> bool) -> bool {
    let mut waited = Duration::ZERO;
    while waited < TIMEOUT {
        if holds() {
            return true;
        }
        thread::sleep(STEP);
        waited += STEP;
    }
    false
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("its number").port()
}

impl Server {
    /// Starts it on a folder and waits until it is ready.
    pub(crate) fn start(dir: &Path) -> Self {
        Self::with(dir, &[])
    }

    /// The same with these variables set.
    pub(crate) fn with(dir: &Path, variables: &[(String, String)]) -> Self {
        let port = free_port();
        let log = File::options().create(true).append(true).open(dir.join("server.log"));
        let log = log.expect("a log for a test");
        let child = Command::new(PORTAGE)
            .args(["serve", "--data-dir"])
            .arg(dir)
            .env("PORTAGE_SERVER__LISTEN", format!("127.0.0.1:{port}"))
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .stdout(log.try_clone().expect("a second handle"))
            .stderr(log)
            .spawn()
            .expect("the binary starts");
        let server = Self { child: Mutex::new(child), port };
        let ready =
            until(|| server.ask("GET", "/readyz", "", None).is_some_and(|a| a.status == 200));
        assert!(ready, "the server is ready: see {}", dir.join("server.log").display());
        server
    }

    /// `kill -9`, while others still talk to it.
    pub(crate) fn strike(&self) {
        let mut child = self.child.lock().expect("no thread panics while striking");
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
    }

    /// Kills it with signal 9, so that it can finish nothing.
    pub(crate) fn kill(self) {
        self.strike();
    }

    /// One request on a connection of its own; `None` where it is cut off.
    pub(crate) fn ask(
        &self,
        method: &str,
        path: &str,
        token: &str,
        body: Option<Value>,
    ) -> Option<Answer> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(TIMEOUT)).ok()?;
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: portage\r\nconnection: close\r\n\
             authorization: Bearer {token}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let body = serde_json::from_str(body).unwrap_or_default();
        Some(Answer { status, head: head.to_lowercase(), body })
    }

    /// One request that must be answered.
    pub(crate) fn must(
        &self,
        method: &str,
        path: &str,
        token: &str,
        body: Option<Value>,
    ) -> Answer {
        let answer = self.ask(method, path, token, body);
        answer.unwrap_or_else(|| panic!("an answer to {method} {path}"))
    }

    /// Asks for a transfer of USDT.
    pub(crate) fn transfer(
        &self,
        token: &str,
        (from, to): (&str, &str),
        amount: &str,
        cid: &str,
    ) -> Option<Answer> {
        let body = json!({ "from": from, "to": to, "asset": "USDT", "amount": amount, "cid": cid });
        self.ask("POST", "/api/v1/internal_transfer", token, Some(body))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Ok(child) = self.child.get_mut() {
            // it may have ended already
            let _ended = child.kill();
            let _reaped = child.wait();
        }
    }
}
