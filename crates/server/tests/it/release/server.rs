//! A real `portage serve` in a process of its own, and plain HTTP to it.

use crate::fixture::process::{binary, minted, serves};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;
use testbed::Listening;

/// How long anything may take.
const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct Server(Listening);

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

/// The binary over a data folder.
fn over(dir: &Path) -> Command {
    let mut command = binary();
    command.arg("--data-dir").arg(dir);
    command
}

/// Runs a command of the binary to its end.
pub(crate) fn portage(args: &[&str], dir: &Path) -> Output {
    over(dir).args(args).output().expect("the binary runs")
}

/// A token of the folder's development key.
pub(crate) fn token(dir: &Path, sub: &str, scope: &str) -> String {
    minted(over(dir), sub, scope)
}

/// Waits until it holds.
pub(crate) fn until(mut holds: impl FnMut() -> bool) -> bool {
    testbed::until(TIMEOUT, || holds().then_some(())).is_some()
}

impl Server {
    /// Starts it on a folder.
    pub(crate) fn start(dir: &Path) -> Self {
        Self::with(dir, &[])
    }

    /// The same with these variables set.
    pub(crate) fn with(dir: &Path, variables: &[(String, String)]) -> Self {
        let mut command = over(dir);
        command.envs(variables.iter().cloned());
        Self(serves(command, &dir.join("server.log")))
    }

    /// `kill -9`, while others still talk to it.
    pub(crate) fn strike(&self) {
        self.0.kill();
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
        let mut stream = TcpStream::connect(("127.0.0.1", self.0.port())).ok()?;
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
